//! `dlq-tui stats --against @NAME`: what changed at a mark.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{CountBy, Format, StatsArgs};
use crate::cli::exit::Code;
use crate::cli::jobs::no_match;
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::mark::MarkName;
use crate::domain::mark::comparison::ComparedBar;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::short_span;
use crate::triage::mark_comparison::{ComparedBy, MarkComparison};

#[derive(Serialize)]
struct ComparisonOutput<'a> {
    source: &'a str,
    store: &'a str,
    facet: String,
    filter: String,
    mark: &'a str,
    mark_at: String,
    as_of: String,
    span_seconds: u64,
    bars: Vec<ComparedRecord<'a>>,
}

#[derive(Serialize)]
struct ComparedRecord<'a> {
    /// The value; `null` for jobs without one.
    value: Option<&'a str>,
    /// Deaths in the time before the mark.
    before: u64,
    /// Deaths since the mark.
    since: u64,
    /// `new`, `returned`, `growing`, `steady`, `fading` or `gone`.
    change: &'static str,
    /// The message of one of them; left out where the value speaks for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<&'a str>,
}

impl<'a> From<&'a ComparedBar> for ComparedRecord<'a> {
    fn from(bar: &'a ComparedBar) -> Self {
        Self {
            value: bar.value.as_ref().map(Untrusted::exact),
            before: bar.before,
            since: bar.after,
            change: bar.change.word(),
            example: bar.example.as_ref().map(Untrusted::exact),
        }
    }
}

/// Compares and prints.
///
/// # Errors
/// When there is no such mark, the facet cannot be compared by, or the database fails.
pub async fn run(opened: &OpenedStore, args: &StatsArgs, name: &MarkName, filter: &Filter) -> Result<Code> {
    let by = match &args.by {
        Some(CountBy::Argument(keys)) => ComparedBy::Argument(keys.clone()),
        Some(CountBy::Facet(facet)) => ComparedBy::Facet(opened.offered(*facet)?),
        None => ComparedBy::Facet(opened.facet(None)),
    };
    let mut comparison = opened.desk.compare_with_mark(name, by, filter, &opened.budget).await?;
    for bar in &mut comparison.bars {
        bar.value = bar.value.take().map(|value| masked(opened, &comparison.by, value));
        bar.example = bar.example.take().map(|example| opened.prose(example));
    }
    if comparison.bars.is_empty() {
        no_match::explain(opened, &comparison.filter).await;
    }
    let mut out = output::stdout();
    print(&mut out, opened, args.output.output, &comparison)?;
    out.flush()?;
    Ok(Code::Done)
}

fn masked(opened: &OpenedStore, by: &ComparedBy, value: Untrusted) -> Untrusted {
    match by {
        ComparedBy::Facet(_) => opened.prose(value),
        ComparedBy::Argument(_) => Untrusted::new(opened.desk.redactor.text(value.exact()).into_owned()),
    }
}

fn print(out: &mut impl Write, opened: &OpenedStore, format: Format, comparison: &MarkComparison) -> Result<()> {
    let (word, title) = match &comparison.by {
        ComparedBy::Facet(facet) => (facet.word().to_owned(), facet.title()),
        ComparedBy::Argument(keys) => (Key::Arg(keys.clone()).word().into_owned(), "value"),
    };
    let records = comparison.bars.iter().map(ComparedRecord::from);
    match format {
        Format::Table => {
            let span = short_span(comparison.span());
            writeln!(
                out,
                "since {} ({}), compared with the {span} before\n",
                comparison.mark.name, comparison.mark.at
            )?;
            table(title, comparison).print(out, terminal_width())?;
        }
        Format::Json => {
            let document = ComparisonOutput {
                source: &opened.desk.source,
                store: &opened.desk.store.info().title,
                facet: word,
                filter: comparison.filter.to_string(),
                mark: comparison.mark.name.as_str(),
                mark_at: comparison.mark.at.to_rfc3339(),
                as_of: comparison.as_of.to_rfc3339(),
                span_seconds: comparison.span().as_secs(),
                bars: records.collect(),
            };
            output::json(out, &output::Versioned::new(document))?;
        }
        Format::Jsonl => {
            for record in records {
                output::json_line(out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(out, [&*word, "before", "since", "change"])?;
            for record in records {
                let value = Clean::line(record.value.unwrap_or_default());
                output::csv(out, [&*value, &record.before.to_string(), &record.since.to_string(), record.change])?;
            }
        }
    }
    Ok(())
}

fn table(title: &'static str, comparison: &MarkComparison) -> TextTable {
    let has_examples = comparison.by == ComparedBy::Facet(Facet::Fingerprint);
    let columns = [
        TableColumn::Whole("change"),
        TableColumn::Number("before"),
        TableColumn::Number("since"),
        TableColumn::Text(title),
        TableColumn::Text("example"),
    ];
    let width = if has_examples { 5 } else { 4 };
    let mut table = TextTable::new(columns.into_iter().take(width).collect::<Vec<_>>());
    for bar in &comparison.bars {
        let value = bar.value.as_ref().map_or("(none)", Untrusted::exact);
        let example = bar.example.as_ref().map_or("", Untrusted::exact);
        let (before, since) = (bar.before.to_string(), bar.after.to_string());
        table.row([bar.change.word(), &before, &since, value, example].into_iter().take(width));
    }
    table
}
