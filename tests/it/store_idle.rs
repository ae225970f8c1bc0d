//! Looks at databases that nobody writes to, and what ends the calm.

use std::time::Duration;

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::store::sql::SqlStore;
use dlq_tui::store::{Changes, Cursor, PageQuery, ScanMode, Store, Token};
use sqlx::{Connection, Executor, MySqlConnection};

use crate::fixtures::Layout;
use crate::fixtures::sql::ago;
use crate::harness::{self, TestDb};
use crate::store_desk::*;

async fn look(store: &SqlStore, since: &Token) -> Changes {
    store.changes(Some(since), Facet::Error, &Filter::all(), &budget()).await.expect("a look")
}

/// A server that writes nothing by itself, as one does that takes its statistics anew some seconds behind a change.
fn calm_mariadb() -> Option<harness::Server> {
    harness::guarded_mariadb(&["--innodb-stats-auto-recalc=0"])
}

/// Looks until one finds that nothing changed, as a server tidies up for a while behind what was written.
async fn calm(store: &SqlStore, mut since: Token) -> Token {
    for _ in 0..100 {
        let changes = look(store, &since).await;
        if !changes.changed {
            assert!(changes.cells.is_empty(), "nothing is counted: {changes:?}");
            return changes.token;
        }
        since = changes.token;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("looks find changes where nobody writes")
}

/// Jobs of the last seconds that a look counts.
fn counted(changes: &Changes) -> u64 {
    changes.cells.iter().filter(|cell| cell.bucket >= changes.from_bucket).map(|cell| cell.n).sum()
}

/// Makes the newest `n` jobs die just now.
fn dying(db: &TestDb, n: u32) -> String {
    format!(
        "update dead_letter_jobs set failed_at = {} where id in (select id from (select id from dead_letter_jobs where \
         status = 'failed' order by failed_at desc limit {n}) as newest)",
        ago(db.engine, 1)
    )
}

#[tokio::test]
async fn nothing_is_counted_where_nobody_writes_and_a_commit_ends_that() {
    let server = harness::private_mariadb();
    let mut dbs = vec![harness::sqlite("idle").await];
    if let Some(server) = &server {
        dbs.push(server.database("idle").await);
    }
    for db in dbs {
        Layout::DeadLetterJobs.seed(&db, 300).await;
        db.execute(&dying(&db, 5)).await;
        let store = store(&db, Layout::DeadLetterJobs).await;
        let begun = histogram(&store, Facet::Error, &Filter::all()).await.token.expect("a token");
        let quiet = calm(&store, begun).await;

        db.execute(&dying(&db, 7)).await;
        let changes = look(&store, &quiet).await;
        assert_eq!((changes.changed, counted(&changes)), (true, 7), "what others commit");

        let quiet = calm(&store, changes.token).await;
        let newest = store
            .scan(PageQuery::cohort(&Filter::all(), Cursor::Start), ScanMode::Cohort, &budget())
            .await
            .expect("a step")
            .entries
            .swap_remove(0)
            .row
            .id;
        let applied = apply(&store, batch(Action::Ignore, [newest])).await;
        assert!(applied.values().all(|result| *result == JobResult::Done), "{applied:?}");
        let changes = look(&store, &quiet).await;
        assert_eq!((changes.changed, counted(&changes)), (true, 6), "what we commit ourselves");
    }
}

#[tokio::test]
async fn it_makes_no_difference_which_connection_to_a_file_looks() {
    let db = harness::sqlite("either").await;
    Layout::DeadLetterJobs.seed(&db, 300).await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    let begun = histogram(&store, Facet::Error, &Filter::all()).await.token.expect("a token");
    let mut since = calm(&store, begun).await;
    let mut changed = 0;
    for nth in 0..20 {
        // Both connections are taken, each by one of the two.
        let (one, other) = tokio::join!(look(&store, &since), look(&store, &since));
        let seen = if nth % 2 == 0 { one } else { other };
        changed += u32::from(seen.changed);
        since = seen.token;
    }
    assert!(changed <= 1, "{changed} looks of 20 found changes where nobody writes");

    db.execute(&dying(&db, 7)).await;
    let (one, other) = tokio::join!(look(&store, &since), look(&store, &since));
    assert_eq!((one.changed, other.changed), (true, true), "what others commit");
    let again = look(&store, &one.token).await;
    assert_eq!(counted(&again), if again.changed { 7 } else { 0 });
}

#[tokio::test]
async fn a_commit_is_seen_that_comes_long_after_what_it_wrote() {
    let Some(server) = harness::private_mariadb() else { return };
    let db = server.database("late").await;
    Layout::DeadLetterJobs.seed(&db, 300).await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    let begun = histogram(&store, Facet::Error, &Filter::all()).await.token.expect("a token");
    let mut late = MySqlConnection::connect(&db.url).await.expect("a session");
    late.execute(sqlx::AssertSqlSafe(format!("start transaction; {}", dying(&db, 4)))).await.expect("an update");
    let quiet = calm(&store, begun).await;
    late.execute("commit").await.expect("a commit");
    let changes = look(&store, &quiet).await;
    assert_eq!((changes.changed, counted(&changes)), (true, 4));
}

#[tokio::test]
async fn a_change_is_counted_once_more_as_its_number_comes_before_it_is_seen() {
    let Some(server) = calm_mariadb() else { return };
    let db = server.database("twice").await;
    Layout::DeadLetterJobs.seed(&db, 300).await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    let begun = histogram(&store, Facet::Error, &Filter::all()).await.token.expect("a token");
    let quiet = calm(&store, begun).await;
    db.execute(&dying(&db, 7)).await;
    let mut since = look(&store, &quiet).await.token;
    let mut read = Vec::new();
    for _ in 0..3 {
        let before = rows_read(&db).await;
        let changes = look(&store, &since).await;
        assert!(!changes.changed && changes.cells.is_empty(), "{changes:?}");
        read.push(rows_read(&db).await > before);
        since = changes.token;
    }
    assert_eq!(read, [true, false, false]);
}

#[tokio::test]
async fn what_a_server_clears_up_behind_others_is_no_change() {
    let Some(server) = calm_mariadb() else { return };
    let db = server.database("clearing").await;
    Layout::DeadLetterJobs.seed(&db, 300).await;
    // Who still sees what was deleted keeps it from being cleared up.
    let mut reader = MySqlConnection::connect(&db.url).await.expect("a session");
    reader.execute("start transaction with consistent snapshot").await.expect("a snapshot");
    db.execute("create table scratch as select seq from seq_1_to_3000; delete from scratch").await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    let begun = histogram(&store, Facet::Error, &Filter::all()).await.token.expect("a token");
    let mut since = look(&store, &begun).await.token;
    let log = "select variable_value from information_schema.global_status where variable_name = 'INNODB_LSN_CURRENT'";
    let before = db.scalar(log).await;
    reader.execute("commit").await.expect("a commit");
    let mut moved = false;
    for _ in 0..100 {
        let changes = look(&store, &since).await;
        assert!(!changes.changed, "nobody has committed anything");
        since = changes.token;
        moved = db.scalar(log).await != before;
        if moved {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(moved, "the server has cleared up nothing");
    assert!(!look(&store, &since).await.changed, "nobody has committed anything");
}
