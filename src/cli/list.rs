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
use crate::domain::job::JobRow;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::store::{Cursor, PageQuery, Sort};

/// Rows asked for at a time.
const PAGE: usize = 500;

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
    let mut query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor: Cursor::Start, limit: PAGE };
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let format = args.output.output;
    let mut out = out::stdout();
    let printer = Printer::new(format, &mut out)?;
    let mut rows: Vec<JobRow> = Vec::new();
    let mut left = limit;
    let mut more = false;
    loop {
        // One more than is wanted tells whether there are more.
        query.limit = PAGE.min(left.saturating_add(1));
        let page = opened.desk.store.page(query.clone(), &opened.budget).await?;
        for entry in page.entries {
            if left == 0 {
                more = true;
                break;
            }
            left -= 1;
            match format {
                Format::Jsonl | Format::Csv => printer.row(&mut out, &opened.masked(entry.row))?,
                Format::Table | Format::Json => rows.push(opened.masked(entry.row)),
            }
        }
        match page.next {
            Some(next) if !more => query.cursor = next,
            _ => break,
        }
    }
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
        out::say(&format!("… more than {limit} match: narrow the filter with -f, or ask for more with --limit"));
    }
    Ok(Code::Done)
}

/// Prints rows as they come.
struct Printer(Format);

impl Printer {
    fn new(format: Format, out: &mut impl Write) -> Result<Printer> {
        if format == Format::Csv {
            let names =
                ["id", "at", "state", "error", "class", "queue", "attempts", "max_attempts", "worker", "message"];
            out::csv(out, names)?;
        }
        Ok(Printer(format))
    }

    fn row(&self, out: &mut impl Write, row: &JobRow) -> Result<()> {
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
