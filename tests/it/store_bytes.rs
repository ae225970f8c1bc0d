//! Values that cannot be what they were: bytes that are no text, and text that does not fit any more.

use std::sync::{Arc, Mutex};

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::store::{Batch, Cursor, Deliver, Message, Sort, StoreExt};
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::ActionScope;
use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::harness::{self, Engine};
use crate::run::{desk, go, plan};
use crate::store_desk::*;

/// Accepts every job and remembers what it was given.
#[derive(Default)]
struct Eager(Mutex<Vec<Message>>);

impl Deliver for Eager {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        self.0.lock().expect("a lock").extend(batch.iter().cloned());
        Box::pin(async move { batch.into_iter().map(|m| (m.id, Ok(()))).collect() })
    }
}

#[tokio::test]
async fn arguments_that_are_not_utf8_are_not_replayed_as_others() {
    for db in harness::every_engine("bytes").await {
        let name = db.engine.name();
        let blob = match db.engine {
            // Text is UTF-8 there.
            Engine::Postgres => continue,
            Engine::Mysql => "alter table dead_letter_jobs modify arguments longblob not null; ",
            Engine::Sqlite => "",
        };
        for to_command in [false, true] {
            Layout::DeadLetterJobs.seed(&db, 20).await;
            db.execute(&format!(
                "{blob}update dead_letter_jobs set arguments = x'5B22636166E9225D' where id = (select * from \
                 (select min(id) from dead_letter_jobs where status = 'failed') as x)"
            ))
            .await;
            let destination = match to_command {
                true => ReplayDestination::Command("bin/replay".to_owned()),
                false => ReplayDestination::Table("jobs".to_owned()),
            };
            let store = store_to(&db, Layout::DeadLetterJobs, destination).await;
            let odd = db.scalar("select min(id) from dead_letter_jobs where status = 'failed'").await;
            let shown = store.detail(&JobId::new(odd.as_str()), &budget()).await.expect("an answer").expect("the job");
            let shown = shown.arguments.map(|arguments| arguments.exact().to_owned());
            assert_eq!(shown.as_deref(), Some("[\"caf⟨xE9⟩\"]"), "{name}");
            let rows = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
            let ids: Vec<JobId> = rows.into_iter().map(|row| row.row.id).collect();
            let eager = Arc::new(Eager::default());
            let replay = Batch { deliver: Some(eager.clone()), ..batch(Action::Replay, ids.clone()) };
            let results = apply(&store, replay).await;
            for (id, result) in &results {
                match result {
                    JobResult::Done => assert_ne!(id.as_str(), odd, "{name}"),
                    JobResult::Failed(why) => {
                        assert_eq!(
                            (id.as_str(), why.exact().contains("is not UTF-8")),
                            (&*odd, true),
                            "{name}: {why:?}"
                        );
                    }
                    other => panic!("{name}: {other:?}"),
                }
            }
            let sent = eager.0.lock().expect("a lock").len() as u64;
            assert_eq!(sent + db.count("jobs").await, ids.len() as u64 - 1, "{name}");
            let left = db.scalar(&format!("select status from dead_letter_jobs where id = '{odd}'")).await;
            assert_eq!(left, "failed", "{name}");
            let shelf = Arc::new(Shelf::default());
            let discard = Batch { journal: Some(shelf.clone()), ..batch(Action::Discard, [JobId::new(odd)]) };
            apply(&store, discard).await;
            let kept = shelf.rows.lock().expect("a lock").pop().expect("a copy").1;
            assert!(kept.contains("5B22636166E9225D"), "{name}: {kept}");
            db.execute("drop table jobs; drop table dead_letter_jobs").await;
        }
    }
}

#[tokio::test]
async fn text_that_does_not_fit_any_more_is_not_put_back_in_part() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("narrowed").await;
    Layout::JobsDlq.seed(&db, 6).await;
    db.execute(
        "create domain word as varchar(12); alter table jobs_dlq add note varchar(12) default 'short', \
         add codes varchar(12)[] default '{short}', add bits bit(4) default b'1010', add fixed char(12) default 'short', \
         add said word default 'short'; \
         update jobs_dlq set note = 'longer note' where id = (select min(id) from jobs_dlq); \
         update jobs_dlq set codes = '{longer note}' where id = (select min(id) + 1 from jobs_dlq); \
         update jobs_dlq set fixed = 'longer note' where id = (select min(id) + 2 from jobs_dlq)",
    )
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let desk = desk(&db.url, Layout::JobsDlq.table()).await;
    let run = plan(&desk, &ledger, "", Action::Discard).await.run;
    let all = go(&desk, &ledger, &run).await.run.tally.done;
    db.execute(
        "alter table jobs_dlq alter note type varchar(6), alter codes type varchar(6)[], alter fixed type char(6)",
    )
    .await;
    let undo = async || {
        let ask = Ask::new(ActionScope::Undo(run.clone(), Vec::new()), Action::Restore, Timestamp::now());
        let plan = freeze(&desk, &ledger, ask, &budget(), |_| {}).await.expect("a plan");
        go(&desk, &ledger, &plan.run).await.run.tally
    };
    let tally = undo().await;
    assert_eq!((tally.done, tally.failed_total()), (all - 3, 3), "{tally:?}");
    assert!(tally.failed.iter().all(|(why, _)| why.exact().contains("too long")), "{tally:?}");
    db.execute(
        "alter table jobs_dlq alter note type varchar(12), alter codes type varchar(12)[], alter fixed type char(12)",
    )
    .await;
    assert_eq!(undo().await.done, 3);
    for (column, value) in
        [("note", "longer note"), ("codes[1]", "longer note"), ("bits::text", "1010"), ("said", "short")]
    {
        let there = db.count(&format!("jobs_dlq where {column} = '{value}'")).await;
        assert!(there > 0, "{column}");
    }
    assert_eq!(db.count("jobs_dlq where fixed = 'longer note'").await, 1);
}

#[tokio::test]
async fn a_database_without_an_encoding_is_read_whole_and_given_back_its_bytes() {
    let Some(server) = harness::postgres() else { return };
    let home = server.database("plain").await;
    let name = format!("{}_bytes", home.name());
    home.execute(&format!(
        "create database {name} template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'"
    ))
    .await;
    let db = server.named(&name).await;
    Layout::JobsDlq.install(&db).await;
    db.execute(
        "insert into jobs_dlq (payload, attempts, error_class, error_msg, failed_at) values \
         ('{\"class\":\"A\"}', 1, E'caf\\xe9', E'\\xff odd', now()), ('{\"class\":\"A\"}', 1, 'café', 'plain', now()), \
         ('{\"class\":\"A\"}', 1, 'caf⟨xE9⟩', 'as the first is shown', now())",
    )
    .await;
    let stored =
        "select encode(error_class::bytea, 'hex') || encode(error_msg::bytea, 'hex') from jobs_dlq order by id";
    let before = db.column(stored).await;
    {
        let store = store(&db, Layout::JobsDlq).await;
        let found = async |text: &str| {
            let rows = exhaust(&store, &filter(text), Sort::default(), Cursor::Start, 2).await;
            rows.into_iter().map(|entry| entry.row.id.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("").await, ["3", "2", "1"]);
        assert_eq!(found("error:caf*").await.len(), 3);
        assert_eq!((found("error:café").await, found("error:caf⟨xE9⟩").await), (vec!["2".into()], vec!["3".into()]));
        assert_eq!(histogram(&store, Facet::Error, &Filter::all()).await.histogram.total.n, 3);
        let odd = store.detail(&JobId::new("1"), &budget()).await.expect("an answer").expect("the job");
        assert_eq!(odd.row.error_class.map(|class| class.exact().to_owned()).as_deref(), Some("caf⟨xE9⟩"));

        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = desk(&db.url, Layout::JobsDlq.table()).await;
        for action in [Action::Discard, Action::Replay] {
            let run = plan(&desk, &ledger, "", action).await.run;
            assert_eq!(go(&desk, &ledger, &run).await.run.tally.done, 3, "{action:?}");
            assert_eq!(db.count("jobs_dlq").await, 0, "{action:?}");
            let back = if action == Action::Discard { Action::Restore } else { Action::Recall };
            let ask = Ask::new(ActionScope::Undo(run, Vec::new()), back, Timestamp::now());
            let plan = freeze(&desk, &ledger, ask, &budget(), |_| {}).await.expect("a plan");
            assert_eq!(go(&desk, &ledger, &plan.run).await.run.tally.done, 3, "{action:?}");
            assert_eq!(db.column(stored).await, before, "{action:?}");
        }
    }
    home.execute(&format!("drop database {name} with (force)")).await;
}

#[tokio::test]
async fn a_word_that_a_column_cannot_hold_is_found_nowhere_and_is_no_error() {
    let Some(server) = harness::mariadb() else { return };
    for charset in ["ascii", "latin1", "utf8mb3"] {
        let db = server.database(charset).await;
        Layout::JobsDlq.install(&db).await;
        let word = if charset == "ascii" { "cafe" } else { "café" };
        db.execute(&format!(
            "alter table jobs_dlq convert to character set {charset}; insert into jobs_dlq \
             (payload, attempts, error_class, error_msg, failed_by, failed_at) values \
             ('{{\"class\":\"A\",\"queue\":\"q\"}}', 1, '{word}', '{word} is closed', 'w', '2026-11-18 09:00:00')"
        ))
        .await;
        let store = store(&db, Layout::JobsDlq).await;
        let found = async |text: &str| {
            let rows = exhaust(&store, &filter(text), Sort::default(), Cursor::Start, 9).await;
            let counted = histogram(&store, Facet::Error, &filter(text)).await.histogram.total.n;
            assert_eq!(rows.len() as u64, counted, "{charset}: {text}");
            counted
        };
        for key in ["error", "class", "queue", "msg", "worker"] {
            for absent in ["💥", "日本", "\"caf💥\"", "💥*", "/💥/"] {
                assert_eq!(found(&format!("{key}:{absent}")).await, 0, "{charset}: {key}:{absent}");
                assert_eq!(found(&format!("-{key}:{absent}")).await, 1, "{charset}: -{key}:{absent}");
            }
        }
        assert_eq!((found(&format!("error:{word}")).await, found("error:CAFE error:Café error:💥").await), (1, 0));
        assert_eq!(found(&format!("error:{word} error:💥")).await, 1, "{charset}");
        assert_eq!((found("💥").await, found(word).await), (0, 1), "{charset}");
    }
}
