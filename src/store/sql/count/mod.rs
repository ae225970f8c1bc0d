//! Counts by a facet and by state: exact, from statistics or from a sample, and what changed since the last poll.

pub(super) mod changes;
pub(super) mod chunked;
pub(super) mod first_page;
pub(super) mod histogram;
pub(super) mod in_memory;
pub(super) mod statistics;
pub(super) mod table_sample;
pub(super) mod window;
