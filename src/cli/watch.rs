//! `dlq-tui watch`: one line for each change, for pipes.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;

use super::args::{Format, WatchArgs};
use super::exit::{CliError, Code};
use super::{output, signal};
use crate::cli::source::open::OpenedStore;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Histogram, dead_jobs, grouped};
use crate::domain::job::JobRow;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::store::{Cursor, HistogramQuery, PageQuery, ScanMode, Sort, SourceError, Token};
use crate::triage::live::{FAILED_REST, FacetValue, FullCount, LiveCounts, Poll, QueryBudget};

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
    /// The queue of the new jobs; `null` where they are of several, are not all told apart, or have none.
    queue: Option<String>,
    /// Of how many queues the new jobs are; `null` where that is not known.
    queues: Option<usize>,
}

/// The most rows that are read to tell the queues of what is new.
const NEWEST: u64 = 500;

/// Prints changes until it is told to stop, or its reader has gone.
///
/// # Errors
/// When the filter is wrong, the facet is not offered, or the database fails at the start; later it is tried again.
pub async fn run(opened: &OpenedStore, args: &WatchArgs) -> Result<Code> {
    let filter = opened.filter(args.filter.filter.as_deref())?;
    let format = match args.output.output {
        Format::Json => {
            return Err(CliError::usage("changes have no end, which one document needs: use -o jsonl").into());
        }
        format => format,
    };
    let mut watcher = Watcher::begin(opened, args, filter).await?;
    let mut out = output::stdout();
    if format == Format::Csv {
        output::csv(&mut out, ["at", opened.facet(args.by).word(), "change", "total", "queue"])?;
    }
    out.flush()?;
    watcher.announce();
    let stop = signal::stop_requested();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(Code::Done),
            changes = watcher.next() => {
                let mut changes = match changes {
                    // The same signal cancels what the database is asked.
                    Err(SourceError::Cancelled) => return Ok(Code::Done),
                    changes => changes?,
                };
                for change in &mut changes {
                    for text in [&mut change.value, &mut change.queue].into_iter().flatten() {
                        *text = opened.prose(text.as_str().into()).exact().to_owned();
                    }
                }
                changes.iter().try_for_each(|change| print(&mut out, format, change))?;
                out.flush()?;
            }
        }
    }
}

fn print(out: &mut impl Write, format: Format, change: &Change) -> Result<()> {
    let value = change.value.as_deref().filter(|v| !v.is_empty()).unwrap_or("(none)");
    match format {
        Format::Jsonl | Format::Json => output::json_line(out, &output::Versioned::new(change))?,
        Format::Csv => {
            let (by, total) = (change.change.to_string(), change.total.to_string());
            output::csv(
                out,
                [&*change.at, &*Clean::line(change.value.as_deref().unwrap_or_default()), &by, &total, &queue(change)],
            )?;
        }
        Format::Table => {
            let total = grouped(change.total);
            let (value, queue) = (Clean::line(value), queue(change));
            let gap = if queue.is_empty() { "" } else { " " };
            writeln!(out, "{}  {:>+6} {value}{gap}{queue}  ({total})", change.at, change.change)?;
        }
    }
    Ok(())
}

/// The queue of the new jobs, or how many they are of.
fn queue(change: &Change) -> String {
    match (&change.queue, change.queues) {
        (Some(queue), _) => Clean::line(queue).to_string(),
        (None, Some(n)) if n > 1 => format!("({n} queues)"),
        _ => String::new(),
    }
}

/// The counts of one facet, kept up to date.
struct Watcher<'a> {
    opened: &'a OpenedStore,
    facet: Facet,
    filter: Filter,
    counts: LiveCounts,
    poll_token: Option<Token>,
    poll: Poll,
    query_budget: QueryBudget,
    /// The clock of what is paid for, and of what rests.
    began: Instant,
    next_poll: Timestamp,
    /// When a count may be begun again after one that failed.
    counts_from: Timestamp,
    full_count: FullCount,
    /// What was printed last, by value.
    told: HashMap<FacetValue, u64>,
}

impl<'a> Watcher<'a> {
    async fn begin(opened: &'a OpenedStore, args: &WatchArgs, filter: Filter) -> Result<Watcher<'a>> {
        let facet = opened.facet(args.by);
        let begun = Instant::now();
        let step = opened.count(facet, &filter).await?;
        let full_count = FullCount::completed(begun.elapsed());
        let counts = LiveCounts::new(&step);
        let told = numbers(&counts.histogram());
        let poll = Poll::new(args.interval, opened.share);
        let query_budget = QueryBudget::new(opened.share);
        let poll_token = step.token;
        let (began, next_poll, counts_from) = (Instant::now(), Timestamp(0).after(args.interval), Timestamp(0));
        Ok(Self {
            opened,
            facet,
            filter,
            counts,
            poll_token,
            poll,
            query_budget,
            began,
            next_poll,
            counts_from,
            full_count,
            told,
        })
    }

    /// Time since the beginning: the server's clock is set, and another server's is another one.
    fn now(&self) -> Timestamp {
        Timestamp(0).after(self.began.elapsed())
    }

    /// Says what the changes start from.
    fn announce(&self) {
        let total = dead_jobs(self.told.values().sum());
        output::say(&format!("watching {}: {total} now", Clean::line(&self.opened.desk.store_name())));
    }

    /// Waits for what is due next, and tells what it changed. A database that is away is waited for.
    async fn next(&mut self) -> Result<Vec<Change>, SourceError> {
        let due = self.count_at().map_or(self.next_poll, |count| count.min(self.next_poll));
        tokio::time::sleep(self.now().age(due)).await;
        let was_away = self.poll.failures() > 0;
        match self.step().await {
            Ok(()) => {
                self.poll.reached();
                if was_away {
                    output::say("the database is back");
                }
            }
            Err(error) if error.retryable() => {
                if !was_away {
                    let what = if matches!(error, SourceError::Interrupted | SourceError::Locked(_)) {
                        "the database gave no answer"
                    } else {
                        "the database is away"
                    };
                    output::say(&format!("{what}, and is tried again: {}", Clean::line(&error.to_string())));
                }
                // Half of the jitter: one console in a terminal has nobody to get out of step with.
                self.next_poll = self.now().after(self.poll.failed(0.5));
                self.counts_from = self.counts_from.max(self.next_poll);
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        }
        let histogram = self.counts.histogram();
        let mut changes = changes(&self.told, &histogram);
        self.told = numbers(&histogram);
        self.name_queues(&mut changes).await;
        Ok(changes)
    }

    /// Says of which queues the new jobs are. Counts know one facet only, so that the newest rows are read once, where
    /// anything is new: as many as are new, and no more than some hundreds.
    async fn name_queues(&self, changes: &mut [Change]) {
        let new: u64 = changes.iter().filter_map(|change| u64::try_from(change.change).ok()).sum();
        let has_queues = self.opened.desk.store.info().capabilities.facets.contains(&Facet::Queue);
        if new == 0 || new > NEWEST || !has_queues || self.facet == Facet::Queue {
            return;
        }
        let limit = usize::try_from(new).unwrap_or_default();
        let query = PageQuery { filter: self.filter.clone(), sort: Sort::default(), cursor: Cursor::Start, limit };
        // A line without its queue is better than none.
        let Ok(page) = self.opened.desk.scan(query, ScanMode::List, &self.opened.budget).await else { return };
        let rows: Vec<JobRow> = page.entries.into_iter().map(|entry| entry.row).collect();
        changes.iter_mut().for_each(|change| name_queue(change, self.facet, &rows));
    }

    /// The poll that is due, or else the next step of a full count.
    async fn step(&mut self) -> Result<(), SourceError> {
        if self.next_poll > self.now() {
            return self.reconcile().await;
        }
        let (desk, budget) = (&self.opened.desk, &self.opened.budget);
        let seen = match desk.changes(self.poll_token.as_ref(), self.facet, &self.filter, budget).await {
            Err(SourceError::Timeout(after)) => {
                if self.poll.given_up().is_none() {
                    output::say("polls of the database take too long and come less often");
                }
                self.query_budget.spend(after, self.now());
                self.next_poll = self.now().after(self.poll.give_up(after));
                return Ok(());
            }
            seen => seen?,
        };
        self.query_budget.spend(seen.cost, self.now());
        self.next_poll = self.now().after(self.poll.answered(seen.cost));
        self.counts.take_poll(&seen);
        let may_differ = seen.changed || seen.unsettled || seen.uncounted;
        self.poll_token = Some(seen.token);
        if may_differ && self.counts_from <= self.now() && self.query_budget.is_cheap(self.full_count.last_cost()) {
            // Everything is counted again with each poll that finds a change: there is nothing that it cannot see.
            self.reconcile().await?;
            while self.full_count.resume().is_some() && self.counts_from <= self.now() {
                self.reconcile().await?;
            }
            self.next_poll = self.next_poll.max(self.query_budget.next_poll(self.now()));
        }
        Ok(())
    }

    /// When the next step of a full count is paid for, where one is due: what a poll that was given up would have read grows with
    /// the time, and polls begin again behind a count.
    fn count_at(&self) -> Option<Timestamp> {
        let (cost, is_lost) = (self.full_count.last_cost(), self.poll.given_up().is_some());
        // One that is cheap was made with the poll, but for an error.
        let is_cheap = self.query_budget.is_cheap(cost) && self.counts.is_in_doubt();
        let is_owed = is_cheap || self.counts.is_full_count_due(self.query_budget.takes(cost));
        let is_due = is_owed || is_lost || self.full_count.resume().is_some();
        is_due.then(|| self.query_budget.paid_at().max(self.counts_from))
    }

    /// The next step of a recount; what it finds counts when it is complete.
    async fn reconcile(&mut self) -> Result<(), SourceError> {
        let (facet, filter) = (self.facet, self.filter.clone());
        let query = HistogramQuery::exact(facet, filter, self.full_count.resume().cloned());
        let step = match self.opened.desk.count(query, &self.opened.budget).await {
            Ok(step) => step,
            Err(error) => {
                if !matches!(error, SourceError::Locked(_)) {
                    self.counts_from = self.now().after(FAILED_REST);
                }
                let SourceError::Timeout(after) = error else { return Err(error) };
                // The windows before it stand, and it is tried again when it is paid for.
                self.query_budget.spend(after, self.now());
                return Ok(());
            }
        };
        self.query_budget.spend(step.cost, self.now());
        if self.full_count.take(&step) {
            self.poll_token = self.counts.take_full_count(&step, self.poll_token.as_ref());
            if self.poll.given_up().is_some() {
                self.next_poll = self.now();
            }
        }
        Ok(())
    }
}

/// Names the queue of a change by the newest rows, where all of its new jobs are among them.
fn name_queue(change: &mut Change, facet: Facet, newest: &[JobRow]) {
    let Some(new) = usize::try_from(change.change).ok().filter(|n| *n > 0) else { return };
    let text = |value: &Option<Untrusted>| value.as_ref().map(|v| v.exact().to_owned());
    let of_it = newest.iter().filter(|row| text(&facet.value_of(row)) == change.value);
    let queues: Vec<Option<String>> = of_it.take(new).map(|row| text(&row.queue)).collect();
    if queues.len() == new {
        let different: BTreeSet<&Option<String>> = queues.iter().collect();
        change.queues = Some(different.len());
        change.queue = queues.first().cloned().flatten().filter(|_| different.len() == 1);
    }
}

/// Jobs by value.
fn numbers(histogram: &Histogram) -> HashMap<FacetValue, u64> {
    histogram.bars.iter().map(|bar| (bar.value.clone(), bar.count.n)).collect()
}

/// What differs from what was told, the greatest change first.
fn changes(told: &HashMap<FacetValue, u64>, histogram: &Histogram) -> Vec<Change> {
    let now = numbers(histogram);
    let values: BTreeSet<&FacetValue> = told.keys().chain(now.keys()).collect();
    let change = |value: &FacetValue| {
        let count = |of: &HashMap<FacetValue, u64>| of.get(value).copied().unwrap_or(0);
        let (was, is) = (count(told), count(&now));
        let by = i64::try_from(i128::from(is) - i128::from(was)).unwrap_or(i64::MAX);
        Change {
            at: Timestamp::to_rfc3339(histogram.as_of),
            by: histogram.facet.word(),
            value: value.as_ref().map(|v: &Untrusted| v.exact().to_owned()),
            change: by,
            total: is,
            queue: None,
            queues: None,
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

    #[test]
    fn a_queue_is_named_where_every_new_job_is_known_to_be_of_it() {
        let row = |n: u64, error: &str, queue: Option<&str>| JobRow {
            error_class: Some(error.into()),
            queue: queue.map(Untrusted::from),
            ..JobRow::bare(n.to_string())
        };
        let rows = [
            row(1, "A", Some("billing\u{7}")),
            row(2, "B", Some("x")),
            row(3, "A", Some("billing\u{7}")),
            row(4, "B", None),
            row(5, "A", Some("old")),
        ];
        let told = numbers(&histogram(&[("A", 1), ("C", 5)]));
        let mut seen = changes(&told, &histogram(&[("A", 3), ("B", 2), ("C", 9)]));
        seen.iter_mut().for_each(|change| name_queue(change, Facet::Error, &rows));
        let mut named: Vec<(Option<&str>, String)> = seen.iter().map(|c| (c.value.as_deref(), queue(c))).collect();
        named.sort();
        assert_eq!(named[1..], [(Some("B"), "(2 queues)".to_owned()), (Some("C"), String::new())]);
        assert!(named[0].1.starts_with("billing") && !named[0].1.contains('\u{7}'), "{named:?}");
        let mut out = Vec::new();
        print(&mut out, Format::Table, seen.iter().find(|c| c.value.as_deref() == Some("B")).expect("B"))
            .expect("a vector");
        assert!(String::from_utf8(out).expect("text").ends_with("+2 B (2 queues)  (2)\n"));
    }
}
