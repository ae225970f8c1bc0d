//! Retention: what is purged for good, and what is archived into the table beside. Every number is counted in SQL.

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{ActionScope, Confirm, Plan};
use dlq_tui::triage::run::{RunControl, execute};

use crate::cli::User;
use crate::fixtures::{Layout, sql};
use crate::harness::{self, Engine, TestDb, every_engine};
use crate::kills::kill_at_work;
use crate::run::{budget, desk, go, options, progress, resume_to_the_end, start};

/// The instant so many days ago, as the layouts' columns of time take it.
fn days_ago(db: &TestDb, days: u32) -> String {
    sql::ago(db.engine, days * 86_400)
}

/// Where a layout keeps when a job died and was last changed.
fn times(layout: Layout) -> (&'static str, Option<&'static str>) {
    match layout {
        Layout::DeadLetterJobs => ("failed_at", Some("updated_at")),
        Layout::DlqEvents => ("created_at", Some("updated_at")),
        Layout::JobsDlq => ("failed_at", None),
    }
}

/// Makes every job die, and be changed for the last time, so many days ago.
pub async fn aged(db: &TestDb, layout: Layout, days: u32) {
    let (died, touched) = times(layout);
    let at = days_ago(db, days);
    let touched = touched.map(|touched| format!(", {touched} = {at}")).unwrap_or_default();
    db.execute(&format!("update {} set {died} = {at}{touched}", layout.table())).await;
}

fn settled(layout: Layout) -> (&'static str, &'static str) {
    match layout {
        Layout::DeadLetterJobs => ("resolved", "status = 'resolved'"),
        Layout::DlqEvents => ("resolved", "status = 'SUCCEEDED'"),
        Layout::JobsDlq => ("dead", "1 = 1"),
    }
}

async fn ledger() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    (folder, ledger)
}

async fn plan(desk: &StoreContext, ledger: &Ledger, filter: &str, action: Action) -> Result<Plan, PlanError> {
    let scope = ActionScope::Filter(Filter::parse(filter).expect("a filter"));
    let older_than = (action == Action::Purge).then_some(30 * 86_400);
    let options = Options { older_than, ..Options::default() };
    let ask = Ask { options, ..Ask::new(scope, action, Timestamp::now()) };
    freeze(desk, ledger, ask, &budget(), |_| {}).await
}

#[tokio::test]
async fn a_purge_deletes_what_was_settled_long_ago_and_nothing_that_was_touched_since() {
    for layout in Layout::ALL {
        for db in every_engine(&format!("purge_{}", layout.table())).await {
            let told = format!("{layout:?} on {:?}", db.engine);
            layout.seed(&db, 600).await;
            aged(&db, layout, 40).await;
            let (state, is_settled) = settled(layout);
            let all = db.count(layout.table()).await;
            let before = db.count(&format!("{} where {is_settled}", layout.table())).await;
            // One of them died as long ago, but was changed yesterday; where that is not kept, one died yesterday.
            let (died, touched) = times(layout);
            let young = format!("select min(cast(id as char(36))) from {} where {is_settled}", layout.table());
            let young = db.scalar(&young).await;
            let set = format!("set {} = {}", touched.unwrap_or(died), days_ago(&db, 1));
            db.execute(&format!("update {} {set} where cast(id as char(36)) = '{young}'", layout.table())).await;
            let user = User::of(&db);
            let command = ["purge", "--state", state, "--older-than", "30d"];
            let with = |more: &[&'static str]| [&command[..], more].concat();
            let plan = user.json(&with(&["--dry-run", "-o", "json"]));
            assert_eq!(plan["count"], before - 1, "{told}: {plan}");
            assert!(
                plan["notes"].to_string().contains(if touched.is_some() {
                    "last change count"
                } else {
                    "its death counts"
                }),
                "{plan}"
            );
            assert_eq!(db.count(layout.table()).await, all, "{told}");
            assert!(user.run(&with(&[])).with(4).contains("--yes is needed"), "{told}");
            let receipt = user.json(&with(&["--yes", "-o", "json"]));
            assert_eq!((&receipt["action"], &receipt["done"]), (&"purge".into(), &(before - 1).into()), "{told}");
            assert_eq!(receipt["options"]["older_than_s"], 30 * 86_400);
            assert_eq!(db.count(layout.table()).await, all - (before - 1), "{told}");
            assert_eq!(db.count(&format!("{} where {is_settled}", layout.table())).await, 1, "{told}");
            user.run(&with(&["--yes"])).with(0);
            assert_eq!(db.count(layout.table()).await, all - (before - 1), "{told}");
        }
    }
}

#[tokio::test]
async fn a_job_that_is_touched_between_plan_and_purge_is_left_alone() {
    for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
        for db in every_engine(&format!("guard_{}", layout.table())).await {
            layout.seed(&db, 200).await;
            aged(&db, layout, 40).await;
            let (_folder, ledger) = ledger().await;
            let desk = desk(&db.url, layout.table()).await;
            let plan = plan(&desk, &ledger, "state:dead until:30d idle:30d", Action::Purge).await.expect("a plan");
            assert_eq!(plan.confirm, Confirm::TypeCount);
            assert!(plan.warnings[0].contains("nobody has replayed or ignored them"), "{:?}", plan.warnings);
            let (died, touched) = times(layout);
            let seven = format!(
                "select cast(id as char(36)) from {} where {} order by id limit 7",
                layout.table(),
                layout.is_dead()
            );
            let ids = db.column(&seven).await.join("', '");
            let set = format!("set {} = {}", touched.unwrap_or(died), days_ago(&db, 0));
            db.execute(&format!("update {} {set} where cast(id as char(36)) in ('{ids}')", layout.table())).await;
            let tally = go(&desk, &ledger, &plan.run).await.run.tally;
            let told = format!("{layout:?} on {:?}: {tally:?}", db.engine);
            assert_eq!(
                (tally.done, tally.skipped.as_slice()),
                (plan.count - 7, &[("changed meanwhile".into(), 7)][..]),
                "{told}"
            );
            assert_eq!(layout.count_dead(&db).await, 7, "{told}");
        }
    }
}

#[tokio::test]
async fn a_filter_cannot_widen_a_purge_and_a_state_that_a_layout_lacks_is_told() {
    let db = harness::sqlite("purge_words").await;
    Layout::JobsDlq.seed(&db, 10).await;
    let user = User::of(&db);
    let purge = |more: &[&'static str]| user.run(&[&["purge", "--older-than", "30d"], more].concat());
    assert!(purge(&["--state", "dead", "-f", "until:1h"]).with(2).contains("--older-than says it already"));
    assert!(purge(&["--state", "dead", "-f", "state:resolved"]).with(2).contains("--state says it already"));
    assert!(purge(&["--state", "resolved"]).with(4).contains("has no resolved jobs"));
    assert!(purge(&["--state", "retrying"]).with(2).contains("still means to run"));
    user.run(&["purge", "--state", "dead"]).with(2);
    assert_eq!(db.count("jobs_dlq").await, 10);
}

/// The columns of a layout's table, as one list.
async fn columns(db: &TestDb, layout: Layout) -> String {
    let table = layout.table();
    let sql = match db.engine {
        Engine::Sqlite => format!("select name from pragma_table_info('{table}')"),
        Engine::Postgres => {
            format!("select column_name::text from information_schema.columns where table_name = '{table}'")
        }
        Engine::Mysql => format!(
            "select column_name from information_schema.columns where table_schema = database() and table_name = '{table}'"
        ),
    };
    db.column(&sql).await.join(", ")
}

/// A copy of a layout's table, made in SQL, to compare with.
async fn copied(db: &TestDb, layout: Layout) {
    db.execute(&format!("create table before_it as select * from {}", layout.table())).await;
}

#[tokio::test]
async fn jobs_are_archived_whole_into_a_table_that_is_made_for_them_and_stays_one_store() {
    for layout in Layout::ALL {
        for db in every_engine(&format!("archive_{}", layout.table())).await {
            let (table, told) = (layout.table(), format!("{layout:?} on {:?}", db.engine));
            let twin = format!("{table}_archive");
            layout.seed(&db, 400).await;
            copied(&db, layout).await;
            let (all, dead) = (db.count(table).await, layout.count_dead(&db).await);
            let user = User::of(&db);
            let shown = user.run(&["archive", "--all", "--dry-run"]);
            shown.with(0);
            assert!(
                shown.out.contains(&format!(".{twin}\n")) && shown.out.contains("CREATE TABLE"),
                "{told}: {}",
                shown.out
            );
            assert!(user.run(&["archive", "--all"]).with(4).contains("--yes is needed"), "{told}");
            let receipt = user.json(&["archive", "--all", "--yes", "-o", "json"]);
            assert_eq!((&receipt["action"], &receipt["done"]), (&"archive".into(), &dead.into()), "{told}");
            assert_eq!((db.count(table).await, db.count(&twin).await), (all - dead, dead), "{told}");
            let run = receipt["run"].as_str().expect("a run");
            let ours = format!("{twin} where archive_run = '{run}' and archived_at is not null");
            assert_eq!(db.count(&ours).await, dead, "{told}");
            let columns = columns(&db, layout).await;
            let both = format!("select {columns} from {table} union all select {columns} from {twin}");
            let same = match db.engine {
                Engine::Mysql => {
                    format!("(select {columns} from before_it except {both}) as x").replace(&both, &format!("({both})"))
                }
                _ => format!("(select {columns} from before_it except select * from ({both}) as y) as x"),
            };
            assert_eq!(db.count(&same).await, 0, "{told}: a row is not as it was");
            let sources = user.json(&["sources", "-o", "json"]);
            assert!(!sources.to_string().contains(&twin), "{told}: {sources}");
            // The second time nothing is created, and one job by its id is enough.
            let left = db.column(&format!("select cast(id as char(36)) from {table} order by id limit 1")).await;
            let Some(left) = left.first().map(|id| id.trim()).filter(|_| layout == Layout::DeadLetterJobs) else {
                continue;
            };
            assert!(!user.run(&["archive", left, "--dry-run"]).out.contains("CREATE TABLE"), "{told}");
            user.run(&["archive", left, "--yes"]).with(0);
            assert_eq!(db.count(&twin).await, dead + 1, "{told}");
        }
    }
}

#[tokio::test]
async fn a_column_that_the_table_has_gained_is_told_with_the_statement_and_nothing_is_touched() {
    for db in every_engine("gained").await {
        let layout = Layout::JobsDlq;
        layout.seed(&db, 30).await;
        let user = User::of(&db);
        user.run(&["archive", "1", "--yes"]).with(0);
        db.execute("alter table jobs_dlq add column tenant varchar(40)").await;
        db.execute("update jobs_dlq set tenant = 'acme'").await;
        let ended = user.run(&["archive", "2", "--yes"]);
        let said = ended.with(4).to_owned();
        assert!(said.contains("tenant") && said.contains("ALTER TABLE"), "{said}");
        assert_eq!((db.count("jobs_dlq").await, db.count("jobs_dlq_archive").await), (29, 1));
        let from = said.find("ALTER TABLE").expect("a statement");
        let to = said.find(" mends it").expect("its end");
        db.execute(&said[from..to]).await;
        user.run(&["archive", "2", "--yes"]).with(0);
        assert_eq!(db.count("jobs_dlq_archive where tenant = 'acme'").await, 1);
    }
}

#[tokio::test]
async fn a_column_that_appears_while_a_run_goes_on_stops_it_and_is_not_left_behind() {
    for db in every_engine("appears").await {
        Layout::JobsDlq.seed(&db, 30).await;
        let (_folder, ledger) = ledger().await;
        let desk = desk(&db.url, "jobs_dlq").await;
        let plan = plan(&desk, &ledger, "", Action::Archive).await.expect("a plan");
        assert!(plan.creates.as_ref().is_some_and(|made| made.creates.ends_with(".jobs_dlq_archive")), "{plan:?}");
        desk.store.plan().prepare(Action::Archive, &budget()).await.expect("a table");
        db.execute("alter table jobs_dlq add column tenant varchar(40)").await;
        // The check before the run sees it; and so does each batch, for a column that comes later still.
        let refused = execute(&desk, &ledger, &plan.run, options(), &RunControl::new(), &progress()).await;
        let why = refused.as_ref().ok().filter(|receipt| receipt.refused).and_then(|receipt| receipt.halted.as_deref());
        assert!(why.is_some_and(|why| why.contains("tenant")), "{refused:?}");
        let ids = [dlq_tui::domain::job::JobId::new("1")];
        let batch = crate::store_desk::batch(Action::Archive, ids);
        let broke = desk.store.apply(batch, &budget()).await.into_outcomes();
        assert!(broke.as_ref().is_err_and(|why| why.to_string().contains("tenant")), "{broke:?}");
        assert_eq!((db.count("jobs_dlq").await, db.count("jobs_dlq_archive").await), (30, 0));
    }
}

#[tokio::test]
async fn a_table_of_somebody_elses_with_the_archives_name_is_never_written_to() {
    for db in every_engine("foreign").await {
        Layout::JobsDlq.seed(&db, 5).await;
        db.execute("create table jobs_dlq_archive (id int, payload varchar(9))").await;
        let ended = User::of(&db).run(&["archive", "--all", "--yes"]);
        assert!(ended.with(4).contains("is no archive of ours"), "{}", ended.err);
        assert_eq!((db.count("jobs_dlq").await, db.count("jobs_dlq_archive").await), (5, 0));
    }
}

#[tokio::test]
async fn numbers_that_the_database_makes_stay_the_tables_own() {
    for db in every_engine("numbers").await {
        let made = match db.engine {
            Engine::Postgres => {
                "id bigint generated always as identity primary key, twice bigint generated always as (original_id * 2) stored"
            }
            Engine::Mysql => {
                "id bigint not null auto_increment primary key, twice bigint generated always as (original_id * 2) stored"
            }
            Engine::Sqlite => "id integer primary key, twice integer generated always as (original_id * 2) stored",
        };
        Layout::JobsDlq.install(&db).await;
        db.execute("drop table jobs_dlq").await;
        let json = if db.engine == Engine::Postgres { "json" } else { "longtext" };
        db.execute(&format!(
            "create table jobs_dlq ({made}, original_id bigint unique, payload {json}, attempts int, error_class varchar(40) not null, \
             error_msg varchar(40), stacktrace varchar(40), failed_by varchar(40) default 'nobody', failed_at timestamp null)"
        ))
        .await;
        let insert = "insert into jobs_dlq (original_id, payload, error_class, failed_by) values (7, '{\"a\":1.10}', 'Boom', null)";
        db.execute(insert).await;
        let user = User::of(&db);
        user.run(&["archive", "--all", "--yes"]).with(0);
        // SQLite gives the same number once more.
        db.execute(insert).await;
        user.run(&["archive", "--all", "--yes"]).with(0);
        let told = format!("{:?}", db.engine);
        assert_eq!((db.count("jobs_dlq").await, db.count("jobs_dlq_archive").await), (0, 2), "{told}");
        let whole = "jobs_dlq_archive where original_id = 7 and failed_by is null and failed_at is null and payload is not null";
        assert_eq!(db.count(whole).await, 2, "{told}");
    }
}

#[tokio::test]
async fn a_role_that_may_not_create_tables_is_told_what_to_run_and_nothing_is_touched() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("rights").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let role = format!("{}_archivist", db.name());
    db.execute(&format!(
        "create role {role} login; grant select, insert, delete on jobs_dlq, jobs to {role}; \
         revoke create on schema public from public"
    ))
    .await;
    let url = db.url.replacen(&format!("//{}:", harness::USER), &format!("//{role}:"), 1);
    if url == db.url {
        return; // a server given by URL may ask our role for a password that it does not have
    }
    let user = User::new().configured(&format!("[sources.shop]\nurl = \"{url}\"\n"));
    let ended = user.run(&["archive", "--all", "--yes"]);
    let said = ended.with(4);
    assert!(said.contains(&format!("GRANT CREATE ON SCHEMA public TO {role}")), "{said}");
    assert_eq!(db.count("jobs_dlq").await, 5);
}

#[tokio::test]
async fn a_purge_or_an_archive_that_is_killed_again_and_again_adds_up() {
    for action in [Action::Archive, Action::Purge] {
        for db in every_engine(&format!("killed_{action}")).await {
            let layout = Layout::JobsDlq;
            layout.seed(&db, 1_500).await;
            aged(&db, layout, 40).await;
            let (_folder, ledger) = ledger().await;
            let desk = desk(&db.url, layout.table()).await;
            let run = plan(&desk, &ledger, "until:30d idle:30d", action).await.expect("a plan").run;
            kill_at_work(&ledger, &run, &[0, 4, 11, 19], || start(&db, layout, &ledger, &run)).await;
            resume_to_the_end(&desk, &ledger, &run).await;
            let tally = ledger.runs().tally(&run).await.expect("a tally");
            let told = format!("{action} on {:?}: {tally:?}", db.engine);
            assert!(tally.adds_up() && tally.skipped_total() == 0, "{told}");
            assert_eq!((tally.done + tally.failed_total(), db.count("jobs_dlq").await), (1_500, 0), "{told}");
            match action {
                // Each row says with which run it came, so that nothing is left in doubt.
                Action::Archive => {
                    assert_eq!((tally.done, db.count("jobs_dlq_archive").await), (1_500, 1_500), "{told}")
                }
                _ => assert!(tally.failed.iter().all(|(why, _)| why.exact().contains("purged by this run")), "{told}"),
            }
            assert!(db.engine != Engine::Postgres || tally.done == 1_500, "{told}");
        }
    }
}
