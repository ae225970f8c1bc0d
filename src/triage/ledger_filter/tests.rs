//! The jobs of a run, listed, counted and frozen.

use std::time::Duration;

use tokio::sync::watch;

use super::*;
use crate::domain::action::Action;
use crate::domain::job::{JobId, State};
use crate::domain::outcome::{ObservedOutcome, ReplayOutcome};
use crate::ledger::{Ledger, LedgerLocator, RunId, RunState, RunTally};
use crate::triage::freeze::{Ask, freeze};
use crate::triage::memory_store::{MemoryStore, Row};
use crate::triage::plan::ActionScope;
use crate::triage::progress::RunProgress;
use crate::triage::run::{RunControl, RunOptions, execute};

const NOW: Timestamp = Timestamp(1_795_144_329_000_000);

struct Shop {
    _folder: tempfile::TempDir,
    ledger: Ledger,
    desk: StoreContext,
    run: RunId,
}

fn budget() -> Budget {
    Budget::new(Duration::from_secs(9))
}

/// Thirty jobs of which the first ten were replayed: 3 died again, 4 as row 91, 5 succeeded, 6 is gone, the rest waits.
async fn shop() -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.unwrap();
    let fake = MemoryStore::of(30, |info| info.capabilities.facets = vec![Facet::Error]);
    let desk = StoreContext { ledger: Some(LedgerLocator::known(ledger.clone())), ..fake.desk() };
    let ids = (0..10).map(|n: u64| JobId::new(n.to_string())).collect();
    let ask = Ask::new(ActionScope::Jobs(ids), Action::Replay, NOW);
    let run = freeze(&desk, &ledger, ask, &budget(), |_| {}).await.unwrap().run;
    let progress = watch::Sender::new(RunProgress {
        run: run.clone(),
        state: RunState::Planned,
        tally: RunTally::default(),
        rate: 0.0,
        eta: None,
        waiting: None,
    });
    execute(&desk, &ledger, &run, RunOptions::default(), &RunControl::new(), &progress).await.unwrap();
    fake.with(|data| {
        let dead = || Row { state: State::Dead, locked: 0, refuses: None };
        data.rows.insert(3, dead());
        data.rows.insert(91, dead());
        data.rows.remove(&6);
        data.live.retain(|n| ![3, 4, 5, 6].contains(n));
    });
    let jobs = ledger.outcomes().open_jobs(&run, 0, 99).await.unwrap();
    let seen = |id: &str, outcome: ReplayOutcome, row: Option<&str>| {
        let ord = jobs.iter().find(|job| job.id.as_str() == id).unwrap().ord;
        (ord, ObservedOutcome { outcome, dead_row: row.map(JobId::new) })
    };
    let seen = [
        seen("3", ReplayOutcome::DiedAgain(None), None),
        seen("4", ReplayOutcome::DiedAgain(None), Some("91")),
        seen("5", ReplayOutcome::Succeeded, None),
    ];
    ledger.outcomes().record(&run, &seen, NOW).await.unwrap();
    Shop { _folder: folder, ledger, desk, run }
}

impl Shop {
    async fn listed(&self, filter: &str) -> std::result::Result<Vec<u64>, String> {
        let filter = Filter::parse(filter).unwrap();
        let mut query = PageQuery { filter, sort: Sort::default(), cursor: Cursor::Start, limit: 4 };
        let mut listed = Vec::new();
        loop {
            let page = self.desk.scan(query.clone(), ScanMode::List, &budget()).await.map_err(|e| e.to_string())?;
            listed.extend(page.entries.iter().map(|entry| entry.row.id.as_str().parse::<u64>().unwrap()));
            match page.next {
                Some(next) => query.cursor = next,
                None => return Ok(listed),
            }
        }
    }

    async fn counted(&self, filter: &str) -> u64 {
        let mut query = HistogramQuery::exact(Facet::Error, Filter::parse(filter).unwrap(), None);
        loop {
            let step = self.desk.count(query.clone(), &budget()).await.unwrap();
            match step.resume {
                None => return step.histogram.total.n,
                resume => query.resume = resume,
            }
        }
    }

    async fn frozen(&self, filter: &str) -> u64 {
        let scope = ActionScope::Filter(Filter::parse(filter).unwrap());
        let plan = freeze(&self.desk, &self.ledger, Ask::new(scope, Action::Replay, NOW), &budget(), |_| {}).await;
        plan.map_or(0, |plan| plan.count)
    }
}

#[tokio::test]
async fn the_jobs_of_a_run_are_those_that_are_listed_counted_and_frozen() {
    let shop = shop().await;
    let named = format!("run:{} outcome:died", shop.run);
    for (filter, wanted) in [
        ("run:last", vec![91, 9, 8, 7, 5, 3, 2, 1, 0]),
        ("run:last outcome:died", vec![91, 3]),
        (&named, vec![91, 3]),
        ("run:last outcome:died outcome:succeeded", vec![91, 5, 3]),
        ("run:last -outcome:died", vec![9, 8, 7, 5, 2, 1, 0]),
        ("run:last outcome:waiting", vec![9, 8, 7, 2, 1, 0]),
        ("run:last outcome:gone", vec![]),
        ("run:last outcome:died error:Crash id:3", vec![3]),
        ("run:last outcome:died state:resolved", vec![]),
        ("-run:last", (10..30).rev().collect()),
        ("-run:last -id:29", (10..29).rev().collect()),
    ] {
        assert_eq!(shop.listed(filter).await, Ok(wanted.clone()), "{filter}");
        assert_eq!(shop.counted(filter).await, wanted.len() as u64, "{filter}");
        // The other way to read them, which large runs take.
        let paged = format!("{filter} id:/./");
        if !filter.contains(" id:") {
            assert_eq!(shop.listed(&paged).await, Ok(wanted.clone()), "{paged}");
        }
        let dead: Vec<u64> = shop.listed(&format!("{filter} state:dead")).await.unwrap();
        assert_eq!(shop.frozen(&format!("{filter} state:dead")).await, dead.len() as u64, "{filter}");
    }
}

#[tokio::test]
async fn a_run_whose_jobs_cannot_be_listed_is_refused_with_the_reason() {
    let shop = shop().await;
    let refused = async |filter: &str| shop.listed(filter).await.unwrap_err();
    assert_eq!(refused("run:r-7").await, "there is no run r-7; `dlq-tui runs` lists them");
    let alone = refused("outcome:died").await;
    assert!(alone.starts_with("`outcome:` asks since which run"), "{alone}");
    let ask = Ask::new(ActionScope::Filter(Filter::all()), Action::Discard, NOW);
    let plan = freeze(&shop.desk, &shop.ledger, ask, &budget(), |_| {}).await.unwrap();
    let unstarted = refused(&format!("run:{}", plan.run)).await;
    assert!(unstarted.ends_with("was not started: it has touched no job"), "{unstarted}");
    let elsewhere = StoreContext { source: "staging".into(), ..shop.desk.clone() };
    let query = PageQuery {
        filter: Filter::parse(&format!("run:{}", shop.run)).unwrap(),
        sort: Sort::default(),
        cursor: Cursor::Start,
        limit: 9,
    };
    let told = elsewhere.scan(query.clone(), ScanMode::List, &budget()).await.unwrap_err().to_string();
    assert!(told.ends_with("is of main (memory jobs): open that source for its jobs"), "{told}");
    let last = PageQuery { filter: Filter::parse("run:last").unwrap(), ..query };
    let told = elsewhere.scan(last, ScanMode::List, &budget()).await.unwrap_err().to_string();
    assert_eq!(told, "`run:last`: nothing was replayed here yet");
}
