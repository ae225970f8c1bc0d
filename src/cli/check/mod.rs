//! `dlq-tui check`: thresholds for cron, systemd timers and monitoring agents.

pub mod limit;

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::args::{CheckArgs, Format};
use super::exit::{CliError, Code};
use super::output;
use crate::cli::source::open::OpenedStore;
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::histogram::{Count, Histogram, dead_jobs, grouped};
use crate::domain::job::State;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::{Timestamp, exact_span, short_span};
use limit::ThresholdScope;

/// One threshold held against what is there.
#[derive(Debug, Serialize)]
struct ThresholdResult {
    /// The threshold as it was written.
    threshold: String,
    /// The value of the facet that it was held against; `null` for all together.
    value: Option<String>,
    /// What was found: jobs, or seconds for an age.
    found: u64,
    /// What is allowed, in the same unit.
    allowed: u64,
    /// Whether the threshold was passed.
    breached: bool,
    /// The finding in words.
    sentence: String,
}

#[derive(Serialize)]
struct CheckOutput<'a> {
    source: &'a str,
    store: &'a str,
    filter: String,
    as_of: String,
    breached: bool,
    checks: &'a [ThresholdResult],
}

/// Holds each threshold against the store; one line for each that was passed, and nothing when none was.
///
/// # Errors
/// When a threshold or the filter is wrong, or the database fails.
pub async fn run(opened: &OpenedStore, args: &CheckArgs) -> Result<Code> {
    if args.max.is_empty() && args.max_growth.is_empty() && args.max_age.is_none() {
        return Err(CliError::usage("name a threshold: --max total:1000, --max-growth 200/5m or --max-age 1h").into());
    }
    let filter = opened.filter(args.filter.filter.as_deref())?;
    // By the clock that the jobs died by.
    let now = opened.desk.store.clock();
    let findings = Checker { opened, filter: &filter, now, counts: HashMap::new() }.findings(args).await?;
    let breached = findings.iter().any(|f| f.breached);
    output::unless_gone(print(opened, args.output.output, &filter, now, &findings))?;
    Ok(if breached { Code::Threshold } else { Code::Done })
}

/// Counts each facet once, however many thresholds there are on it.
struct Checker<'a> {
    opened: &'a OpenedStore,
    filter: &'a Filter,
    now: Timestamp,
    counts: HashMap<(Facet, Option<Duration>), Histogram>,
}

impl Checker<'_> {
    async fn findings(mut self, args: &CheckArgs) -> Result<Vec<ThresholdResult>> {
        let mut findings = Vec::new();
        let opened = self.opened;
        let shown = |value: &Untrusted| opened.prose(value.clone());
        for max in &args.max {
            let histogram = self.count(&max.scope, None).await?;
            findings.extend(counted(histogram, &max.scope, max.jobs, &max.to_string(), None, &shown));
        }
        for growth in &args.max_growth {
            let histogram = self.count(&growth.scope, Some(growth.within)).await?;
            let (jobs, within) = (growth.jobs, Some(growth.within));
            findings.extend(counted(histogram, &growth.scope, jobs, &growth.to_string(), within, &shown));
        }
        if let Some(allowed) = args.max_age {
            // Not the end of the list: a layout without an index on times is listed by key.
            let now = self.now;
            let counted = self.count(&ThresholdScope::Total, None).await?;
            let (oldest, jobs) = (counted.first_seen(), counted.total.n);
            // Nothing is not young.
            ensure!(
                oldest.is_some() || jobs == 0,
                "none of {} has a time, so the oldest is not known",
                dead_jobs(jobs)
            );
            findings.push(age(oldest.map(|at| at.age(now)), allowed));
        }
        Ok(findings)
    }

    async fn count(&mut self, scope: &ThresholdScope, within: Option<Duration>) -> Result<&Histogram> {
        let facet = match scope {
            ThresholdScope::Each(facet, _) => *facet,
            // Any facet adds up to the total.
            ThresholdScope::Total => {
                self.opened.desk.store.info().capabilities.facets.first().copied().unwrap_or(Facet::Error)
            }
        };
        if !self.counts.contains_key(&(facet, within)) {
            let filter = match within {
                // A job that died in the span is dead for growth whatever other bounds of time there are.
                Some(span) => since(self.filter, self.now.before(span))?,
                None => self.filter.clone(),
            };
            let filter = if facet == Facet::State { every_state(filter)? } else { filter };
            let histogram = self.opened.count(facet, &filter).await?.histogram;
            self.counts.insert((facet, within), histogram);
        }
        Ok(&self.counts[&(facet, within)])
    }
}

/// A filter narrowed to jobs that died at a time or after it.
fn since(filter: &Filter, at: Timestamp) -> Result<Filter> {
    let space = if filter.is_all() { "" } else { " " };
    let text = format!("{}{space}since:{}", filter.without(&Key::At), at.to_rfc3339());
    Ok(Filter::parse(text.trim())?)
}

/// A filter that lets every state through, unless it chooses among them itself.
fn every_state(filter: Filter) -> Result<Filter> {
    if filter.clauses().iter().any(|clause| matches!(clause.key, Key::State | Key::Native)) {
        return Ok(filter);
    }
    let states = State::ALL.iter().map(|state| format!(" state:{state}")).collect::<String>();
    Ok(Filter::parse(format!("{filter}{states}").trim())?)
}

/// A threshold on numbers of jobs held against a count; values are printed by `shown`.
fn counted(
    histogram: &Histogram,
    scope: &ThresholdScope,
    allowed: u64,
    threshold: &str,
    within: Option<Duration>,
    shown: &dyn Fn(&Untrusted) -> Untrusted,
) -> Vec<ThresholdResult> {
    let finding = |value: Option<String>, subject: &str, count: Count| {
        let verb = match within {
            Some(span) => format!("{} died within {}", grouped(count.n), exact_span(span)),
            None => format!("{} dead", grouped(count.n)),
        };
        let sentence = format!("{subject}: {verb}, at most {} allowed", grouped(allowed));
        let breached = count.n > allowed;
        ThresholdResult { threshold: threshold.to_owned(), value, found: count.n, allowed, breached, sentence }
    };
    let ThresholdScope::Each(facet, named) = scope else { return vec![finding(None, "total", histogram.total)] };
    let meant = histogram.bars.iter().filter(|bar| scope.means(bar.value.as_ref().map(Untrusted::exact)));
    let mut found: Vec<ThresholdResult> = meant
        .map(|bar| {
            let value = bar.value.as_ref().map(shown);
            let value = value.as_ref().map_or("", Untrusted::exact);
            let named = if value.is_empty() { "(none)" } else { value };
            finding(Some(value.to_owned()), &format!("{} {}", facet.title(), Clean::line(named)), bar.count)
        })
        .collect();
    if found.is_empty() {
        found.push(finding(Some(named.clone()), &format!("{} {}", facet.title(), Clean::line(named)), Count::exact(0)));
    }
    found
}

/// The threshold on the age of the oldest job.
fn age(oldest: Option<Duration>, allowed: Duration) -> ThresholdResult {
    let found = oldest.unwrap_or_default();
    let sentence = match oldest {
        Some(age) => format!("oldest: died {} ago, at most {} allowed", short_span(age), exact_span(allowed)),
        None => "oldest: no dead job".to_owned(),
    };
    ThresholdResult {
        threshold: format!("age:{}", exact_span(allowed)),
        value: None,
        found: found.as_secs(),
        allowed: allowed.as_secs(),
        breached: found > allowed,
        sentence,
    }
}

fn print(
    opened: &OpenedStore,
    format: Format,
    filter: &Filter,
    now: Timestamp,
    findings: &[ThresholdResult],
) -> Result<()> {
    let mut out = output::stdout();
    let breaches = findings.iter().filter(|f| f.breached);
    match format {
        // Nothing to say is nothing printed: cron sends a mail of whatever is.
        Format::Table => breaches.map(|f| &f.sentence).try_for_each(|sentence| writeln!(out, "{sentence}"))?,
        Format::Json => {
            let document = CheckOutput {
                source: &opened.desk.source,
                store: &opened.desk.store.info().title,
                filter: filter.to_string(),
                as_of: now.to_rfc3339(),
                breached: findings.iter().any(|f| f.breached),
                checks: findings,
            };
            output::json(&mut out, &output::Versioned::new(document))?;
        }
        Format::Jsonl => {
            for finding in findings {
                output::json_line(&mut out, &output::Versioned::new(finding))?;
            }
        }
        Format::Csv => {
            output::csv(&mut out, ["threshold", "value", "found", "allowed", "breached"])?;
            for f in findings {
                let value = Clean::line(f.value.as_deref().unwrap_or_default());
                let (found, allowed) = (f.found.to_string(), f.allowed.to_string());
                let breached = if f.breached { "true" } else { "false" };
                output::csv(&mut out, [&*f.threshold, &*value, &found, &allowed, breached])?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::histogram::Bar;

    fn histogram() -> Histogram {
        let bar = |value: Option<&str>, n| Bar::new(value.map(Untrusted::from), Count::exact(n));
        let bars = vec![bar(Some("billing"), 12), bar(Some("bill\u{1b}[31mred"), 3), bar(None, 1)];
        Histogram { facet: Facet::Queue, bars, total: Count::exact(16), as_of: Timestamp(0), progress: None }
    }

    fn sentences(threshold: &str) -> Vec<(String, bool)> {
        let max = limit::max(threshold).expect(threshold);
        let found = counted(&histogram(), &max.scope, max.jobs, threshold, None, &Untrusted::clone);
        found.into_iter().map(|f| (f.sentence, f.breached)).collect()
    }

    #[test]
    fn a_threshold_is_passed_by_one_more_than_it_allows() {
        assert!(!sentences("total:16")[0].1);
        assert_eq!(sentences("total:15"), [("total: 16 dead, at most 15 allowed".to_owned(), true)]);
        assert_eq!(sentences("queue=billing:11"), [("queue billing: 12 dead, at most 11 allowed".to_owned(), true)]);
    }

    #[test]
    fn a_pattern_is_held_against_each_value_for_itself_and_none_is_none() {
        assert_eq!(sentences("queue=bill*:4").iter().map(|(_, breached)| *breached).collect::<Vec<_>>(), [true, false]);
        assert_eq!(sentences("queue=:0"), [("queue (none): 1 dead, at most 0 allowed".to_owned(), true)]);
        assert_eq!(sentences("queue=mailers:0"), [("queue mailers: 0 dead, at most 0 allowed".to_owned(), false)]);
    }

    #[test]
    fn nothing_that_a_value_holds_acts_on_a_terminal() {
        assert!(sentences("queue=bill*:0").iter().all(|(sentence, _)| !sentence.contains('\u{1b}')));
    }

    #[test]
    fn a_value_is_told_as_it_may_be_shown_and_held_as_it_is() {
        let max = limit::max("queue=billing:0").expect("a threshold");
        let shown = |_: &Untrusted| Untrusted::from("[redacted]");
        let found = counted(&histogram(), &max.scope, max.jobs, "queue=billing:0", None, &shown);
        assert_eq!(found[0].sentence, "queue [redacted]: 12 dead, at most 0 allowed");
        assert_eq!(found[0].value.as_deref(), Some("[redacted]"));
    }

    #[test]
    fn an_age_is_that_of_the_oldest_job_and_nothing_is_too_old_where_nothing_is_dead() {
        let hour = Duration::from_secs(3_600);
        assert!(age(Some(hour * 2), hour).breached && !age(Some(hour), hour).breached && !age(None, hour).breached);
    }
}
