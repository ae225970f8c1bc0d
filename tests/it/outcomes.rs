//! The outcome of replayed jobs in every layout, on rows as workers leave them.

use dlq_tui::domain::action::Action;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::{OutcomeCounts, OutcomeKind, OutcomeTest};
use dlq_tui::ledger::{CohortPart, Ledger, LedgerLocator, RunId};
use dlq_tui::store::{Cursor, PageQuery, ScanMode, Sort};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::outcomes::count_outcomes;

use crate::fixtures::Layout;
use crate::framework_rows::Shop;
use crate::framework_rows::bench::fixture;
use crate::framework_rows::{delayed_job, good_job, oban, oban_python, que, river, solid_queue};
use crate::harness::{Engine, TestDb, every_engine, every_server, postgres};
use crate::run::{budget, desk, go, plan};

async fn counts(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> OutcomeCounts {
    count_outcomes(desk, ledger, run, &budget()).await.expect("the counts")
}

/// Replays every dead job of a framework, has one of them fail as its workers record that, and expects that it is retrying.
async fn fails_once_and_waits(db: TestDb, adapter: &str, failure: &str) {
    let name = format!("{adapter} on {}", db.engine.name());
    let shop = Shop::on(db, adapter).await;
    let (run, tally) = shop.run(Action::Replay, "").await;
    let replayed = OutcomeCounts { replayed: tally.done, waiting: tally.done, ..OutcomeCounts::default() };
    assert_eq!(counts(&shop.desk, &shop.ledger, &run).await, replayed, "{name}: what was only replayed has not failed");
    let jobs = shop.ledger.cohorts().jobs(&run, CohortPart::Done, 0, 1).await.expect("jobs");
    let id = jobs[0].id.as_str().rsplit('/').next().expect("an id").to_owned();
    shop.db.execute(&failure.replace("ID", &id)).await;
    let failed = OutcomeCounts { waiting: tally.done - 1, retrying: 1, ..replayed };
    assert_eq!(counts(&shop.desk, &shop.ledger, &run).await, failed, "{name}");
}

#[tokio::test]
async fn a_job_that_failed_since_its_replay_and_waits_is_retrying_in_every_framework() {
    for db in every_server("outcome_delayed").await {
        if db.engine != Engine::Sqlite {
            delayed_job::seed(&db).await;
            fails_once_and_waits(
                db,
                "delayed_job",
                "update delayed_jobs set attempts = 1, run_at = '2031-01-01 00:00:00' where id = ID",
            )
            .await;
        }
    }
    for db in every_server("outcome_oban").await {
        oban::seed(&db).await;
        fails_once_and_waits(db, "oban", "update oban_jobs set state = 'retryable' where id = ID").await;
    }
    for db in every_server("outcome_sq").await {
        solid_queue::seed_into(&db).await;
        // What `retry_on` does: this job is finished, and another with its ActiveJob id waits.
        let columns = "queue_name, class_name, arguments, priority, active_job_id, created_at, updated_at";
        let failure = format!(
            "delete from solid_queue_ready_executions where job_id = ID;\
             update solid_queue_jobs set finished_at = '2026-11-22 00:00:00' where id = ID;\
             insert into solid_queue_jobs (id, {columns}) select 900, {columns} from solid_queue_jobs where id = ID"
        );
        fails_once_and_waits(db, "solid_queue", &failure).await;
    }
    if let Some(db) = que::seed("outcome_que").await {
        let failure =
            "update que_jobs set error_count = error_count + 1, run_at = run_at + interval '5 s' where id = ID";
        fails_once_and_waits(db, "que", failure).await;
    }
    if let Some(db) = river::seed("outcome_river").await {
        fails_once_and_waits(db, "river", "update river_job set state = 'retryable' where id = ID").await;
    }
    if let Some(db) = good_job::seed("outcome_gj").await {
        let failure =
            "update good_jobs set executions_count = executions_count + 1, error = 'KeyError: x' where id = 'ID'";
        fails_once_and_waits(db, "good_job", failure).await;
    }
    let Some(server) = postgres() else { return };
    let db = server.database("outcome_oban_py").await;
    oban_python::seed_into(&db).await;
    fails_once_and_waits(db, "oban", "update oban_jobs set state = 'retryable' where id = ID").await;
    for (adapter, fixtures, failure) in [
        (
            "graphile-worker",
            vec!["graphile-worker/tables.sql"],
            "update work._private_jobs set max_attempts = 5, attempts = attempts + 1, run_at = run_at + interval '3 s' where id = ID",
        ),
        (
            "pg-boss",
            vec!["pg-boss/tables.sql", "pg-boss/rows.sql"],
            "update boss.job set retry_count = retry_count + 1, started_on = now() where id = 'ID'",
        ),
        (
            "procrastinate",
            vec!["procrastinate/tables.sql"],
            "set search_path to tasks; update procrastinate_jobs set attempts = attempts + 1, scheduled_at = scheduled_at + interval '3 s' where id = ID",
        ),
    ] {
        let db = server.database(&format!("outcome_{adapter}")).await;
        for file in fixtures {
            db.execute(&fixture(file)).await;
        }
        fails_once_and_waits(db, adapter, failure).await;
    }
}

#[tokio::test]
async fn a_job_of_a_plain_table_is_followed_from_its_replay_to_its_end() {
    for layout in Layout::ALL {
        for db in every_engine(&format!("outcome_{}", layout.table())).await {
            followed(&db, layout).await;
        }
    }
}

/// Of ten replayed jobs one waits for its next attempt, one runs, one died again, one is finished.
async fn followed(db: &TestDb, layout: Layout) {
    layout.seed(db, 12).await;
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let desk = desk(&db.url, layout.table()).await;
    let run = plan(&desk, &ledger, "", Action::Replay).await.run;
    let replayed = go(&desk, &ledger, &run).await.run.tally.done;
    let waiting = OutcomeCounts { replayed, waiting: replayed, ..OutcomeCounts::default() };
    let name = format!("{} on {}", layout.table(), db.engine.name());
    assert_eq!(counts(&desk, &ledger, &run).await, waiting, "{name}");
    let table = if layout == Layout::DlqEvents { "dlq_events" } else { "jobs" };
    let ids = db.column(&format!("select id from {table} order by id")).await;
    let live = |n: usize| format!("id = {}", ids[n]);
    let statements = match layout {
        Layout::DlqEvents => [
            format!(
                "update dlq_events set retry_count = retry_count + 1, retry_after = '2031-01-01 00:00:00' where {}",
                live(0)
            ),
            format!("update dlq_events set status = 'PROCESSING' where {}", live(1)),
            format!("update dlq_events set status = 'FAILED_PERMANENTLY' where {}", live(2)),
            format!("update dlq_events set status = 'SUCCEEDED' where {}", live(3)),
        ],
        Layout::JobsDlq => [
            format!("update jobs set attempts = attempts + 1, run_after = '2031-01-01 00:00:00' where {}", live(0)),
            format!("update jobs set locked_at = run_after where {}", live(1)),
            format!(
                "insert into jobs_dlq (payload, attempts, error_class, failed_at) \
                 select payload, 3, 'ElseError', run_after from jobs where {}",
                live(2)
            ),
            format!("delete from jobs where {} or {}", live(2), live(3)),
        ],
        Layout::DeadLetterJobs => {
            let payload = match db.engine {
                Engine::Postgres => "jsonb_set(payload::jsonb, '{executions}', '4')",
                _ => "json_set(payload, '$.executions', 4)",
            };
            let job_id = match db.engine {
                Engine::Postgres => "payload->>'job_id'",
                _ => "json_unquote(json_extract(payload, '$.job_id'))",
            };
            let job_id = if db.engine == Engine::Sqlite { "payload->>'$.job_id'" } else { job_id };
            [
                format!("update jobs set payload = {payload} where {}", live(0)),
                format!("update jobs set locked_at = run_after where {}", live(1)),
                format!(
                    "update dead_letter_jobs set error_class = 'ElseError' where status = 'ignored'; \
                     insert into dead_letter_jobs (id, job_class, job_id, queue_name, error_class, error_message, failed_at, status, \
                     created_at, updated_at) select '00000000-0000-4000-8000-0000000000ff', 'A', {job_id}, 'q', 'ElseError', 'm', \
                     '2026-11-22 00:00:00', 'failed', '2026-11-22 00:00:00', '2026-11-22 00:00:00' from jobs where {}",
                    live(2)
                ),
                format!("delete from jobs where {} or {}", live(2), live(3)),
            ]
        }
    };
    for statement in statements {
        db.execute(&statement).await;
    }
    let now = counts(&desk, &ledger, &run).await;
    let by_row = u64::from(layout == Layout::DlqEvents);
    let wanted = OutcomeCounts {
        waiting: replayed - 4,
        retrying: 1,
        running: 1,
        // An event keeps its error until it is written over.
        died_same: by_row,
        died_other: 1 - by_row,
        succeeded: by_row,
        gone_succeeded: 1 - by_row,
        died_by_class: now.died_by_class.clone(),
        ..waiting
    };
    assert_eq!(now, wanted, "{name}");
    assert!(by_row == 1 || now.died_by_class == [(Some("ElseError".to_owned()), 1)], "{name}: {now:?}");
    // The ledger has the row that is dead now, which in two of the layouts is another one than the row that was replayed.
    let of_class = if by_row == 1 { "status = 'FAILED_PERMANENTLY'" } else { "error_class = 'ElseError'" };
    let is_dead = if layout == Layout::DeadLetterJobs { "status = 'failed' and " } else { "" };
    let dead = db.column(&format!("select id from {} where {is_dead}{of_class}", layout.table())).await;
    let kept = ledger
        .outcomes()
        .rows(&run, &[OutcomeTest { kinds: vec![OutcomeKind::Died], is_negated: false }], 9)
        .await
        .expect("rows");
    assert_eq!(kept.iter().map(JobId::as_str).collect::<Vec<_>>(), dead, "{name}");
    let desk = StoreContext { ledger: Some(LedgerLocator::known(ledger.clone())), ..desk };
    for filter in [format!("run:{run} outcome:died"), "run:last outcome:died id:/./".to_owned()] {
        let filter = crate::store_desk::filter(&filter);
        let query = PageQuery { filter, sort: Sort::default(), cursor: Cursor::Start, limit: 9 };
        let page = desk.scan(query, ScanMode::List, &budget()).await.expect("a page");
        let ids: Vec<String> = page.entries.into_iter().map(|entry| entry.row.id.as_str().to_owned()).collect();
        assert_eq!(ids, dead, "{name}");
    }
    // What is settled stays as it was seen, also when the rows are gone.
    let table = if by_row == 1 { "dlq_events" } else { "jobs" };
    db.execute(&format!("delete from {table}")).await;
    db.execute(&format!("delete from {}", layout.table())).await;
    let after = counts(&desk, &ledger, &run).await;
    assert_eq!((after.died(), &after.died_by_class, after.succeeded), (1, &now.died_by_class, now.succeeded), "{name}");
    assert_eq!(after.open(), 0, "{name}");
    let kept = ledger.runs().get(&run).await.expect("a run").outcomes.expect("the counts");
    assert_eq!(kept.died(), 1, "{name}: the run has them without a question");
}
