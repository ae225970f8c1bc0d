//! The adapters of real frameworks on rows that these wrote, or would write: what is shown of each, and that a replay leaves
//! them as the framework's own retry would.

mod bench;
mod good_job;
mod graphile_worker;
mod oban;
mod oban_python;
mod pg_boss;
mod procrastinate;
mod que;
mod river;
mod row_security;
mod ruby;
mod shop;
mod solid_queue;
