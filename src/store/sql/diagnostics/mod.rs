//! What `doctor` asks: indexes, bloat and the health of a connection and a table.

pub(super) mod bloat;
pub(super) mod health;
pub(super) mod index_advice;

use crate::store::sql::context::Context;
use crate::store::sql::count::statistics::Statistics;

/// Answers what `doctor` asks.
#[derive(Clone, Copy)]
pub struct Diagnostics<'s> {
    pub(crate) context: &'s Context,
    pub(crate) statistics: Statistics<'s>,
}
