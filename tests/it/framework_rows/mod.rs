//! The adapters of real frameworks on rows that these wrote, or would write: what is shown of each, and that a replay leaves
//! them as the framework's own retry would.

pub mod bench;
pub mod delayed_job;
pub mod good_job;
mod graphile_worker;
pub mod laravel;
mod laravel_undo;
pub mod oban;
pub mod oban_python;
mod pg_boss;
mod pg_boss_flows;
mod procrastinate;
pub mod que;
mod reasons;
mod repair;
pub mod river;
mod row_security;
mod ruby;
mod shop;

pub mod solid_queue;
mod untimed;

pub use shop::Shop;
