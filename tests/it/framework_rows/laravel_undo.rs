//! Undo of Laravel replays where the uuid does not tell jobs apart: copies in the queue, and rows without a uuid.

use dlq_tui::domain::action::Action;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::outcome::OutcomeCounts;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{RunId, RunTally};
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::outcomes::count_outcomes;
use dlq_tui::triage::plan::ActionScope;

use super::bench::{changes, fixture, whole};
use super::shop::Shop;
use crate::cli::User;
use crate::harness::{Engine, TestDb, every_engine, every_server, mariadb};
use crate::store_desk::budget;

const UUID: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const COPY: &str = "insert into jobs (queue, payload, attempts, available_at, created_at) \
                    select queue, payload, 0, available_at, created_at from jobs";
const TWICE: &str = "the live queue has it more than once: to take back the one would leave the other to run";
const NO_UUID: &str = "its payload has no uuid by which it could be told from other jobs";

/// Failed jobs: the column `uuid`, and what stands in the payload before `"data"`.
async fn shop(db: TestDb, jobs: &[(Option<&str>, &str)]) -> Shop {
    db.execute(&fixture(&format!("laravel/{}.sql", db.engine.name()))).await;
    match db.engine {
        Engine::Postgres => db.execute("alter table failed_jobs alter uuid drop not null").await,
        Engine::Mysql => db.execute("alter table failed_jobs modify uuid varchar(255) null").await,
        Engine::Sqlite => {
            let nullable = fixture("laravel/sqlite.sql").replace("uuid varchar NOT NULL", "uuid varchar");
            db.execute(&format!("drop table failed_jobs; drop table jobs; {nullable}")).await;
        }
    }
    for (uuid, head) in jobs {
        let uuid = uuid.map_or("null".to_owned(), |uuid| format!("'{uuid}'"));
        let payload =
            format!(r#"{{{head}"displayName":"Import","job":"x","data":{{"uuid":"of-the-customer","n":1}}}}"#);
        db.execute(&format!(
            "insert into failed_jobs (uuid, connection, queue, payload, exception, failed_at) values \
             ({uuid}, 'database', 'feeds', '{payload}', 'RuntimeException: boom in /a.php:1', '2026-11-20 08:00:00')"
        ))
        .await;
    }
    Shop::on(db, "laravel").await
}

fn of(uuid: &str) -> String {
    format!(r#""uuid":"{uuid}","#)
}

async fn one_job(db: TestDb) -> Shop {
    shop(db, &[(Some(UUID), &of(UUID))]).await
}

fn failed(tally: &RunTally) -> Vec<(&str, u64)> {
    tally.failed.iter().map(|(reason, n)| (reason.exact(), *n)).collect()
}

fn skipped(tally: &RunTally) -> Vec<(&str, u64)> {
    tally.skipped.iter().map(|(reason, n)| (reason.as_str(), *n)).collect()
}

async fn board(shop: &Shop, run: &RunId) -> OutcomeCounts {
    count_outcomes(&shop.desk, &shop.ledger, run, &budget()).await.expect("a board")
}

#[tokio::test]
async fn undo_beside_a_copy_that_came_later_takes_neither() {
    for db in every_engine("laravel_twin_later").await {
        let shop = one_job(db).await;
        let name = shop.db.engine.name();
        let (run, _) = shop.run(Action::Replay, "").await;
        shop.db.execute("update jobs set reserved_at = 1, attempts = 1").await;
        shop.db.execute(COPY).await;
        let before = whole(&shop.db, "jobs").await;
        let tally = shop.undo(&run).await;
        assert_eq!((tally.done, failed(&tally)), (0, vec![(TWICE, 1)]), "{name}");
        assert_eq!(changes(&before, &whole(&shop.db, "jobs").await), Vec::<String>::new(), "{name}");
        assert_eq!(shop.db.count("failed_jobs").await, 0, "{name}");
        let asked = OutcomeCounts { replayed: 1, unknown: 1, ..OutcomeCounts::default() };
        assert_eq!(board(&shop, &run).await, asked, "{name}: which of the two is the replayed one?");
    }
}

#[tokio::test]
async fn undo_beside_a_copy_that_waited_before_takes_neither() {
    for db in every_engine("laravel_twin_before").await {
        let shop = one_job(db).await;
        let name = shop.db.engine.name();
        shop.db
            .execute(
                "insert into jobs (queue, payload, attempts, available_at, created_at) \
                 select queue, payload, 0, 1000, 1000 from failed_jobs",
            )
            .await;
        let (run, _) = shop.run(Action::Replay, "").await;
        let tally = shop.undo(&run).await;
        assert_eq!((tally.done, failed(&tally)), (0, vec![(TWICE, 1)]), "{name}");
        // The replayed job ran. What waits is not that one, although it has its uuid.
        shop.db.execute("delete from jobs where available_at > 1000").await;
        let tally = shop.undo(&run).await;
        assert_eq!(
            (tally.done, skipped(&tally)),
            (0, vec![("no longer in the queue as it was put there", 1)]),
            "{name}"
        );
        assert_eq!((shop.db.count("jobs").await, shop.db.count("failed_jobs").await), (1, 0), "{name}");
    }
}

#[tokio::test]
async fn jobs_with_one_uuid_are_not_taken_for_each_other() {
    for db in every_engine("laravel_one_uuid").await {
        let shop = shop(db, &[(None, &of(UUID)), (None, &of(UUID))]).await;
        let name = shop.db.engine.name();
        let (run, tally) = shop.run(Action::Replay, "").await;
        assert_eq!(tally.done, 2, "{name}");
        shop.db.execute("delete from jobs where id = (select id from (select min(id) as id from jobs) as x)").await;
        let tally = shop.undo(&run).await;
        let shared = "more than one job of this run may be the one that is in the live queue";
        assert_eq!((tally.done, failed(&tally)), (0, vec![(shared, 2)]), "{name}");
        assert_eq!((shop.db.count("jobs").await, shop.db.count("failed_jobs").await), (1, 0), "{name}");
    }
}

#[tokio::test]
async fn jobs_are_found_by_the_uuid_of_the_payload() {
    for db in every_engine("laravel_null_uuid").await {
        let other = "bbbbbbbb-0000-4000-8000-000000000004";
        let uuids = [2, 3, 4].map(|n| of(&format!("aaaaaaaa-0000-4000-8000-00000000000{n}")));
        let jobs = [(None, ""), (None, &*uuids[0]), (Some(""), &uuids[1]), (Some(other), &uuids[2])];
        let shop = shop(db, &jobs).await;
        let name = shop.db.engine.name();
        let before = whole(&shop.db, "failed_jobs").await;
        let plan = shop.try_plan(Action::Replay, "").await.expect("a plan");
        let warned = plan.warnings.iter().any(|told| told.starts_with("1 of them: no uuid in the payload"));
        assert!(warned, "{name}: {:?}", plan.warnings);
        let (run, tally) = shop.run(Action::Replay, "").await;
        assert_eq!(tally.done, 4, "{name}");
        let board_now = OutcomeCounts { replayed: 4, waiting: 3, unknown: 1, ..OutcomeCounts::default() };
        assert_eq!(board(&shop, &run).await, board_now, "{name}");
        let ask = Ask::new(ActionScope::Undo(run.clone(), Vec::new()), Action::Recall, Timestamp::now());
        let plan = freeze(&shop.desk, &shop.ledger, ask, &budget(), |_| {}).await.expect("a plan");
        assert_eq!(plan.outlook, [("can be undone".to_owned(), 3), (NO_UUID.to_owned(), 1)], "{name}");
        let tally = shop.undo(&run).await;
        assert_eq!((tally.done, failed(&tally)), (3, vec![(NO_UUID, 1)]), "{name}");
        assert_eq!(changes(&before, &whole(&shop.db, "failed_jobs").await), ["1 gone"], "{name}");
        assert_eq!(shop.db.count("jobs").await, 1, "{name}");
    }
}

#[tokio::test]
async fn a_job_without_a_uuid_column_counts_its_replays() {
    for db in every_engine("laravel_guard").await {
        let shop = shop(db, &[(None, &of(UUID)), (Some(""), "")]).await;
        let name = shop.db.engine.name();
        for round in 0..3 {
            let (_, tally) = shop.run(Action::Replay, "").await;
            assert_eq!(tally.done, 2, "{name} {round}");
            // They die again; the driver `database` leaves the column empty, and the row has another id.
            shop.db
                .execute(
                    "insert into failed_jobs (uuid, connection, queue, payload, exception, failed_at) \
                     select null, 'database', queue, payload, 'x', '2026-11-21 08:00:00' from jobs",
                )
                .await;
            shop.db.execute("delete from jobs").await;
        }
        let plan = shop.try_plan(Action::Replay, "").await.expect("a plan");
        assert_eq!(plan.count, 1, "{name}: {:?}", plan.warnings);
        let barred = shop.db.scalar(&format!("select max(id) from failed_jobs where payload like '%{UUID}%'")).await;
        let ask = Ask::new(ActionScope::Jobs(vec![JobId::new(barred)]), Action::Replay, Timestamp::now());
        let refused = freeze(&shop.desk, &shop.ledger, ask, &budget(), |_| {}).await;
        assert!(matches!(refused, Err(PlanError::Barred { jobs: 1, .. })), "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn undo_of_rows_that_together_exceed_a_packet_is_done() {
    let Some(server) = mariadb() else { return };
    let db = server.database("laravel_packet").await;
    db.execute(&fixture("laravel/mysql.sql")).await;
    // Together 30 MB, where the server takes 16 at once.
    db.execute(
        "insert into failed_jobs (uuid, connection, queue, payload, exception, failed_at) \
         with recursive numbers (seq) as (select 1 union all select seq + 1 from numbers where seq < 300) \
         select concat('aaaaaaaa-0000-4000-8000-', lpad(seq, 12, '0')), 'database', 'd', \
           concat('{\"uuid\":\"aaaaaaaa-0000-4000-8000-', lpad(seq, 12, '0'), '\",\"job\":\"x\",\"data\":{}}'), \
           concat('RuntimeException: boom in /a.php:1\\nStack trace:\\n', repeat('#0 {main}\\n', 9000)), utc_timestamp() \
         from numbers",
    )
    .await;
    let shop = Shop::on(db, "laravel").await;
    let before = whole(&shop.db, "failed_jobs").await;
    let (run, tally) = shop.run(Action::Replay, "").await;
    assert_eq!(tally.done, 300);
    let all = OutcomeCounts { replayed: 300, waiting: 300, ..OutcomeCounts::default() };
    assert_eq!(board(&shop, &run).await, all);
    let tally = shop.undo(&run).await;
    assert_eq!((tally.done, failed(&tally)), (300, Vec::new()));
    assert_eq!(changes(&before, &whole(&shop.db, "failed_jobs").await), Vec::<String>::new());
}

#[tokio::test]
async fn jobs_with_large_payloads_are_looked_for_within_the_time_of_a_statement() {
    const JOBS: usize = 500;
    let head = format!(r#""padding":"{}","#, "x".repeat(20_000));
    for db in every_server("laravel_large").await.into_iter().filter(|db| db.engine == Engine::Mysql) {
        let uuids: Vec<String> = (0..JOBS).map(|n| format!("aaaaaaaa-0000-4000-8000-{n:012}")).collect();
        let heads: Vec<String> = uuids.iter().map(|uuid| of(uuid) + &head).collect();
        let jobs: Vec<_> = uuids.iter().zip(&heads).map(|(uuid, head)| (Some(uuid.as_str()), head.as_str())).collect();
        let shop = shop(db, &jobs).await;
        // As an operator has it, with the time that a statement is given where nothing says otherwise.
        let user = User::of(&shop.db);
        user.run(&["replay", "--all", "--yes"]).with(0);
        let run = user.json(&["runs", "-o", "json"])["runs"][0]["run"].as_str().map(str::to_owned).expect("a run");
        let receipt = user.json(&["undo", &run, "--yes", "-o", "json"]);
        assert_eq!(receipt["done"], JOBS, "{receipt}");
    }
}
