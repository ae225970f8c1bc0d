//! River: its table, with rows of our own in the form that River 0.43 writes.

use std::collections::BTreeMap;
use std::time::Duration;

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::{GoneMeaning, ReplayOutcome};
use dlq_tui::domain::text::Untrusted;
use dlq_tui::store::{Cursor, RunTime, Sort, Store};
use serde_json::json;

use super::bench::{act, changes, checked, detail, detection, fixture, undo, whole};
use crate::cli::User;
use crate::harness::{TestDb, postgres};
use crate::store_desk::{apply, bars, batch, budget, exhaust, filter, histogram};

/// Why a job with a live twin is refused.
const TWIN: &str = "another job with its unique key is waiting, running or done";

pub async fn seed(name: &str) -> Option<TestDb> {
    let db = postgres()?.database(name).await;
    db.execute(&fixture("river/postgres.sql")).await;
    db.execute(&fixture("river/rows.sql")).await;
    Some(db)
}

fn word(result: &JobResult) -> String {
    match result {
        JobResult::Skipped(reason) => reason.word().to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn it_is_found_in_any_schema_and_not_by_its_name_alone() {
    let Some(server) = postgres() else { return };
    let db = server.database("river_found").await;
    let table = fixture("river/postgres.sql");
    for schema in ["jobs", "older", "bare", "oldest"] {
        db.execute(&format!("create schema {schema}; set search_path to {schema}; {table}")).await;
    }
    db.execute("drop index older.river_job_unique_idx; drop function older.river_job_state_in_bitmask").await;
    db.execute("drop index bare.river_job_unique_idx; drop function bare.river_job_state_in_bitmask").await;
    db.execute("alter table older.river_job drop column unique_states").await;
    db.execute("drop index oldest.river_job_unique_idx; drop function oldest.river_job_state_in_bitmask").await;
    db.execute("alter table oldest.river_job drop column unique_states, drop column unique_key").await;
    db.execute("create schema other; create table other.river_job (id bigint, kind text, state text)").await;
    let detection = detection(&db).await;
    let found: BTreeMap<&str, &str> = detection.found.iter().map(|f| (f.schema.as_str(), f.title.as_str())).collect();
    let [states, keys] = ["River, before unique states", "River, before unique keys"];
    assert_eq!(found, BTreeMap::from([("bare", "River"), ("jobs", "River"), ("older", states), ("oldest", keys)]));
    let other = detection.rejected.iter().find(|r| r.schema == "other").expect("a reason");
    assert!(!other.reasons.is_empty(), "{other:?}");
}

#[tokio::test]
async fn errors_have_a_message_and_what_stands_for_a_class_and_only_panics_a_trace() {
    let Some(db) = seed("river_errors").await else { return };
    let (store, missing) = checked(&db, "river").await;
    assert!(missing.is_empty(), "{missing:?}");
    type Shown = (i64, Option<&'static str>, Option<&'static str>, Option<&'static str>);
    let expected: [Shown; 8] = [
        (
            1,
            Some("card # declined:"),
            Some("card 4711 declined:\ninsufficient funds"),
            Some("web-2_2026_11_02T03_05_05_000000"),
        ),
        (
            2,
            Some("runtime error: index out of range [#] with length #"),
            Some("runtime error: index out of range [5] with length 2"),
            Some("web-1_2026_11_02T03_04_05_000000"),
        ),
        (
            3,
            Some("Stuck job rescued by JobRescuer"),
            Some("Stuck job rescued by JobRescuer"),
            Some("web-1_2026_11_02T03_04_05_000000"),
        ),
        (
            4,
            Some("JobCancelError"),
            Some("JobCancelError: order was deleted"),
            Some("web-1_2026_11_02T03_04_05_000000"),
        ),
        (5, None, None, None),
        (
            6,
            Some("Post \"…\": context deadline exceeded"),
            Some("Post \"https://mail.example/send/17\": context deadline exceeded"),
            Some("web-1_2026_11_02T03_04_05_000000"),
        ),
        (7, None, None, None),
        (9, None, Some(""), Some("web-1_2026_11_02T03_04_05_000000")),
    ];
    for (id, class, message, worker) in expected {
        let detail = detail(&store, id).await;
        let text = |text: &Option<Untrusted>| text.as_ref().map(|text| text.exact().to_owned());
        assert_eq!(text(&detail.row.error_class).as_deref(), class, "{id}");
        assert_eq!(text(&detail.message).as_deref(), message, "{id}");
        assert_eq!(text(&detail.row.worker).as_deref(), worker, "{id}");
        let stack = text(&detail.backtrace);
        assert_eq!(
            stack.as_deref().and_then(|stack| stack.lines().next()),
            (id == 2).then_some("main.(*SortWorker).Work"),
            "{id}"
        );
    }
    let first = detail(&store, 1).await.row;
    let text = |text: &Option<Untrusted>| text.as_ref().map(|text| text.exact().to_owned());
    assert_eq!([text(&first.job_class), text(&first.queue)], ["charge_card", "billing"].map(|t| Some(t.to_owned())));
    assert_eq!((first.attempts, first.max_attempts), (Some(3), Some(3)));
    let store = &store;
    let at = |id: i64| async move { detail(store, id).await.row.at.expect("a time").to_rfc3339() };
    assert!(at(1).await.starts_with("2026-11-03T09:00:01.250001"), "{}", at(1).await);
    assert!(at(8).await.starts_with("2026-11-02T03:04:05"), "it has not begun: {}", at(8).await);
    let by_reason = bars(&histogram(store, Facet::Reason, &Filter::all()).await.histogram);
    assert_eq!(by_reason[&Some("scheduler_discarded".to_owned())], 1);
    for text in ["", "-msg:/never seen/"] {
        let dead = exhaust(store, &filter(text), Sort::default(), Cursor::Start, 3).await;
        let ids: Vec<&str> = dead.iter().map(|entry| entry.row.id.as_str()).collect();
        assert_eq!(ids, ["13", "12", "9", "7", "6", "3", "2", "1"], "{text}");
    }
    let everything = filter("state:dead state:retrying state:resolved state:ignored");
    let by_state = bars(&histogram(store, Facet::State, &everything).await.histogram);
    let counted = ["dead", "retrying", "resolved", "ignored"].map(|state| by_state[&Some(state.to_owned())]);
    assert_eq!(counted, [8, 2, 1, 2]);
}

#[tokio::test]
async fn a_replay_leaves_what_its_own_retry_leaves_and_a_second_one_nothing() {
    let Some(db) = seed("river_replay").await else { return };
    let user = User::of(&db);
    let before = whole(&db, "river_job").await;
    let receipt = act(&user, "replay", &[1, 2, 4, 5, 6, 10, 11], &[]);
    assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(5), &json!(5)), "{receipt}");
    let after = whole(&db, "river_job").await;
    let again = |id: i64, max: Option<i64>| {
        let max = max.map(|max| format!("{id}.max_attempts={max}"));
        let rest = ["finalized_at=null", "scheduled_at=<now>", "state=available"].map(|cell| format!("{id}.{cell}"));
        rest.into_iter().chain(max)
    };
    // With the mark that it was once to be cancelled it would be at its first error.
    let unmarked = ["5.metadata={}".to_owned()];
    let mut expected: Vec<String> =
        [again(1, Some(4)), again(2, None), again(4, None), again(5, None), again(6, Some(2))]
            .into_iter()
            .flatten()
            .chain(unmarked)
            .collect();
    let mut changed = changes(&before, &after);
    changed.sort();
    expected.sort();
    assert_eq!(changed, expected);
    assert_eq!(act(&user, "replay", &[1, 2, 4, 5, 6], &[])["done"], 0);
    assert_eq!(whole(&db, "river_job").await, after);
    assert_eq!(undo(&user, &receipt)["done"], 5);
    assert_eq!(changes(&before, &whole(&db, "river_job").await), Vec::<String>::new());

    let later = act(&user, "replay", &[1, 2], &["--attempts", "reset", "--to-queue", "low", "--spread", "10h"]);
    let changed = changes(&before, &whole(&db, "river_job").await);
    for cell in
        ["1.attempt=0", "1.queue=low", "2.attempt=0", "2.queue=low", "1.finalized_at=null", "2.finalized_at=null"]
    {
        assert!(changed.iter().any(|changed| changed == cell), "{cell}: {changed:?}");
    }
    let state = |state: &str| changed.iter().filter(|cell| cell.ends_with(&format!("state={state}"))).count();
    assert_eq!((state("scheduled") + state("available"), state("scheduled") > 0), (2, true), "{changed:?}");
    db.execute("update river_job set state = 'running', attempt = 1 where id = 2").await;
    assert_eq!(undo(&user, &later)["done"], 1, "a worker has the other");
    assert_eq!(db.scalar("select state::text from river_job where id = 2").await, "running");
}

#[tokio::test]
async fn a_job_whose_twin_is_alive_is_refused_and_of_two_dead_twins_one_comes_back() {
    let Some(db) = seed("river_twins").await else { return };
    let (store, _) = checked(&db, "river").await;
    let before = whole(&db, "river_job").await;
    let ids = ["1", "7", "9", "12", "13"].map(JobId::new);
    let unfit = store.plan().unfit(Action::Replay, &ids, false, &budget()).await.expect("unfit");
    assert_eq!(unfit.len(), 2, "{unfit:?}");
    // Without River's function the bits of the states are read here: they must say the same.
    db.execute("alter function river_job_state_in_bitmask rename to put_away").await;
    let (without, _) = checked(&db, "river").await;
    assert_eq!(without.plan().unfit(Action::Replay, &ids, false, &budget()).await.expect("unfit"), unfit);
    assert_eq!(apply(&without, batch(Action::Replay, [JobId::new("6")])).await[&JobId::new("6")], JobResult::Done);
    let refused = apply(&without, batch(Action::Replay, [JobId::new("7")])).await;
    assert_eq!(word(&refused[&JobId::new("7")]), TWIN);
    db.execute("alter function put_away rename to river_job_state_in_bitmask").await;
    let results = apply(&store, batch(Action::Replay, ids.clone())).await;
    let told = ids.map(|id| word(&results[&id]));
    assert_eq!(told, ["Done", TWIN, TWIN, "Done", TWIN]);
    let after = whole(&db, "river_job").await;
    for id in [7, 8, 9, 13] {
        assert_eq!(after[&id], before[&id], "{id}");
    }
    // The twin is done with: its states of uniqueness include that, so it still stands in the way; deleted, it does not.
    db.execute("update river_job set state = 'completed', finalized_at = now() where id = 8").await;
    assert_ne!(apply(&store, batch(Action::Replay, [JobId::new("9")])).await[&JobId::new("9")], JobResult::Done);
    db.execute("delete from river_job where id = 8").await;
    assert_eq!(apply(&store, batch(Action::Replay, [JobId::new("9")])).await[&JobId::new("9")], JobResult::Done);
}

#[tokio::test]
async fn discarded_jobs_come_back_as_they_were_and_outcomes_are_told() {
    let Some(db) = seed("river_rest").await else { return };
    let (store, _) = checked(&db, "river").await;
    db.execute("update river_job set state = 'running' where id = 10").await;
    let ids = ["8", "10", "11", "4", "3", "99"].map(JobId::new);
    let fates = store.outcomes(&ids, &[], &budget()).await.expect("fates");
    let fates: Vec<ReplayOutcome> = fates.into_iter().map(|(_, fate)| fate.outcome).collect();
    let again = |class: &str| ReplayOutcome::DiedAgain(Some(Untrusted::new(class)));
    let [cancelled, dead] = [again("JobCancelError"), again("Stuck job rescued by JobRescuer")];
    assert_eq!(
        fates,
        [
            ReplayOutcome::Waiting,
            ReplayOutcome::Running,
            ReplayOutcome::Succeeded,
            cancelled,
            dead,
            ReplayOutcome::Gone(GoneMeaning::Deleted)
        ]
    );
    let user = User::of(&db);
    let before = whole(&db, "river_job").await;
    let receipt = act(&user, "discard", &[2, 5, 6, 8, 11], &[]);
    assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(3), &json!(3)), "{receipt}");
    assert_eq!(changes(&before, &whole(&db, "river_job").await), ["2 gone", "5 gone", "6 gone"]);
    assert_eq!(undo(&user, &receipt)["done"], 3);
    assert_eq!(changes(&before, &whole(&db, "river_job").await), Vec::<String>::new());
    for action in [Action::Ignore, Action::Reopen] {
        let refused = store.apply(batch(action, [JobId::new("1")]), &budget()).await;
        assert!(refused.broke.is_some_and(|broke| broke.error.to_string().contains("cancel")), "{action}");
    }
}

#[tokio::test]
async fn only_what_is_dead_or_cancelled_is_archived_or_purged() {
    let Some(db) = seed("river_settled").await else { return };
    let (store, _) = checked(&db, "river").await;
    let purged = apply(&store, batch(Action::Purge, ["1", "4", "8", "10", "11"].map(JobId::new))).await;
    let done: Vec<&str> = purged.iter().filter(|(_, r)| **r == JobResult::Done).map(|(id, _)| id.as_str()).collect();
    assert_eq!((done, db.count("river_job").await), (vec!["1", "4"], 11));
    let archived = act(&User::of(&db), "archive", &[2, 5, 8, 10, 11], &[]);
    assert_eq!((&archived["planned"], &archived["done"]), (&json!(2), &json!(2)), "{archived}");
    assert_eq!(db.column("select id from river_job_archive order by id").await, ["2", "5"]);
}

#[tokio::test]
async fn before_there_were_unique_keys_nothing_stands_in_the_way() {
    let Some(db) = seed("river_keyless").await else { return };
    db.execute("drop index river_job_unique_idx; drop function river_job_state_in_bitmask").await;
    db.execute("alter table river_job drop column unique_states, drop column unique_key").await;
    let (store, _) = checked(&db, "river").await;
    let results = apply(&store, batch(Action::Replay, ["1", "9"].map(JobId::new))).await;
    assert!(results.values().all(|result| *result == JobResult::Done), "{results:?}");
}

#[tokio::test]
async fn how_long_jobs_ran_that_succeeded_is_read() {
    let Some(db) = seed("river_times").await else { return };
    let times = "attempted_at = '2026-11-20 10:00:00Z', finalized_at = '2026-11-20 10:01:30.5Z'";
    db.execute(&format!("update river_job set state = 'completed', kind = 'timed', {times} where id = 1")).await;
    let (store, _) = checked(&db, "river").await;
    let read = store.plan().run_times(&budget()).await.expect("run times");
    let timed = RunTime { job_class: Some("timed".into()), took: Duration::from_millis(90_500) };
    assert!(read.contains(&timed), "{read:?}");
}
