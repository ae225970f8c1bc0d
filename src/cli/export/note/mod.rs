//! The note on an incident: Markdown for a ticket or a review.

mod example;
mod run;
mod timeline;

use std::io::Write;

use anyhow::Result;

use crate::cli::jobs::rows::SelectedRows;
use crate::cli::output::say;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs::receipt::typed;
use crate::config::mask_secrets;
use crate::domain::contrast::{Attribute, ValuePath};
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Histogram, dead_jobs, grouped};
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::ledger::{Mark, Run, RunId, RunState};
use crate::store::{SourceError, StoreExt};
use crate::triage::contrast::{ContrastQuery, SAMPLE, contrast};
pub(in crate::cli) use run::named as named_run;
use timeline::Deaths;

/// Values of a facet that are named.
const NAMED: usize = 10;
/// Error classes of which an example is shown; values of the facet that stands in for them where there are none.
const EXAMPLES: usize = 3;
/// Runs that are searched for those on this store.
const RUNS: usize = 200;

/// What a note is about.
#[derive(Clone, Debug)]
pub(crate) enum NoteSubject {
    /// The jobs that a filter selects now.
    Filter(Filter),
    /// The jobs of a run, as they were frozen and as they are now.
    Run(RunId),
}

/// Writes the note, and returns how many jobs it is about.
///
/// # Errors
/// When the run cannot be told of here, the source or the ledger fails, or it cannot be written.
pub(crate) async fn write(opened: &OpenedStore, subject: &NoteSubject, out: &mut impl Write) -> Result<u64> {
    match subject {
        NoteSubject::Filter(filter) => of_filter(opened, filter, out).await,
        NoteSubject::Run(id) => run::write(opened, id, out).await,
    }
}

async fn of_filter(opened: &OpenedStore, filter: &Filter, out: &mut impl Write) -> Result<u64> {
    let info = opened.desk.store.info();
    // Error classes where the layout keeps them; any facet adds up to the total.
    let usual = opened.facet(None);
    let deaths = opened.count(usual, filter).await?.histogram;
    let total = deaths.total.n;
    let time = |at: Option<Timestamp>| at.map_or("unknown".to_owned(), Timestamp::to_second);

    writeln!(out, "# {} in {}\n", dead_jobs(total), plain(&info.title))?;
    writeln!(out, "- source: {}", plain(&opened.desk.source))?;
    writeln!(out, "- filter: {}", if filter.is_all() { "none".to_owned() } else { code(&filter.to_string()) })?;
    writeln!(out, "- counted: {}", deaths.as_of.to_second())?;
    writeln!(out, "- died: {} to {}", time(deaths.first_seen()), time(deaths.last_seen()))?;
    // The values themselves are still wanted, to find an example of each.
    bars(out, &opened.masked_histogram(deaths.clone()))?;
    let further = |facet: &Facet| *facet != usual && info.capabilities.facets.contains(facet);
    for facet in [Facet::Class, Facet::Queue].into_iter().filter(further) {
        bars(out, &opened.masked_histogram(opened.count(facet, filter).await?.histogram))?;
    }
    let named = in_common(out, opened, filter).await?;
    let past = Past::read(opened).await;
    let span = deaths.first_seen().zip(deaths.last_seen());
    let by_time = match Deaths::of_trends(&deaths) {
        _ if total <= timeline::READ => Some(Deaths::of_rows(opened, filter, Deaths::width(span)).await?),
        Some(deaths) => Some(deaths),
        None if further(&timeline::BY_TIME) => {
            Some(Deaths::of_hours(&opened.count(timeline::BY_TIME, filter).await?.histogram))
        }
        None => None,
    };
    let (marks, done) = past.as_ref().map_or((&[][..], &[][..]), |past| (&past.marks[..], &past.runs[..]));
    timeline::write(out, by_time.as_ref(), marks, done)?;
    for bar in deaths.bars.iter().take(EXAMPLES) {
        let value = bar.value.as_ref().map(Untrusted::exact);
        let newest = SelectedRows::new(opened, filter.narrow(usual, &[value])?, 1).next().await?;
        let Some(row) = newest else { continue };
        if let Some(detail) = opened.desk.store.detail(&row.id, &opened.budget).await? {
            example::write(out, &opened.masked_detail(detail), &info.notation, &named)?;
        }
    }
    match past {
        Ok(past) => runs(out, &past)?,
        Err(error) => {
            // The rest of the note is as good without.
            let why = mask_secrets(&format!("{error:#}"));
            writeln!(out, "\n## What was done\n\nNot known: {}", plain(&why))?;
            say(&format!("dlq-tui: the note does not say what was done: {}", Clean::line(&why)));
        }
    }
    Ok(total)
}

/// What the ledger knows of a store.
struct Past {
    is_shared: bool,
    /// The runs that acted on it, the latest first.
    runs: Vec<Run>,
    marks: Vec<Mark>,
}

impl Past {
    async fn read(opened: &OpenedStore) -> Result<Self> {
        let ledger = opened.ledger().await?;
        let here = |run: &Run| run.is_of(&opened.desk.source, &opened.desk.store_name());
        let acted = |run: &Run| matches!(run.state, RunState::Running | RunState::Stopped | RunState::Finished);
        let runs = ledger.runs().latest(RUNS).await?;
        let runs = runs.into_iter().filter(|run| here(run) && acted(run)).collect();
        Ok(Self { is_shared: ledger.is_shared(), runs, marks: ledger.marks().list(&opened.desk.source).await? })
    }
}

/// What contrast names of the chosen jobs, and where these values stand.
async fn in_common(out: &mut impl Write, opened: &OpenedStore, chosen: &Filter) -> Result<Vec<ValuePath>> {
    if chosen.is_all() {
        return Ok(Vec::new());
    }
    let query = ContrastQuery { chosen: chosen.clone(), against: None, sample: SAMPLE, counts_all: false };
    let report = match contrast(&opened.desk, &query, &opened.budget, &mut |_| ()).await {
        Ok(report) => report,
        Err(error @ (SourceError::Cancelled | SourceError::Unreachable(_))) => return Err(error.into()),
        Err(error) => {
            let why = mask_secrets(&error.to_string());
            writeln!(out, "\n## What they have in common\n\nNot known: {}", plain(&why))?;
            return Ok(Vec::new());
        }
    };
    if report.differences.is_empty() {
        return Ok(Vec::new());
    }
    let shown = report.shown(&opened.desk.redactor);
    writeln!(out, "\n## What they have in common\n\n{}.\n", plain(&shown.headline))?;
    writeln!(out, "| value | these jobs | others |\n|---|---:|---:|")?;
    let share = |n: u64, all: u64| format!("{} of {} ({:.1} %)", grouped(n), grouped(all), percent(n, all));
    for line in shown.lines.iter().take(NAMED) {
        let (chosen, others) = (line.counts.chosen, line.counts.others);
        let words = plain(&line.words());
        writeln!(out, "| {words} | {} | {} |", share(chosen, shown.jobs.chosen), share(others, shown.jobs.others))?;
    }
    let attributes = report.differences.iter().take(NAMED).flat_map(|difference| &difference.attributes);
    let mut paths: Vec<ValuePath> = Vec::new();
    for Attribute { path, .. } in attributes {
        if !paths.contains(path) {
            paths.push(path.clone());
        }
    }
    Ok(paths)
}

fn percent(n: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { n as f64 * 100.0 / all as f64 }
}

fn bars(out: &mut impl Write, histogram: &Histogram) -> Result<()> {
    writeln!(out, "\n## By {}\n", histogram.facet.title())?;
    writeln!(out, "| {} | jobs | first | last |\n|---|---:|---|---|", histogram.facet.title())?;
    let time = |at: Option<Timestamp>| at.map(Timestamp::to_second).unwrap_or_default();
    for bar in histogram.bars.iter().take(NAMED) {
        let value = bar.value.as_ref().map_or("(none)", Untrusted::exact);
        writeln!(out, "| {} | {} | {} | {} |", plain(value), bar.count, time(bar.first_seen), time(bar.last_seen))?;
    }
    let rest: u64 = histogram.bars.iter().skip(NAMED).map(|bar| bar.count.n).sum();
    if rest > 0 {
        let others = match histogram.bars.len() - NAMED {
            1 => "1 other".to_owned(),
            n => format!("{n} others"),
        };
        writeln!(out, "| {others} | {} | | |", grouped(rest))?;
    }
    Ok(())
}

fn runs(out: &mut impl Write, past: &Past) -> Result<()> {
    if past.runs.is_empty() {
        return Ok(());
    }
    let from = if past.is_shared { "" } else { " from here" };
    writeln!(out, "\n## What was done{from}\n")?;
    writeln!(out, "| run | when | what | outcome | by | filter | reason |\n|---|---|---|---|---|---|---|")?;
    for run in &past.runs {
        let intent = &run.intent;
        let filter = if intent.filter.is_empty() { String::new() } else { code(&typed(&intent.filter)) };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {filter} | {} |",
            run.id,
            intent.frozen_at.to_second(),
            run.effect(),
            plain(&outcome(run)),
            plain(&intent.operator.user),
            plain(&typed(intent.reason.as_deref().unwrap_or_default())),
        )?;
    }
    Ok(())
}

/// What became of replayed jobs, when that was last asked for: the counts, and the classes of those that died again.
fn outcome(run: &Run) -> String {
    let Some(counts) = &run.outcomes else { return String::new() };
    let class = |(class, n): &(Option<String>, u64)| {
        format!("{} {}", class.as_deref().map_or("(no error class)".into(), typed), grouped(*n))
    };
    let classes: Vec<String> = counts.died_by_class.iter().take(NAMED).map(class).collect();
    let classes = if classes.is_empty() { String::new() } else { format!("; died again with {}", classes.join(", ")) };
    counts.summary() + &classes
}

/// A text that is no markup, on one line, also within a table.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in Clean::line(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '!') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A text as code, on one line, also within a table.
fn code(text: &str) -> String {
    let line = Clean::line(text).replace('|', "\\|");
    // More backticks than the text has in a row.
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("{fence}{line}{fence}") } else { format!("{fence} {line} {fence}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jobs_bring_is_no_markup() {
        assert_eq!(plain("a|b *c* <img src=x>\n# d"), "a\\|b \\*c\\* \\<img src=x\\>⏎\\# d");
        assert_eq!(code("error:A"), "`error:A`");
        assert_eq!(code("msg:`x` | y"), "`` msg:`x` \\| y ``");
    }
}
