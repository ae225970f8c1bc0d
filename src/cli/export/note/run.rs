//! The note on a run: the jobs that were frozen into it, and what became of them.

use std::io::Write;

use anyhow::Result;

use super::timeline::{self, Deaths};
use super::{EXAMPLES, NAMED, Past, code, example, in_common, plain};
use crate::cli::exit::CliError;
use crate::cli::jobs::rows::SelectedRows;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs::outcomes;
use crate::cli::verbs::receipt::typed;
use crate::domain::filter::Filter;
use crate::domain::histogram::grouped;
use crate::domain::job::JobDetail;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::{Ledger, Run, RunId};
use crate::store::StoreExt;

/// Rows of a cohort that are searched for one of each error class.
const SEARCHED: usize = 500;

/// The run that a word names: its id, or `last` for the last replay of the store.
///
/// # Errors
/// When there is none, it is of another source, or it has touched no job.
pub(in crate::cli) async fn named(opened: &OpenedStore, word: &str) -> Result<RunId> {
    let ledger = opened.ledger().await?;
    let (source, store) = (&opened.desk.source, opened.desk.store_name());
    let id = match word {
        "last" => ledger.runs().last_replay(source, &store).await?,
        id => Some(RunId(id.to_owned())),
    };
    let id =
        id.ok_or_else(|| CliError::usage("nothing was replayed here yet: name a run, `dlq-tui runs` lists them"))?;
    let run = ledger.runs().get(&id).await?;
    let here = opened.desk.store.identity(&opened.budget).await?;
    match run.lists_no_jobs(source, &store).or_else(|| run.strays(here.as_ref())) {
        Some(because) => Err(CliError::usage(because).into()),
        None => Ok(id),
    }
}

/// Writes the note, and returns how many jobs the run has.
pub(super) async fn write(opened: &OpenedStore, id: &RunId, out: &mut impl Write) -> Result<u64> {
    let ledger = opened.ledger().await?.of(id).await?;
    outcomes::refresh(opened, &ledger, &ledger.runs().get(id).await?).await?;
    let run = ledger.runs().get(id).await?;
    head(out, opened, &run)?;
    let span = cohort(out, &ledger, &run, opened).await?;
    result(out, &run)?;
    let jobs = Filter::parse(&format!("run:{id}"))?;
    let named = in_common(out, opened, &jobs).await?;
    let width = Deaths::width(span);
    let deaths = Deaths::new(width, ledger.cohorts().deaths(id, width).await?);
    let past = Past::read(opened).await?;
    timeline::write(out, Some(&deaths), &past.marks, &past.runs)?;
    let examples = examples(opened, jobs).await?;
    if examples.is_empty() {
        writeln!(out, "\n## Examples\n\nNo row of these jobs is left in the store.")?;
    }
    let notation = &opened.desk.store.info().notation;
    for detail in examples {
        example::write(out, &detail, notation, &named)?;
    }
    Ok(run.tally.planned)
}

fn head(out: &mut impl Write, opened: &OpenedStore, run: &Run) -> Result<()> {
    let (intent, info) = (&run.intent, opened.desk.store.info());
    let mut effect = run.effect();
    effect[..1].make_ascii_uppercase();
    writeln!(out, "# {effect} in {}\n", plain(&info.title))?;
    writeln!(out, "- run: {}, {} {}", run.id, run.state.label(), time(run.ended_at.or(run.started_at)))?;
    writeln!(out, "- source: {}", plain(&opened.desk.source))?;
    let who = format!("{}@{}", intent.operator.user, intent.operator.host);
    writeln!(out, "- by: {}", plain(&who))?;
    if let Some(reason) = &intent.reason {
        writeln!(out, "- reason: {}", plain(&typed(reason)))?;
    }
    let filter =
        if intent.resolved.is_empty() { "jobs that were named".to_owned() } else { code(&typed(&intent.resolved)) };
    writeln!(out, "- filter: {filter}")?;
    writeln!(out, "- frozen: {}", intent.frozen_at.to_second())?;
    Ok(())
}

fn time(at: Option<Timestamp>) -> String {
    at.map(Timestamp::to_second).unwrap_or_default()
}

/// The jobs as they were frozen: how they divide. Returns the oldest and the newest death.
async fn cohort(
    out: &mut impl Write,
    ledger: &Ledger,
    run: &Run,
    opened: &OpenedStore,
) -> Result<Option<(Timestamp, Timestamp)>> {
    let split = ledger.cohorts().split(&run.id, NAMED).await?;
    if let Some((first, last)) = split.span {
        writeln!(out, "- died: {} to {}", first.to_second(), last.to_second())?;
    }
    for (title, shares) in [("error class", &split.by_error), ("job class", &split.by_class)] {
        writeln!(out, "\n## By {title}, when the run was planned\n\n| {title} | jobs |\n|---|---:|")?;
        for (value, n) in shares {
            let value = value.clone().map(|value| opened.prose(value));
            let value = value.as_ref().map_or("(none)", Untrusted::exact);
            writeln!(out, "| {} | {} |", plain(value), grouped(*n))?;
        }
        let listed: u64 = shares.iter().map(|(_, n)| n).sum();
        let rest = run.tally.planned.saturating_sub(listed);
        if rest > 0 {
            writeln!(out, "| others | {} |", grouped(rest))?;
        }
    }
    Ok(split.span)
}

/// What the run did, and what became of replayed jobs.
fn result(out: &mut impl Write, run: &Run) -> Result<()> {
    let tally = &run.tally;
    writeln!(out, "\n## Outcome\n\n| | jobs |\n|---|---:|")?;
    let mut line = |name: &str, n: u64| match n {
        0 => Ok(()),
        n => writeln!(out, "| {} | {} |", plain(name), grouped(n)),
    };
    line(run.intent.action.done_word(), tally.done)?;
    for (reason, n) in &tally.skipped {
        line(&format!("skipped: {reason}"), *n)?;
    }
    for (reason, n) in &tally.failed {
        line(&format!("failed: {}", typed(reason.exact())), *n)?;
    }
    line("in doubt", tally.in_doubt)?;
    line("not started", tally.not_started)?;
    if let Some(counts) = &run.outcomes {
        writeln!(out, "\nOf the replayed jobs: {}.", plain(&super::outcome(run)))?;
        if counts.open() > 0 {
            writeln!(out, "{} of them have not settled yet.", grouped(counts.open()))?;
        }
    }
    Ok(())
}

/// One job of each error class, as it is now, where there are rows of the run's jobs left.
async fn examples(opened: &OpenedStore, jobs: Filter) -> Result<Vec<JobDetail>> {
    let mut rows = SelectedRows::new(opened, jobs, SEARCHED);
    let mut found: Vec<JobDetail> = Vec::new();
    while let Some(row) = rows.next().await? {
        if found.iter().any(|known| known.row.error_class == row.error_class) {
            continue;
        }
        if let Some(detail) = opened.desk.store.detail(&row.id, &opened.budget).await? {
            found.push(opened.masked_detail(detail));
        }
        if found.len() == EXAMPLES {
            break;
        }
    }
    Ok(found)
}
