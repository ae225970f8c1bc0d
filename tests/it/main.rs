//! The integration tests, in one binary so that one PostgreSQL and one MariaDB serve them all.

mod architecture;
mod dependencies;
mod fixtures;
mod harness;
mod pty;
mod store_desk;
mod store_story;
