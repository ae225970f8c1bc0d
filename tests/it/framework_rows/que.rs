//! Que: its table as 2.4 has it, schema version 7, and what older ones have otherwise.

use std::collections::BTreeMap;

use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::{GoneMeaning, ReplayOutcome};
use dlq_tui::store::{Availability, Cursor, Sort, Store};
use serde_json::json;

use super::bench::{changes, checked, detail, detection, fixture, undo, whole};
use super::ruby::{act, error, heard, listen, meanwhile, more, reasons, skipped};
use crate::cli::User;
use crate::harness::{TestDb, postgres};
use crate::store_desk::{apply, bars, batch, budget, engine, exhaust, filter, histogram};

pub async fn seed(name: &str) -> Option<TestDb> {
    let db = postgres()?.database(name).await;
    db.execute(&fixture("que/postgres.sql")).await;
    db.execute(&fixture("que/rows.sql")).await;
    Some(db)
}

#[tokio::test]
async fn it_is_found_in_any_schema_with_its_version_and_not_by_its_name_alone() {
    let Some(server) = postgres() else { return };
    let db = server.database("que_found").await;
    let table = fixture("que/postgres.sql");
    for schema in ["jobs", "older", "oldest"] {
        db.execute(&format!("create schema {schema}; set search_path to {schema}; {table}")).await;
    }
    db.execute("alter table older.que_jobs drop column kwargs").await;
    db.execute("alter table oldest.que_jobs drop column kwargs, drop column expired_at").await;
    let detection = detection(&db).await;
    let found: BTreeMap<&str, &str> = detection.found.iter().map(|f| (f.schema.as_str(), f.title.as_str())).collect();
    assert_eq!(found, BTreeMap::from([("jobs", "Que"), ("older", "Que, before its schema 6")]));
    let oldest = detection.rejected.iter().find(|r| r.schema == "oldest").expect("a reason");
    assert!(reasons(oldest).contains(&"que_jobs has no column expired_at".to_owned()), "{oldest:?}");
    db.execute("drop schema jobs cascade").await;
    db.execute(
        "insert into older.que_jobs (job_class, args, expired_at, job_schema_version) values ('Old', '[7]', now(), 1)",
    )
    .await;
    let (store, _) = checked(&db, "que").await;
    assert_eq!(detail(&store, 1).await.arguments.map(|a| a.exact().to_owned()).as_deref(), Some("[7]"));
}

#[tokio::test]
async fn the_error_is_shown_as_the_one_before_the_last_and_arguments_as_they_were_given() {
    let Some(db) = seed("que_errors").await else { return };
    let (store, missing) = checked(&db, "que").await;
    assert!(missing.len() == 1 && missing[0].contains("WHERE expired_at IS NOT NULL"), "{missing:?}");
    db.execute(&missing[0]).await;
    let (store_with, missing) = checked(&db, "que").await;
    assert_eq!(missing, Vec::<String>::new());
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        (
            "1",
            [
                some("ArgumentError"),
                some("card declined: insufficient_funds\nacct=42"),
                some("/srv/app/que.rb:11:in `run'"),
            ],
        ),
        ("2", [None, None, None]),
        ("3", [some("RuntimeError"), some("error number 2"), some("/srv/app/que.rb:19:in `run'")]),
        (
            "20",
            [some("Net::ReadTimeout"), some("Net::ReadTimeout with #<TCPSocket:(closed)>: again"), some("mail.rb:1")],
        ),
        ("21", [some("#<Class>"), some("nameless"), None]),
        ("22", [None, some("gave up: no more"), None]),
    ];
    for (id, wanted) in expected {
        assert_eq!(error(&store, id).await, wanted, "{id}");
    }
    assert_eq!(error(&store, "5").await[1].as_ref().map(String::len), Some(486), "cut at 500 with its class");
    let third = detail(&store, 3).await;
    assert_eq!(third.row.attempts, Some(3), "three failures, of which the second is the last that is known");
    assert!(more(&store, "3", "the error shown").await.is_some_and(|said| said.contains("attempt before the last")));
    assert!(more(&store, "2", "the error shown").await.is_some_and(|said| said.starts_with("none:")));
    assert_eq!(more(&store, "4", "the error shown").await, None, "it has not expired");
    assert_eq!(more(&store, "1", "tags").await, some(r#"["money", "vip"]"#));
    let arguments = async |id| detail(&store, id).await.arguments.map(|a| a.exact().to_owned());
    assert_eq!(arguments(1).await, some(r#"[42, {"amount": 1999}]"#));
    assert_eq!(arguments(20).await, some(r#"[{"_aj_globalid": "gid://shop/User/9"}]"#));
    let Availability::Ready { notes } = store.info().availability(Action::Replay) else { panic!("no replay") };
    assert!(notes.iter().any(|note| note.contains("before the last")), "{notes:?}");

    for store in [&store, &store_with] {
        for text in ["", "-msg:/never seen/"] {
            let dead = exhaust(store, &filter(text), Sort::default(), Cursor::End, 3).await;
            assert_eq!(dead.len(), 7, "{text}");
        }
    }
    let dead = exhaust(&store_with, &Filter::all(), Sort::default(), Cursor::Start, 3).await;
    let ids: Vec<&str> = dead.iter().map(|entry| entry.row.id.as_str()).collect();
    assert_eq!(ids, ["22", "21", "20", "3", "5", "1", "2"]);
    let by_class = bars(&histogram(&store, Facet::Class, &Filter::all()).await.histogram);
    assert_eq!((by_class[&Some("MailJob".to_owned())], by_class.len()), (1, 7));
    let everything = filter("state:dead state:retrying state:resolved state:ignored");
    let by_state = bars(&histogram(&store, Facet::State, &everything).await.histogram);
    assert_eq!((by_state[&Some("dead".to_owned())], by_state[&Some("resolved".to_owned())]), (7, 1));
}

#[tokio::test]
async fn a_replay_leaves_what_que_web_leaves_and_whoever_watches_states_hears_of_it() {
    let Some(db) = seed("que_replay").await else { return };
    let user = User::of(&db);
    let mut words = listen(&db, "que_state").await;
    let before = whole(&db, "que_jobs").await;
    let receipt = act(&user, "replay", &["1", "2", "20"], &[]);
    assert_eq!(receipt["done"], 3, "{receipt}");
    let after = whole(&db, "que_jobs").await;
    let wanted: Vec<String> =
        [1, 2, 20].iter().flat_map(|id| [format!("{id}.expired_at=null"), format!("{id}.run_at=<now>")]).collect();
    let mut changed = changes(&before, &after);
    changed.sort();
    assert_eq!(changed, wanted);
    let mut heard_of = Vec::new();
    for _ in 0..3 {
        let word = heard(&mut words).await;
        assert_eq!((&word["was"], &word["is"]), (&json!(true), &json!(false)), "{word}");
        heard_of.push(word["id"].as_i64().expect("an id"));
    }
    heard_of.sort_unstable();
    assert_eq!(heard_of, [1, 2, 20]);
    let (store, _) = checked(&db, "que").await;
    let again = apply(&store, batch(Action::Replay, ["1"].map(JobId::new))).await;
    assert_eq!(again[&JobId::new("1")], JobResult::Skipped(SkipReason::Changed));
    assert_eq!(whole(&db, "que_jobs").await, after);
    db.execute("update que_jobs set error_count = error_count + 1, run_at = run_at + interval '3 s' where id = 2")
        .await;
    let back = undo(&user, &receipt);
    assert_eq!((&back["done"], back["skipped"].as_array().map(Vec::len)), (&json!(2), Some(1)), "{back}");
    assert!(changes(&before, &whole(&db, "que_jobs").await).iter().all(|cell| cell.starts_with("2.")));
}

#[tokio::test]
async fn errors_are_counted_anew_and_another_queue_and_another_time_are_had_by_name() {
    let Some(db) = seed("que_reset").await else { return };
    let user = User::of(&db);
    let before = whole(&db, "que_jobs").await;
    let more = ["--attempts", "reset", "--to-queue", "slow", "--spread", "10h"];
    let receipt = act(&user, "replay", &["3", "20"], &more);
    let rows = "select error_count || ' ' || queue || ' ' || coalesce(args->0->>'queue_name', '-') from que_jobs where id in (3, 20) order by id";
    assert_eq!(db.column(rows).await, ["0 slow -", "0 slow slow"]);
    assert_eq!(db.count("que_jobs where run_at > now() + interval '10 minutes'").await, 1, "{receipt}");
    assert_eq!(undo(&user, &receipt)["done"], 2);
    assert_eq!(whole(&db, "que_jobs").await, before);
    let long = "x".repeat(101);
    let refused = act(&user, "replay", &["3"], &["--to-queue", &long]);
    assert_eq!((&refused["done"], refused["failed"].to_string().contains("check")), (&json!(0), true), "{refused}");
}

#[tokio::test]
async fn a_job_whose_id_another_session_holds_is_left_alone_by_every_verb_and_by_an_undo() {
    let Some(db) = seed("que_locked").await else { return };
    let (user, session) = (User::of(&db), engine(&db).await);
    let before = whole(&db, "que_jobs").await;
    let held = "select pg_advisory_xact_lock(1)::text";
    meanwhile(&session, held, async || {
        for verb in ["replay", "discard"] {
            let receipt = act(&user, verb, &["1", "3"], &[]);
            assert_eq!((&receipt["done"], skipped(&receipt, "locked")), (&json!(1), 1), "{verb}: {receipt}");
            assert_eq!(undo(&user, &receipt)["done"], 1, "{verb}");
            assert_eq!(whole(&db, "que_jobs").await, before, "{verb}");
        }
        let archived = act(&user, "archive", &["1", "5"], &[]);
        assert_eq!((&archived["done"], skipped(&archived, "locked")), (&json!(1), 1), "{archived}");
        let (store, _) = checked(&db, "que").await;
        let purged = apply(&store, batch(Action::Purge, ["1", "22"].map(JobId::new))).await;
        assert_eq!(purged[&JobId::new("1")], JobResult::Skipped(SkipReason::Locked));
        assert_eq!(purged[&JobId::new("22")], JobResult::Done);
    })
    .await;
    let before = whole(&db, "que_jobs").await;
    let receipt = act(&user, "replay", &["1", "3"], &[]);
    assert_eq!(receipt["done"], 2, "the locks are given back: {receipt}");
    let (store, _) = checked(&db, "que").await;
    let ids = ["1", "3", "20", "23", "99"].map(JobId::new);
    let fates = meanwhile(&session, held, async || store.outcomes(&ids, &[], &budget()).await.expect("fates")).await;
    let fates: Vec<ReplayOutcome> = fates.into_iter().map(|(_, fate)| fate.outcome).collect();
    let [
        ReplayOutcome::Running,
        ReplayOutcome::Waiting,
        ReplayOutcome::DiedAgain(Some(class)),
        ReplayOutcome::Succeeded,
        ReplayOutcome::Gone(GoneMeaning::Succeeded),
    ] = fates.as_slice()
    else {
        panic!("{fates:?}")
    };
    assert_eq!(class.exact(), "Net::ReadTimeout");
    // Nor is the lock of two numbers one of a job, nor one in another database.
    let Some(server) = postgres() else { return };
    let elsewhere = engine(&server.database("que_elsewhere").await).await;
    let fates = meanwhile(&session, "select pg_advisory_xact_lock(0, 1)::text", async || {
        let held = "select pg_advisory_xact_lock(3)::text";
        meanwhile(&elsewhere, held, async || store.outcomes(&ids, &[], &budget()).await.expect("fates")).await
    });
    let fates: Vec<ReplayOutcome> = fates.await.into_iter().take(2).map(|(_, fate)| fate.outcome).collect();
    assert_eq!(fates, [ReplayOutcome::Waiting, ReplayOutcome::Waiting]);
    meanwhile(&session, held, async || assert_eq!(undo(&user, &receipt)["done"], 1)).await;
    assert_eq!(undo(&user, &receipt)["done"], 1);
    assert_eq!(whole(&db, "que_jobs").await, before);
}

#[tokio::test]
async fn only_what_has_expired_is_discarded_and_what_is_done_can_be_put_away_too() {
    let Some(db) = seed("que_guards").await else { return };
    let user = User::of(&db);
    let before = whole(&db, "que_jobs").await;
    let receipt = act(&user, "discard", &["1", "4", "23"], &[]);
    assert_eq!((&receipt["planned"], &receipt["done"]), (&json!(1), &json!(1)), "{receipt}");
    let left_out = user.run(&["discard", "4", "23", "--dry-run"]).err;
    assert!(left_out.contains("discard takes no job that is `"), "{left_out}");
    assert_eq!(undo(&user, &receipt)["done"], 1);
    assert_eq!(whole(&db, "que_jobs").await, before);
    let archived = act(&user, "archive", &["2", "4"], &[]);
    assert_eq!((&archived["planned"], &archived["done"]), (&json!(1), &json!(1)), "{archived}");
    let (store, _) = checked(&db, "que").await;
    let purged = apply(&store, batch(Action::Purge, ["3", "4", "23"].map(JobId::new))).await;
    let done: Vec<&str> = purged.iter().filter(|(_, r)| **r == JobResult::Done).map(|(id, _)| id.as_str()).collect();
    assert_eq!((done, db.count("que_jobs where id = 4").await), (vec!["23", "3"], 1), "{purged:?}");
}

#[tokio::test]
async fn a_job_that_went_well_or_expired_again_is_not_taken_back() {
    let Some(db) = seed("que_ended").await else { return };
    let user = User::of(&db);
    let receipt = act(&user, "replay", &["1", "2", "3"], &[]);
    // Neither end moves the time that a job was due.
    db.execute("update que_jobs set finished_at = now() where id = 1").await;
    db.execute("update que_jobs set expired_at = now() where id = 2").await;
    let back = undo(&user, &receipt);
    assert_eq!((&back["done"], skipped(&back, "a worker has taken it")), (&json!(1), 2), "{back}");
    assert_eq!(db.count("que_jobs where finished_at is not null and id = 1").await, 1);
}
