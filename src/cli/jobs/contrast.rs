//! `dlq-tui contrast`: what jobs have in common that others have not.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{ContrastArgs, Format};
use crate::cli::exit::{CliError, Code};
use crate::cli::jobs::no_match;
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::contrast::{Attribute, Counts, Difference};
use crate::domain::filter::Filter;
use crate::domain::histogram::{grouped, jobs};
use crate::domain::text::Clean;
use crate::triage::contrast::{Baseline, ContrastQuery, ContrastReport, contrast};

#[derive(Serialize)]
struct ContrastOutput<'a> {
    source: &'a str,
    store: &'a str,
    filter: String,
    /// `same_classes`, `all_others` or `named`.
    baseline: &'static str,
    /// The classes of `same_classes`.
    classes: Vec<String>,
    /// The filter that was named.
    against: Option<String>,
    chosen: u64,
    others: u64,
    /// Whether only the newest jobs were read.
    sample: bool,
    differences: Vec<DifferenceRecord>,
}

#[derive(Serialize)]
struct DifferenceRecord {
    /// In words; two where a pair says more than each of them.
    attributes: Vec<String>,
    /// What the same jobs have.
    also: Vec<String>,
    /// The filter terms that select the jobs; `null` where the filter language has none.
    filter: Option<String>,
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
    let shows = std::io::stderr().is_terminal();
    let mut on_progress = |n| {
        read += n;
        if shows && read > 2 * args.sample as u64 {
            output::hint(&format!("\rcomparing: {}", jobs(read)));
        }
    };
    let mut report = contrast(&opened.desk, &query, &opened.budget, &mut on_progress).await?;
    if let Baseline::SameClasses(classes) = &mut report.baseline {
        classes.iter_mut().for_each(|class| *class = opened.desk.redactor.text(class).into_owned());
    }
    if report.jobs.chosen == 0 {
        no_match::explain(opened, &filter).await;
    }
    print(opened, &filter, args.output.output, &report)?;
    Ok(Code::Done)
}

fn print(opened: &OpenedStore, filter: &Filter, format: Format, report: &ContrastReport) -> Result<()> {
    let mut out = output::stdout();
    let records = || report.differences.iter().map(|difference| record(opened, difference));
    match format {
        Format::Table => {
            writeln!(out, "{}", headline(report))?;
            if report.jobs.chosen == 0 || report.jobs.others == 0 {
                writeln!(out, "nothing to compare")?;
            } else if report.differences.is_empty() {
                writeln!(out, "no value tells them apart")?;
            } else {
                writeln!(out)?;
                table(opened, report).print(&mut out, terminal_width())?;
            }
        }
        Format::Json => {
            let (baseline, classes, against) = match &report.baseline {
                Baseline::SameClasses(classes) => ("same_classes", classes.clone(), None),
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
                output::csv(&mut out, [&*attributes, &*chosen, &*others, &*filter])?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn record(opened: &OpenedStore, difference: &Difference) -> DifferenceRecord {
    let masked = |text: String| opened.desk.redactor.text(&text).into_owned();
    let words = |all: &[Attribute]| all.iter().map(|attribute| masked(attribute.to_string())).collect();
    let (attributes, also) = (words(&difference.attributes), words(&difference.also));
    let Counts { chosen, others } = difference.counts;
    // A term with a secret in it is none that could be used.
    let filter = difference.terms().filter(|terms| masked(terms.clone()) == *terms);
    DifferenceRecord { attributes, also, filter, chosen, others }
}

/// Which jobs were compared with which.
fn headline(report: &ContrastReport) -> String {
    let about = if report.is_sample { "~ the newest " } else { "" };
    let others = grouped(report.jobs.others);
    let baseline = match &report.baseline {
        Baseline::SameClasses(classes) => match classes.as_slice() {
            [class] => format!("other dead jobs of {}", Clean::line(class)),
            classes => format!("other dead jobs of the same {} classes", classes.len()),
        },
        Baseline::AllOthers => "other dead jobs".to_owned(),
        Baseline::Named(filter) => format!("jobs of {filter}"),
    };
    format!("{about}{}, compared with {about}{others} {baseline}", jobs(report.jobs.chosen))
}

fn table(opened: &OpenedStore, report: &ContrastReport) -> TextTable {
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
    for difference in &report.differences {
        let DifferenceRecord { attributes, also, filter, chosen, others } = record(opened, difference);
        let mut attributes = attributes.join(" and ");
        if !also.is_empty() {
            attributes.push_str(&format!("  (+{} alike)", also.len()));
        }
        let counts = difference.counts;
        table.row([
            &*percent(counts.share_of_chosen(report.jobs)),
            &*grouped(chosen),
            &*percent(counts.share_of_others(report.jobs)),
            &*grouped(others),
            &*attributes,
            filter.as_deref().unwrap_or_default(),
        ]);
    }
    table
}
