//! What `doctor` asks: indexes, bloat and the health of a connection and a table.

pub(super) mod bloat;
pub(super) mod health;
pub(super) mod index_advice;
