//! What the databases say differently, as text: the only place where they differ. `raw` is always an SQL expression over the
//! dead-letter table `t`: a quoted column or what an adapter states. Comparisons use it as it stands, so that indexes serve.

mod batch;
pub(crate) mod catalogue;
mod conditions;
mod epoch;
mod expressions;
mod literals;
mod mysql;
mod plans;
mod postgres;
mod server_state;
pub(crate) mod sql_builder;
mod sqlite;
mod table;
mod value_form;
pub(crate) mod window;
mod writes;

use crate::db::DatabaseKind;
pub(crate) use batch::{BatchColumns, BatchRow};
pub(crate) use catalogue::index_columns::{IndexPlace, Unique};
pub(crate) use catalogue::tables::Catalogue;
pub(crate) use conditions::Conditions;
pub(crate) use expressions::{Expressions, TextExpression};
use literals::{fraction, like, literal};
pub(crate) use plans::Plans;
pub(crate) use server_state::ServerState;
pub(crate) use table::{NameLimit, NewTable, Place};
pub(crate) use value_form::{Form, INEXACT, ValueSort};
pub(crate) use window::{WindowShape, order_by};
pub(crate) use writes::Writes;

/// The dialect of a database.
pub(crate) fn dialect(db_kind: DatabaseKind) -> &'static dyn Dialect {
    match db_kind {
        DatabaseKind::Postgres => &postgres::PostgresDialect,
        DatabaseKind::Mysql => &mysql::MysqlDialect,
        DatabaseKind::Sqlite => &sqlite::SqliteDialect,
    }
}

/// The text of one database.
pub(crate) trait Dialect: Expressions + Conditions + Plans + Catalogue + Writes + ServerState {}

impl<T: Expressions + Conditions + Plans + Catalogue + Writes + ServerState> Dialect for T {}
