//! Jobs of pg-boss that wait for others, and the channel on which its workers listen.

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::run_options::Options;

use super::shop::Shop;

const TABLES: &str = include_str!("../../fixtures/frameworks/pg-boss/tables.sql");
const ROWS: &str = include_str!("../../fixtures/frameworks/pg-boss/rows.sql");

/// The dead job `reports/…6`, for which two jobs wait. Another queue has a job with its id, for which one waits.
const FLOW: &str = "
    insert into boss.job (id, name, state, blocked, pending_dependencies) values
      ('00000000-0000-4000-8000-000000000101', 'payments', 'created', true, 1), ('00000000-0000-4000-8000-000000000102', 'email', 'created', true, 1);
    insert into boss.job (id, name, state, blocking) values ('00000000-0000-4000-8000-000000000006', 'email', 'created', true);
    update boss.job set blocking = true where name = 'reports';
    insert into boss.job_dependency (child_name, child_id, parent_name, parent_id) values
      ('payments', '00000000-0000-4000-8000-000000000101', 'reports', '00000000-0000-4000-8000-000000000006'),
      ('email', '00000000-0000-4000-8000-000000000102', 'reports', '00000000-0000-4000-8000-000000000006'),
      ('email', '00000000-0000-4000-8000-000000000102', 'email', '00000000-0000-4000-8000-000000000006')";
const PARENT: &str = "reports/00000000-0000-4000-8000-000000000006";
const DEPENDENCIES: &str = "select d::text from boss.job_dependency as d order by 1";
/// What pg-boss's maintenance does.
const CLEAN_UP: &str = "delete from boss.job_dependency as d where not exists \
    (select from boss.job as j where j.name = d.parent_name and j.id = d.parent_id)";

async fn shop() -> Option<Shop> {
    Shop::new("pg-boss", &[TABLES, ROWS, FLOW]).await
}

#[tokio::test]
async fn a_dead_parent_tells_how_many_jobs_wait_for_it() {
    let Some(shop) = shop().await else { return };
    let told = shop.metadata(PARENT, "wait for it").await;
    assert_eq!(told.as_deref(), Some("2 jobs, blocked until it has succeeded"));
    for (action, wanted) in [
        (Action::Discard, "stay blocked until this is undone"),
        (Action::Archive, "nothing will unblock them"),
        (Action::Purge, "nothing will unblock them"),
    ] {
        let plan = shop.try_plan(action, "state:dead").await.expect("a plan");
        let warned: Vec<&String> =
            plan.warnings.iter().filter(|told| told.contains("other jobs wait for it")).collect();
        assert!(warned.len() == 1 && warned[0].starts_with("1 of them: "), "{action}: {:?}", plan.warnings);
        assert!(warned[0].contains(wanted), "{action}: {warned:?}");
    }
    // A child that has ended waits no more.
    shop.db.execute("update boss.job set state = 'cancelled' where blocked").await;
    assert_eq!(shop.metadata(PARENT, "wait for it").await, None);
    let plan = shop.try_plan(Action::Discard, "").await.expect("a plan");
    assert!(!plan.warnings.iter().any(|told| told.contains("wait for it")), "{:?}", plan.warnings);
}

#[tokio::test]
async fn undo_of_a_discard_brings_back_what_waits_for_the_job() {
    let Some(shop) = shop().await else { return };
    let before = (shop.rows("boss.job", "true").await, shop.db.column(DEPENDENCIES).await);
    let (run, tally) = shop.run(Action::Discard, "queue:reports").await;
    assert_eq!((tally.done, shop.db.count("boss.job_dependency").await), (1, 1), "the other queue's stays");
    shop.db.execute(CLEAN_UP).await;
    assert_eq!(shop.undo(&run).await.done, 1);
    assert_eq!((shop.rows("boss.job", "true").await, shop.db.column(DEPENDENCIES).await), before);
    // Also where maintenance has not been there.
    let (run, _) = shop.run(Action::Discard, "queue:reports").await;
    assert_eq!(shop.undo(&run).await.done, 1);
    assert_eq!(shop.db.column(DEPENDENCIES).await, before.1);
}

#[tokio::test]
async fn workers_of_a_schema_that_needs_quotes_are_woken() {
    let named =
        [TABLES, ROWS].map(|sql| sql.replace("SCHEMA boss", "SCHEMA \"Jobs-App\"").replace("boss.", "\"Jobs-App\"."));
    let Some(shop) = Shop::new("pg-boss", &[&named[0], &named[1]]).await else { return };
    let mut listener = sqlx::postgres::PgListener::connect(&shop.db.url).await.expect("a listener");
    // As the configuration has it, quotes included.
    let channel = shop.db.scalar("select 'pgboss_' || left(encode(sha224('\"Jobs-App\"'), 'hex'), 24)").await;
    listener.listen(&channel).await.expect("listens");
    let id = "email/00000000-0000-4000-8000-000000000001";
    assert_eq!(shop.act(Action::Replay, &[id], Options::default()).await[id], JobResult::Done);
    assert_eq!(listener.recv().await.expect("a notification").payload(), "email");
}
