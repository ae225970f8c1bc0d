//! Rows before and after, so that two ways of putting jobs back can be compared cell by cell.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chrono::{DateTime, NaiveDateTime, Utc};
use regex::{Captures, Regex};
use serde_json::Value;

use crate::harness::{Engine, TestDb};

/// Instants that are so near to now are taken for now. Less than any time zone's offset.
const NEAR_SECONDS: i64 = 600;

/// The rows of some tables, by table and key; each column as JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    rows: BTreeMap<(String, String), BTreeMap<String, String>>,
    /// The key column of each table.
    keys: BTreeMap<String, String>,
}

/// What became of rows: `table[key].column` with its new value, `table[key]` that is gone, and of new rows, whose keys say
/// nothing, how many have which content. Instants near to now read `<now>`.
pub type Changes = BTreeMap<String, String>;

impl Rows {
    /// Reads all rows of the tables, each named with its key.
    pub async fn read(db: &TestDb, tables: &BTreeMap<String, String>) -> Self {
        let mut read = Self { keys: tables.clone(), ..Self::default() };
        for (table, key) in tables {
            let whole = whole_row(db, table).await;
            let keys = db.column(&format!("select {key} from {table} as t order by {key}")).await;
            let rows = db.column(&format!("select {whole} from {table} as t order by {key}")).await;
            for (key, row) in keys.into_iter().zip(rows) {
                let Ok(Value::Object(row)) = serde_json::from_str(&row) else { panic!("{table}: no object: {row}") };
                let row = row.into_iter().map(|(column, value)| (column, plain(value).to_string()));
                read.rows.insert((table.clone(), key), row.collect());
            }
        }
        read
    }

    /// In what these rows differ from earlier ones, but for the columns `except`, each named as `table.column`, and keys of
    /// JSON objects in them, as `table.column.key`.
    pub fn since(&self, before: &Self, except: &[&str]) -> Changes {
        let now = Utc::now();
        let mut changes = Changes::new();
        for (table, key) in before.rows.keys().filter(|row| !self.rows.contains_key(*row)) {
            changes.insert(format!("{table}[{key}]"), "gone".to_owned());
        }
        let mut came: BTreeMap<String, usize> = BTreeMap::new();
        for ((table, key), row) in &self.rows {
            let meant = |row: &BTreeMap<String, String>| {
                let cells = row.iter().filter_map(|(column, value)| {
                    let value = without(&format!("{table}.{column}"), value, except)?;
                    Some((column.clone(), value))
                });
                cells.collect::<BTreeMap<_, _>>()
            };
            let mut row = meant(row);
            let Some(earlier) = before.rows.get(&(table.clone(), key.clone())).map(meant) else {
                self.keys.get(table).and_then(|key| row.remove(key));
                let cells: Vec<String> =
                    row.iter().map(|(column, value)| format!("{column}: {}", without_now(value, now))).collect();
                *came.entry(format!("{table}[new] {{{}}}", cells.join(", "))).or_default() += 1;
                continue;
            };
            for (column, value) in row.iter().filter(|(column, value)| earlier.get(*column) != Some(*value)) {
                changes.insert(format!("{table}[{key}].{column}"), without_now(value, now));
            }
        }
        changes.extend(came.into_iter().map(|(row, n)| (row, format!("{n} of them"))));
        changes
    }
}

/// The value of a column without what is named; nothing where all of it is.
fn without(column: &str, value: &str, except: &[&str]) -> Option<String> {
    if except.contains(&column) {
        return None;
    }
    let keys: Vec<&str> = except.iter().filter_map(|name| name.strip_prefix(column)?.strip_prefix('.')).collect();
    match serde_json::from_str(value) {
        Ok(Value::Object(mut object)) if !keys.is_empty() => {
            object.retain(|key, _| !keys.contains(&key.as_str()));
            Some(Value::Object(object).to_string())
        }
        _ => Some(value.to_owned()),
    }
}

/// The value; text that holds a JSON document as that document, because there are many ways to write the same.
fn plain(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with(['{', '[']) => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        other => other,
    }
}

/// An expression that makes one JSON object of a row `t`.
async fn whole_row(db: &TestDb, table: &str) -> String {
    let columns = match db.engine {
        Engine::Postgres => return "to_jsonb(t)".to_owned(),
        Engine::Mysql => {
            let named = "select column_name from information_schema.columns where table_schema = database()";
            db.column(&format!("{named} and table_name = '{table}'")).await
        }
        Engine::Sqlite => db.column(&format!("select name from pragma_table_info('{table}')")).await,
    };
    let cells: Vec<String> = columns.iter().map(|column| format!("'{column}', t.{column}")).collect();
    format!("json_object({})", cells.join(", "))
}

/// The text with `<now>` for each instant, written out or as Unix seconds, that is near to now.
fn without_now(text: &str, now: DateTime<Utc>) -> String {
    static INSTANT: OnceLock<Regex> = OnceLock::new();
    let instant = INSTANT.get_or_init(|| {
        let written = r"(?<day>\d{4}-\d\d-\d\d)[ T](?<time>\d\d:\d\d:\d\d)(?:\.\d+)?(?<zone>Z|[+-]\d\d(?::?\d\d)?)?";
        Regex::new(&format!(r"\b(?:{written}|(?<unix>1\d{{9}}))\b")).expect("a regex")
    });
    let replaced = instant.replace_all(text, |found: &Captures<'_>| {
        let near = seconds(found).is_some_and(|seconds| (seconds - now.timestamp()).abs() < NEAR_SECONDS);
        if near { "<now>".to_owned() } else { found[0].to_owned() }
    });
    replaced.into_owned()
}

fn seconds(found: &Captures<'_>) -> Option<i64> {
    if let Some(unix) = found.name("unix") {
        return unix.as_str().parse().ok();
    }
    let written = format!("{} {}", &found["day"], &found["time"]);
    let utc = NaiveDateTime::parse_from_str(&written, "%Y-%m-%d %H:%M:%S").ok()?.and_utc().timestamp();
    let zone = found.name("zone").map_or("", |zone| zone.as_str()).replace(':', "");
    let offset = match zone.as_str() {
        "" | "Z" => 0,
        _ => {
            let minutes = |at| zone.get(at).and_then(|digits: &str| digits.parse::<i64>().ok());
            let east = minutes(1..3)? * 3_600 + minutes(3..5).unwrap_or(0) * 60;
            if zone.starts_with('-') { -east } else { east }
        }
    };
    Some(utc - offset)
}

#[test]
fn instants_near_to_now_are_one_whatever_their_form_and_others_stay() {
    let now = DateTime::from_timestamp(1_700_000_000, 0).expect("an instant");
    let same = [
        "2023-11-14T22:13:20.123456+00:00",
        "2023-11-14 22:13:50",
        "2023-11-15T03:58:20+05:45",
        "2023-11-14T22:10:20Z",
        "1700000100",
    ];
    for text in same {
        assert_eq!(without_now(text, now), "<now>", "{text}");
    }
    for text in ["2023-11-14T21:13:20+00:00", "2023-11-15 03:58:20", "1700003600", "17000000001", "v1700000000"] {
        assert_eq!(without_now(text, now), text);
    }
    assert_eq!(without_now("{\"at\":1700000001,\"n\":1}", now), "{\"at\":<now>,\"n\":1}");
}

#[test]
fn changes_name_cells_that_changed_rows_that_went_and_the_content_of_those_that_came() {
    let rows = |rows: &[(&str, &[(&str, &str)])]| {
        let cells =
            |row: &[(&str, &str)]| row.iter().map(|(column, value)| ((*column).into(), (*value).into())).collect();
        let rows = rows.iter().map(|(key, row)| (("t".to_owned(), (*key).to_owned()), cells(row))).collect();
        Rows { rows, keys: [("t".to_owned(), "id".to_owned())].into() }
    };
    let before = rows(&[("1", &[("id", "1"), ("a", "1"), ("b", "2")]), ("2", &[("id", "2"), ("a", "1")])]);
    let one: &[_] = &[("id", "1"), ("a", "1"), ("b", "3")];
    let after = rows(&[("1", one), ("3", &[("id", "3"), ("a", "9")]), ("4", &[("id", "4"), ("a", "{\"k\":1}")])]);
    let told =
        |changes: Changes| changes.into_iter().map(|(cell, value)| format!("{cell}: {value}")).collect::<Vec<_>>();
    assert_eq!(
        told(after.since(&before, &[])),
        ["t[1].b: 3", "t[2]: gone", "t[new] {a: 9}: 1 of them", "t[new] {a: {\"k\":1}}: 1 of them"]
    );
    let without_key = told(after.since(&before, &["t.b", "t.a.k"]));
    assert_eq!(without_key, ["t[2]: gone", "t[new] {a: 9}: 1 of them", "t[new] {a: {}}: 1 of them"]);
    assert_eq!(told(after.since(&before, &["t.b", "t.a"])), ["t[2]: gone", "t[new] {}: 2 of them"]);
}
