//! `dlq-tui stats`: counts by a facet.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{Format, StatsArgs};
use crate::cli::exit::Code;
use crate::cli::jobs::job_json::{BarRecord, CountRecord};
use crate::cli::jobs::no_match;
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::facet::Facet;
use crate::domain::histogram::{Bar, Histogram};
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;

#[derive(Serialize)]
struct StatsOutput<'a> {
    source: &'a str,
    store: &'a str,
    facet: &'static str,
    filter: String,
    as_of: String,
    total: CountRecord,
    bars: Vec<BarRecord<'a>>,
}

/// Counts and prints.
///
/// # Errors
/// When the filter is wrong, the facet is not offered, or the database fails.
pub async fn run(opened: &OpenedStore, args: &StatsArgs) -> Result<Code> {
    let info = opened.desk.store.info();
    let filter = opened.filter(args.filter.filter.as_deref())?;
    let by = opened.facet(args.by);
    let histogram = opened.masked_histogram(opened.count(by, &filter).await?.histogram);
    if histogram.total.n == 0 {
        no_match::explain(opened, &filter).await;
    }
    let mut out = output::stdout();
    match args.output.output {
        Format::Table => table(&histogram).print(&mut out, terminal_width())?,
        Format::Json => {
            let document = StatsOutput {
                source: &opened.desk.source,
                store: &info.title,
                facet: by.word(),
                filter: filter.to_string(),
                as_of: histogram.as_of.to_rfc3339(),
                total: histogram.total.into(),
                bars: histogram.bars.iter().map(BarRecord::from).collect(),
            };
            output::json(&mut out, &output::Versioned::new(document))?;
        }
        Format::Jsonl => {
            for bar in &histogram.bars {
                output::json_line(&mut out, &output::Versioned::new(BarRecord::from(bar)))?;
            }
        }
        Format::Csv => {
            let columns = [by.word(), "count", "exactness", "first_seen", "last_seen", "example"];
            output::csv(&mut out, columns.into_iter().take(width(by)))?;
            for bar in &histogram.bars {
                let record = BarRecord::from(bar);
                let count = record.count.n.to_string();
                let value = Clean::line(record.value.unwrap_or_default());
                let (first, last) = (record.first_seen.unwrap_or_default(), record.last_seen.unwrap_or_default());
                let example = Clean::line(record.example.unwrap_or_default());
                let cells = [&*value, &count, record.count.exactness, &first, &last, &*example];
                output::csv(&mut out, cells.into_iter().take(width(by)))?;
            }
        }
    }
    out.flush()?;
    Ok(Code::Done)
}

/// How many of the columns there are: the last one, an example, is for what the value alone tells nobody.
fn width(by: Facet) -> usize {
    if by == Facet::Fingerprint { 6 } else { 5 }
}

fn table(histogram: &Histogram) -> TextTable {
    let width = width(histogram.facet);
    let columns = [
        TableColumn::Text(histogram.facet.title()),
        TableColumn::Number("jobs"),
        TableColumn::Number("share"),
        TableColumn::Whole("first seen"),
        TableColumn::Whole("last seen"),
        TableColumn::Text("example"),
    ];
    let mut table = TextTable::new(columns.into_iter().take(width).collect::<Vec<_>>()).yielding([
        "first seen",
        "share",
        "last seen",
    ]);
    let share = |n: u64| match histogram.total.n {
        0 => String::new(),
        total => format!("{:.1}%", n as f64 * 100.0 / total as f64),
    };
    let time = |at: Option<Timestamp>| at.map(Timestamp::to_second).unwrap_or_default();
    for Bar { value, count, first_seen, last_seen, example, .. } in &histogram.bars {
        let value = value.as_ref().map_or("(none)", Untrusted::exact);
        let example = example.as_ref().map_or("", Untrusted::exact);
        let cells = [value, &count.to_string(), &share(count.n), &time(*first_seen), &time(*last_seen), example];
        table.row(cells.into_iter().take(width));
    }
    table.row(["total", &histogram.total.to_string(), "", "", "", ""].into_iter().take(width));
    table
}
