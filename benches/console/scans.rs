//! Filters that no index serves: a text in the message, a pattern, a value in the arguments.

use std::time::Duration;

use dlq_tui::store::Budget;

use crate::bench::Bench;
use crate::books::Cost;
use crate::counts::{ended, windows};
use crate::ground::open_store;
use crate::sample::{Sample, ratio, told};
use crate::steps::{Cancels, PAGE, cancelled, filter, scan};
use crate::table::{Line, Table};

/// When the first hits must be there that stand near the top.
const AT_ONCE: Duration = Duration::from_millis(200);
const CANCELS: u32 = 5;

/// Scans to the end of the table for what nobody has, and to the first hits of what many have.
pub async fn measure(bench: &Bench<'_>) -> Table {
    let baseline = bench.baseline();
    let (by_argument, argument) = baseline.with_argument();
    let whole = [
        ("a text in the message", "msg:\"nobody knows\"", Some(baseline.holding("nobody knows"))),
        ("a pattern in the message", "msg:/nobody [0-9]+/", baseline.matching("nobody [0-9]+")),
        ("a value in the arguments", argument, Some(by_argument)),
    ];
    let store = open_store(bench.many, bench.ground.layout, &bench.budget).await;
    let (client, runs, meter) = (bench.client(), bench.runs(3), bench.meter(bench.many));
    let mut table = Table::new(format!(
        "5. Filters that no index serves, {} rows in the table; baseline: one statement in {}",
        bench.rows,
        client.name()
    ));
    for (name, words, statement) in whole {
        let wanted = filter(words);
        let (mut ours, mut steps, mut theirs, mut cost) =
            (Sample::default(), Sample::default(), Sample::default(), Cost::default());
        // Whether the baseline is one process of several that the server would have taken.
        let mut is_alone = false;
        // In turns: a slow minute hits both.
        for _ in 0..runs {
            meter.reset();
            let found = scan(&store, &wanted, usize::MAX, &bench.budget).await.unwrap_or_else(|e| panic!("{e}"));
            cost.add(&meter.read());
            assert_eq!(found.hits, 0, "{words}");
            ours.push(found.steps.total());
            steps.extend(found.steps);
            let Some(one) = &statement else { continue };
            let alone = client.timing_alone(one, 1);
            is_alone = alone.is_some();
            theirs.extend(alone.unwrap_or_else(|| client.timing(one, 1)));
        }
        let line = Line::new(format!("{name}: to the end"), ours.told());
        let line = match &statement {
            None => line.against("the database has no patterns", ""),
            Some(one) if is_alone => against(line, &ours, &theirs).because(format!(
                "baseline by one process, as we leave the others to the application; with parallel processes {}; {}",
                client.timing(one, runs).told(),
                cost.each(runs).told()
            )),
            Some(_) => against(line, &ours, &theirs),
        };
        table.add(line);
        let mut line = windows(&steps, cost.longest);
        line.what = format!("{name}: {}", line.what);
        table.add(line);
    }
    table.add(first_hits(bench, &store).await);
    let mut cancels = Cancels::default();
    for at in 0..CANCELS {
        let budget = Budget::new(bench.budget.statement);
        let (wanted, after) = (filter(argument), Duration::from_millis(u64::from(190 + at * 41)));
        let work = scan(&store, &wanted, usize::MAX, &budget);
        cancels.push(cancelled(work, &budget, after, &client).await);
    }
    ended(&cancels).into_iter().for_each(|line| table.add(line));
    table
}

fn against(line: Line, ours: &Sample, theirs: &Sample) -> Line {
    line.against(theirs.told(), ratio(ours.median(), theirs.median()))
        .aim("at most 1.3x", ours.median() <= theirs.median().mul_f64(1.3))
}

/// The first page of what is common, which the scan meets near the top.
async fn first_hits(bench: &Bench<'_>, store: &dyn dlq_tui::store::Store) -> Line {
    let wanted = filter("msg:mainframe");
    let mut first = Sample::default();
    for _ in 0..5 {
        let found = scan(store, &wanted, PAGE, &bench.budget).await.unwrap_or_else(|e| panic!("{e}"));
        first.extend(found.first.into_iter().collect());
    }
    Line::new("a text that many have: the first hits", first.told())
        .aim(format!("within {}", told(AT_ONCE)), !first.is_empty() && first.median() <= AT_ONCE)
}
