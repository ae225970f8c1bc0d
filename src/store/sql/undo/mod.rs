//! Undoing: kept rows put back, and replayed jobs taken out of the queue.

pub(super) mod recall;
pub(super) mod restore;
