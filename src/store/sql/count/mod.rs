//! Counts by a facet and by state: exact, from statistics or from a sample, and what changed since the last poll.

pub(super) mod changes;
pub(super) mod chunked;
pub(super) mod histogram;
pub(super) mod in_memory;
pub(super) mod state;
pub(super) mod statistics;
pub(super) mod table_sample;
pub(super) mod window;

use std::sync::Mutex;

use statistics::Misses;

/// What counting remembers from one call to the next.
#[derive(Default)]
pub(crate) struct CountMemory {
    /// Whether the unit of its times is not known, as it holds none: the first ones have the store opened again.
    pub(crate) awaits_unit: bool,
    /// That counts by state took too long when they were tried last.
    pub(crate) misses: Mutex<Misses>,
}
