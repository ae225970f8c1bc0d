//! GoodJob: tables and rows as 4.19 has them, and what 3 has otherwise.

use std::collections::BTreeMap;

use chrono::{NaiveDateTime, Utc};
use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::{GoneMeaning, ReplayOutcome};
use dlq_tui::store::{Availability, Cursor, Sort, Store, StoreExt};
use serde_json::json;

use super::bench::{changes, checked, detection, fixture, undo};
use super::ruby::{act, by_place, error, heard, listen, meanwhile, more, reasons, skipped};
use crate::cli::User;
use crate::harness::{TestDb, postgres};
use crate::store_desk::{apply, bars, batch, budget, engine, exhaust, filter, histogram};

/// Rows that GoodJob wrote: one that used up `retry_on`, one whose error was not handled.
const RETRIED: &str = "c533a14a-84a2-416d-9164-b8dc8ab33949";
const CHARGE: &str = "c699a0f5-cb7a-4eb7-9f8c-34b487af1f1e";
/// One that was discarded in the dashboard, within a batch.
const DISCARDED: &str = "00000000-0000-4000-8000-000000000001";

fn own(n: u32) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

pub async fn seed(name: &str) -> Option<TestDb> {
    let db = postgres()?.database(name).await;
    db.execute(&fixture("good_job/postgres.sql")).await;
    db.execute(&fixture("good_job/rows.sql")).await;
    Some(db)
}

/// The statement by which GoodJob takes the lock of a job.
fn lock(id: &str) -> String {
    format!("select pg_advisory_xact_lock(('x' || substr(md5('good_jobs-{id}'), 1, 16))::bit(64)::bigint)::text")
}

/// The tables' rows before and after.
async fn whole(db: &TestDb) -> [super::bench::Rows; 2] {
    [by_place(db, "good_jobs", "id").await, by_place(db, "good_job_executions", "id").await]
}

#[tokio::test]
async fn it_is_found_in_any_schema_with_its_version_and_not_by_its_name_alone() {
    let Some(server) = postgres() else { return };
    let db = server.database("gj_found").await;
    let tables = fixture("good_job/postgres.sql");
    for schema in ["jobs", "older", "bare"] {
        db.execute(&format!("create schema {schema}; set search_path to {schema}; {tables}")).await;
    }
    let columns = "drop column locked_by_id, drop column locked_at, drop column lock_type";
    db.execute(&format!("alter table older.good_jobs {columns}, drop column labels")).await;
    let columns = "drop column error_backtrace, drop column process_id, drop column duration";
    db.execute(&format!("alter table older.good_job_executions {columns}")).await;
    db.execute("drop table bare.good_job_executions").await;
    let detection = detection(&db).await;
    let found: BTreeMap<&str, &str> = detection.found.iter().map(|f| (f.schema.as_str(), f.title.as_str())).collect();
    assert_eq!(found, BTreeMap::from([("jobs", "GoodJob"), ("older", "GoodJob 3")]));
    let bare = detection.rejected.iter().find(|r| r.schema == "bare").expect("a reason");
    assert_eq!(reasons(bare), ["there is no table good_job_executions beside it"]);
}

#[tokio::test]
async fn errors_are_cut_at_the_first_colon_and_a_discarded_job_still_shows_what_it_died_of() {
    let Some(db) = seed("gj_errors").await else { return };
    let (store, missing) = checked(&db, "good_job").await;
    assert_eq!(missing, Vec::<String>::new());
    let some = |text: &str| Some(text.to_owned());
    let line = |n: u32| Some(format!("/srv/app/goodjob.rb:{n}:in `perform'"));
    let expected = [
        (CHARGE.to_owned(), [some("ArgumentError"), some("card declined: insufficient_funds\nacct=42"), line(33)]),
        (RETRIED.to_owned(), [some("PaymentGateway::Timeout"), some("execution expired: after 5s"), line(40)]),
        ("9a363e57-707d-4a06-8c79-1357b330fd2f".to_owned(), [some("RuntimeError"), some(""), line(52)]),
        (
            own(1),
            [
                some("GoodJob::Job::DiscardJobError"),
                some("Discarded through dashboard"),
                some("sweep.rb:1:in `perform'"),
            ],
        ),
        (own(2), [some("Net::ReadTimeout"), some("Net::ReadTimeout with #<TCPSocket:(closed)>: again"), None]),
        (own(3), [some("#<Class>"), some("nameless"), None]),
        (own(4), [None, some("gave up: no more"), None]),
    ];
    for (id, wanted) in expected {
        assert_eq!(error(&store, &id).await, wanted, "{id}");
    }
    assert_eq!(more(&store, DISCARDED, "error of the last run").await, some("IOError: the disk is gone"));
    assert_eq!(more(&store, DISCARDED, "batch_id").await, some("00000000-0000-4000-8000-00000000b000"));
    assert_eq!(more(&store, RETRIED, "runs kept").await, some("3"));
    let detail = store.detail(&JobId::new(RETRIED), &budget()).await.expect("a detail").expect("a job");
    assert_eq!((detail.row.attempts, detail.row.native_state.exact()), (Some(3), "discarded"));
    let charge = store.detail(&JobId::new(CHARGE), &budget()).await.expect("a detail").expect("a job");
    assert_eq!(charge.row.worker.as_ref().map(|w| w.exact()), Some("web-1 4696"));
    assert_eq!(
        charge.arguments.as_ref().map(|a| a.exact()),
        Some(r#"[42, {"amount": 1999, "_aj_ruby2_keywords": ["amount"]}]"#)
    );
}

#[tokio::test]
async fn the_dead_are_listed_by_their_death_and_counted_apart_from_what_lives() {
    let Some(db) = seed("gj_lists").await else { return };
    let (store, _) = checked(&db, "good_job").await;
    for text in ["", "-msg:/never seen/"] {
        let dead = exhaust(&store, &filter(text), Sort::default(), Cursor::Start, 4).await;
        let ids: Vec<&str> = dead.iter().map(|entry| entry.row.id.as_str()).collect();
        let last: Vec<&str> = ids.iter().map(|id| &id[30..]).collect();
        let theirs = ["b33949", "30fd2f", "c978ac", "ef8b03", "af1f1e"];
        let wanted: Vec<&str> = theirs.into_iter().chain(["000004", "000003", "000002", "000001"]).collect();
        assert_eq!(last, wanted, "{text}");
    }
    let by_reason = bars(&histogram(&store, Facet::Reason, &Filter::all()).await.histogram);
    assert_eq!(by_reason[&Some("retries used up".to_owned())], 1);
    assert_eq!(by_reason[&Some("unhandled".to_owned())], 5);
    let by_error = bars(&histogram(&store, Facet::Error, &Filter::all()).await.histogram);
    assert_eq!((by_error[&Some("RuntimeError".to_owned())], by_error[&None]), (2, 1));
    let everything = filter("state:dead state:retrying state:resolved state:ignored");
    let by_state = bars(&histogram(&store, Facet::State, &everything).await.histogram);
    let counted = ["dead", "retrying", "resolved"].map(|state| by_state[&Some(state.to_owned())]);
    assert_eq!(counted, [9, 2, 1]);
}

#[tokio::test]
async fn a_replay_leaves_what_its_own_retry_leaves_and_wakes_a_worker() {
    let Some(db) = seed("gj_replay").await else { return };
    db.execute(&format!("alter database {} set timezone to 'Asia/Tokyo'", db.name())).await;
    let user = User::of(&db);
    let mut words = listen(&db, "good_job").await;
    let before = whole(&db).await;
    let receipt = act(&user, "replay", &[RETRIED, DISCARDED], &[]);
    assert_eq!(receipt["done"], 2, "{receipt}");
    let after = whole(&db).await;
    let mut changed = changes(&before[0], &after[0]);
    changed.retain(|cell| !cell.contains("serialized_params"));
    let place = |id: &str| *before[0].iter().find(|(_, row)| row["id"] == id).expect("a row").0;
    let cells = [
        "created_at=<now>",
        "error_event=3",
        "finished_at=null",
        "performed_at=null",
        "scheduled_at=<now>",
        "updated_at=<now>",
    ];
    changed.sort();
    let wanted: Vec<String> = [place(DISCARDED), place(RETRIED)]
        .into_iter()
        .flat_map(|place| cells.map(|cell| format!("{place}.{cell}")))
        .collect();
    assert_eq!(changed, wanted);
    assert_eq!(changes(&before[1], &after[1]), Vec::<String>::new());

    let (old, new) = (&before[0][&place(RETRIED)], &after[0][&place(RETRIED)]);
    let (mut then, mut now) = (old["serialized_params"].clone(), new["serialized_params"].clone());
    assert_eq!((&now["executions"], &now["provider_job_id"]), (&json!(3), &json!(RETRIED)));
    assert_eq!(now["exception_executions"], json!({"[PaymentGateway::Timeout]": 2}));
    // One of the two is written without the zeros at its end.
    let instant =
        |text: &str| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").expect("an instant").and_utc();
    let in_utc = |key: &str| instant(now[key].as_str().and_then(|at| at.strip_suffix('Z')).expect("an instant in UTC"));
    assert_eq!(in_utc("scheduled_at"), instant(new["scheduled_at"].as_str().expect("a time")));
    let enqueued = in_utc("enqueued_at");
    assert!((Utc::now() - enqueued).num_minutes().abs() < 10, "{enqueued}");
    for params in [&mut then, &mut now] {
        for key in ["executions", "provider_job_id", "enqueued_at", "scheduled_at"] {
            params.as_object_mut().expect("an object").remove(key);
        }
    }
    assert_eq!(then, now);
    let bare = &after[0][&place(DISCARDED)]["serialized_params"];
    assert!(bare.get("scheduled_at").is_none(), "older versions have no such key: {bare}");

    let mut queues = Vec::new();
    for _ in 0..2 {
        let word = heard(&mut words).await;
        assert!(word["scheduled_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{word}");
        queues.push(word["queue_name"].as_str().unwrap_or_default().to_owned());
    }
    queues.sort();
    assert_eq!(queues, ["default", "low"]);

    let again = user.run(&["replay", RETRIED, "--yes"]).err;
    assert!(again.contains("nothing to replay"), "{again}");
    assert_eq!(whole(&db).await, after);
    let batches = db.scalar("select count(*) from good_job_batches where discarded_at is not null").await;
    assert_eq!(batches, "1", "its own retry of a job leaves the batch as it is");
    assert_eq!(undo(&user, &receipt)["done"], 2);
    assert_eq!(whole(&db).await, before);
}

#[tokio::test]
async fn attempts_start_anew_and_another_queue_and_another_time_are_had_by_name() {
    let Some(db) = seed("gj_reset").await else { return };
    let user = User::of(&db);
    let before = whole(&db).await;
    let more = ["--attempts", "reset", "--to-queue", "slow", "--spread", "10h"];
    let receipt = act(&user, "replay", &[RETRIED, CHARGE], &more);
    let rows = "select serialized_params->>'executions' || ' ' || (serialized_params->'exception_executions')::text || ' ' \
                || (serialized_params->>'queue_name') || ' ' || queue_name || ' ' || executions_count from good_jobs \
                where finished_at is null and error is not null order by executions_count";
    assert_eq!(db.column(rows).await, ["0 {} slow slow 1", "0 {} slow slow 3"]);
    let later = "good_jobs where scheduled_at > timezone('UTC', now()) + interval '10 minutes'";
    assert!(db.count(later).await > 0);
    db.execute(&format!("update good_jobs set performed_at = timezone('UTC', now()) where id = '{CHARGE}'")).await;
    let back = undo(&user, &receipt);
    assert_eq!((&back["done"], skipped(&back, "a worker has taken it")), (&json!(1), 1), "{back}");
    let after = whole(&db).await;
    let charge = before[0].iter().find(|(_, row)| row["id"] == CHARGE).expect("a row").0;
    assert!(changes(&before[0], &after[0]).iter().all(|cell| cell.starts_with(&format!("{charge}."))));
}

#[tokio::test]
async fn a_job_whose_lock_another_session_holds_is_left_alone_by_every_verb_and_by_an_undo() {
    let Some(db) = seed("gj_locked").await else { return };
    let (user, session) = (User::of(&db), engine(&db).await);
    let before = whole(&db).await;
    let (store, _) = checked(&db, "good_job").await;
    meanwhile(&session, &lock(CHARGE), async || {
        let results = apply(&store, batch(Action::Replay, [JobId::new(CHARGE)])).await;
        assert_eq!(results[&JobId::new(CHARGE)], JobResult::Skipped(SkipReason::Locked));
        for verb in ["replay", "discard"] {
            let receipt = act(&user, verb, &[CHARGE, RETRIED], &[]);
            assert_eq!((&receipt["done"], skipped(&receipt, "locked")), (&json!(1), 1), "{verb}: {receipt}");
            assert_eq!(undo(&user, &receipt)["done"], 1, "{verb}");
            assert_eq!(whole(&db).await, before, "{verb}");
        }
        let archived = act(&user, "archive", &[CHARGE, &own(4)], &[]);
        assert_eq!((&archived["done"], skipped(&archived, "locked")), (&json!(1), 1), "{archived}");
        let purged = apply(&store, batch(Action::Purge, [CHARGE, &own(3)].map(JobId::new))).await;
        assert_eq!(purged[&JobId::new(CHARGE)], JobResult::Skipped(SkipReason::Locked));
        assert_eq!(purged[&JobId::new(own(3))], JobResult::Done);
    })
    .await;
    let before = whole(&db).await;
    let receipt = act(&user, "replay", &[CHARGE, RETRIED], &[]);
    assert_eq!(receipt["done"], 2, "the lock is given back: {receipt}");
    meanwhile(&session, &lock(CHARGE), async || assert_eq!(undo(&user, &receipt)["done"], 1)).await;
    assert_eq!(undo(&user, &receipt)["done"], 1);
    assert_eq!(whole(&db).await, before);
}

#[tokio::test]
async fn a_discard_takes_the_runs_along_and_an_undo_brings_them_back() {
    let Some(db) = seed("gj_discard").await else { return };
    let user = User::of(&db);
    let before = whole(&db).await;
    // What went well, waits or runs is left alone.
    let receipt = act(&user, "discard", &[RETRIED, CHARGE, DISCARDED, &own(2), &own(5), &own(6), &own(7)], &[]);
    assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(4), &json!(4)), "{receipt}");
    let runs = format!("good_job_executions where active_job_id in ('{RETRIED}', '{CHARGE}', '{DISCARDED}')");
    assert_eq!((db.count(&runs).await, before[1].len() as u64 - db.count("good_job_executions").await), (0, 5));
    assert_eq!(undo(&user, &receipt)["done"], 4);
    assert_eq!(whole(&db).await, before);

    let purged = act(&user, "discard", &[CHARGE], &["--no-archive", "--reason", "asked to"]);
    assert_eq!(purged["done"], 1, "{purged}");
    assert_eq!(db.count(&format!("good_job_executions where active_job_id = '{CHARGE}'")).await, 0);
}

#[tokio::test]
async fn only_what_has_finished_is_archived_or_purged() {
    let Some(db) = seed("gj_settled").await else { return };
    let archived = act(&User::of(&db), "archive", &[&own(1), &own(5), &own(6), &own(7)], &[]);
    assert_eq!((&archived["planned"], &archived["done"]), (&json!(1), &json!(1)), "{archived}");
    let (store, _) = checked(&db, "good_job").await;
    let ids = [CHARGE.to_owned(), own(5), own(6), own(7)].map(JobId::new);
    let purged = apply(&store, batch(Action::Purge, ids.clone())).await;
    let changed = JobResult::Skipped(SkipReason::Changed);
    assert_eq!(ids.map(|id| purged[&id].clone()), [JobResult::Done, JobResult::Done, changed.clone(), changed]);
    assert_eq!(db.count(&format!("good_job_executions where active_job_id = '{CHARGE}'")).await, 0);
}

#[tokio::test]
async fn an_application_whose_times_have_a_zone_is_served_as_well() {
    let Some(db) = seed("gj_zoned").await else { return };
    db.execute(&format!("alter database {} set timezone to 'Asia/Tokyo'", db.name())).await;
    for table in ["good_jobs", "good_job_executions"] {
        let columns = format!(
            "select column_name from information_schema.columns where table_name = '{table}' and data_type = 'timestamp without time zone'"
        );
        for column in db.column(&columns).await {
            let zoned = format!("alter column {column} type timestamptz using {column} at time zone 'UTC'");
            db.execute(&format!("alter table {table} {zoned}")).await;
        }
    }
    let (store, _) = checked(&db, "good_job").await;
    let dead = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 4).await;
    assert_eq!(dead.len(), 9);
    let died = store.detail(&JobId::new(own(1)), &budget()).await.expect("a detail").expect("a job").row.at;
    assert!(died.is_some_and(|at| at.to_rfc3339().starts_with("2026-11-20T07:30:01")), "{died:?}");
    let user = User::of(&db);
    let before = whole(&db).await;
    let receipt = act(&user, "replay", &[RETRIED, CHARGE], &[]);
    assert_eq!(receipt["done"], 2, "{receipt}");
    let now = "good_jobs where finished_at is null and error is not null and abs(extract(epoch from now() - scheduled_at)) < 600 \
               and abs(extract(epoch from now() - created_at)) < 600 \
               and abs(extract(epoch from now() - (serialized_params->>'enqueued_at')::timestamptz)) < 600";
    assert_eq!(db.count(now).await, 2);
    let at = "select count(*) from good_jobs where (serialized_params->>'scheduled_at')::timestamptz = scheduled_at and finished_at is null";
    assert_eq!(db.scalar(at).await, "2");
    assert_eq!(undo(&user, &receipt)["done"], 2);
    assert_eq!(whole(&db).await, before);
    let receipt = act(&user, "discard", &[RETRIED], &[]);
    assert_eq!(undo(&user, &receipt)["done"], 1);
    assert_eq!(whole(&db).await, before);
}

#[tokio::test]
async fn what_became_of_jobs_is_told_and_ignore_is_disabled_with_the_reason() {
    let Some(db) = seed("gj_fates").await else { return };
    let (store, _) = checked(&db, "good_job").await;
    let ids: Vec<JobId> = [own(5), own(6), own(7), own(3), own(99)].map(JobId::new).into();
    let fates: Vec<ReplayOutcome> =
        store.outcomes(&ids, &[], &budget()).await.expect("fates").into_iter().map(|(_, fate)| fate.outcome).collect();
    let [
        ReplayOutcome::Succeeded,
        ReplayOutcome::Waiting,
        ReplayOutcome::Running,
        ReplayOutcome::DiedAgain(Some(class)),
        ReplayOutcome::Gone(GoneMeaning::Deleted),
    ] = fates.as_slice()
    else {
        panic!("{fates:?}")
    };
    assert_eq!(class.exact(), "#<Class>");
    let reason = store.info().availability(Action::Ignore);
    assert!(matches!(&reason, Availability::Disabled(why) if why.contains("no state for ignored")), "{reason:?}");
}

#[tokio::test]
async fn rows_of_version_3_that_are_one_for_each_try_are_told_apart_and_refused() {
    let Some(db) = seed("gj_three").await else { return };
    db.execute("alter table good_jobs drop column locked_by_id, drop column locked_at, drop column lock_type").await;
    db.execute(
        "alter table good_job_executions drop column error_backtrace, drop column process_id, drop column duration",
    )
    .await;
    let copy = |id: u32, next: &str| {
        format!(
            "insert into good_jobs (id, active_job_id, job_class, serialized_params, finished_at, error, executions_count, created_at, \
             updated_at, retried_good_job_id) select '{}', '{}', job_class, serialized_params, finished_at, error, 1, created_at, \
             updated_at, {next} from good_jobs where id = '{CHARGE}'",
            own(id),
            own(90)
        )
    };
    db.execute(&copy(91, &format!("'{}'", own(92)))).await;
    db.execute(&copy(92, "null")).await;
    let (store, _) = checked(&db, "good_job").await;
    let dead = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 20).await;
    assert_eq!(dead.len(), 10, "the try that was followed by another is not dead");
    let user = User::of(&db);
    let older = JobId::new(own(92));
    let unfit =
        store.plan().unfit(Action::Replay, std::slice::from_ref(&older), false, &budget()).await.expect("unfit");
    assert!(unfit.iter().any(|(id, why)| *id == older && why.because.contains("older GoodJob")), "{unfit:?}");
    let receipt = act(&user, "replay", &[RETRIED, &own(92)], &[]);
    assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(1), &json!(1)), "{receipt}");
    assert_eq!(undo(&user, &receipt)["done"], 1);
    assert_eq!(error(&store, CHARGE).await[2], None::<String>);
}
