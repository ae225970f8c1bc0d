//! The adapters of real frameworks on rows that these wrote, or would write: what is shown of each, and that a replay leaves
//! them as the framework's own retry would.

mod bench;
mod good_job;
mod oban;
mod oban_python;
mod que;
mod river;
mod ruby;
mod solid_queue;
