//! Pages, details and the ids of a cohort: rows in order, and where no index serves, in chunks.

pub(super) mod chunk_bounds;
pub(super) mod chunk_size;
pub(super) mod chunks;
pub(super) mod detail;
pub(super) mod page;
pub(super) mod range_estimate;
pub(super) mod range_scan;
pub(super) mod run_times;
pub(super) mod scan;
pub(super) mod scan_sql;
pub(super) mod unordered;

use std::sync::Mutex;

use chunk_size::ChunkSizes;
use page::AxisEnds;

/// What reading remembers from one call to the next.
pub(crate) struct ReadMemory {
    pub(crate) pace: ChunkSizes,
    /// The newest and oldest instant of death, when it was last asked for.
    pub(crate) span: Mutex<Option<AxisEnds>>,
}

impl ReadMemory {
    /// Where it is `gentle`, tables are read in bounded windows only.
    pub(crate) fn new(gentle: bool) -> Self {
        Self { pace: ChunkSizes::new(gentle), span: Mutex::new(None) }
    }
}
