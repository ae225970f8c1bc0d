//! `dlq-tui list`: dead jobs, newest first.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::args::{Format, ListArgs};
use super::exit::Code;
use super::open::Opened;
use super::out;
use super::record::RowRecord;
use super::table::{Column, Table, terminal_width};
use super::walk::Walk;
use crate::domain::job::JobRow;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;

#[derive(Serialize)]
struct Document<'a> {
    source: &'a str,
    store: &'a str,
    filter: String,
    /// Whether more jobs match than are listed.
    more: bool,
    jobs: Vec<RowRecord<'a>>,
}

/// Lists and prints.
///
/// # Errors
/// When the filter is wrong or the database fails.
pub async fn run(opened: &Opened, args: &ListArgs) -> Result<Code> {
    let filter = opened.filter(args.filter.filter.as_deref())?;
    let format = args.output.output;
    let mut out = out::stdout();
    let printer = Printer::new(format, &mut out)?;
    let mut rows: Vec<JobRow> = Vec::new();
    let mut walk = Walk::new(opened, filter.clone(), args.limit);
    while let Some(row) = walk.next().await? {
        match format {
            Format::Jsonl | Format::Csv => printer.row(&mut out, &row)?,
            Format::Table | Format::Json => rows.push(row),
        }
    }
    let more = args.limit > 0 && walk.has_more().await?;
    match format {
        Format::Json => {
            let document = Document {
                source: &opened.desk.source,
                store: &opened.desk.store.info().title,
                filter: filter.to_string(),
                more,
                jobs: rows.iter().map(RowRecord::from).collect(),
            };
            out::json(&mut out, &out::Versioned::new(document))?;
        }
        Format::Table => table(&rows).print(&mut out, terminal_width())?,
        Format::Jsonl | Format::Csv => {}
    }
    out.flush()?;
    drop(out);
    if more && format == Format::Table {
        out::say(&format!("… more than {} match: narrow the filter with -f, or ask for more with --limit", args.limit));
    }
    Ok(Code::Done)
}

/// Prints rows as they come.
pub(super) struct Printer(Format);

impl Printer {
    /// Prints the heading, where the form has one.
    pub(super) fn new(format: Format, out: &mut impl Write) -> Result<Printer> {
        if format == Format::Csv {
            let names =
                ["id", "at", "state", "error", "class", "queue", "attempts", "max_attempts", "worker", "message"];
            out::csv(out, names)?;
        }
        Ok(Printer(format))
    }

    /// Prints a row.
    pub(super) fn row(&self, out: &mut impl Write, row: &JobRow) -> Result<()> {
        if self.0 == Format::Jsonl {
            out::json_line(out, &out::Versioned::new(RowRecord::from(row)))?;
            return Ok(());
        }
        let number = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
        let at = row.at.map(Timestamp::to_rfc3339).unwrap_or_default();
        out::csv(
            out,
            [
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
            ],
        )?;
        Ok(())
    }
}

fn clean(text: &Option<Untrusted>) -> Clean<'_> {
    Clean::line(text.as_ref().map_or("", Untrusted::exact))
}

fn table(rows: &[JobRow]) -> Table {
    let mut table = Table::new([
        Column::Whole("id"),
        Column::Whole("died"),
        Column::Whole("state"),
        Column::Text("error"),
        Column::Text("job class"),
        Column::Text("queue"),
        Column::Number("attempts"),
        Column::Text("message"),
    ]);
    for row in rows {
        let text = |value: &Option<Untrusted>| value.as_ref().map_or("", Untrusted::exact).to_owned();
        let attempts = match (row.attempts, row.max_attempts) {
            (Some(n), Some(of)) => format!("{n}/{of}"),
            (Some(n), None) => n.to_string(),
            _ => String::new(),
        };
        table.row([
            row.id.as_str(),
            &row.at.map(Timestamp::to_second).unwrap_or_default(),
            row.state.word(),
            &text(&row.error_class),
            &text(&row.job_class),
            &text(&row.queue),
            &attempts,
            &text(&row.message),
        ]);
    }
    table
}
