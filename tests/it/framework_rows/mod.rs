//! The adapters of real frameworks on rows that these wrote, or would write: what is shown of each, and that a replay leaves
//! them as the framework's own retry would.

mod graphile_worker;
mod pg_boss;
mod procrastinate;
mod row_security;
mod shop;
