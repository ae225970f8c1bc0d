//! Arguments of every framework's rows: changed in their own place alone, and put back as they were.

use std::collections::{BTreeMap, BTreeSet};

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::store::{Availability, StoreExt};
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::ActionScope;

use super::reasons::shops;
use super::shop::Shop;
use crate::repair::edit;
use crate::run::go;
use crate::store_desk::{budget, exhaust};

/// Adds a number that no float holds.
const EXPRESSION: &str =
    "if type == \"array\" then . + [12345678901234567890.10] else .added = 12345678901234567890.10 end";

/// All that is shown of each job, by name.
async fn shown(shop: &Shop, ids: &[JobId]) -> BTreeMap<JobId, BTreeMap<String, Option<String>>> {
    let details = shop.store().details(ids, &budget()).await.expect("details");
    let seen = |detail: dlq_tui::domain::job::JobDetail| {
        let text = |value: Option<dlq_tui::domain::text::Untrusted>| value.map(|value| value.into_exact());
        let mut seen: BTreeMap<String, Option<String>> =
            detail.metadata.into_iter().map(|(name, value)| (name, text(value))).collect();
        seen.insert("@arguments".to_owned(), text(detail.arguments));
        seen.insert("@class".to_owned(), text(detail.row.job_class));
        seen.insert("@state".to_owned(), text(Some(detail.row.native_state)));
        (detail.row.id, seen)
    };
    details.into_iter().map(seen).collect()
}

#[tokio::test]
async fn arguments_change_in_their_own_place_alone_and_come_back() {
    let (mut repaired, mut disabled) = (BTreeSet::new(), BTreeSet::new());
    for shop in shops().await {
        let adapter = shop.store().info().adapter.clone();
        let told = format!("{} on {:?}", shop.title, shop.db.engine);
        if let Availability::Disabled(_) = shop.store().info().availability(Action::Repair) {
            disabled.insert(adapter);
            continue;
        }
        let all = Filter::all();
        let dead = exhaust(shop.store(), &all, Default::default(), dlq_tui::store::Cursor::Start, 100).await;
        let ids: Vec<JobId> = dead.into_iter().map(|entry| entry.row.id).collect();
        let before = shown(&shop, &ids).await;
        let ask = Ask::new(ActionScope::Filter(all), Action::Repair, Timestamp::now());
        let plan =
            freeze(&shop.desk, &shop.ledger, Ask { edit: Some(edit(EXPRESSION)), ..ask }, &budget(), |_| {}).await;
        let plan = match plan {
            Ok(plan) => plan,
            Err(PlanError::Unchanged { report, .. }) => panic!("{told}: {report:?}"),
            Err(PlanError::Unfit { .. } | PlanError::Empty(..)) => continue,
            Err(error) => panic!("{told}: {error}"),
        };
        let tally = go(&shop.desk, &shop.ledger, &plan.run).await.run.tally;
        assert_eq!(tally.done, plan.count, "{told}: {tally:?}");
        let (after, column) = (
            shown(&shop, &ids).await,
            &[
                ("good_job", "serialized_params"),
                ("que", "args"),
                ("river", "args"),
                ("oban", "args"),
                ("pg-boss", "data"),
                ("procrastinate", "args"),
                ("graphile-worker", "payload"),
                // Its column is one of another table than the dead row's, whose columns are told.
                ("solid_queue", "arguments"),
            ],
        );
        let column = column.iter().find(|(of, _)| *of == adapter).unwrap_or_else(|| panic!("{adapter}")).1;
        let mut changed = 0;
        for (id, was) in &before {
            let differs = was.iter().filter(|(name, value)| after[id].get(*name) != Some(*value));
            let differs: Vec<&str> = differs.map(|(name, _)| name.as_str()).collect();
            // What is said of copies of a job goes by its arguments.
            let expected = [column, "@arguments", "dead-letter copy"];
            assert!(differs.iter().all(|name| expected.contains(name)), "{told} {id:?}: {differs:?}");
            if differs.contains(&"@arguments") {
                changed += 1;
                let now = after[id]["@arguments"].as_deref().unwrap_or_default();
                // MySQL's own JSON has no such numbers.
                assert!(
                    now.contains("12345678901234567890.10") || now.contains("1.2345678901234567e19"),
                    "{told}: {now}"
                );
            }
        }
        assert_eq!(changed, plan.count, "{told}");
        let tally = shop.undo(&plan.run).await;
        assert_eq!(tally.done, plan.count, "{told}: {tally:?}");
        assert!(shown(&shop, &ids).await == before, "{told}: not as it was");
        repaired.insert(adapter);
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let postgres = ["good_job", "graphile-worker", "oban", "pg-boss", "procrastinate", "que", "river", "solid_queue"];
    // Without servers only some frameworks have rows.
    let is_all = crate::harness::postgres().is_some();
    assert!(repaired == names(&postgres) || !is_all, "{repaired:?}");
    assert!(disabled == names(&["delayed_job", "laravel"]) || !is_all, "{disabled:?}");
}

#[tokio::test]
async fn a_repair_with_its_replay_comes_back_with_one_undo() {
    let mut undone = BTreeSet::new();
    for shop in shops().await {
        let told = format!("{} on {:?}", shop.title, shop.db.engine);
        let all = Filter::all();
        let dead = exhaust(shop.store(), &all, Default::default(), dlq_tui::store::Cursor::Start, 100).await;
        let ids: Vec<JobId> = dead.into_iter().map(|entry| entry.row.id).collect();
        let before = shown(&shop, &ids).await;
        let ask = Ask::new(ActionScope::Filter(all), Action::Replay, Timestamp::now());
        let ask = Ask { edit: Some(edit(EXPRESSION)), ..ask };
        let plan = match freeze(&shop.desk, &shop.ledger, ask, &budget(), |_| {}).await {
            Ok(plan) => plan,
            Err(PlanError::Disabled(_) | PlanError::Unfit { .. } | PlanError::Empty(..)) => continue,
            Err(error) => panic!("{told}: {error}"),
        };
        let tally = go(&shop.desk, &shop.ledger, &plan.run).await.run.tally;
        assert!(tally.done > 0 && tally.failed_total() == 0, "{told}: {tally:?}");
        let after = shown(&shop, &ids).await;
        let changed = |id: &&JobId| after.get(*id).is_some_and(|now| now["@arguments"] != before[*id]["@arguments"]);
        let gone = ids.iter().filter(|id| !after.contains_key(*id)).count();
        assert_eq!((ids.iter().filter(changed).count() + gone) as u64, tally.done, "{told}");
        if let Availability::Ready { .. } = shop.store().info().availability(Action::Recall) {
            let back = shop.undo(&plan.run).await;
            assert_eq!(back.done, tally.done, "{told}: {back:?}");
            let now = shown(&shop, &ids).await;
            for id in &ids {
                assert_eq!(now[id]["@arguments"], before[id]["@arguments"], "{told} {id:?}");
                assert_eq!(now[id]["@state"], before[id]["@state"], "{told} {id:?}");
            }
            undone.insert(shop.store().info().adapter.clone());
        }
    }
    assert!(undone.len() >= 5 || crate::harness::postgres().is_none(), "{undone:?}");
}
