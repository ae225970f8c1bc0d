//! Oban for Python: rows that version 0.7.0 wrote on Python 3.11, with the names of folders and modules made short, and rows
//! of our own for what is rare.

use serde_json::{Map, Value};

use super::bench::{act, assert_error, changes, checked, detail, fixture, literal, rows, undo, whole};
use crate::cli::User;
use crate::harness::{Engine, TestDb, postgres};

async fn seed(name: &str) -> Option<(TestDb, Vec<Map<String, Value>>)> {
    let db = postgres()?.database(name).await;
    let rows = seed_into(&db).await;
    Some((db, rows))
}

pub async fn seed_into(db: &TestDb) -> Vec<Map<String, Value>> {
    db.execute(&fixture("oban/python.sql")).await;
    let rows = rows("oban/python_rows.json");
    let insert = |row: &Map<String, Value>| {
        let value = |(column, value): (&String, &Value)| match column.as_str() {
            "tags" | "attempted_by" => {
                format!("ARRAY(SELECT jsonb_array_elements_text({}::jsonb))", literal(Engine::Postgres, value))
            }
            _ => literal(Engine::Postgres, value),
        };
        let cells = || row.iter().filter(|(column, _)| *column != "expect");
        let columns: Vec<&str> = cells().map(|(column, _)| column.as_str()).collect();
        let values: Vec<String> = cells().map(value).collect();
        format!(
            "INSERT INTO oban_jobs ({}) OVERRIDING SYSTEM VALUE VALUES ({});",
            columns.join(", "),
            values.join(", ")
        )
    };
    db.execute(&rows.iter().map(insert).collect::<String>()).await;
    rows
}

#[tokio::test]
async fn every_traceback_is_cut_at_its_last_exception() {
    let Some((db, rows)) = seed("oban_py_errors").await else { return };
    let (store, missing) = checked(&db, "oban").await;
    assert!(missing.is_empty(), "{missing:?}");
    for row in rows.iter().filter(|row| row.contains_key("expect")) {
        let id = row["id"].as_i64().expect("a key");
        let detail = detail(&store, id).await;
        assert_error(&id.to_string(), &detail, row, |stack| stack.lines().last());
        assert_eq!(detail.row.worker.map(|worker| worker.exact().to_owned()).as_deref(), Some("worker-eu-1"), "{id}");
    }
}

/// What `Oban.retry_many_jobs` of 0.7.0 left of these very rows when it was tried.
const RETRIED: [&str; 18] = [
    "1.discarded_at=null",
    "1.max_attempts=2",
    r#"1.meta={"uniq_bmp":[]}"#,
    "1.scheduled_at=<now>",
    "1.state=available",
    "2.discarded_at=null",
    "2.max_attempts=3",
    r#"2.meta={"trace":"abc","uniq_bmp":[]}"#,
    "2.scheduled_at=<now>",
    "2.state=available",
    "9.cancelled_at=null",
    "9.max_attempts=2",
    r#"9.meta={"uniq_bmp":[]}"#,
    "9.scheduled_at=<now>",
    "9.state=available",
    "13.max_attempts=2",
    r#"13.meta={"uniq_bmp":[]}"#,
    "13.scheduled_at=<now>",
];

#[tokio::test]
async fn a_replay_leaves_what_its_own_retry_leaves_and_is_undone() {
    let Some((db, _)) = seed("oban_py_replay").await else { return };
    let user = User::of(&db);
    let before = whole(&db, "oban_jobs").await;
    let receipt = act(&user, "replay", &[1, 2, 9, 13], &[]);
    assert_eq!(receipt["done"], 4, "{receipt}");
    let mut changed = changes(&before, &whole(&db, "oban_jobs").await);
    let mut expected = RETRIED;
    changed.sort();
    expected.sort_unstable();
    assert_eq!(changed, expected);
    assert_eq!(undo(&user, &receipt)["done"], 3, "what waited before is left waiting");
    let left = changes(&before, &whole(&db, "oban_jobs").await);
    assert!(left.iter().all(|cell| cell.starts_with("13.")), "{left:?}");
}

#[tokio::test]
async fn all_tries_anew_later_and_in_another_queue() {
    let Some((db, _)) = seed("oban_py_options").await else { return };
    let user = User::of(&db);
    let before = whole(&db, "oban_jobs").await;
    let receipt = act(&user, "replay", &[2, 11], &["--attempts", "reset", "--to-queue", "low", "--spread", "10h"]);
    assert_eq!(receipt["done"], 2, "{receipt}");
    let cells = "select concat_ws(' ', attempt, max_attempts, queue, meta->'uniq_bmp') from oban_jobs where id in (2, 11) order by id";
    assert_eq!(db.column(cells).await, ["0 2 low []", "0 20 low []"]);
    let late = "oban_jobs where state = 'scheduled' and scheduled_at > timezone('UTC', now()) + interval '10 minutes'";
    assert_ne!(db.count(late).await, 0);
    assert_eq!(undo(&user, &receipt)["done"], 2);
    assert_eq!(whole(&db, "oban_jobs").await, before);

    // A run makes one attempt of none, as before, and the rescue of a lost worker sets the state alone.
    let receipt = act(&user, "replay", &[1, 3], &["--attempts", "reset"]);
    db.execute("update oban_jobs set attempt = 1, attempted_at = '2026-11-22 09:00:00' where id = 1").await;
    assert_eq!(undo(&user, &receipt)["done"], 1);
    let states = db.column("select state::text from oban_jobs where id in (1, 3) order by id").await;
    assert_eq!(states, ["available", "discarded"]);
}
