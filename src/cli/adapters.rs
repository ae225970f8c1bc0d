//! `dlq-tui adapters`: how layouts are read and written.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::args::{AdaptersArgs, AdaptersCommand, Format};
use super::exit::{Code, Fault};
use super::layouts;
use super::open::library;
use super::out;
use super::source::Session;
use super::table::{Column, Table, terminal_width};
use crate::adapter::{Adapter, Library};

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
    let chosen = match name {
        Some(name) => Some(named(library, name)?),
        None => None,
    };
    let origin = session.origin()?;
    let budget = session.budget(&origin);
    let engine = origin.connect(session).await?;
    let checked = layouts::check(&std::sync::Arc::new(engine), library, chosen, &budget).await?;
    let mut out = out::stdout();
    for (adapter, faults) in &checked {
        let verdict = if faults.is_empty() { "fits" } else { "does not fit" };
        writeln!(out, "{adapter}: {verdict}")?;
        for fault in faults {
            writeln!(out, "  {}", crate::domain::text::Clean::line(fault))?;
        }
    }
    out.flush()?;
    drop(out);
    if checked.is_empty() {
        out::say(&format!("no table of {} fits an adapter", origin.name));
        return Ok(Code::Failed);
    }
    Ok(if checked.iter().all(|(_, faults)| faults.is_empty()) { Code::Done } else { Code::Failed })
}
