//! Pages, details and the ids of a cohort: rows in order, and where no index serves, in chunks.

pub(super) mod chunk_bounds;
pub(super) mod chunk_size;
pub(super) mod chunks;
pub(super) mod detail;
pub(super) mod lookup_parts;
pub(super) mod page;
pub(super) mod range_estimate;
pub(super) mod range_scan;
pub(super) mod scan;
pub(super) mod unordered;
