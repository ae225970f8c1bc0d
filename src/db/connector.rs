//! The way to a target's connections: its engine, wrapped as the options ask for.

use std::time::Duration;

use super::options::EngineOptions;
use crate::db::connection::Connector;
use crate::db::driver::{mysql, postgres, sqlite};
use crate::db::net::address::Address;
use crate::db::statement_log::LoggedConnector;
use crate::db::target::Target;
use crate::db::{DatabaseKind, rollback_only};
use crate::domain::source_error::Result;

/// What opens connections to a target, how many at the most, and where they lead.
///
/// # Errors
/// When the target's settings cannot be used.
pub(super) fn connector(
    target: &Target,
    options: &EngineOptions,
    connect_timeout: Duration,
) -> Result<(Box<dyn Connector>, usize, Address)> {
    let (connector, address): (Box<dyn Connector>, Address) = match target.sql_kind()? {
        DatabaseKind::Postgres => {
            let (servers, wanted) = target.postgres_options()?;
            let address = Address::postgres(target, &servers);
            let name = &options.application_name;
            let postgres = postgres::Postgres::new((servers, wanted), name, connect_timeout, options.read_only);
            (Box::new(postgres), address)
        }
        DatabaseKind::Mysql => {
            let server = target.mysql_options()?;
            let address = Address::mysql(target, &server);
            (Box::new(mysql::Mysql::new(server, target.has_certificate(), options.read_only)), address)
        }
        DatabaseKind::Sqlite => {
            let (file, read_only) = target.sqlite_options(options.read_only)?;
            (Box::new(sqlite::Sqlite::new(file, options.lock_timeout, read_only)), Address::file(target))
        }
    };
    let (connector, size): (Box<dyn Connector>, usize) = match options.rehearsal {
        true => (Box::new(rollback_only::Rehearsing(connector)), 1),
        false => (connector, options.max_connections),
    };
    let connector = match &options.listener {
        Some(listener) => Box::new(LoggedConnector(connector, listener.clone())),
        None => connector,
    };
    Ok((connector, size, address.named_by(&options.named_by)))
}
