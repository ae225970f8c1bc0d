//! Least privilege: what the documentation says that a role needs is enough, each of it is needed, and what is missing is named.

mod clerk;
mod given;
mod install;

use std::sync::Arc;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::repair::{ArgumentsDocument, ArgumentsEdit};
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::Ledger;
use dlq_tui::store::sql::SqlStore;
use dlq_tui::store::{
    Batch, Cursor, Diagnose, HistogramQuery, PageQuery, ScanMode, Sort, SourceError, Store, StoreExt,
};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::outcomes::count_outcomes;
use dlq_tui::triage::plan::ActionScope;

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};
use crate::plans::layouts::{CASES, Case};
use crate::run::{desk_of, go};
use crate::store_desk::{Shelf, batch, budget, histogram};
use clerk::{Clerk, refusal, revoked};

/// What is done with the jobs of a layout; the undo of each follows it.
const VERBS: [Action; 5] = [Action::Replay, Action::Ignore, Action::Discard, Action::Archive, Action::Purge];
/// Every layout on the servers that it is for, with a role that may do nothing.
async fn databases() -> Vec<(&'static Case, TestDb)> {
    let mut all = Vec::new();
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        for case in CASES {
            let db = server.database(&format!("least {}", case.name)).await;
            if case.engines.contains(&db.engine) {
                match small(case) {
                    Some(layout) => layout.seed(&db, 60).await,
                    None => case.make(&db).await,
                }
                // What everybody may do says nothing of a role.
                if db.engine == Engine::Postgres {
                    db.execute(CLOSED).await;
                }
                all.push((case, db));
            }
        }
    }
    all
}

/// Takes away what PostgreSQL lets everybody do.
const CLOSED: &str = "do $$ declare s text; begin \
    for s in select nspname from pg_namespace where nspname !~ '^pg_|^information' loop \
        execute format('revoke all on schema %I from public', s); \
        execute format('revoke all on all functions in schema %I from public', s); \
    end loop; end $$";

/// The layouts that are made with as many rows as are asked for.
fn small(case: &Case) -> Option<Layout> {
    [Layout::DeadLetterJobs, Layout::DlqEvents, Layout::JobsDlq]
        .into_iter()
        .find(|layout| layout.table() == case.adapter)
}

async fn grant(db: &TestDb, grants: &[String]) {
    for grant in grants {
        db.execute(grant).await;
    }
}

/// Looks at everything there is; returns dead jobs.
async fn look(store: &SqlStore) -> Vec<JobId> {
    let all = Filter::all();
    for facet in store.info().capabilities.facets.clone() {
        store.count(HistogramQuery::estimate(facet), &budget()).await.expect("an estimate");
        histogram(store, facet, &all).await;
    }
    store.count(HistogramQuery::states(true), &budget()).await.expect("totals");
    let facet = store.info().capabilities.facets[0];
    let seen = store.changes(None, facet, &all, &budget()).await.expect("a look");
    store.changes(Some(&seen.token), facet, &all, &budget()).await.expect("a look");
    let query = PageQuery { filter: all.clone(), sort: Sort::default(), cursor: Cursor::Start, limit: 20 };
    store.scan(query, ScanMode::Screen(20), &budget()).await.expect("a page");
    let frozen =
        store.scan(PageQuery::cohort(&all, Cursor::Start), ScanMode::Cohort, &budget()).await.expect("a cohort");
    let ids: Vec<JobId> = frozen.entries.into_iter().map(|entry| entry.row.id).take(60).collect();
    assert_eq!(store.details(&ids, &budget()).await.expect("details").len(), ids.len());
    store.rows(&ids, &budget()).await.expect("rows");
    store.identity(&budget()).await.expect("an identity");
    ids
}

#[tokio::test]
async fn the_documented_rights_are_enough_to_look_and_to_act_and_no_more_than_that() {
    for (case, db) in databases().await {
        let named = format!("{} on {}", case.name, db.engine.name());
        let store =
            Clerk { url: db.url.clone(), name: String::new(), db: &db }.open(case, false).await.expect("a store");
        assert_eq!((store.lacks(), &store.info().read_only), (&[][..], &None), "{named}: its owner");
        let Some(clerk) = Clerk::hired(&db).await else { continue };
        grant(&db, &clerk.needs(case, &[None]).await).await;
        let store = clerk.open(case, false).await.unwrap_or_else(|why| panic!("{named}: {why}"));
        let jobs = look(&store).await;
        assert!(!jobs.is_empty(), "{named}");
        assert!(store.info().read_only.is_some(), "{named}: {:?}", store.info().capabilities.actions);
        assert!(store.lacks().iter().all(|(action, _)| action.is_some()), "{named}: {:?}", store.lacks());
        for action in Action::ALL {
            assert!(refusal(&store, action).is_some(), "{named}: {action}");
        }
        let every: Vec<Option<Action>> = Action::ALL.into_iter().map(Some).collect();
        grant(&db, &clerk.needs(case, &every).await).await;
        let store = clerk.open(case, false).await.unwrap_or_else(|why| panic!("{named}: {why}"));
        assert_eq!((store.info().read_only.as_deref(), store.lacks()), (None, &[][..]), "{named}");
        act(&named, store, &jobs).await;
        clerk.leave().await;
    }
}

/// Every verb on some jobs of its own, what became of them, and its undo.
async fn act(named: &str, store: SqlStore, jobs: &[JobId]) {
    let desk = desk_of(store);
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
    let each = (jobs.len() / VERBS.len()).max(1);
    let ask = |scope, action| Ask::new(scope, action, Timestamp::now());
    for (action, jobs) in VERBS.into_iter().zip(jobs.chunks(each)) {
        if refusal_of(&desk, action).is_some() {
            continue;
        }
        desk.store.plan().prepare(action, &budget()).await.unwrap_or_else(|e| panic!("{named}: {action}: {e}"));
        let plan = freeze(&desk, &ledger, ask(ActionScope::Jobs(jobs.to_vec()), action), &budget(), |_| {}).await;
        let Ok(plan) = plan else { continue };
        let receipt = go(&desk, &ledger, &plan.run).await;
        assert!(receipt.halted.is_none(), "{named}: {action}: {receipt:?}");
        assert!(receipt.run.tally.done > 0, "{named}: {action}: {receipt:?}");
        count_outcomes(&desk, &ledger, &plan.run, &budget()).await.expect("fates");
        let Some(back) = action.undone_by().filter(|back| refusal_of(&desk, *back).is_none()) else { continue };
        let plan =
            freeze(&desk, &ledger, ask(ActionScope::Undo(plan.run.clone(), Vec::new()), back), &budget(), |_| {}).await;
        let plan = plan.unwrap_or_else(|e| panic!("{named}: {back}: {e}"));
        let receipt = go(&desk, &ledger, &plan.run).await;
        assert!(receipt.run.tally.done > 0, "{named}: {back}: {receipt:?}");
    }
}

fn refusal_of(desk: &StoreContext, action: Action) -> Option<String> {
    match desk.store.info().availability(action) {
        dlq_tui::store::Availability::Disabled(why) => Some(why),
        dlq_tui::store::Availability::Ready { .. } => None,
    }
}

#[tokio::test]
async fn one_right_less_is_named_up_front_and_never_one_that_is_not_needed() {
    let mut wrong = Vec::new();
    for (case, db) in databases().await {
        let named = format!("{} on {}", case.name, db.engine.name());
        let Some(clerk) = Clerk::hired(&db).await else { continue };
        // By somebody else: who makes a table owns it.
        let owner =
            Clerk { url: db.url.clone(), name: String::new(), db: &db }.open(case, false).await.expect("a store");
        owner.plan().prepare(Action::Archive, &budget()).await.unwrap_or_else(|e| panic!("{named}: {e}"));
        let every: Vec<Option<Action>> = [None].into_iter().chain(Action::ALL.into_iter().map(Some)).collect();
        let all = clerk.single_needs(case, &every).await;
        grant(&db, &all).await;
        let whole = clerk.open(case, false).await.unwrap_or_else(|why| panic!("{named}: {why}"));
        let usable: Vec<Action> = Action::ALL.into_iter().filter(|action| refusal(&whole, *action).is_none()).collect();
        let jobs = look(&whole).await;
        let mut needed: Vec<(Action, Vec<String>)> = Vec::new();
        for action in usable {
            needed.push((action, clerk.single_needs(case, &[Some(action)]).await));
        }
        for right in &all {
            let users = needed.iter().filter(|(_, rights)| rights.contains(right)).map(|(action, _)| *action);
            let mut trusting = Vec::new();
            for action in users {
                // Opened while it had all: what it may not do is up to the database.
                trusting.push((action, clerk.open(case, true).await.expect("a store")));
            }
            db.execute(&revoked(right)).await;
            let opened = clerk.open(case, false).await;
            if let Err(why) = &opened {
                // There, a table is hidden from whoever may not read it.
                let is_hidden = db.engine == Engine::Mysql && why.starts_with("not found");
                if !is_hidden && !why.contains(tail(right)) {
                    wrong.push(format!("{named}: {right}: {why}"));
                }
            }
            for (action, trusting) in &trusting {
                let Ok(store) = &opened else { break };
                let refused = refusal(store, *action);
                if refused.as_ref().is_some_and(|why| !why.contains(tail(right))) {
                    wrong.push(format!("{named}: {action} without {right}: {refused:?}"));
                }
                match (refused, is_denied(trusting, *action, &jobs).await) {
                    (Some(_), Some(false)) => wrong.push(format!("{named}: {action} without {right}: refused in vain")),
                    (None, Some(true)) if !is_late(case, right) => {
                        wrong.push(format!("{named}: {action} without {right}: refused late"));
                    }
                    _ => {}
                }
            }
            db.execute(right).await;
        }
        clerk.leave().await;
    }
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

/// What cannot be known before: whose rights functions and triggers take, and whether there will be a row to be numbered.
fn is_late(case: &Case, right: &str) -> bool {
    match case.name {
        "graphile-worker" => right.starts_with("GRANT DELETE ON work._private_jobs "),
        "procrastinate" => right.contains("procrastinate_events") || right.contains("procrastinate_periodic_defers"),
        "solid_queue" => right.starts_with("GRANT USAGE ON SEQUENCE"),
        _ => false,
    }
}

/// What a right is on, and for whom: several on one thing are named in one grant.
fn tail(grant: &str) -> &str {
    grant.split_once(" ON ").map_or(grant, |(_, tail)| tail)
}

/// Writes a job's arguments as they are.
fn same(id: JobId, document: &ArgumentsDocument) -> ArgumentsEdit {
    let text = || document.text().to_owned();
    ArgumentsEdit { id, path: document.path().to_owned(), original: text(), edited: text() }
}

/// Whether the database refuses an action for want of a right, in a transaction of which nothing lasts; `None` where it takes
/// an undo to ask it.
async fn is_denied(store: &SqlStore, action: Action, jobs: &[JobId]) -> Option<bool> {
    if matches!(action, Action::Restore | Action::Recall | Action::Reopen) {
        return None;
    }
    let journal: Option<Arc<dyn dlq_tui::store::Journal>> = Some(Arc::new(Shelf::default()));
    let jobs = &jobs[..jobs.len().min(30)];
    let edits = match store.arguments().filter(|_| action.edits()) {
        Some(editor) => match editor.documents(jobs, &budget()).await {
            Ok(found) => found.into_iter().filter_map(|(id, found)| Some(same(id, &found.ok()?))).collect(),
            Err(error) => return Some(matches!(error, SourceError::Denied(_))),
        },
        None => Vec::new(),
    };
    let batch = Batch { journal, edits: edits.into(), ..batch(action, jobs.iter().cloned()) };
    let applied = store.apply(batch, &budget()).await;
    Some(matches!(applied.broke.map(|broke| broke.error), Some(SourceError::Denied(_))))
}
