//! The store over a table of an SQLite file.

mod counts;
mod keys;
mod looks;
mod pages;
mod times;

use std::sync::Arc;
use std::time::Duration;

use super::{OpenOptions, SqlStore, detect, open};
use crate::adapter::Adapter;
use crate::db::target::Target;
use crate::db::{Engine, EngineOptions, Statement};
use crate::store::Budget;

/// Jobs of which those that are `slow` take the database long to tell the error class of.
const ODD: &str = "
name = \"odd\"
title = \"Odd\"
table = \"odd\"
key = { column = \"id\", kind = \"KEY\" }

[detect.columns]
at = \"time\"
slow = \"int\"

[order]
time = { column = \"at\", kind = \"utc\" }

[fields]
at = { column = \"at\", kind = \"utc\" }
error_class = { kind = \"text\", sql = '''
CASE WHEN t.slow THEN (WITH RECURSIVE n(i) AS (SELECT t.id UNION ALL SELECT i + 1 FROM n WHERE i < t.id + 300)
  SELECT 'Slow' || (max(i) - min(i)) FROM n) ELSE 'Quick' END''' }
job_class = { column = \"class\", kind = \"text\" }
message = { column = \"said\", kind = \"text\" }

[states]
dead = [\"dead\"]
";

/// A table of an adapter of ours, with a store over it.
pub(super) struct Odd {
    pub(super) store: SqlStore,
    engine: Arc<Engine>,
    _folder: tempfile::TempDir,
}

impl Odd {
    /// Makes a table whose key is as `key` says, with the rows of `select`: `id, at, slow, class, said`.
    async fn table(key: &str, select: &str, gentle: bool) -> Self {
        Self::timed(("text", "utc"), key, select, gentle).await
    }

    /// The same, with times of a type and kind.
    async fn timed((of, kind): (&str, &str), key: &str, select: &str, gentle: bool) -> Self {
        let text = ODD.replace("\"utc\"", &format!("\"{kind}\""));
        let folder = tempfile::tempdir().expect("a folder");
        let target = Target::sqlite(folder.path().join("odd.db"), true);
        let engine = Arc::new(Engine::connect(&target, &EngineOptions::default()).await.expect("an engine"));
        let columns = format!("id {key} primary key, at {of}, slow int, class text, said text");
        run(&engine, &format!("CREATE TABLE odd ({columns})")).await;
        run(&engine, "CREATE INDEX odd_at ON odd (at)").await;
        run(&engine, &format!("INSERT INTO odd {select}")).await;
        let kind = if key.starts_with("integer") { "int" } else { "text" };
        let adapter = Adapter::parse(&text.replace("KEY", kind), None).expect("an adapter");
        let found = detect(&engine, std::slice::from_ref(&adapter), &budget()).await.expect("a detection").found;
        let options = OpenOptions { gentle, ..OpenOptions::default() };
        let found = found.first().expect("the table");
        let store = open(Arc::clone(&engine), &adapter, found, &options, &budget()).await.expect("a store");
        Self { store, engine, _folder: folder }
    }

    /// Makes a table with a whole number as key.
    pub(super) async fn new(select: &str) -> Self {
        Self::table("integer", select, false).await
    }

    pub(super) async fn run(&self, sql: &str) {
        run(&self.engine, sql).await;
    }
}

async fn run(engine: &Engine, sql: &str) {
    let mut tx = engine.begin(&budget()).await.expect("a transaction");
    tx.execute(&Statement { sql: sql.to_owned(), binds: Vec::new() }).await.expect("a statement that runs");
    tx.commit().await.expect("a commit");
}

/// A budget that only a hang exhausts.
pub(super) fn budget() -> Budget {
    Budget::new(Duration::from_secs(60))
}

/// A row source of the numbers from 1 to `n`, as `n(i)`.
pub(super) fn numbers(n: u32) -> String {
    format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})")
}
