//! Fixture tables and rows, a store on them, and whole rows before and after.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, NaiveDateTime, Utc};
use dlq_tui::adapter::built_in;
use dlq_tui::domain::job::{JobDetail, JobId};
use dlq_tui::domain::text::Untrusted;
use dlq_tui::store::sql::{Detection, OpenOptions, SqlStore, check, detect, missing_indexes, open};
use dlq_tui::store::{Store, StoreExt};
use serde_json::{Map, Value};

use crate::cli::User;
use crate::harness::{Engine, TestDb};
use crate::store_desk::{adapter, budget, engine};

/// The text of a fixture.
pub fn fixture(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/frameworks").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Rows that are kept as a JSON array of objects.
pub fn rows(path: &str) -> Vec<Map<String, Value>> {
    serde_json::from_str(&fixture(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Rows that are kept as `[[row]]` tables; texts lose the line break that TOML needs at their end.
pub fn toml_rows(path: &str) -> Vec<Map<String, Value>> {
    let mut file: Map<String, Value> = toml::from_str(&fixture(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let rows = file.get_mut("row").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    let mut rows: Vec<Map<String, Value>> = rows.into_iter().filter_map(|row| row.as_object().cloned()).collect();
    for row in &mut rows {
        for name in ["last_error", "backtrace"] {
            if let Some(Value::String(text)) = row.get_mut(name) {
                text.truncate(text.trim_end_matches('\n').len());
            }
        }
    }
    rows
}

/// The key of a row whose table counts them.
pub fn id(row: &Map<String, Value>) -> i64 {
    row["id"].as_i64().expect("a key")
}

/// A value as a literal of this database.
pub fn literal(engine: Engine, value: &Value) -> String {
    let text = match value {
        Value::Null => return "NULL".to_owned(),
        Value::Number(n) => return n.to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text = text.replace('\'', "''");
    match engine {
        Engine::Mysql => format!("'{}'", text.replace('\\', "\\\\")),
        _ => format!("'{text}'"),
    }
}

pub async fn detection(db: &TestDb) -> Detection {
    detect(&*engine(db).await, &built_in(), &budget()).await.expect("a detection")
}

/// The store of an adapter, each of whose statements the database can explain; and the columns of indexes that are missing.
pub async fn checked(db: &TestDb, name: &str) -> (SqlStore, Vec<String>) {
    let (engine, adapter) = (engine(db).await, adapter(name));
    let detection = detection(db).await;
    let found = detection.found.iter().find(|f| f.adapter == name).unwrap_or_else(|| panic!("{detection:?}"));
    for finding in check(&engine, &adapter, found, None, &budget()).await.expect("findings") {
        assert_eq!(finding.verdict, Ok(()), "{}: {}", db.engine.name(), finding.what);
    }
    let missing = missing_indexes(&engine, &adapter, found).into_iter().map(|(_, ddl)| ddl).collect();
    (open(engine, &adapter, found, &OpenOptions::default(), &budget()).await.expect("a store"), missing)
}

pub async fn detail(store: &dyn Store, id: i64) -> JobDetail {
    let id = JobId::new(id.to_string());
    store.detail(&id, &budget()).await.expect("a detail").unwrap_or_else(|| panic!("{id:?} is gone"))
}

/// What is shown of a job's error is what its row expects under `expect`: class, message and the line of its stack that is
/// named there, the first or the last.
pub fn assert_error(told: &str, detail: &JobDetail, row: &Map<String, Value>, line: fn(&str) -> Option<&str>) {
    let expected = |name: &str| row["expect"][name].as_str();
    let exact = |text: &Option<Untrusted>| text.as_ref().map(|text| text.exact().to_owned());
    assert_eq!(exact(&detail.row.error_class).as_deref(), expected("class"), "{told}");
    assert_eq!(exact(&detail.message).as_deref(), expected("message"), "{told}");
    assert_eq!(exact(&detail.backtrace).as_deref().and_then(line), expected("stack"), "{told}");
}

/// Whole rows by their key.
pub type Rows = BTreeMap<i64, Map<String, Value>>;

pub async fn whole(db: &TestDb, table: &str) -> Rows {
    let objects = match db.engine {
        Engine::Postgres => db.column(&format!("select to_jsonb(t)::text from {table} as t")).await,
        engine => {
            let columns = match engine {
                Engine::Mysql => {
                    db.column(&format!(
                        "select column_name from information_schema.columns \
                         where table_schema = database() and table_name = '{table}'"
                    ))
                    .await
                }
                _ => db.column(&format!("select name from pragma_table_info('{table}')")).await,
            };
            let cells: Vec<String> = columns.iter().map(|column| format!("'{column}', t.{column}")).collect();
            db.column(&format!("select json_object({}) from {table} as t", cells.join(", "))).await
        }
    };
    let parse = |text: &String| serde_json::from_str::<Map<String, Value>>(text).expect("a row");
    objects.iter().map(parse).map(|row| (row["id"].as_i64().expect("a key"), row)).collect()
}

/// The cells that changed, as `key.column=value`; instants of now read `<now>`, later ones `<later>`.
pub fn changes(before: &Rows, after: &Rows) -> Vec<String> {
    let gone = before.keys().filter(|id| !after.contains_key(*id)).map(|id| format!("{id} gone"));
    let changed = after.iter().flat_map(|(id, row)| {
        let old = before.get(id);
        let cells = row.iter().filter(move |(column, value)| old.is_none_or(|old| old[*column] != **value));
        cells.map(move |(column, value)| format!("{id}.{column}={}", shown(value)))
    });
    gone.chain(changed).collect()
}

fn shown(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let utc = || NaiveDateTime::parse_from_str(&text.replace('T', " "), "%Y-%m-%d %H:%M:%S%.f").ok();
    let at = DateTime::parse_from_rfc3339(text).map(DateTime::<Utc>::from).ok().or_else(|| Some(utc()?.and_utc()));
    match at.map(|at| (at - Utc::now()).num_minutes()) {
        // The servers' own time zone is hours away from UTC.
        Some(-9..=9) => "<now>".to_owned(),
        Some(10..) => "<later>".to_owned(),
        _ => text.clone(),
    }
}

/// Runs a verb on jobs to its end; returns the receipt.
pub fn act(user: &User, verb: &str, ids: &[i64], more: &[&str]) -> Value {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    let mut words = vec![verb];
    words.extend(ids.iter().map(String::as_str));
    words.extend(more);
    words.extend(["--yes", "-o", "json"]);
    let ended = user.run(&words);
    // What cannot be done for any of them is known before anything runs.
    if ended.err.contains(": nothing to ") {
        return serde_json::json!({ "planned": 0, "done": 0 });
    }
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{words:?}: {e}: {}{}", ended.out, ended.err))
}

/// Undoes what a receipt tells of; returns the other receipt.
pub fn undo(user: &User, receipt: &Value) -> Value {
    let run = receipt["run"].as_str().expect("a run");
    let ended = user.run(&["undo", run, "--yes", "-o", "json"]);
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{run}: {e}: {}{}", ended.out, ended.err))
}
