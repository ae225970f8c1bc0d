//! `dlq-tui contrast`: what jobs have in common that others have not.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{ContrastArgs, Format};
use crate::cli::exit::{CliError, Code};
use crate::cli::jobs::no_match;
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::contrast::Counts;
use crate::domain::filter::Filter;
use crate::domain::histogram::{grouped, jobs};
use crate::domain::text::Clean;
use crate::triage::contrast::{Baseline, Comparison, ContrastQuery, ContrastReport, DifferenceLine, contrast};

#[derive(Serialize)]
struct ContrastOutput<'a> {
    source: &'a str,
    store: &'a str,
    filter: String,
    /// `same_classes`, `live_or_succeeded`, `all_others` or `named`.
    baseline: &'static str,
    /// The classes of the first two.
    classes: Vec<String>,
    /// The filter that was named.
    against: Option<String>,
    chosen: u64,
    others: u64,
    /// Whether only the newest jobs were read.
    sample: bool,
    differences: Vec<DifferenceRecord<'a>>,
}

#[derive(Serialize)]
struct DifferenceRecord<'a> {
    /// In words; two where a pair says more than each of them.
    attributes: &'a [String],
    /// What the same jobs have.
    also: &'a [String],
    /// The filter terms that select the jobs; `null` where the filter language has none.
    filter: Option<&'a str>,
    chosen: u64,
    others: u64,
}

/// Compares and prints.
///
/// # Errors
/// When a filter is wrong, there is nothing to compare, or the database fails.
pub async fn run(opened: &OpenedStore, args: &ContrastArgs) -> Result<Code> {
    let filter = opened.filter(args.filter.filter.as_deref())?;
    if filter.is_all() && args.against.is_none() {
        return Err(CliError::usage(
            "name the jobs with -f: all dead jobs have no others to be compared with, but for --against FILTER",
        )
        .into());
    }
    let against = args.against.as_deref().map(|text| opened.filter(Some(text))).transpose()?;
    let query = ContrastQuery { chosen: filter.clone(), against, sample: args.sample, counts_all: args.all };
    let mut read = 0;
    let line = output::ProgressLine::begin();
    let mut on_progress = |n| {
        read += n;
        if read > 2 * args.sample as u64 {
            line.show(&format!("comparing: {}", jobs(read)));
        }
    };
    let report = contrast(&opened.desk, &query, &opened.budget, &mut on_progress).await?;
    drop(line);
    if report.jobs.chosen == 0 {
        no_match::explain(opened, &filter).await;
    }
    print(opened, &filter, args.output.output, &report)?;
    Ok(Code::Done)
}

fn print(opened: &OpenedStore, filter: &Filter, format: Format, report: &ContrastReport) -> Result<()> {
    let mut out = output::stdout();
    let shown = report.shown(&opened.desk.redactor);
    let records = || shown.lines.iter().map(record);
    match format {
        Format::Table => {
            writeln!(out, "{}", shown.headline)?;
            if report.jobs.chosen == 0 || report.jobs.others == 0 {
                writeln!(out, "nothing to compare")?;
            } else if report.differences.is_empty() {
                writeln!(out, "no value tells them apart")?;
            } else {
                writeln!(out)?;
                table(&shown).print(&mut out, terminal_width())?;
            }
        }
        Format::Json => {
            let redactor = &opened.desk.redactor;
            let masked = |classes: &[String]| classes.iter().map(|class| redactor.text(class).into_owned()).collect();
            let (baseline, classes, against) = match &report.baseline {
                Baseline::SameClasses(classes) => ("same_classes", masked(classes), None),
                Baseline::LiveOrSucceeded(classes) => ("live_or_succeeded", masked(classes), None),
                Baseline::AllOthers => ("all_others", Vec::new(), None),
                Baseline::Named(filter) => ("named", Vec::new(), Some(filter.to_string())),
            };
            let document = ContrastOutput {
                source: &opened.desk.source,
                store: &opened.desk.store.info().title,
                filter: filter.to_string(),
                baseline,
                classes,
                against,
                chosen: report.jobs.chosen,
                others: report.jobs.others,
                sample: report.is_sample,
                differences: records().collect(),
            };
            output::json(&mut out, &output::Versioned::new(document))?;
        }
        Format::Jsonl => {
            for record in records() {
                output::json_line(&mut out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(&mut out, ["attributes", "chosen", "others", "filter"])?;
            for record in records() {
                let attributes = Clean::line(&record.attributes.join(" and ")).to_string();
                let (chosen, others) = (record.chosen.to_string(), record.others.to_string());
                let filter = record.filter.unwrap_or_default();
                output::csv(&mut out, [&*attributes, &*chosen, &*others, filter])?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn record(line: &DifferenceLine) -> DifferenceRecord<'_> {
    let Counts { chosen, others } = line.counts;
    DifferenceRecord { attributes: &line.attributes, also: &line.also, filter: line.filter.as_deref(), chosen, others }
}

fn table(shown: &Comparison) -> TextTable {
    let mut table = TextTable::new([
        TableColumn::Number("share"),
        TableColumn::Number("jobs"),
        TableColumn::Number("of others"),
        TableColumn::Number("others"),
        TableColumn::Text("what they have"),
        TableColumn::Text("filter"),
    ])
    .yielding(["filter"]);
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    for line in &shown.lines {
        table.row([
            &*percent(line.counts.share_of_chosen(shown.jobs)),
            &*grouped(line.counts.chosen),
            &*percent(line.counts.share_of_others(shown.jobs)),
            &*grouped(line.counts.others),
            &*line.words(),
            line.filter.as_deref().unwrap_or_default(),
        ]);
    }
    table
}
