//! The note on an incident: Markdown for a ticket or a review.

use std::io::Write;

use anyhow::Result;

use crate::cli::jobs::detail_text::{backtrace, pretty};
use crate::cli::jobs::rows::SelectedRows;
use crate::cli::output::say;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs::receipt::typed;
use crate::config::mask_secrets;
use crate::domain::display_rules::Notation;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Histogram, dead_jobs, grouped};
use crate::domain::job::JobDetail;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::ledger::{Run, RunState};
use crate::store::StoreExt;

/// Values of a facet that are named.
const NAMED: usize = 10;
/// Error classes of which an example is shown; values of the facet that stands in for them where there are none.
const EXAMPLES: usize = 3;
/// Lines of an example's backtrace and arguments.
const LINES: usize = 12;
/// Runs that are searched for those on this store.
const RUNS: usize = 200;

/// Writes the note, and returns how many jobs it is about.
pub(super) async fn write(opened: &OpenedStore, filter: &Filter, out: &mut impl Write) -> Result<u64> {
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
    for bar in deaths.bars.iter().take(EXAMPLES) {
        let value = bar.value.as_ref().map(Untrusted::exact);
        let newest = SelectedRows::new(opened, filter.narrow(usual, &[value])?, 1).next().await?;
        let Some(row) = newest else { continue };
        if let Some(detail) = opened.desk.store.detail(&row.id, &opened.budget).await? {
            example(out, &opened.masked_detail(detail), &info.notation)?;
        }
    }
    runs(out, opened).await?;
    Ok(total)
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

fn example(out: &mut impl Write, detail: &JobDetail, notation: &Notation) -> Result<()> {
    let row = &detail.row;
    let line = |text: &Option<Untrusted>| text.as_ref().map_or("(none)".to_owned(), |t| plain(t.exact()));
    let head = if row.error_class.is_some() { &row.error_class } else { &row.job_class };
    writeln!(out, "\n## Example: {}\n", line(head))?;
    let at = row.at.map(Timestamp::to_second).unwrap_or_default();
    writeln!(out, "Job {}, {}, died {at}.", code(row.id.as_str()), line(&row.job_class))?;
    for (title, text) in
        [("message", &detail.message), ("arguments", &detail.arguments), ("backtrace", &detail.backtrace)]
    {
        let Some(text) = text else { continue };
        let text = match title {
            "arguments" => pretty(text, notation),
            "backtrace" => backtrace(text),
            _ => text.lines().to_string(),
        };
        writeln!(out, "\n{title}:\n")?;
        block(out, &text)?;
    }
    Ok(())
}

/// The first lines of a text, indented: a block that nothing in the text can end.
fn block(out: &mut impl Write, text: &str) -> Result<()> {
    let lines = Clean::lines(text);
    let mut rows = lines.rows();
    for row in rows.by_ref().take(LINES) {
        writeln!(out, "    {}", row.truncate(400, "…"))?;
    }
    let rest = rows.count();
    if rest > 0 {
        writeln!(out, "    … {rest} more {}", if rest == 1 { "line" } else { "lines" })?;
    }
    Ok(())
}

async fn runs(out: &mut impl Write, opened: &OpenedStore) -> Result<()> {
    let known = async {
        let ledger = opened.ledger().await?;
        anyhow::Ok((ledger.is_shared(), ledger.runs().latest(RUNS).await?))
    };
    let (is_shared, runs) = match known.await {
        Ok(known) => known,
        Err(error) => {
            // The rest of the note is as good without.
            let why = mask_secrets(&format!("{error:#}"));
            writeln!(out, "\n## What was done\n\nNot known: {}", plain(&why))?;
            say(&format!("dlq-tui: the note does not say what was done: {}", Clean::line(&why)));
            return Ok(());
        }
    };
    let here = |run: &Run| run.is_of(&opened.desk.source, &opened.desk.store_name());
    let acted = |run: &Run| matches!(run.state, RunState::Running | RunState::Stopped | RunState::Finished);
    let runs: Vec<Run> = runs.into_iter().filter(|run| here(run) && acted(run)).collect();
    if runs.is_empty() {
        return Ok(());
    }
    let from = if is_shared { "" } else { " from here" };
    writeln!(out, "\n## What was done{from}\n")?;
    writeln!(out, "| run | when | what | outcome | by | filter | reason |\n|---|---|---|---|---|---|---|")?;
    for run in runs {
        let intent = &run.intent;
        let filter = if intent.filter.is_empty() { String::new() } else { code(&typed(&intent.filter)) };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {filter} | {} |",
            run.id,
            intent.frozen_at.to_second(),
            run.effect(),
            plain(&outcome(&run)),
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
    let classes = if classes.is_empty() { String::new() } else { format!(" ({})", classes.join(", ")) };
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
