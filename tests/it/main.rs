//! The integration tests, in one binary so that one PostgreSQL and one MariaDB serve them all.

mod harness;
mod pty;
