//! `dlq-tui adapters`: how layouts are read and written.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::args::{AdaptersArgs, AdaptersCommand, Format};
use super::exit::{Code, Fault};
use super::open::{library, survey};
use super::out;
use super::source::Session;
use super::table::{Column, Table, terminal_width};
use crate::adapter::{Adapter, Library};
use crate::config::ReplayTo;
use crate::domain::text::Clean;
use crate::store::sql::{check, missing_indexes};

#[derive(Serialize)]
struct Document<'a> {
    adapters: Vec<AdapterRecord<'a>>,
}

#[derive(Serialize)]
struct AdapterRecord<'a> {
    name: &'a str,
    databases: Vec<&'static str>,
    /// The file; `null` for those that are built in.
    file: Option<String>,
}

impl<'a> From<&'a Adapter> for AdapterRecord<'a> {
    fn from(adapter: &'a Adapter) -> Self {
        Self {
            name: &adapter.name,
            databases: adapter.dialects().collect(),
            file: adapter.origin.as_ref().map(|path| path.display().to_string()),
        }
    }
}

/// Lists, shows or checks.
///
/// # Errors
/// When there is no such adapter, or the database to check against fails.
pub async fn run(session: &Session, args: &AdaptersArgs) -> Result<Code> {
    let library = library(session);
    match &args.command {
        None => list(&library, Format::Table),
        Some(AdaptersCommand::List(output)) => list(&library, output.output),
        Some(AdaptersCommand::Show { name }) => {
            let mut out = out::stdout();
            out.write_all(named(&library, name)?.text.as_bytes())?;
            out.flush()?;
            Ok(Code::Done)
        }
        Some(AdaptersCommand::Check { name }) => against_database(session, &library, name.as_deref()).await,
    }
}

fn named<'a>(library: &'a Library, name: &str) -> Result<&'a Adapter> {
    library.get(name).ok_or_else(|| {
        let known: Vec<&str> = library.adapters.iter().map(|a| a.name.as_str()).collect();
        Fault::usage(format!("there is no adapter `{name}`; there are {}", known.join(", "))).into()
    })
}

fn list(library: &Library, format: Format) -> Result<Code> {
    let records: Vec<AdapterRecord<'_>> = library.adapters.iter().map(AdapterRecord::from).collect();
    let mut out = out::stdout();
    let row = |r: &AdapterRecord<'_>| {
        [r.name.to_owned(), r.databases.join(" "), r.file.clone().unwrap_or_else(|| "built in".to_owned())]
    };
    match format {
        Format::Json => out::json(&mut out, &out::Versioned::new(Document { adapters: records }))?,
        Format::Jsonl => {
            for record in &records {
                out::json_line(&mut out, &out::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            out::csv(&mut out, ["adapter", "databases", "file"])?;
            for record in &records {
                out::csv(&mut out, row(record).iter().map(String::as_str))?;
            }
        }
        Format::Table => {
            let mut table = Table::new([Column::Whole("adapter"), Column::Whole("databases"), Column::Text("file")]);
            for record in &records {
                table.row(row(record).iter().map(String::as_str));
            }
            table.print(&mut out, terminal_width())?;
        }
    }
    out.flush()?;
    Ok(if library.faults.is_empty() { Code::Done } else { Code::Partly })
}

/// Checks one adapter, or every one that a table of the database fits, and prints what is wrong.
async fn against_database(session: &Session, library: &Library, name: Option<&str>) -> Result<Code> {
    if let Some(name) = name {
        named(library, name)?;
    }
    let origin = session.origin()?;
    let target = origin.source.as_ref().and_then(|s| match &s.replay {
        Some(ReplayTo::Table(table)) => Some(table.clone()),
        _ => None,
    });
    let budget = session.budget(&origin);
    let surveyed = survey(session, origin, &budget).await?;
    let wanted = |adapter: &str| name.is_none_or(|n| n == adapter);
    let mut out = out::stdout();
    let (mut checked, mut wrong) = (0, 0);
    for found in surveyed.detection.found.iter().filter(|f| wanted(&f.adapter)) {
        let adapter = named(library, &found.adapter)?;
        let findings = check(&surveyed.engine, adapter, found, target.as_deref(), &budget).await?;
        let faults: Vec<_> = findings.iter().filter_map(|f| Some((f, f.verdict.as_ref().err()?))).collect();
        checked += 1;
        wrong += faults.len();
        let verdict = if faults.is_empty() { "right" } else { "wrong" };
        writeln!(
            out,
            "{} on {}: {} statements, {verdict}",
            found.adapter,
            Clean::line(&found.label()),
            findings.len()
        )?;
        for (finding, why) in faults {
            writeln!(out, "  line {}, {}: {}", finding.line, finding.what, Clean::line(why))?;
        }
        for (purpose, ddl) in missing_indexes(&surveyed.engine, adapter, found) {
            writeln!(out, "  no index for {purpose}: on a big table run {}", Clean::line(&ddl))?;
        }
    }
    for rejected in surveyed.detection.rejected.iter().filter(|r| wanted(&r.adapter)) {
        let there = rejected.schema.as_deref().map(|s| format!(" in {}", Clean::line(s))).unwrap_or_default();
        if rejected.schema.is_some() || name.is_some() {
            writeln!(out, "{}{there} does not fit: {}", rejected.adapter, Clean::line(&rejected.reasons.join("; ")))?;
            wrong += usize::from(name.is_some());
        }
    }
    out.flush()?;
    drop(out);
    if checked == 0 {
        out::say(&format!("no table of {} fits", surveyed.origin.name));
    }
    Ok(if checked > 0 && wrong == 0 && library.faults.is_empty() { Code::Done } else { Code::Failed })
}
