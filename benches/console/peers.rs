//! Frameworks whose own retry puts back everything that is dead, on their own tables beside our replay.

use std::sync::Arc;

use dlq_tui::store::Store;
use dlq_tui::store::sql::ReplayDestination;

use crate::bench::Bench;
use crate::frameworks::shop::{Framework, Job, Shop, World};
use crate::ground::open_named;
use crate::replay::replayed;
use crate::sample::{Sample, median, times};
use crate::table::{Line, Table};

/// Those that are measured, by the names of their folders, and how each puts jobs back.
const PEERS: [(&str, &str); 3] = [
    ("graphile-worker", "reschedule_jobs, all ids in one call"),
    ("pg-boss", "retry, all ids of a queue in one call"),
    ("procrastinate", "retry_job_by_id in a loop: it has no other"),
];
/// Dead jobs of each.
const JOBS: u32 = 10_000;
const RUNS: usize = 3;

/// Puts the same jobs back either way, each time on tables of its own, which the framework made.
pub async fn measure(bench: &Bench<'_>) -> Table {
    let mut table =
        Table::new(format!("7. Replay of {JOBS} jobs of real frameworks; baseline: the framework's own retry"));
    for (name, how) in PEERS {
        match Framework::made_ready(name) {
            Ok(framework) => table.add(against(bench, framework, how).await),
            Err(reason) => table.add(Line::new(name, "left out").because(reason)),
        }
    }
    table
}

async fn against(bench: &Bench<'_>, framework: Framework, how: &str) -> Line {
    let (title, name) = (framework.title.clone(), framework.name().to_owned());
    let (mut ours, mut theirs, mut freeze) = (Vec::new(), Vec::new(), Sample::default());
    for _ in 0..RUNS {
        let shop = filled(bench, &name).await;
        let (jobs, time) = shop.retry_all().await;
        assert_eq!(jobs, u64::from(JOBS), "{title}: its own retry");
        bench.ground.remove(shop.db);
        theirs.push(rate(jobs, time));
        let shop = filled(bench, &name).await;
        let store = open_named(&shop.db.url, &name, ReplayDestination::None, &bench.budget).await;
        let (plan, frozen, total) = replayed(Arc::new(store) as Arc<dyn Store>, "", None, &bench.budget).await;
        assert_eq!(plan.count, u64::from(JOBS), "{title}: our replay");
        ours.push(rate(plan.count, total));
        bench.ground.remove(shop.db);
        freeze.push(frozen);
    }
    let (ours, theirs) = (median(ours.into_iter()), median(theirs.into_iter()));
    Line::new(title, format!("{ours:.0} rows/s"))
        .against(format!("{theirs:.0} rows/s"), times(ours, theirs))
        .because(format!("{how}; ours with plan and ledger, of which freeze {}", freeze.told()))
}

fn rate(jobs: u64, time: std::time::Duration) -> f64 {
    jobs as f64 / time.as_secs_f64().max(1e-9)
}

/// A shop with so many dead jobs: one that its own worker gave up, and copies of it.
async fn filled(bench: &Bench<'_>, name: &str) -> Shop {
    let framework = Framework::made_ready(name).unwrap_or_else(|reason| panic!("{reason}"));
    let db = bench.ground.empty(name).await.expect("a server");
    let shop = Shop::on(framework, db).await;
    shop.enqueue(&[Job { kind: "plain".to_owned(), marker: "mk-bench-plain-end".to_owned() }]).await;
    shop.work(World::Broken).await;
    shop.multiply(JOBS).await;
    shop
}
