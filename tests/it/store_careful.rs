//! Servers and tables that would let jobs be lost without a word.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::store::{Availability, Cursor, Sort, SourceError, Store};

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine};
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
async fn what_a_server_sets_for_its_sessions_leaves_no_job_out() {
    // Its own, as with the mode.
    let Some(server) = harness::private_mariadb() else { return };
    let db = server.database("globals").await;
    Layout::JobsDlq.seed(&db, 50).await;
    db.execute("set global sql_select_limit = 3, sql_safe_updates = 1, completion_type = 1").await;
    let user = User::of(&db);
    let replayed = user.json(&["replay", "--all", "--yes", "-o", "json"]);
    assert_eq!(replayed["done"].as_u64(), Some(50), "{replayed}");
    let undone = user.json(&["undo", replayed["run"].as_str().expect("a run"), "--yes", "-o", "json"]);
    assert_eq!(undone["done"].as_u64(), Some(50), "{undone}");
    db.execute("set global sql_select_limit = default, sql_safe_updates = 0, completion_type = 0").await;
    assert_eq!((db.count("jobs_dlq").await, db.count("jobs").await), (50, 0));
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
        for action in [Action::Replay, Action::Archive, Action::Purge] {
            let Availability::Disabled(why) = store.info().availability(action) else {
                panic!("{action} not disabled")
            };
            assert!(why.contains(&format!("{table} is a MyISAM table")), "{why}");
            let applied = store.apply(batch(action, ids(&store).await), &budget()).await;
            assert!(applied.broke.is_some() && applied.outcomes.is_empty());
        }
    }
    let db = server.database("myisam_behind").await;
    Layout::JobsDlq.seed(&db, 5).await;
    db.execute("alter table jobs engine = MyISAM; rename table jobs to queue; create view jobs as select * from queue")
        .await;
    let behind = store(&db, Layout::JobsDlq).await;
    let Availability::Disabled(why) = behind.info().availability(Action::Replay) else { panic!("a view hides it") };
    assert!(why.contains("jobs is a view"), "{why}");
    let db = server.database("myisam_archive").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let behind = store(&db, Layout::JobsDlq).await;
    behind.plan().prepare(Action::Archive, &budget()).await.expect("an archive");
    assert_eq!(behind.plan().preparation(Action::Archive, &budget()).await.expect("an answer"), None);
    db.execute("alter table jobs_dlq_archive engine = MyISAM").await;
    let refused = behind.plan().preparation(Action::Archive, &budget()).await.expect_err("no transactions there");
    assert!(refused.to_string().contains("jobs_dlq_archive is a MyISAM table"), "{refused}");
    let db = server.database("myisam_target").await;
    Layout::DeadLetterJobs.seed(&db, 5).await;
    db.execute("alter table jobs engine = MyISAM").await;
    let to_table = store_to(&db, Layout::DeadLetterJobs, ReplayDestination::Table("jobs".to_owned())).await;
    assert!(matches!(to_table.info().availability(Action::Replay), Availability::Disabled(_)));
    assert!(matches!(to_table.info().availability(Action::Ignore), Availability::Ready { .. }));
}

#[tokio::test]
async fn a_key_of_any_length_is_the_key_of_its_own_row() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("long keys").await;
    Layout::DeadLetterJobs.seed(&db, 3).await;
    db.execute("alter table dead_letter_jobs modify id varchar(400) character set ascii not null").await;
    let short = "1".repeat(255);
    let long = format!("{short}B");
    for id in [&short, &long] {
        let which = "status = 'failed' and length(id) < 200 order by id limit 1";
        db.execute(&format!("update dead_letter_jobs set id = '{id}' where {which}")).await;
    }
    let to = ReplayDestination::Table("jobs".to_owned());
    let store = store_to(&db, Layout::DeadLetterJobs, to).await;
    let results = apply(&store, batch(Action::Replay, [JobId::new(long.as_str())])).await;
    assert!(results.values().all(|result| *result == JobResult::Done), "{results:?}");
    let states =
        db.column("select concat(length(id), ' ', status) from dead_letter_jobs where length(id) > 200 order by 1");
    assert_eq!(states.await, ["255 failed", "256 resolved"]);
}

/// Instants at which clocks on the wall jump, and one that no summer time knows.
const TIMES: [(&str, i64); 3] = [
    ("2026-03-08 07:30:00", 1_772_955_000_000_000),
    ("2026-11-01 05:30:00", 1_793_511_000_000_000),
    ("2026-11-01 06:30:00", 1_793_514_600_000_000),
];

#[tokio::test]
async fn times_are_utc_whatever_zone_the_server_lives_in() {
    let postgres = harness::private_postgres();
    let mariadb = harness::private_mariadb();
    for server in [postgres, mariadb].into_iter().flatten() {
        let db = server.database("zones").await;
        Layout::DlqEvents.install(&db).await;
        Layout::DeadLetterJobs.install(&db).await;
        let is_postgres = db.engine == harness::Engine::Postgres;
        if is_postgres {
            db.execute(&format!("alter database {} set timezone = 'America/St_Johns'", db.name())).await;
            db.execute("alter role current_user set datestyle = 'SQL, DMY'").await;
        } else {
            db.execute("set global time_zone = '-03:30'").await;
            db.execute("alter table dlq_events modify created_at timestamp(6) not null default current_timestamp(6)")
                .await;
        }
        let zone = if is_postgres { "set timezone = 'UTC'" } else { "set time_zone = '+00:00'" };
        for (n, (text, _)) in TIMES.iter().enumerate() {
            let stamp = if is_postgres { format!("timestamptz '{text}+00'") } else { format!("'{text}'") };
            db.execute(&format!(
                "{zone}; insert into dlq_events (event_type, payload, error_reason, status, retry_count, created_at) \
                 values ('E{n}', '{{}}', 'Boom: no', 'FAILED_PERMANENTLY', 1, {stamp})"
            ))
            .await;
        }
        let store = store(&db, Layout::DlqEvents).await;
        let rows = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 1).await;
        let read: Vec<i64> = rows.iter().rev().filter_map(|e| e.row.at).map(|at| at.0).collect();
        assert_eq!(read, TIMES.map(|(_, micros)| micros), "{}", db.engine.name());
        let within = filter("at:2026-11-01T05:30Z");
        let found = exhaust(&store, &within, Sort::default(), Cursor::Start, 10).await;
        assert_eq!(found.len(), 1, "{}: {found:?}", db.engine.name());
        assert_eq!(found[0].row.at.map(|at| at.0), Some(TIMES[1].1));
        let off = store.clock().0 - dlq_tui::domain::time::Timestamp::now().0;
        assert!(off.abs() < 60_000_000, "{}: the clock is off by {off} µs", db.engine.name());
        let results = apply(&store, batch(Action::Replay, rows.into_iter().map(|e| e.row.id))).await;
        assert!(results.values().all(|r| *r == JobResult::Done), "{results:?}");
        let age = if is_postgres {
            "extract(epoch from now() - min(retry_after))::int"
        } else {
            "timestampdiff(second, min(retry_after), utc_timestamp())"
        };
        let age: i64 = db.scalar(&format!("select {age} from dlq_events")).await.parse().expect("seconds");
        assert!((0..60).contains(&age), "{}: due {age} s ago", db.engine.name());
    }
}

#[tokio::test]
async fn a_database_that_shuts_us_out_ends_the_batch_and_is_no_fault_of_its_jobs() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let db = server.database("shut_out").await;
        let is_postgres = db.engine == harness::Engine::Postgres;
        Layout::JobsDlq.seed(&db, 40).await;
        let role = format!("op_{}", db.name());
        let make = match is_postgres {
            true => format!(
                "create role {role} login; grant select, insert, update, delete on all tables in schema public to {role}; \
                 grant usage on all sequences in schema public to {role}"
            ),
            false => format!(
                "create user {role}@'%' identified by '{}'; grant all on {}.* to {role}@'%'",
                harness::PASSWORD,
                db.name()
            ),
        };
        db.execute(&make).await;
        let (_, rest) = db.url.split_once("://").expect("a URL");
        let (_, place) = rest.rsplit_once('@').expect("a user");
        let scheme = if is_postgres { "postgres" } else { "mysql" };
        let url = format!("{scheme}://{role}:{}@{place}", harness::PASSWORD);
        let desk = crate::run::desk(&url, Layout::JobsDlq.table()).await;
        let all = ids(&*desk.store).await;
        let first = desk.store.apply(batch(Action::Replay, all[..10].to_vec()), &budget()).await;
        assert!(first.broke.is_none() && first.outcomes.len() == 10, "{first:?}");
        let bar = match is_postgres {
            true => format!(
                "alter role {role} nologin; select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '{role}'"
            ),
            false => format!("alter user {role}@'%' account lock; kill user {role}@'%'"),
        };
        db.execute(&bar).await;
        let applied = desk.store.apply(batch(Action::Replay, all[10..].to_vec()), &budget()).await;
        assert!(applied.outcomes.is_empty(), "{:?}", applied.outcomes);
        let broke = applied.broke.expect("it broke off");
        assert!(!broke.unsure && !broke.error.retryable(), "{broke:?}");
        let said = broke.error.to_string();
        assert!(said.contains("login failed") && !said.contains(harness::PASSWORD), "{said}");
        assert!(broke.error.remedy().is_some_and(|remedy| remedy.contains("resume the run")), "{broke:?}");
        let open = if is_postgres {
            format!("alter role {role} login")
        } else {
            format!("alter user {role}@'%' account unlock")
        };
        db.execute(&open).await;
        let applied = desk.store.apply(batch(Action::Replay, all[10..].to_vec()), &budget()).await;
        assert!(applied.broke.is_none() && applied.outcomes.len() == 30, "{applied:?}");
        assert_eq!(db.count("jobs").await, 40);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_table_is_the_fault_of_no_job_and_stops_the_batch() {
    let told = ["renamed", "without a column", "of another type"];
    for (nth, told) in told.into_iter().enumerate() {
        for db in harness::every_engine(&format!("unfit_{nth}")).await {
            if told == "of another type" && db.engine != Engine::Postgres {
                // The others take what can be made to fit.
                continue;
            }
            Layout::JobsDlq.seed(&db, 5).await;
            let store = store(&db, Layout::JobsDlq).await;
            let all = ids(&store).await;
            db.execute(match told {
                "renamed" => "alter table jobs rename to elsewhere",
                "without a column" => "alter table jobs rename column payload to else_where",
                _ => "alter table jobs alter column payload type bytea using null",
            })
            .await;
            let applied = store.apply(batch(Action::Replay, all), &budget()).await;
            let name = format!("{told} on {}", db.engine.name());
            assert_eq!(applied.outcomes, [], "{name}");
            let error = applied.broke.unwrap_or_else(|| panic!("{name}: it did not stop")).error;
            assert!(matches!(error, SourceError::Unfit { .. }), "{name}: {error}");
            assert!(!error.retryable() && error.remedy().is_some(), "{name}: {error}");
            assert_eq!(db.count("jobs_dlq").await, 5, "{name}");
        }
    }
}

#[tokio::test]
async fn a_row_that_a_policy_refuses_fails_by_itself() {
    let Some(server) = harness::postgres() else { return };
    let mut db = server.database("policy").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let role = format!("held_{}", db.name());
    let first = db.scalar("select min(id)::text from jobs_dlq").await;
    db.execute(&format!(
        "create role {role} login; grant all on all tables in schema public to {role}; \
         grant all on all sequences in schema public to {role}; \
         update jobs_dlq set payload = '{{\"class\":\"Barred\"}}' where id::text = '{first}'; \
         alter table jobs enable row level security; \
         create policy p on jobs using (true) with check (payload::text not like '%Barred%')"
    ))
    .await;
    let owner = db.url.clone();
    let (_, place) = owner.rsplit_once('@').expect("a user");
    db.url = format!("postgres://{role}:{}@{place}", harness::PASSWORD);
    let store = store(&db, Layout::JobsDlq).await;
    let results = apply(&store, batch(Action::Replay, ids(&store).await)).await;
    let failed: Vec<_> = results.iter().filter(|(_, result)| **result != JobResult::Done).collect();
    assert_eq!((results.len(), failed.len()), (5, 1), "{results:?}");
    let (id, why) = failed[0];
    assert!(id.as_str() == first && matches!(why, JobResult::Failed(_)), "{results:?}");
    db.url = owner;
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (4, 1));
}
