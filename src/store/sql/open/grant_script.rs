//! The grants of a layout as statements, without asking a database: what the docs print.

use std::fmt::Write as _;

use super::privileges::{Site, numbered, required};
use crate::adapter::{Adapter, Route, Spec};
use crate::db::DatabaseKind;
use crate::domain::action::Action;
use crate::store::Grant;

/// The statements that let a role look and act, for each kind of database that has roles and that the adapter speaks for.
pub fn grant_script(adapter: &Adapter) -> Vec<String> {
    let kinds = [(DatabaseKind::Postgres, "public", "ops"), (DatabaseKind::Mysql, "shop", "ops@%")];
    // The first is what the newest of its versions have.
    let newest = |db_kind: DatabaseKind| adapter.variants(db_kind.word()).first();
    kinds.into_iter().filter_map(|(kind, schema, role)| Some(grants(kind, newest(kind)?, schema, role))).collect()
}

fn grants(dialect: DatabaseKind, spec: &Spec, schema: &str, role: &str) -> String {
    let to_table = spec.verbs.replay.as_ref().is_some_and(|verb| verb.steps.is_empty() && verb.into_table.is_some());
    let way = if to_table { Route::Table } else { Route::Own };
    let site = Site { spec, schema, way, has_archive: false };
    let live = format!("{schema}.jobs");
    let lines = |grants: &[Grant]| {
        grants.iter().map(|grant| format!("{};\n", grant.sql.replace("the live table", &live))).collect::<String>()
    };
    let actions = Action::ALL.map(Some);
    let look = required(dialect, site, &[None], role);
    let act: Vec<Grant> =
        required(dialect, site, &actions, role).into_iter().filter(|grant| !look.contains(grant)).collect();
    let name = if dialect == DatabaseKind::Postgres { "PostgreSQL" } else { "MySQL and MariaDB" };
    let mut out = format!("-- {name}, to look\n{}-- and to act\n{}", lines(&look), lines(&act));
    if dialect == DatabaseKind::Postgres {
        for table in numbered(dialect, site, &actions) {
            let table = table.replace("the live table", &live);
            let _ =
                writeln!(out, "-- where its ids are no identity: GRANT USAGE ON SEQUENCE {table}_id_seq TO {role};");
        }
    }
    out
}
