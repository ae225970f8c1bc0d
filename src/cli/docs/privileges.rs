//! docs/rights.md: the page in this folder, with the grants that the adapters list.

use std::fmt::Write as _;

use crate::adapter::{Route, Spec, built_in};
use crate::db::DatabaseKind;
use crate::domain::action::Action;
use crate::store::Grant;
use crate::store::sql::{Site, numbered, required};

const TEXT: &str = include_str!("privileges.md");

pub fn reference() -> String {
    let mut out = TEXT.to_owned();
    for adapter in built_in() {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n### `{}`\n", adapter.name);
        for (dialect, schema, role) in
            [(DatabaseKind::Postgres, "public", "ops"), (DatabaseKind::Mysql, "shop", "ops@%")]
        {
            // The first is what the newest of its versions have.
            if let Some(spec) = adapter.variants(dialect.word()).first() {
                let _ = write!(out, "\n```sql\n{}```\n", grants(dialect, spec, schema, role));
            }
        }
    }
    out
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
