//! A count made by listing, for filters that only the floors above can judge.

use std::collections::HashMap;

use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::Cursor;

/// What was counted so far, and where the list goes on.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Counts by value.
    pub bars: HashMap<Option<Untrusted>, ListedBar>,
    /// Where to go on; `None` at the start and at the end.
    pub next: Option<Cursor>,
}

/// What was counted of one value.
#[derive(Clone, Debug, Default)]
pub struct ListedBar {
    /// Jobs.
    pub n: u64,
    /// Oldest of them.
    pub first: Option<Timestamp>,
    /// Newest of them.
    pub last: Option<Timestamp>,
    /// As [`crate::domain::histogram::Bar::example`].
    pub example: Option<Untrusted>,
}
