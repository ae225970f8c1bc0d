//! The timeline of a note: marks, deaths per minute, and runs with their outcomes, in the order of time.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;

use super::plain;
use crate::cli::jobs::rows::SelectedRows;
use crate::cli::source::open::OpenedStore;
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, instant};
use crate::domain::histogram::{Histogram, TREND_SLOT, grouped};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::{Mark, Run};

/// Stretches of time whose deaths are counted apart, at the most.
const MOST: u64 = 40;
/// How long a stretch may be, in minutes.
const WIDTHS: [u64; 9] = [1, 5, 15, 60, 180, 720, 1_440, 10_080, 43_200];
/// Characters of the longest bar.
const BAR: u64 = 20;

/// Jobs whose times are read one by one.
pub(super) const READ: u64 = 5_000;

/// Deaths in stretches of time of one width.
#[derive(Debug, PartialEq)]
pub(super) struct Deaths {
    width: Duration,
    /// The beginning of each stretch that has some, and how many.
    counts: Vec<(Timestamp, u64)>,
}

impl Deaths {
    /// How wide stretches have to be for deaths between these times.
    pub(super) fn width(span: Option<(Timestamp, Timestamp)>) -> Duration {
        let minutes = span.map_or(0, |(first, last)| first.age(last).as_secs() / 60);
        let fits = |width: &&u64| minutes / **width < MOST;
        Duration::from_secs(WIDTHS.iter().find(fits).copied().unwrap_or(minutes / MOST + 1) * 60)
    }

    /// From counts of stretches that are as wide or narrower.
    pub(super) fn new(width: Duration, points: impl IntoIterator<Item = (Timestamp, u64)>) -> Self {
        let micros = i64::try_from(width.as_micros()).unwrap_or(i64::MAX).max(1);
        let mut counts: Vec<(Timestamp, u64)> = Vec::new();
        let mut points: Vec<_> = points.into_iter().filter(|(_, n)| *n > 0).collect();
        points.sort();
        for (at, n) in points {
            let start = Timestamp(at.0.div_euclid(micros).saturating_mul(micros));
            match counts.last_mut() {
                Some((last, sum)) if *last == start => *sum += n,
                _ => counts.push((start, n)),
            }
        }
        Self { width, counts }
    }

    /// From the trends of bars, which reach back some hours, where all of the deaths are in them.
    pub(super) fn of_trends(histogram: &Histogram) -> Option<Self> {
        let slots = histogram.bars.iter().map(|bar| bar.trend.len()).max().filter(|n| *n > 0)?;
        let slot = i64::try_from(TREND_SLOT.as_micros()).ok()?;
        let last = histogram.as_of.0.div_euclid(slot);
        let at = |n: usize| Timestamp((last - i64::try_from(slots - 1 - n).unwrap_or(0)).saturating_mul(slot));
        let known = histogram.bars.iter().all(|bar| bar.first_seen.is_some_and(|first| first >= at(0)));
        let points = || {
            histogram
                .bars
                .iter()
                .flat_map(|bar| bar.trend.iter().enumerate().map(|(n, deaths)| (at(n), u64::from(*deaths))))
        };
        let deaths = Self::new(TREND_SLOT, points());
        (known && deaths.total() == histogram.total.n).then_some(deaths)
    }

    /// From the rows themselves, which are few.
    pub(super) async fn of_rows(opened: &OpenedStore, filter: &Filter, width: Duration) -> Result<Self> {
        let mut rows = SelectedRows::new(opened, filter.clone(), 0);
        let mut points = Vec::new();
        while let Some(row) = rows.next().await? {
            points.extend(row.at.map(|at| (at, 1)));
        }
        Ok(Self::new(width, points))
    }

    /// From counts by the hour.
    pub(super) fn of_hours(histogram: &Histogram) -> Self {
        let span = histogram.first_seen().zip(histogram.last_seen());
        let hour = |value: &Option<Untrusted>| instant(value.as_ref()?.exact(), Timestamp(0)).ok();
        let points = histogram.bars.iter().filter_map(|bar| Some((hour(&bar.value)?, bar.count.n)));
        Self::new(Self::width(span).max(Duration::from_secs(3_600)), points)
    }

    fn total(&self) -> u64 {
        self.counts.iter().map(|(_, n)| n).sum()
    }

    fn events(&self) -> impl Iterator<Item = (Timestamp, String, String)> {
        let most = self.counts.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
        let minutes = (self.width.as_secs() / 60).max(1);
        self.counts.iter().map(move |(at, n)| {
            let rate = *n as f64 / minutes as f64;
            let rate = match rate {
                rate if rate >= 10.0 => format!(", {} a minute", grouped(rate.round() as u64)),
                rate if rate >= 0.1 => format!(", {rate:.1} a minute"),
                _ => String::new(),
            };
            let bar = "▇".repeat(usize::try_from((n * BAR).div_ceil(most)).unwrap_or(0));
            let died = if *n == 1 { "1 death".to_owned() } else { format!("{} deaths", grouped(*n)) };
            (*at, format!("{died}{rate}"), bar)
        })
    }
}

/// The facet that counts deaths by time.
pub(super) const BY_TIME: Facet = Facet::Hour;

/// Writes what happened in the order of time; nothing where nothing is known.
pub(super) fn write(out: &mut impl Write, deaths: Option<&Deaths>, marks: &[Mark], runs: &[Run]) -> Result<()> {
    let first = deaths.and_then(|deaths| deaths.counts.first()).map(|(at, _)| *at);
    // Of the marks before, the last one is the deploy that it began with, or did not.
    let before = marks.iter().filter(|mark| first.is_some_and(|first| mark.at < first)).max_by_key(|mark| mark.at);
    let within = marks.iter().filter(|mark| first.is_none_or(|first| mark.at >= first));
    let mark = |mark: &Mark| {
        let who = plain(&mark.operator.user);
        (mark.at, format!("**mark {}**, set by {who}", plain(mark.name.as_str())), String::new())
    };
    let run = |run: &Run| {
        let at = run.started_at.unwrap_or(run.intent.frozen_at);
        let outcome = super::outcome(run);
        let outcome = if outcome.is_empty() { outcome } else { format!(": {}", plain(&outcome)) };
        (at, format!("**{}**{outcome} ({})", run.effect(), run.id), String::new())
    };
    let mut events: Vec<(Timestamp, String, String)> = before.into_iter().chain(within).map(mark).collect();
    events.extend(runs.iter().map(run).filter(|(at, ..)| first.is_none_or(|first| *at >= first)));
    events.extend(deaths.iter().flat_map(|deaths| deaths.events()));
    if events.is_empty() {
        return Ok(());
    }
    events.sort_by_key(|(at, _, _)| *at);
    let width = deaths.map(|deaths| format!(" Deaths are counted by {}.", words(deaths.width))).unwrap_or_default();
    writeln!(out, "\n## Timeline\n\nTimes are UTC.{width}\n\n| when | what | |\n|---|---|---|")?;
    for (at, what, bar) in events {
        writeln!(out, "| {} | {what} | {bar} |", at.to_second())?;
    }
    Ok(())
}

fn words(width: Duration) -> String {
    match width.as_secs() / 60 {
        1 => "the minute".to_owned(),
        60 => "the hour".to_owned(),
        1_440 => "the day".to_owned(),
        minutes if minutes % 1_440 == 0 => format!("{} days", minutes / 1_440),
        minutes if minutes % 60 == 0 => format!("{} hours", minutes / 60),
        minutes => format!("{minutes} minutes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    #[test]
    fn deaths_are_summed_up_by_stretches_that_are_few_enough() {
        let span = |minutes: i64| Some((Timestamp(0), Timestamp(minutes * MINUTE)));
        let width = |minutes| Deaths::width(span(minutes)).as_secs() / 60;
        assert_eq!([0, 39, 40, 199, 200, 600, 100_000_000].map(width), [1, 1, 5, 5, 15, 60, 2_500_001]);
        let minute = Deaths::new(Duration::from_secs(60), [(Timestamp(0), 12)]);
        assert!(minute.events().all(|(_, what, _)| what == "12 deaths, 12 a minute"));
        let points = [(Timestamp(61 * MINUTE), 2), (Timestamp(3), 1), (Timestamp(59 * MINUTE), 4), (Timestamp(5), 0)];
        let deaths = Deaths::new(Duration::from_secs(3_600), points);
        assert_eq!(deaths.counts, [(Timestamp(0), 5), (Timestamp(60 * MINUTE), 2)]);
        let told: Vec<String> =
            deaths.events().map(|(_, what, bar)| format!("{what} {}", bar.chars().count())).collect();
        assert_eq!(told, ["5 deaths 20", "2 deaths 8"]);
    }
}
