//! Rows that would come back without a part of them, or take others along: nothing of it happens without a word.

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::run_options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunId};
use dlq_tui::store::{Availability, Cursor, Sort, Store};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb, every_engine};
use crate::run::{budget, desk, go, plan, resume_to_the_end};
use crate::store_desk::{exhaust, store};
use crate::undo::content;

const ROWS: u32 = 30;

async fn ledger() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    (folder, ledger)
}

async fn ask(
    desk: &StoreContext,
    ledger: &Ledger,
    scope: ActionScope,
    action: Action,
    options: Options,
) -> Result<Plan, PlanError> {
    let ask = Ask { options, ..Ask::new(scope, action, Timestamp::now()) };
    freeze(desk, ledger, ask, &budget(), |_| {}).await
}

fn all() -> ActionScope {
    ActionScope::Filter(Filter::parse("state:dead").expect("a filter"))
}

/// Undoes a run to the end.
async fn undo(desk: &StoreContext, ledger: &Ledger, run: &RunId) -> u64 {
    let way = ledger.runs().get(run).await.expect("a run").intent.action.undone_by().expect("a way back");
    let plan =
        ask(desk, ledger, ActionScope::Undo(run.clone(), Vec::new()), way, Options::default()).await.expect("a plan");
    go(desk, ledger, &plan.run).await.run.tally.done
}

async fn gain_a_column(db: &TestDb, table: &str) {
    db.execute(&format!("alter table {table} add column sla varchar(40)")).await;
    db.execute(&format!("update {table} set sla = 'gold'")).await;
}

#[tokio::test]
async fn a_column_that_came_after_the_store_was_opened_stops_a_run_which_a_store_opened_anew_resumes() {
    for action in [Action::Discard, Action::Replay] {
        for db in every_engine("gained_late").await {
            let told = format!("{action} on {:?}", db.engine);
            Layout::JobsDlq.seed(&db, ROWS).await;
            let (_folder, ledger) = ledger().await;
            let old = desk(&db.url, "jobs_dlq").await;
            let run = plan(&old, &ledger, "", action).await.run;
            gain_a_column(&db, "jobs_dlq").await;
            let before = content(&db, "jobs_dlq").await;
            let receipt = go(&old, &ledger, &run).await;
            let why = receipt.halted.as_deref().unwrap_or_default();
            assert!(why.contains("(sla)") && why.contains("resume the run"), "{told}: {receipt:?}");
            assert_eq!(receipt.outdated.as_ref().map(|table| &*table.columns), Some(&["sla".into()][..]), "{told}");
            assert_eq!((receipt.run.tally.done, content(&db, "jobs_dlq").await == before), (0, true), "{told}");
            let refused = ask(&old, &ledger, all(), action, Options::default()).await;
            assert!(
                matches!(&refused, Err(PlanError::Outdated(table)) if table.columns == ["sla"]),
                "{told}: {refused:?}"
            );
            let new = desk(&db.url, "jobs_dlq").await;
            resume_to_the_end(&new, &ledger, &run).await;
            assert_eq!(db.count("jobs_dlq").await, 0, "{told}");
            assert_eq!(undo(&new, &ledger, &run).await, u64::from(ROWS), "{told}");
            assert_eq!(content(&db, "jobs_dlq").await, before, "{told}");
        }
    }
}

#[tokio::test]
async fn a_column_that_went_stops_a_run_and_one_that_is_not_kept_stops_none() {
    for db in every_engine("went_late").await {
        let told = format!("{:?}", db.engine);
        Layout::DlqEvents.seed(&db, ROWS).await;
        let (_folder, ledger) = ledger().await;
        db.execute("alter table dlq_events add column old varchar(40)").await;
        let old = desk(&db.url, "dlq_events").await;
        gain_a_column(&db, "dlq_events").await;
        // Of a row that stays, what is written over is kept, and nothing else.
        let some = Ask { limit: Some(3), ..Ask::new(all(), Action::Replay, Timestamp::now()) };
        let run = freeze(&old, &ledger, some, &budget(), |_| {}).await.expect("a plan").run;
        let replayed = go(&old, &ledger, &run).await;
        assert_eq!((replayed.is_complete(), replayed.run.tally.done), (true, 3), "{told}: {replayed:?}");
        // What is erased is not kept at all.
        let options = Options { no_archive: true, ..Options::default() };
        let erase = Ask { limit: Some(3), options, ..Ask::new(all(), Action::Discard, Timestamp::now()) };
        let erased = freeze(&old, &ledger, erase, &budget(), |_| {}).await.expect("a plan").run;
        let erased = go(&old, &ledger, &erased).await;
        assert_eq!((erased.is_complete(), erased.run.tally.done), (true, 3), "{told}: {erased:?}");
        let later = desk(&db.url, "dlq_events").await;
        let discard = plan(&later, &ledger, "state:dead", Action::Discard).await.run;
        db.execute("alter table dlq_events drop column sla; alter table dlq_events drop column old").await;
        // The database refuses a statement that names them, before anybody looks what there is.
        let stopped = go(&later, &ledger, &discard).await;
        let gone = stopped.outdated.map(|table| table.columns);
        assert_eq!(gone, Some(vec!["old".into(), "sla".into()]), "{told}: {:?}", stopped.halted);
        let refused = ask(&old, &ledger, all(), Action::Discard, Options::default()).await;
        assert!(matches!(&refused, Err(PlanError::Outdated(table)) if table.columns == ["old"]), "{told}: {refused:?}");
    }
}

async fn disabled(store: &dyn Store, action: Action, word: &str) {
    let availability = store.info().availability(action);
    assert!(matches!(&availability, Availability::Disabled(why) if why.contains(word)), "{action}: {availability:?}");
}

async fn shown(store: &dyn Store) -> usize {
    exhaust(store, &Filter::parse("").expect("a filter"), Sort::default(), Cursor::Start, 50).await.len()
}

#[tokio::test]
async fn a_table_that_others_inherit_from_is_only_looked_at_and_a_partitioned_one_is_acted_on() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("inherited").await;
    Layout::JobsDlq.seed(&db, ROWS).await;
    let (_folder, ledger) = ledger().await;
    let early = desk(&db.url, "jobs_dlq").await;
    let run = plan(&early, &ledger, "", Action::Discard).await.run;
    db.execute(
        "create table vip (sla text) inherits (jobs_dlq); \
         insert into vip (payload, failed_at, sla) values ('{}', '2026-11-18 09:00:00+00', 'gold')",
    )
    .await;
    let receipt = go(&early, &ledger, &run).await;
    assert!(receipt.halted.as_deref().is_some_and(|why| why.contains("inherit from jobs_dlq")), "{receipt:?}");
    let late = store(&db, Layout::JobsDlq).await;
    for action in [Action::Discard, Action::Archive, Action::Purge, Action::Replay, Action::Restore, Action::Recall] {
        disabled(&late, action, "tables inherit from jobs_dlq (vip)").await;
    }
    assert_eq!(shown(&late).await, ROWS as usize + 1);
    assert_eq!(db.count("jobs_dlq").await, u64::from(ROWS) + 1);
    db.execute(
        "drop table vip; alter table jobs_dlq rename to whole; \
         create table jobs_dlq (like whole including defaults, primary key (id)) partition by hash (id); \
         create table part partition of jobs_dlq for values with (modulus 1, remainder 0); \
         insert into jobs_dlq select * from whole",
    )
    .await;
    let before = content(&db, "jobs_dlq").await;
    let desk = desk(&db.url, "jobs_dlq").await;
    let run = plan(&desk, &ledger, "", Action::Discard).await.run;
    assert_eq!(go(&desk, &ledger, &run).await.run.tally.done, u64::from(ROWS));
    undo(&desk, &ledger, &run).await;
    assert_eq!(content(&db, "jobs_dlq").await, before);
}

#[tokio::test]
async fn through_a_view_no_row_is_deleted_and_looking_and_acting_in_place_are_possible() {
    for layout in [Layout::JobsDlq, Layout::DeadLetterJobs] {
        for db in every_engine("seen_through").await {
            layout.seed(&db, ROWS).await;
            let table = layout.table();
            db.execute(&format!(
                "alter table {table} rename to dead_rows; create view {table} as select * from dead_rows"
            ))
            .await;
            let store = store(&db, layout).await;
            for action in [Action::Discard, Action::Archive, Action::Purge, Action::Restore] {
                disabled(&store, action, &format!("{table} is a view")).await;
            }
            let replay = store.info().availability(Action::Replay);
            match (layout, db.engine) {
                // What MariaDB has behind a view may have no transactions.
                (Layout::JobsDlq, _) | (_, Engine::Mysql) => disabled(&store, Action::Replay, "is a view").await,
                _ => assert!(matches!(replay, Availability::Ready { .. }), "{:?}: {replay:?}", db.engine),
            }
            assert_eq!(shown(&store).await as u64, db.count(table).await, "{:?}", db.engine);
        }
    }
}

#[tokio::test]
async fn a_plan_names_the_rows_of_other_tables_that_the_database_takes_along() {
    for db in every_engine("followers").await {
        Layout::JobsDlq.seed(&db, ROWS).await;
        let schema = match db.engine {
            Engine::Postgres => "public".to_owned(),
            Engine::Mysql => db.scalar("select database()").await,
            Engine::Sqlite => "main".to_owned(),
        };
        db.execute(
            "create table notes (id bigint primary key, job bigint, foreign key (job) references jobs_dlq (id) on delete cascade);
             create table files (id bigint primary key, note bigint, foreign key (note) references notes (id) on delete cascade);
             create table tags (id bigint primary key, job bigint, foreign key (job) references jobs_dlq (id) on delete set null);
             create table strict (id bigint primary key, job bigint, foreign key (job) references jobs_dlq (id));
             insert into notes values (1, 1); insert into files values (1, 1); insert into tags values (1, 1)",
        )
        .await;
        let (_folder, ledger) = ledger().await;
        let desk = desk(&db.url, "jobs_dlq").await;
        let warned = async |action, options| {
            let plan = ask(&desk, &ledger, all(), action, options).await.expect("a plan");
            plan.warnings.into_iter().filter(|told| told.contains("ON DELETE")).collect::<Vec<String>>()
        };
        let gone = format!(
            "rows of {schema}.files (by way of {schema}.notes), {schema}.notes that refer to these jobs are \
             deleted along with them by the database (ON DELETE CASCADE)"
        );
        let left = format!(
            "rows of {schema}.tags that refer to these jobs are made by the database to refer to nothing \
             (ON DELETE SET NULL)"
        );
        let undone = [
            format!("{gone}, and an undo does not bring them back"),
            format!("{left}, and an undo does not change them back"),
        ];
        let told = format!("{:?}", db.engine);
        assert_eq!(warned(Action::Discard, Options::default()).await, undone, "{told}");
        assert_eq!(warned(Action::Replay, Options::default()).await, undone, "{told}");
        let erase = Options { no_archive: true, ..Options::default() };
        assert_eq!(warned(Action::Discard, erase).await, [gone.clone(), left.clone()], "{told}");
        assert_eq!(warned(Action::Purge, Options::default()).await, [gone.clone(), left.clone()], "{told}");
        let archived = warned(Action::Archive, Options::default()).await;
        assert_eq!(
            archived,
            [format!("{gone}, and are not archived"), format!("{left}, and are not archived")],
            "{told}"
        );
        let run = plan(&desk, &ledger, "", Action::Discard).await.run;
        go(&desk, &ledger, &run).await;
        assert_eq!((db.count("files").await, db.count("tags where job is null").await), (0, 1), "{told}");
    }
}

#[tokio::test]
async fn of_verbs_whose_rows_stay_no_such_thing_is_told() {
    for db in every_engine("no_followers").await {
        Layout::DeadLetterJobs.seed(&db, ROWS).await;
        let own = match db.engine {
            Engine::Postgres => "uuid",
            Engine::Mysql => "char(36) character set ascii",
            Engine::Sqlite => "varchar(36)",
        };
        db.execute(&format!(
            "create table notes (id bigint primary key, job {own}, foreign key (job) references dead_letter_jobs (id) on delete cascade)"
        ))
        .await;
        let (_folder, ledger) = ledger().await;
        let desk = desk(&db.url, "dead_letter_jobs").await;
        for (action, warned) in [(Action::Replay, 0), (Action::Ignore, 0), (Action::Discard, 1)] {
            let plan = ask(&desk, &ledger, all(), action, Options::default()).await.expect("a plan");
            let told = plan.warnings.iter().filter(|told| told.contains("ON DELETE")).count();
            assert_eq!(told, warned, "{action} on {:?}: {:?}", db.engine, plan.warnings);
        }
    }
}

#[tokio::test]
async fn rows_that_an_adapter_keeps_along_or_knows_of_are_not_warned_of_and_those_of_others_are() {
    for db in every_engine("along").await {
        crate::framework_rows::solid_queue::seed_into(&db).await;
        let (_folder, ledger) = ledger().await;
        let desk = desk(&db.url, "solid_queue").await;
        let warned = async || {
            let plan = ask(&desk, &ledger, all(), Action::Discard, Options::default()).await.expect("a plan");
            plan.warnings.into_iter().filter(|told| told.contains("ON DELETE")).collect::<Vec<String>>()
        };
        assert_eq!(warned().await, Vec::<String>::new(), "{:?}", db.engine);
        db.execute(
            "create table notes (id bigint primary key, job bigint, foreign key (job) references solid_queue_jobs (id) on delete cascade)",
        )
        .await;
        let told = warned().await;
        assert!(matches!(&told[..], [one] if one.contains(".notes that refer")), "{:?}: {told:?}", db.engine);
        // What is kept along is to be whole too.
        db.execute("alter table solid_queue_jobs add column sla varchar(40)").await;
        let refused = ask(&desk, &ledger, all(), Action::Discard, Options::default()).await;
        assert!(matches!(&refused, Err(PlanError::Outdated(table)) if table.columns == ["sla"]), "{refused:?}");
    }
}

#[tokio::test]
async fn jobs_that_go_because_they_refer_to_others_are_warned_of() {
    for db in every_engine("self").await {
        Layout::JobsDlq.seed(&db, ROWS).await;
        db.execute("alter table jobs_dlq add column parent bigint references jobs_dlq (id) on delete cascade").await;
        let (_folder, ledger) = ledger().await;
        let desk = desk(&db.url, "jobs_dlq").await;
        let plan = ask(&desk, &ledger, all(), Action::Discard, Options::default()).await.expect("a plan");
        let told = |warning: &String| warning.contains(".jobs_dlq that refer to these jobs are deleted along");
        assert!(plan.warnings.iter().any(told), "{:?}: {:?}", db.engine, plan.warnings);
    }
}
