//! Rows before and after, so that two ways of putting jobs back can be compared cell by cell.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chrono::{DateTime, NaiveDateTime, Utc};
use regex::{Captures, Regex};
use serde_json::Value;

use crate::harness::{Engine, TestDb};

/// Instants that are so near to now are taken for now. Less than any time zone's offset.
const NEAR_SECONDS: i64 = 600;

/// The cells of some tables, by table, key and column, each as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows(BTreeMap<(String, String, String), String>);

/// What became of cells: by `table[key].column`, the new value, or `gone`. Instants near to now read `<now>`.
pub type Changes = BTreeMap<String, String>;

impl Rows {
    /// Reads all rows of the tables, each named with its key.
    pub async fn read(db: &TestDb, tables: &BTreeMap<String, String>) -> Self {
        let mut cells = BTreeMap::new();
        for (table, key) in tables {
            let whole = whole_row(db, table).await;
            let keys = db.column(&format!("select {key} from {table} as t order by {key}")).await;
            let rows = db.column(&format!("select {whole} from {table} as t order by {key}")).await;
            for (key, row) in keys.iter().zip(rows) {
                let Ok(Value::Object(row)) = serde_json::from_str(&row) else { panic!("{table}: no object: {row}") };
                cells.extend(
                    row.into_iter().map(|(column, value)| ((table.clone(), key.clone(), column), value.to_string())),
                );
            }
        }
        Self(cells)
    }

    /// The cells in which these rows differ from earlier ones.
    pub fn since(&self, before: &Self) -> Changes {
        let name = |(table, key, column): &(String, String, String)| format!("{table}[{key}].{column}");
        let gone =
            before.0.keys().filter(|cell| !self.0.contains_key(*cell)).map(|cell| (name(cell), "gone".to_owned()));
        let changed = self.0.iter().filter(|(cell, value)| before.0.get(*cell) != Some(*value));
        gone.chain(changed.map(|(cell, value)| (name(cell), without_now(value, Utc::now())))).collect()
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
fn changes_name_cells_that_changed_came_or_went() {
    let cells = |rows: &[(&str, &str, &str)]| {
        Rows(
            rows.iter()
                .map(|(key, column, value)| (("t".into(), (*key).into(), (*column).into()), (*value).into()))
                .collect(),
        )
    };
    let before = cells(&[("1", "a", "1"), ("1", "b", "2"), ("2", "a", "1")]);
    let after = cells(&[("1", "a", "1"), ("1", "b", "3"), ("3", "a", "1")]);
    let changes: Vec<_> = after.since(&before).into_iter().collect();
    let told: Vec<_> = changes.iter().map(|(cell, value)| (cell.as_str(), value.as_str())).collect();
    assert_eq!(told, [("t[1].b", "3"), ("t[2].a", "gone"), ("t[3].a", "1")]);
}
