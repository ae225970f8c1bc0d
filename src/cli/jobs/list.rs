//! `dlq-tui list`: dead jobs, newest first.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{Format, ListArgs};
use crate::cli::exit::Code;
use crate::cli::jobs::job_json::{JobWithHistory, RowRecord};
use crate::cli::jobs::no_match;
use crate::cli::jobs::rows::{PAGE, SelectedRows};
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::job::JobRow;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;

#[derive(Serialize)]
struct ListOutput<'a> {
    source: &'a str,
    store: &'a str,
    filter: String,
    /// Whether more jobs match than are listed.
    more: bool,
    jobs: Vec<JobWithHistory<RowRecord<'a>>>,
}

/// A job, and how often it was replayed before; `None` where the ledger cannot be read.
type Job = (JobRow, Option<u64>);

/// Lists and prints.
///
/// # Errors
/// When the filter is wrong or the database fails.
pub async fn run(opened: &OpenedStore, args: &ListArgs) -> Result<Code> {
    let filter = opened.filter(args.filter.filter.as_deref())?;
    let format = args.output.output;
    let mut out = output::stdout();
    let printer = ListPrinter::new(format, true, &mut out)?;
    let mut jobs: Vec<Job> = Vec::new();
    let mut is_empty = true;
    let mut walk = SelectedRows::new(opened, filter.clone(), args.limit);
    loop {
        let rows = walk.some(PAGE).await?;
        if rows.is_empty() {
            break;
        }
        is_empty = false;
        let replays = opened.replays(rows.iter().map(|row| row.id.clone()).collect()).await?;
        for row in rows {
            let replayed = replays.as_ref().map(|known| known.get(&row.id).copied().unwrap_or(0));
            match format {
                Format::Jsonl | Format::Csv => printer.row(&mut out, &row, replayed)?,
                Format::Table | Format::Json => jobs.push((row, replayed)),
            }
        }
    }
    let more = args.limit > 0 && walk.has_more().await?;
    match format {
        Format::Json => {
            let document = ListOutput {
                source: &opened.desk.source,
                store: &opened.desk.store.info().title,
                filter: filter.to_string(),
                more,
                jobs: jobs.iter().map(|(row, replayed)| shown(row, *replayed)).collect(),
            };
            output::json(&mut out, &output::Versioned::new(document))?;
        }
        Format::Table => table(&jobs).print(&mut out, terminal_width())?,
        Format::Jsonl | Format::Csv => {}
    }
    out.flush()?;
    drop(out);
    if is_empty {
        no_match::explain(opened, &filter).await;
    }
    if more && format == Format::Table {
        output::say(&format!(
            "… more than {} match: narrow the filter with -f, or ask for more with --limit",
            args.limit
        ));
    }
    Ok(Code::Done)
}

fn shown(row: &JobRow, replayed: Option<u64>) -> JobWithHistory<RowRecord<'_>> {
    JobWithHistory { job: RowRecord::from(row), replayed }
}

/// Prints rows as they come.
pub(crate) struct ListPrinter {
    format: Format,
    /// Whether a column says how often each was replayed before.
    replays: bool,
}

impl ListPrinter {
    /// Prints the heading, where the form has one.
    pub(crate) fn new(format: Format, replays: bool, out: &mut impl Write) -> Result<ListPrinter> {
        if format == Format::Csv {
            let names =
                ["id", "at", "state", "error", "class", "queue", "attempts", "max_attempts", "worker", "message"];
            output::csv(out, names.into_iter().chain(replays.then_some("replayed")))?;
        }
        Ok(ListPrinter { format, replays })
    }

    /// Prints a row.
    pub(crate) fn row(&self, out: &mut impl Write, row: &JobRow, replayed: Option<u64>) -> Result<()> {
        if self.format == Format::Jsonl {
            output::json_line(out, &output::Versioned::new(shown(row, replayed)))?;
            return Ok(());
        }
        let times = replayed.map(|n| n.to_string()).unwrap_or_default();
        let number = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
        let at = row.at.map(Timestamp::to_rfc3339).unwrap_or_default();
        let cells = [
            &*Clean::line(row.id.as_str()),
            &at,
            row.state.word(),
            &clean(&row.error_class),
            &clean(&row.job_class),
            &clean(&row.queue),
            &number(row.attempts),
            &number(row.max_attempts),
            &clean(&row.worker),
            &clean(&row.message),
        ];
        output::csv(out, cells.into_iter().chain(self.replays.then_some(times.as_str())))?;
        Ok(())
    }
}

fn clean(text: &Option<Untrusted>) -> Clean<'_> {
    Clean::line(text.as_ref().map_or("", Untrusted::exact))
}

fn table(jobs: &[Job]) -> TextTable {
    // Most jobs never were: the room is for the message then.
    let replays = jobs.iter().any(|(_, replayed)| replayed.is_some_and(|n| n > 0));
    let mut columns = vec![
        TableColumn::Whole("id"),
        TableColumn::Whole("died"),
        TableColumn::Whole("state"),
        TableColumn::Text("error"),
        TableColumn::Text("job class"),
        TableColumn::Text("queue"),
        TableColumn::Number("attempts"),
    ];
    columns.extend(replays.then_some(TableColumn::Number("replayed")));
    columns.push(TableColumn::Text("message"));
    // A state that they all have says little; it is the last to go where it does not.
    let states = jobs.iter().any(|(row, _)| row.state != jobs[0].0.state);
    let first = (!states).then_some("state");
    let yields = first.into_iter().chain(["attempts", "queue", "job class", "replayed", "state", "died"]);
    let mut table = TextTable::new(columns).yielding(yields.collect::<Vec<_>>());
    for (row, replayed) in jobs {
        let text = |value: &Option<Untrusted>| value.as_ref().map_or("", Untrusted::exact).to_owned();
        let attempts = match (row.attempts, row.max_attempts) {
            (Some(n), Some(of)) => format!("{n}/{of}"),
            (Some(n), None) => n.to_string(),
            _ => String::new(),
        };
        let times = replayed.filter(|n| *n > 0).map(|n| n.to_string()).unwrap_or_default();
        let head = [
            row.id.as_str(),
            &row.at.map(Timestamp::to_second).unwrap_or_default(),
            row.state.word(),
            &text(&row.error_class),
            &text(&row.job_class),
            &text(&row.queue),
            &attempts,
        ];
        table.row(head.into_iter().chain(replays.then_some(times.as_str())).chain([text(&row.message).as_str()]));
    }
    table
}
