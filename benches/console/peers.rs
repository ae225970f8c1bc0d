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

/// Those that are measured, by the names of their folders, how each puts jobs back, and how many: for more, one that goes
/// job by job would take minutes.
const PEERS: [(&str, &str, u32); 3] = [
    ("graphile-worker", "reschedule_jobs, all ids in one call", 20_000),
    ("pg-boss", "retry, all ids of a queue in one call", 20_000),
    ("procrastinate", "retry_job_by_id in a loop: it has no other", 1_000),
];
const RUNS: usize = 3;

/// Puts the same jobs back either way, each time on tables of its own, which the framework made.
pub async fn measure(bench: &Bench<'_>) -> Table {
    let mut table = Table::new("7. Replay of jobs of real frameworks; baseline: the framework's own retry");
    for (name, how, jobs) in PEERS {
        match Framework::made_ready(name) {
            Ok(framework) => table.add(against(bench, framework, how, jobs).await),
            Err(reason) => table.add(Line::new(name, "left out").because(reason)),
        }
    }
    table
}

async fn against(bench: &Bench<'_>, framework: Framework, how: &str, wanted: u32) -> Line {
    let (title, name) = (framework.title.clone(), framework.name().to_owned());
    let (mut ours, mut theirs, mut freeze) = (Vec::new(), Vec::new(), Sample::default());
    for _ in 0..RUNS {
        let shop = filled(bench, &name, wanted).await;
        let (jobs, time) = shop.retry_all().await;
        assert_eq!(jobs, u64::from(wanted), "{title}: its own retry");
        bench.ground.remove(shop.db);
        theirs.push(rate(jobs, time));
        let shop = filled(bench, &name, wanted).await;
        let store = open_named(&shop.db.url, &name, ReplayDestination::None, &bench.budget).await;
        let (plan, frozen, total) = replayed(Arc::new(store) as Arc<dyn Store>, "", None, &bench.budget).await;
        assert_eq!(plan.count, u64::from(wanted), "{title}: our replay");
        ours.push(rate(plan.count, total));
        bench.ground.remove(shop.db);
        freeze.push(frozen);
    }
    let (ours, theirs) = (median(ours.into_iter()), median(theirs.into_iter()));
    Line::new(title, format!("{ours:.0} rows/s"))
        .against(format!("{theirs:.0} rows/s"), times(ours, theirs))
        .because(format!("{wanted} jobs; {how}; ours with plan and ledger, of which freeze {}", freeze.told()))
}

fn rate(jobs: u64, time: std::time::Duration) -> f64 {
    jobs as f64 / time.as_secs_f64().max(1e-9)
}

/// A shop with so many dead jobs: one that its own worker gave up, and copies of it.
async fn filled(bench: &Bench<'_>, name: &str, jobs: u32) -> Shop {
    let framework = Framework::made_ready(name).unwrap_or_else(|reason| panic!("{reason}"));
    let db = bench.ground.empty(name).await.expect("a server");
    let shop = Shop::on(framework, db).await;
    shop.enqueue(&[Job { kind: "plain".to_owned(), marker: "mk-bench-plain-end".to_owned() }]).await;
    shop.work(World::Broken).await;
    shop.multiply(jobs).await;
    shop
}
