//! `dlq-tui stats`: counts by a facet.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{CountBy, Format, StatsArgs};
use crate::cli::exit::Code;
use crate::cli::jobs::job_json::{BarRecord, CountRecord};
use crate::cli::jobs::{mark_comparison, no_match};
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::triage::contrast::count_values;

#[derive(Serialize)]
struct StatsOutput<'a> {
    source: &'a str,
    store: &'a str,
    facet: &'a str,
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
    if let Some(mark) = &args.against {
        return mark_comparison::run(opened, args, mark, &filter).await;
    }
    let counted = match &args.by {
        Some(CountBy::Argument(keys)) => by_argument(opened, keys, &filter).await?,
        Some(CountBy::Facet(facet)) => by_facet(opened, *facet, &filter).await?,
        None => by_facet(opened, opened.facet(None), &filter).await?,
    };
    if counted.total.n == 0 {
        no_match::explain(opened, &filter).await;
    }
    let mut out = output::stdout();
    match args.output.output {
        Format::Table => table(&counted).print(&mut out, terminal_width())?,
        Format::Json => {
            let document = StatsOutput {
                source: &opened.desk.source,
                store: &info.title,
                facet: &counted.by,
                filter: filter.to_string(),
                as_of: counted.as_of.to_rfc3339(),
                total: counted.total.into(),
                bars: counted.bars.iter().map(BarRecord::from).collect(),
            };
            output::json(&mut out, &output::Versioned::new(document))?;
        }
        Format::Jsonl => {
            for bar in &counted.bars {
                output::json_line(&mut out, &output::Versioned::new(BarRecord::from(bar)))?;
            }
        }
        Format::Csv => {
            let columns = [&*counted.by, "count", "exactness", "first_seen", "last_seen", "example"];
            output::csv(&mut out, columns.into_iter().take(counted.width()))?;
            for bar in &counted.bars {
                let record = BarRecord::from(bar);
                let count = record.count.n.to_string();
                let value = Clean::line(record.value.unwrap_or_default());
                let (first, last) = (record.first_seen.unwrap_or_default(), record.last_seen.unwrap_or_default());
                let example = Clean::line(record.example.unwrap_or_default());
                let cells = [&*value, &count, record.count.exactness, &first, &last, &*example];
                output::csv(&mut out, cells.into_iter().take(counted.width()))?;
            }
        }
    }
    out.flush()?;
    Ok(Code::Done)
}

/// What was counted, masked.
struct Counted {
    /// The facet, or the path of the arguments as filters write it.
    by: String,
    /// The title over the values.
    title: &'static str,
    bars: Vec<Bar>,
    total: Count,
    as_of: Timestamp,
}

impl Counted {
    /// How many of the columns there are: the last one, an example, is for what the value alone tells nobody.
    fn width(&self) -> usize {
        if self.by == Facet::Fingerprint.word() { 6 } else { 5 }
    }
}

async fn by_facet(opened: &OpenedStore, facet: Facet, filter: &Filter) -> Result<Counted> {
    let histogram = opened.masked_histogram(opened.count(facet, filter).await?.histogram);
    let Histogram { bars, total, as_of, .. } = histogram;
    Ok(Counted { by: facet.word().to_owned(), title: facet.title(), bars, total, as_of })
}

async fn by_argument(opened: &OpenedStore, keys: &[String], filter: &Filter) -> Result<Counted> {
    let as_of = opened.desk.store.clock();
    let counted = count_values(&opened.desk, filter, keys, &opened.budget, &mut |_| ()).await?;
    let (mut bars, total) = counted.counts(Exactness::Exact);
    let masked = |value: &Untrusted| Untrusted::new(opened.desk.redactor.text(value.exact()).into_owned());
    bars.iter_mut().for_each(|bar| bar.value = bar.value.as_ref().map(masked));
    if total.n > 0 && counted.has_no_value() {
        no_match::explain_path(opened, filter, keys).await;
    }
    Ok(Counted { by: Key::Arg(keys.to_vec()).word().into_owned(), title: "value", bars, total, as_of })
}

fn table(histogram: &Counted) -> TextTable {
    let width = histogram.width();
    let columns = [
        TableColumn::Text(histogram.title),
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
