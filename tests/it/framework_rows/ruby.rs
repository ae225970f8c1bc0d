//! What the frameworks of Ruby have in common: rows by any key, locks of other sessions, and words on a channel.

use std::sync::Arc;
use std::time::Duration;

use dlq_tui::db::{Engine as Session, Statement};
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::text::Untrusted;
use dlq_tui::store::sql::Rejected;
use dlq_tui::store::{Store, StoreExt};
use serde_json::Value;
use sqlx::postgres::PgListener;

use super::bench::Rows;
use crate::cli::User;
use crate::harness::TestDb;
use crate::store_desk::budget;

/// Why a table was not taken for a layout.
pub fn reasons(rejected: &Rejected) -> Vec<String> {
    rejected.reasons.iter().map(ToString::to_string).collect()
}

/// Whole rows by their place in the order of a column.
pub async fn by_place(db: &TestDb, table: &str, order: &str) -> Rows {
    let rows = db.column(&format!("select to_jsonb(t)::text from {table} as t order by {order}")).await;
    (0..).zip(rows.iter().map(|row| serde_json::from_str(row).expect("a row"))).collect()
}

/// Runs a verb on jobs to its end; returns the receipt.
pub fn act(user: &User, verb: &str, ids: &[&str], more: &[&str]) -> Value {
    let words: Vec<&str> = [verb].iter().chain(ids).chain(more).chain(&["--yes", "-o", "json"]).copied().collect();
    let ended = user.run(&words);
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{words:?}: {e}: {}{}", ended.out, ended.err))
}

/// How many jobs a receipt has as skipped for a reason.
pub fn skipped(receipt: &Value, reason: &str) -> u64 {
    let all = receipt["skipped"].as_array().into_iter().flatten();
    all.filter(|skip| skip.to_string().contains(reason)).filter_map(|skip| skip["n"].as_u64()).sum()
}

/// What is shown of a job: class, message, and the first line of its backtrace.
pub async fn error(store: &dyn Store, id: &str) -> [Option<String>; 3] {
    let detail = store.detail(&JobId::new(id), &budget()).await.expect("a detail").unwrap_or_else(|| panic!("no {id}"));
    let text = |text: &Option<Untrusted>| text.as_ref().map(|text| text.exact().to_owned());
    let trace = text(&detail.backtrace).map(|trace| match serde_json::from_str::<Vec<String>>(&trace) {
        Ok(lines) => lines[0].clone(),
        Err(_) => trace.lines().next().unwrap_or_default().to_owned(),
    });
    [text(&detail.row.error_class), text(&detail.message), trace]
}

/// What else is shown of a job under a name.
pub async fn more(store: &dyn Store, id: &str, name: &str) -> Option<String> {
    let detail = store.detail(&JobId::new(id), &budget()).await.expect("a detail").unwrap_or_else(|| panic!("no {id}"));
    let value = detail.metadata.into_iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1;
    value.map(|value| value.exact().to_owned())
}

/// Runs a statement in a transaction of another session, which stays open while `then` runs.
pub async fn meanwhile<T>(session: &Arc<Session>, sql: &str, then: impl AsyncFnOnce() -> T) -> T {
    let mut tx = session.begin(&budget()).await.expect("a transaction");
    tx.fetch(&Statement { sql: sql.to_owned(), binds: Vec::new() }).await.expect("rows");
    let result = then().await;
    tx.rollback().await;
    result
}

pub async fn listen(db: &TestDb, channel: &str) -> PgListener {
    let mut listener = PgListener::connect(&db.url).await.expect("a session");
    listener.listen(channel).await.expect("a channel");
    listener
}

/// The next word on the channel.
pub async fn heard(listener: &mut PgListener) -> Value {
    let word =
        tokio::time::timeout(Duration::from_secs(20), listener.recv()).await.expect("a word").expect("a session");
    serde_json::from_str(word.payload()).expect("JSON")
}
