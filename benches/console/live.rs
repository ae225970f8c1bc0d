//! Keeping counts right: what a look costs when nothing happens, and while jobs die.

use std::time::{Duration, Instant};

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::store::{Budget, Store, Token};

use crate::bench::Bench;
use crate::books::Cost;
use crate::ground::open_store;
use crate::sample::{Sample, told};
use crate::table::{Line, Table};
use crate::writers::Writers;

const IDLE_LOOKS: usize = 21;
const BUSY_LOOKS: usize = 10;
/// Jobs that die in a second, and the time from look to look.
const RATE: u32 = 1_000;
const PAUSE: Duration = Duration::from_secs(1);
/// Buffers that a look may cost, and what each new row may add.
const BASE: u64 = 150;
const EACH: u64 = 20;

/// Looks at a database at rest, and under inserts where it can be asked for them; `copy` is written to.
pub async fn measure(bench: &Bench<'_>, copy: &str) -> Table {
    let store = open_store(copy, bench.ground.layout, &bench.budget).await;
    let mut table = Table::new(format!("3. Live counts, {} rows in the table", bench.rows));
    let mut watermark = look(&store, None, &bench.budget).await.0;
    table.add(idle(bench, copy, &store, &mut watermark).await);
    if bench.is_postgres() {
        busy(bench, copy, &store, watermark, &mut table).await;
    }
    table
}

async fn idle(bench: &Bench<'_>, copy: &str, store: &dyn Store, watermark: &mut Token) -> Line {
    let meter = bench.meter(copy);
    let mut looks = Sample::default();
    meter.reset();
    for _ in 0..IDLE_LOOKS {
        let (next, took) = look(store, Some(watermark), &bench.budget).await;
        *watermark = next;
        looks.push(took);
    }
    // The meter's own session is a change of the snapshot, so the figures are an upper bound.
    let cost = meter.read().each(IDLE_LOOKS);
    let line = Line::new("a look when nothing changed", looks.told()).because(cost.told());
    if meter.counts() {
        line.aim("under 1 ms of database time, no buffers", cost.ms < 1.0 && cost.buffers == 0)
    } else {
        line.aim("under 1 ms", looks.median() < Duration::from_millis(1))
    }
}

async fn busy(bench: &Bench<'_>, copy: &str, store: &dyn Store, mut watermark: Token, table: &mut Table) {
    let meter = bench.meter(copy);
    let (mut looks, mut cost, mut late) = (Sample::default(), Cost::default(), 0);
    let rounds = if bench.small { 3 } else { BUSY_LOOKS };
    let writers = Writers::start(copy, bench.baseline(), RATE);
    // What was written before the first look is not counted to any.
    tokio::time::sleep(PAUSE).await;
    watermark = look(store, Some(&watermark), &bench.budget).await.0;
    let before = writers.rows();
    for _ in 0..rounds {
        tokio::time::sleep(PAUSE).await;
        meter.reset();
        let (next, took) = look(store, Some(&watermark), &bench.budget).await;
        let one = meter.read();
        late += usize::from(one.statements == 0);
        cost.add(&one);
        watermark = next;
        looks.push(took);
    }
    let rows = writers.rows() - before;
    writers.stop();
    let allowed = BASE * rounds as u64 + EACH * rows;
    let each = cost.each(rounds);
    let line = Line::new(format!("a look at {RATE} inserts/s"), format!("{} buffers, {}", each.buffers, looks.told()));
    let evidence = format!(
        "{}; {} new rows a look, {:.1} buffers a row; longest statement {:.1} ms",
        each.told(),
        rows / rounds as u64,
        each.buffers as f64 * rounds as f64 / rows.max(1) as f64,
        cost.longest
    );
    let line = line.against(
        format!("{} buffers allowed", allowed / rounds as u64),
        crate::sample::times(cost.buffers as f64, allowed as f64),
    );
    let words = format!("at most {BASE} buffers + {EACH} a new row");
    table.add(
        if meter.counts() && late == 0 { line.aim(words, cost.buffers <= allowed) } else { line }.because(evidence),
    );
    let share = looks.total().as_secs_f64() / (looks.total() + PAUSE * rounds as u32).as_secs_f64() * 100.0;
    table.add(
        Line::new("database time a second for it", told(Duration::from_secs_f64(each.ms / 1_000.0)))
            .because(format!("{share:.1} % of the time a look was out")),
    );
}

async fn look(store: &dyn Store, since: Option<&Token>, budget: &Budget) -> (Token, Duration) {
    let began = Instant::now();
    let changes = store.changes(since, Facet::Error, &Filter::default(), budget).await;
    let changes = changes.unwrap_or_else(|e| panic!("{e}"));
    (changes.token, began.elapsed())
}
