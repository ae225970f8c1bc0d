//! The adapters of real frameworks on rows that these wrote, or would write: what is shown of each, and that a replay leaves
//! them as the framework's own retry would.

mod bench;
mod oban;
mod oban_python;
mod river;
