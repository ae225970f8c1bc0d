//! Servers and tables that would let jobs be lost without a word.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::store::{Availability, Cursor, Sort, Store};

use crate::fixtures::Layout;
use crate::harness;
use crate::store_desk::*;

async fn ids(store: &dyn Store) -> Vec<JobId> {
    let all = exhaust(store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
    all.into_iter().map(|e| e.row.id).collect()
}

#[tokio::test]
async fn a_payload_that_does_not_fit_is_refused_on_a_server_that_would_cut_it_off() {
    // Its own: the mode is for every session of the server.
    let Some(server) = harness::private_mariadb() else { return };
    for (n, mode) in ["", "ORACLE,ANSI_QUOTES,NO_BACKSLASH_ESCAPES"].iter().enumerate() {
        let db = server.database(&format!("lax_{n}")).await;
        Layout::JobsDlq.seed(&db, 5).await;
        db.execute("alter table jobs modify payload varchar(40)").await;
        db.execute("update jobs_dlq set payload = '{\"class\":\"Fits\"}'").await;
        let long = format!("{{\"class\":\"{}\"}}", "x".repeat(100));
        db.execute(&format!("update jobs_dlq set payload = '{long}' order by id limit 1")).await;
        db.execute(&format!("set global sql_mode = '{mode}'")).await;
        let store = store(&db, Layout::JobsDlq).await;
        let all = ids(&store).await;
        let results = apply(&store, batch(Action::Replay, all.clone())).await;
        assert_eq!(results.values().filter(|r| **r == JobResult::Done).count(), 4, "{mode}: {results:?}");
        assert_eq!((db.count("jobs").await, db.scalar("select payload from jobs_dlq").await), (4, long));
    }
}

#[tokio::test]
async fn nothing_is_written_to_tables_without_transactions() {
    let Some(server) = harness::mariadb() else { return };
    for table in ["jobs_dlq", "jobs"] {
        let db = server.database(&format!("myisam_{table}")).await;
        Layout::JobsDlq.seed(&db, 5).await;
        db.execute(&format!("alter table {table} engine = MyISAM")).await;
        let store = store(&db, Layout::JobsDlq).await;
        assert_eq!(ids(&store).await.len(), 5, "it can still be read");
        let Availability::Disabled(why) = store.info().availability(Action::Replay) else { panic!("not disabled") };
        assert!(why.contains(&format!("{table} is a MyISAM table")), "{why}");
        let applied = store.apply(batch(Action::Replay, ids(&store).await), &budget()).await;
        assert!(applied.broke.is_some() && applied.outcomes.is_empty());
    }
    let db = server.database("myisam_target").await;
    Layout::DeadLetterJobs.seed(&db, 5).await;
    db.execute("alter table jobs engine = MyISAM").await;
    let to_table = store_to(&db, Layout::DeadLetterJobs, ReplayDestination::Table("jobs".to_owned())).await;
    assert!(matches!(to_table.info().availability(Action::Replay), Availability::Disabled(_)));
    assert!(matches!(to_table.info().availability(Action::Ignore), Availability::Ready { .. }));
}
