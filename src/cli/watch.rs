//! `dlq-tui watch`: one line for each change, for pipes.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;

use super::args::{Format, WatchArgs};
use super::exit::{Code, Fault};
use super::open::Opened;
use super::{out, signal};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Histogram, grouped};
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::store::{StoreError, Watermark};
use crate::triage::live::{LiveCounts, Poll, Value};

/// A value of the facet whose number of jobs changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Change {
    /// When it was seen, by the database's clock.
    at: String,
    /// The facet.
    by: &'static str,
    /// The value; `null` for jobs without one.
    value: Option<String>,
    /// Jobs more (or fewer) than before.
    change: i64,
    /// Jobs now.
    total: u64,
}

/// Prints changes until it is told to stop, or its reader has gone.
///
/// # Errors
/// When the filter is wrong, the facet is not offered, or the database fails at the start; later it is tried again.
pub async fn run(opened: &Opened, args: &WatchArgs) -> Result<Code> {
    let filter = opened.filter(args.filter.filter.as_deref())?;
    let format = match args.output.output {
        Format::Json => return Err(Fault::usage("changes have no end, which one document needs: use -o jsonl").into()),
        format => format,
    };
    let mut watcher = Watcher::begin(opened, args, filter).await?;
    let mut out = out::stdout();
    if format == Format::Csv {
        out::csv(&mut out, ["at", args.by.word(), "change", "total"])?;
    }
    out.flush()?;
    watcher.announce();
    let stop = signal::stop_requested();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(Code::Done),
            changes = watcher.next() => {
                let changes = match changes {
                    // The same signal cancels what the database is asked.
                    Err(StoreError::Cancelled) => return Ok(Code::Done),
                    changes => changes?,
                };
                changes.iter().try_for_each(|change| print(&mut out, format, change))?;
                out.flush()?;
            }
        }
    }
}

fn print(out: &mut impl Write, format: Format, change: &Change) -> Result<()> {
    let value = change.value.as_deref().filter(|v| !v.is_empty()).unwrap_or("(none)");
    match format {
        Format::Jsonl | Format::Json => out::json_line(out, &out::Versioned::new(change))?,
        Format::Csv => {
            let (by, total) = (change.change.to_string(), change.total.to_string());
            out::csv(out, [&*change.at, &*Clean::line(change.value.as_deref().unwrap_or_default()), &by, &total])?;
        }
        Format::Table => {
            let total = grouped(change.total);
            writeln!(out, "{}  {:>+6} {}  ({total})", change.at, change.change, Clean::line(value))?;
        }
    }
    Ok(())
}

/// The counts of one facet, kept up to date.
struct Watcher<'a> {
    opened: &'a Opened,
    facet: Facet,
    filter: Filter,
    counts: LiveCounts,
    watermark: Option<Watermark>,
    poll: Poll,
    wait: Duration,
    /// What was printed last, by value.
    told: HashMap<Value, u64>,
}

impl<'a> Watcher<'a> {
    async fn begin(opened: &'a Opened, args: &WatchArgs, filter: Filter) -> Result<Watcher<'a>> {
        let began = Instant::now();
        let step = opened.count(args.by, &filter).await?;
        let counts = LiveCounts::new(&step, began.elapsed());
        let told = numbers(&counts.histogram());
        let (poll, wait) = (Poll::new(args.interval), args.interval);
        Ok(Self { opened, facet: args.by, filter, counts, watermark: step.watermark, poll, wait, told })
    }

    /// Says what the changes start from.
    fn announce(&self) {
        let total = grouped(self.told.values().sum());
        out::say(&format!("watching {}: {total} dead jobs now", Clean::line(&self.opened.desk.store_name())));
    }

    /// Waits for the next look, and tells what it changed. A database that is away is waited for.
    async fn next(&mut self) -> Result<Vec<Change>, StoreError> {
        tokio::time::sleep(self.wait).await;
        let was_away = self.poll.failures() > 0;
        match self.look().await {
            Ok(cost) => {
                self.wait = self.poll.answered(cost);
                if was_away {
                    out::say("the database is back");
                }
            }
            Err(error) if error.retryable() => {
                if !was_away {
                    out::say(&format!("the database is away, and is tried again: {}", Clean::line(&error.to_string())));
                }
                // Half of the jitter: one console in a terminal has nobody to get out of step with.
                self.wait = self.poll.failed(0.5);
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        }
        let histogram = self.counts.histogram();
        let changes = changes(&self.told, &histogram);
        self.told = numbers(&histogram);
        Ok(changes)
    }

    async fn look(&mut self) -> Result<Duration, StoreError> {
        let (store, budget) = (&self.opened.desk.store, &self.opened.budget);
        let seen = store.changes(self.watermark.as_ref(), self.facet, &self.filter, budget).await?;
        self.counts.look(&seen);
        let now = seen.server_time;
        self.watermark = Some(seen.watermark);
        if self.counts.reconcile_due(now) {
            let began = Instant::now();
            let step = self.opened.count_to_end(self.facet, &self.filter).await?;
            self.counts.recount(&step, began.elapsed());
            self.watermark = step.watermark;
        }
        Ok(seen.cost)
    }
}

/// Jobs by value.
fn numbers(histogram: &Histogram) -> HashMap<Value, u64> {
    histogram.bars.iter().map(|bar| (bar.value.clone(), bar.count.n)).collect()
}

/// What differs from what was told, the greatest change first.
fn changes(told: &HashMap<Value, u64>, histogram: &Histogram) -> Vec<Change> {
    let now = numbers(histogram);
    let values: BTreeSet<&Value> = told.keys().chain(now.keys()).collect();
    let change = |value: &Value| {
        let count = |of: &HashMap<Value, u64>| of.get(value).copied().unwrap_or(0);
        let (was, is) = (count(told), count(&now));
        let by = i64::try_from(i128::from(is) - i128::from(was)).unwrap_or(i64::MAX);
        Change {
            at: Timestamp::to_rfc3339(histogram.as_of),
            by: histogram.facet.word(),
            value: value.as_ref().map(|v: &Untrusted| v.exact().to_owned()),
            change: by,
            total: is,
        }
    };
    let mut changes: Vec<Change> = values.into_iter().map(change).filter(|c| c.change != 0).collect();
    changes.sort_by_key(|c| std::cmp::Reverse(c.change.unsigned_abs()));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::histogram::{Bar, Count};

    fn histogram(bars: &[(&str, u64)]) -> Histogram {
        let bar = |(value, n): &(&str, u64)| Bar::new(Some(Untrusted::from(*value)), Count::exact(*n));
        let total = Count::exact(bars.iter().map(|(_, n)| n).sum());
        let bars = bars.iter().map(bar).collect();
        Histogram { facet: Facet::Error, bars, total, as_of: Timestamp(0), progress: None }
    }

    #[test]
    fn changes_are_told_the_greatest_first_and_what_is_gone_is_among_them() {
        let told = numbers(&histogram(&[("A", 5), ("B", 2), ("C", 1)]));
        let seen = changes(&told, &histogram(&[("A", 6), ("C", 1), ("D", 12)]));
        let short: Vec<(Option<&str>, i64, u64)> =
            seen.iter().map(|c| (c.value.as_deref(), c.change, c.total)).collect();
        assert_eq!(short, [(Some("D"), 12, 12), (Some("B"), -2, 0), (Some("A"), 1, 6)]);
        assert_eq!(changes(&told, &histogram(&[("A", 5), ("B", 2), ("C", 1)])), []);
    }

    #[test]
    fn a_line_reads_as_a_change_and_cannot_act_on_a_terminal() {
        let told = HashMap::new();
        let mut out = Vec::new();
        print(&mut out, Format::Table, &changes(&told, &histogram(&[("Evil\u{1b}[2J", 1_200)]))[0]).expect("a vector");
        let line = String::from_utf8(out).expect("text");
        assert!(line.contains(" +1200 Evil") && line.contains("(1,200)") && !line.contains('\u{1b}'), "{line}");
    }
}
