//! The integration tests, in one binary so that one PostgreSQL and one MariaDB serve them all.

mod architecture;
mod cli;
mod console;
mod dependencies;
mod engine;
mod fixtures;
mod flights;
mod harness;
mod install;
mod judged;
mod pgbouncer;
mod pty;
mod replay_options;
mod retention;
mod run;
mod screenshot;
mod shared;
mod store_careful;
mod store_desk;
mod store_destinations;
mod store_filters;
mod store_odd;
mod store_story;
mod store_witness;
mod terminal;
mod workers;
