//! Which source is meant and how it is opened; the commands about sources and adapters.

pub(crate) mod adapters;
pub(crate) mod config;
pub(crate) mod init;
pub(crate) mod open;
pub(crate) mod password;
pub(crate) mod source_choice;
pub(crate) mod sources;
