//! `dlq-tui show ID`: one dead job with everything that is known of it.

use std::io::Write;

use anyhow::Result;

use crate::cli::args::{Format, ShowArgs};
use crate::cli::exit::{CliError, Code};
use crate::cli::jobs::detail_text::{backtrace, pretty};
use crate::cli::jobs::job_json::{DetailRecord, JobWithHistory};
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs::ids;
use crate::domain::display_rules::Notation;
use crate::domain::job::{JobDetail, JobId};
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::store::StoreExt;

/// Reads and prints.
///
/// # Errors
/// When there is no such job, or the database fails.
pub async fn run(opened: &OpenedStore, args: &ShowArgs) -> Result<Code> {
    if args.output.output == Format::Csv {
        return Err(CliError::usage("one job with all its parts fits no row: use -o json, or list -o csv").into());
    }
    let ids = ids::named(std::slice::from_ref(&args.id)).await?;
    if ids.len() > 1 && args.output.output == Format::Json {
        return Err(CliError::usage("several jobs are no single document: use -o jsonl").into());
    }
    for (nth, id) in ids.iter().enumerate() {
        if nth > 0 && args.output.output == Format::Table {
            writeln!(output::stdout())?;
        }
        one(opened, id, args.output.output).await?;
    }
    Ok(Code::Done)
}

async fn one(opened: &OpenedStore, id: &JobId, format: Format) -> Result<()> {
    let Some(detail) = opened.desk.store.detail(id, &opened.budget).await? else {
        let title = &opened.desk.store.info().title;
        anyhow::bail!("there is no job {} in {title}; `dlq-tui list` shows the ids", id.text().line());
    };
    // By what the job is known, and not by what is shown of that.
    let replayed = opened.replayed(&detail).await;
    let detail = opened.masked_detail(detail);
    let mut out = output::stdout();
    let shown = || output::Versioned::new(JobWithHistory { job: DetailRecord::from(&detail), replayed });
    match format {
        Format::Table => text(&mut out, &detail, replayed, &opened.desk.store.info().notation)?,
        Format::Json => output::json(&mut out, &shown())?,
        Format::Jsonl | Format::Csv => output::json_line(&mut out, &shown())?,
    }
    Ok(out.flush()?)
}

fn text(out: &mut impl Write, detail: &JobDetail, replayed: Option<u64>, notation: &Notation) -> Result<()> {
    let row = &detail.row;
    let state = match row.native_state.exact() {
        native if native == row.state.word() || native.is_empty() => row.state.word().to_owned(),
        native => format!("{} ({})", row.state, Clean::line(native)),
    };
    let attempts = match (row.attempts, row.max_attempts) {
        (Some(n), Some(of)) => format!("{n} of {of}"),
        (Some(n), None) => n.to_string(),
        _ => String::new(),
    };
    let line = |value: &Option<Untrusted>| value.as_ref().map(|v| v.line().to_string()).unwrap_or_default();
    let facts = [
        ("job", row.id.text().line().to_string()),
        ("died", row.at.map(Timestamp::to_second).unwrap_or_default()),
        ("state", state),
        ("class", line(&row.job_class)),
        ("queue", line(&row.queue)),
        ("attempts", attempts),
        ("worker", line(&row.worker)),
        ("lineage", line(&detail.lineage)),
        ("replayed", replayed.filter(|n| *n > 0).map(|n| format!("{n} before")).unwrap_or_default()),
        ("error", line(&row.error_class)),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "{name:<9} {value}")?;
    }
    section(out, "message", detail.message.as_ref().map(|m| m.lines().to_string()))?;
    section(out, "arguments", detail.arguments.as_ref().map(|a| pretty(a, notation)))?;
    section(out, "backtrace", detail.backtrace.as_ref().map(backtrace))?;
    let metadata = detail.metadata.iter().map(|(name, value)| {
        let value = value.as_ref().map_or("NULL".to_owned(), |v| v.line().to_string());
        format!("{}: {value}", Clean::line(name))
    });
    let metadata: Vec<String> = metadata.collect();
    section(out, "metadata", (!metadata.is_empty()).then(|| metadata.join("\n")))?;
    Ok(())
}

fn section(out: &mut impl Write, title: &str, body: Option<String>) -> Result<()> {
    if let Some(body) = body.filter(|b| !b.is_empty()) {
        writeln!(out, "\n{title}")?;
        for line in body.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
