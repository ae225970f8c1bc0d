//! The integration tests, in one binary so that one PostgreSQL and one MariaDB serve them all.

mod engine;
mod harness;
mod pgbouncer;
mod pty;
