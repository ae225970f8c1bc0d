//! What each database's driver does differently: connections, values in and out, and its errors.

pub(super) mod bind;
pub(super) mod decode;
pub(super) mod error_map;
pub(super) mod grants;
pub(super) mod json_depth;
mod multi_statement;
pub(super) mod mysql;
pub(super) mod postgres;
pub(super) mod sqlite;
