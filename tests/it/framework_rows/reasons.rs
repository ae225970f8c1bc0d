//! Why jobs are left out of a plan: what can never work is known before anything runs, in every layout.

use dlq_tui::domain::action::{Action, SkipReason};
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::{JobId, State};
use dlq_tui::domain::time::Timestamp;
use dlq_tui::store::{Cursor, Sort};
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};

use super::shop::Shop;
use super::{delayed_job, good_job, laravel, oban, oban_python, que, river, solid_queue};
use crate::cli::User;
use crate::harness::{every_engine, postgres};
use crate::run::go;
use crate::store_desk::{budget, exhaust};

const GRAPHILE: &str = include_str!("../../fixtures/frameworks/graphile-worker/tables.sql");
const BOSS: [&str; 2] = [
    include_str!("../../fixtures/frameworks/pg-boss/tables.sql"),
    include_str!("../../fixtures/frameworks/pg-boss/rows.sql"),
];
const BOSS_10: &str = include_str!("../../fixtures/frameworks/pg-boss/tables10.sql");
const PROCRASTINATE: &str = include_str!("../../fixtures/frameworks/procrastinate/tables.sql");

/// Every framework's rows, on every database that it has.
pub async fn shops() -> Vec<Shop> {
    let mut shops = Vec::new();
    shops.extend(Shop::new("graphile-worker", &[GRAPHILE]).await);
    shops.extend(Shop::new("pg-boss", &BOSS).await);
    shops.extend(Shop::new("pg-boss", &[BOSS_10]).await);
    shops.extend(Shop::new("procrastinate", &[PROCRASTINATE]).await);
    for (adapter, db) in [
        ("que", que::seed("reasons_que").await),
        ("river", river::seed("reasons_river").await),
        ("good_job", good_job::seed("reasons_good_job").await),
    ] {
        if let Some(db) = db {
            shops.push(Shop::on(db, adapter).await);
        }
    }
    if let Some(server) = postgres() {
        let db = server.database("reasons_python").await;
        oban_python::seed_into(&db).await;
        shops.push(Shop::on(db, "oban").await);
    }
    for db in every_engine("reasons_oban").await {
        oban::seed(&db).await;
        shops.push(Shop::on(db, "oban").await);
    }
    for db in every_engine("reasons_laravel").await {
        laravel::seed(&db).await;
        shops.push(Shop::on(db, "laravel").await);
    }
    for db in every_engine("reasons_solid").await {
        solid_queue::seed_into(&db).await;
        shops.push(Shop::on(db, "solid_queue").await);
    }
    for (db, _) in delayed_job::seeded("reasons_delayed").await {
        shops.push(Shop::on(db, "delayed_job").await);
    }
    shops
}

async fn named(shop: &Shop, action: Action, ids: &[JobId]) -> Result<Plan, PlanError> {
    let ask = Ask::new(ActionScope::Jobs(ids.to_vec()), action, Timestamp::now());
    freeze(&shop.desk, &shop.ledger, ask, &budget(), |_| {}).await
}

#[tokio::test]
async fn what_a_plan_holds_is_not_called_changed_when_nothing_did() {
    for shop in shops().await {
        let all = Filter::parse("state:dead state:retrying state:resolved state:ignored").expect("a filter");
        for action in [Action::Replay, Action::Discard, Action::Archive, Action::Purge] {
            let told = format!("{} on {:?}: {action}", shop.title, shop.db.engine);
            let entries = exhaust(shop.store(), &all, Sort::default(), Cursor::Start, 100).await;
            let ids: Vec<JobId> = entries.iter().map(|entry| entry.row.id.clone()).collect();
            for by_name in [false, true] {
                let plan = match by_name {
                    true => named(&shop, action, &ids).await,
                    false => shop.try_plan(action, &all.to_string()).await,
                };
                match plan {
                    Ok(plan) => {
                        let tally = go(&shop.desk, &shop.ledger, &plan.run).await.run.tally;
                        let changed = SkipReason::Changed.word();
                        assert!(tally.skipped.iter().all(|(why, _)| why != changed), "{told}: {tally:?}");
                    }
                    Err(
                        PlanError::Unfit { .. }
                        | PlanError::Disabled(_)
                        | PlanError::Empty(..)
                        | PlanError::Missing { .. },
                    ) => {}
                    Err(error) => panic!("{told}: {error}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_job_that_a_worker_holds_is_left_out_since_when_it_is() {
    let Some(shop) = Shop::new("graphile-worker", &[GRAPHILE]).await else { return };
    shop.db.execute("update work._private_jobs set locked_at = '2026-11-01 08:00:00+00' where id = 12").await;
    for action in [Action::Replay, Action::Discard, Action::Archive, Action::Purge] {
        let refused = named(&shop, action, &[JobId::new("12")]).await.map(|plan| plan.count);
        let told = refused.expect_err("nothing to do").to_string();
        let wanted = format!("nothing to {action}: 1 left out: a worker holds it, since 2026-11-01 08:00:00Z");
        assert_eq!(told, wanted);
        let plan = named(&shop, action, &["1", "11", "12"].map(JobId::new)).await.expect("a plan");
        assert_eq!(plan.count, 1, "{:?}", plan.warnings);
        let other = format!("1 left out: {action} takes no job that is `retry`");
        assert!(plan.warnings.contains(&other), "{:?}", plan.warnings);
    }
    let answer = User::of(&shop.db).run(&["replay", "12", "--dry-run"]);
    assert!(answer.err.contains("a worker holds it, since 2026-11-01 08:00:00Z"), "{}", answer.err);
}

#[tokio::test]
async fn workers_hold_jobs_in_every_layout_that_tells() {
    for shop in shops().await {
        let retrying = Filter::parse("state:retrying").expect("a filter");
        let entries = exhaust(shop.store(), &retrying, Sort::default(), Cursor::Start, 100).await;
        for entry in entries {
            let word = entry.row.native_state.exact().to_owned();
            if !["locked", "executing", "running", "active", "doing"].contains(&word.as_str()) {
                continue;
            }
            assert_eq!(entry.row.state, State::Retrying);
            let told = format!("{} on {:?}: {word}", shop.title, shop.db.engine);
            let refused = named(&shop, Action::Replay, &[entry.row.id]).await.map(|plan| plan.count);
            let why = refused.expect_err(&told).to_string();
            assert!(why.contains("a worker holds it"), "{told}: {why}");
        }
    }
}
