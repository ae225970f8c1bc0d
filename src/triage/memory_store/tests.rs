//! The store in memory lives up to what every store has to, without a database.

use std::time::Duration;

use super::*;
use crate::triage::conformance::story;
use crate::triage::live::LiveCounts;

fn budget() -> Budget {
    Budget::new(Duration::from_secs(5))
}

/// A store of `n` jobs that can be undone in every way.
fn store_of(n: u64) -> Arc<MemoryStore> {
    MemoryStore::of(n, |info| {
        info.capabilities.facets = vec![Facet::Error, Facet::State, Facet::Hour, Facet::Fingerprint];
        info.capabilities.actions.push((Action::Reopen, Availability::Ready { notes: Vec::new() }));
    })
}

async fn count(store: &MemoryStore, facet: Facet) -> HistogramStep {
    let mut query = HistogramQuery::exact(facet, Filter::all(), None);
    loop {
        let step = store.count(query.clone(), &budget()).await.unwrap();
        match step.resume {
            None => return step,
            resume => query.resume = resume,
        }
    }
}

#[tokio::test]
async fn it_lives_up_to_the_whole_story() {
    let chapters = story(async || Ok(store_of(120) as Arc<dyn Store>), &budget()).await.unwrap();
    let wrong: Vec<_> = chapters.iter().filter(|chapter| chapter.verdict.is_err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let told = |about: &str| chapters.iter().find(|c| c.about == about).unwrap().verdict.clone().unwrap();
    assert!(told("list").starts_with("120 dead jobs"), "{}", told("list"));
    assert_eq!(told("counts"), "by error, fp, hour, state: 120 each");
    for verb in ["replay", "ignore", "discard"] {
        assert!(told(&format!("verbs.{verb}")).ends_with("undone, they are as they were"), "{verb}");
    }
    assert!(told("verbs.purge").starts_with("3 jobs acted on once"));
}

#[tokio::test]
async fn the_story_finds_a_store_that_acts_twice() {
    let open = async || {
        let store = store_of(9);
        store.with(|data| data.acts_twice = true);
        Ok(store as Arc<dyn Store>)
    };
    let chapters = story(open, &budget()).await.unwrap();
    let wrong: Vec<&str> = chapters.iter().filter(|c| c.verdict.is_err()).map(|c| c.about.as_str()).collect();
    assert_eq!(wrong, ["verbs.replay", "verbs.ignore"]);
}

#[tokio::test]
async fn polls_keep_its_counts_as_a_full_count_would() {
    let store = store_of(90);
    let step = count(&store, Facet::Error).await;
    let mut counts = LiveCounts::new(&step);
    let mut token = step.token;
    let mut poll = async |counts: &mut LiveCounts| {
        let changes = store.changes(token.as_ref(), Facet::Error, &Filter::all(), &budget()).await.unwrap();
        counts.take_poll(&changes);
        token = Some(changes.token);
        changes.changed
    };
    assert!(!poll(&mut counts).await, "nothing has happened");
    store.with(|data| {
        data.rows.remove(&7);
        data.rows.get_mut(&40).unwrap().state = State::Ignored;
        data.rows.extend((90..97).map(|id| (id, Row { state: State::Dead, locked: 0, refuses: None })));
    });
    assert!(poll(&mut counts).await);
    let bars = |histogram: Histogram| histogram.bars.into_iter().map(|b| (b.value, b.count.n)).collect::<Vec<_>>();
    let counted = count(&store, Facet::Error).await.histogram;
    assert_eq!((counted.total.n, bars(counts.histogram())), (95, bars(counted)));
    let states = store.count(HistogramQuery::states(true), &budget()).await.unwrap().histogram;
    assert_eq!((states.total.n, states.by_state()[1]), (96, (State::Ignored, Count::exact(1))));
}
