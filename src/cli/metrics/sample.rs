//! What is counted for a scrape, and how Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::cli::source::open::OpenedStore;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::job::State;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::ledger::Run;
use crate::store::{HistogramQuery, SourceError};

/// The time within which replays are counted.
const DAY: Duration = Duration::from_secs(86_400);
/// Runs that are searched for those.
const RUNS: usize = 200;
/// The window of growth.
const GROWTH: Duration = Duration::from_secs(300);

/// The numbers of one scrape.
#[derive(Clone, Debug, Default)]
pub(super) struct MetricsSample {
    states: Vec<(&'static str, u64)>,
    queues: Option<Vec<(String, u64)>>,
    errors: Option<Vec<(String, u64)>>,
    growth: Option<u64>,
    /// Replayed jobs by outcome, where a ledger tells.
    replayed: Option<Vec<(&'static str, u64)>>,
    oldest: Option<Duration>,
    /// What it cost to take.
    pub(super) cost: Duration,
    /// Why there are no numbers, where there are none.
    pub(super) fault: Option<&'static str>,
}

impl MetricsSample {
    /// Counts; what the database refuses is the sample's fault.
    pub(super) async fn take(opened: &OpenedStore, top: usize) -> MetricsSample {
        let began = Instant::now();
        let taken = Self::read(opened, top).await;
        let cost = began.elapsed();
        match taken {
            Ok(sample) => MetricsSample { cost, ..sample },
            Err(error) => {
                let kind = error.downcast_ref().map_or("the numbers cannot be read", SourceError::kind);
                MetricsSample { cost, fault: Some(kind), ..MetricsSample::default() }
            }
        }
    }

    async fn read(opened: &OpenedStore, top: usize) -> anyhow::Result<MetricsSample> {
        let (store, all) = (&opened.desk.store, Filter::all());
        // Error classes where the layout keeps them: any facet adds up to all dead jobs.
        let usual = opened.facet(None);
        let counted = opened.masked_histogram(opened.count(usual, &all).await?.histogram);
        let errors = (usual == Facet::Error).then(|| named(&counted, top));
        let queues = match store.info().capabilities.facets.contains(&Facet::Queue) {
            true => Some(named(&opened.masked_histogram(opened.count(Facet::Queue, &all).await?.histogram), top)),
            false => None,
        };
        // Heard with the counts: jobs died by the same clock.
        let now = store.clock();
        let recent = Filter::parse(&format!("since:{}", now.before(GROWTH).to_rfc3339()))?;
        let growth = opened.count(usual, &recent).await?.histogram.total.n;
        let totals = store.count(HistogramQuery::states(false), &opened.budget).await?;
        Ok(MetricsSample {
            states: states(&totals.histogram.by_state(), counted.total),
            queues,
            errors,
            growth: Some(growth),
            replayed: replayed(opened, now).await,
            oldest: counted.first_seen().map(|at| at.age(now)),
            ..MetricsSample::default()
        })
    }

    /// The sample in the text format.
    pub(super) fn text(&self, source: &str, store: &str) -> Result<String, fmt::Error> {
        let labels = [("source".into(), source.to_owned().into()), ("store".into(), store.to_owned().into())];
        let mut registry = Registry::with_labels(labels.into_iter());
        let up = gauge(&mut registry, "dlq_up", "Whether the database could be read");
        up.set(i64::from(self.fault.is_none()));
        let cost: Gauge<f64, AtomicU64> = Gauge::default();
        let about = "What it took to count for this answer";
        registry.register_with_unit("dlq_query_cost", about, Unit::Seconds, cost.clone());
        cost.set(self.cost.as_secs_f64());
        let about = "Jobs in the table by state, as far as they could be counted exactly";
        family(&mut registry, "dlq_jobs", about, "state", &self.states);
        if let Some(queues) = &self.queues {
            family(&mut registry, "dlq_dead_jobs_by_queue", "Dead jobs by queue", "queue", queues);
        }
        if let Some(errors) = &self.errors {
            family(&mut registry, "dlq_dead_jobs_by_error", "Dead jobs by error class", "error", errors);
        }
        if let Some(n) = self.growth {
            let growth = gauge(&mut registry, "dlq_deaths_5m", "Jobs that died within five minutes and are dead");
            growth.set(to_gauge(n));
        }
        if let Some(replayed) = &self.replayed {
            let about = "Jobs that were replayed within a day, by the outcome that was last seen";
            family(&mut registry, "dlq_replayed_jobs", about, "outcome", replayed);
        }
        if let Some(age) = self.oldest {
            let oldest: Gauge<f64, AtomicU64> = Gauge::default();
            let about = "How long ago the oldest dead job died";
            registry.register_with_unit("dlq_oldest_dead_age", about, Unit::Seconds, oldest.clone());
            oldest.set(age.as_secs_f64());
        }
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

fn gauge(registry: &mut Registry, name: &str, about: &str) -> Gauge {
    let gauge: Gauge = Gauge::default();
    registry.register(name, about, gauge.clone());
    gauge
}

type Labels = Vec<(String, String)>;

fn family(registry: &mut Registry, name: &str, about: &str, label: &str, values: &[(impl ToString, u64)]) {
    let family = Family::<Labels, Gauge>::default();
    registry.register(name, about, family.clone());
    for (value, n) in values {
        family.get_or_create(&vec![(label.to_owned(), value.to_string())]).set(to_gauge(*n));
    }
}

fn to_gauge(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Jobs that were replayed within a day by their outcome, as the ledger has it: scrapes ask for none.
async fn replayed(opened: &OpenedStore, now: Timestamp) -> Option<Vec<(&'static str, u64)>> {
    let runs = opened.ledger().await.ok()?.runs().latest(RUNS).await.ok()?;
    let store = opened.desk.store_name();
    let is_recent = |run: &&Run| run.is_of(&opened.desk.source, &store) && run.intent.frozen_at >= now.before(DAY);
    Some(outcomes_of(runs.iter().filter(is_recent).filter_map(|run| run.outcomes.as_ref())))
}

/// Every outcome with its number, so that each series begins at 0.
fn outcomes_of<'a>(runs: impl Iterator<Item = &'a OutcomeCounts>) -> Vec<(&'static str, u64)> {
    let mut sums = OutcomeCounts::default().by_kind();
    for counts in runs {
        for ((_, sum), (_, n)) in sums.iter_mut().zip(counts.by_kind()) {
            *sum += n;
        }
    }
    sums.into_iter().map(|(kind, n)| (kind.field(), n)).collect()
}

/// The states whose jobs are known by number: an estimate or a lower bound would look like a number as good as any. The dead
/// ones were counted by themselves.
fn states(totals: &[(State, Count)], dead: Count) -> Vec<(&'static str, u64)> {
    let best = |(state, count): &(State, Count)| match state {
        State::Dead if count.exactness != Exactness::Exact => (*state, dead),
        _ => (*state, *count),
    };
    let exact = totals.iter().map(best).filter(|(_, count)| count.exactness == Exactness::Exact);
    exact.map(|(state, count)| (state.word(), count.n)).collect()
}

/// The largest bars by name and the rest as `(other)`, so that jobs cannot make labels without end. A bar without a value
/// has an empty label. Names that are the same once they are harmless are one.
fn named(histogram: &Histogram, top: usize) -> Vec<(String, u64)> {
    let name = |bar: &Bar| Clean::line(bar.value.as_ref().map_or("", Untrusted::exact)).to_string();
    let mut named: BTreeMap<String, u64> = BTreeMap::new();
    for (i, bar) in histogram.bars.iter().enumerate() {
        *named.entry(if i < top { name(bar) } else { "(other)".to_owned() }).or_default() += bar.count.n;
    }
    named.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(bars: &[(&str, u64)]) -> Histogram {
        let bar = |(value, n): &(&str, u64)| Bar::new(Some(Untrusted::from(*value)), Count::exact(*n));
        let bars: Vec<Bar> = bars.iter().map(bar).collect();
        Histogram { facet: Facet::Error, total: Count::exact(0), bars, as_of: Timestamp(0), progress: None }
    }

    #[test]
    fn only_the_largest_have_a_name_and_nothing_is_lost() {
        let named = named(&histogram(&[("A", 5), ("B", 3), ("C", 2), ("D", 1)]), 2);
        assert_eq!(named, [("(other)".to_owned(), 3), ("A".to_owned(), 5), ("B".to_owned(), 3)]);
    }

    #[test]
    fn only_numbers_that_are_exact_are_told_as_numbers() {
        let inexact = |n: u64, exactness: Exactness| Count { n, exactness };
        let exact = [(State::Dead, Count::exact(5)), (State::Ignored, Count::exact(2))];
        assert_eq!(states(&exact, Count::exact(6)), [("dead", 5), ("ignored", 2)]);
        let guessed =
            [(State::Dead, inexact(100_000, Exactness::AtLeast)), (State::Resolved, inexact(7, Exactness::Estimate))];
        assert_eq!(states(&guessed, Count::exact(123_456)), [("dead", 123_456)]);
        assert_eq!(states(&guessed, inexact(9, Exactness::Estimate)), []);
    }

    #[test]
    fn outcomes_of_several_replays_are_added_up() {
        let one =
            OutcomeCounts { replayed: 5, succeeded: 2, gone_succeeded: 1, died_other: 2, ..OutcomeCounts::default() };
        let replayed = outcomes_of([&one, &one].into_iter());
        let text = MetricsSample { replayed: Some(replayed), ..MetricsSample::default() }.text("s", "t").expect("text");
        for (word, n) in [("succeeded", 6), ("died_again", 4), ("waiting", 0)] {
            assert!(text.contains(&format!("outcome=\"{word}\"}} {n}")), "{text}");
        }
    }

    #[test]
    fn labels_are_escaped_and_a_fault_is_told() {
        let errors = named(&histogram(&[("A\"b\\c\nd", 5)]), 9);
        let text = MetricsSample { errors: Some(errors), ..MetricsSample::default() }
            .text("billing", "public.dlq")
            .expect("text");
        assert!(text.contains("dlq_up{source=\"billing\",store=\"public.dlq\"} 1"), "{text}");
        let line = text.lines().find(|line| line.starts_with("dlq_dead_jobs_by_error{")).expect("the error");
        assert!(line.contains("error=\"A\\\"b\\\\c") && line.ends_with("} 5"), "{line}");
        let away = MetricsSample { fault: Some("away"), ..MetricsSample::default() }.text("s", "t").expect("text");
        assert!(away.contains("dlq_up{source=\"s\",store=\"t\"} 0\n") && !away.contains("dlq_deaths_5m"), "{away}");
    }
}
