//! Acting on jobs, what is kept of them before, and what became of them.

pub(super) mod apply;
pub(super) mod batch_script;
pub(super) mod copies;
pub(super) mod outcomes;
pub(super) mod reconcile;
