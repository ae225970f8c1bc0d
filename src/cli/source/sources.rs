//! `dlq-tui sources`: what can be reached, and which layouts are in it.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{Format, SourcesArgs};
use crate::cli::exit::Code;
use crate::cli::output;
use crate::cli::source::open::survey;
use crate::cli::source::source_choice::{Origin, SourceChoice};
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::config::mask_secrets;
use crate::domain::text::Clean;

#[derive(Serialize)]
struct SourcesOutput {
    sources: Vec<SourceOutput>,
}

#[derive(Serialize)]
struct SourceOutput {
    source: String,
    address: Option<String>,
    reachable: bool,
    server: Option<String>,
    database: Option<String>,
    user: Option<String>,
    production: bool,
    read_only: bool,
    stores: Vec<StoreRecord>,
    /// Why it cannot be reached.
    error: Option<String>,
}

#[derive(Serialize)]
struct StoreRecord {
    adapter: String,
    /// Schema and table, as `--store` takes them.
    store: String,
}

/// Looks at each source, and prints what is there.
///
/// # Errors
/// When nothing says which database at all. A source that cannot be reached is part of the answer, and code 3, or 1
/// when none can.
pub async fn run(session: &SourceChoice, args: &SourcesArgs) -> Result<Code> {
    let mut records = Vec::new();
    for (name, origin) in origins(session)? {
        records.push(probe(session, name, origin).await);
    }
    let reached = records.iter().filter(|r| r.reachable).count();
    let code = match reached {
        n if n == records.len() => Code::Done,
        0 => Code::Failed,
        _ => Code::Partly,
    };
    output::unless_gone(print(records, args.output.output))?;
    Ok(code)
}

/// The one source that the command line names; else the environment's, which every other command would use, and all of the
/// config.
fn origins(session: &SourceChoice) -> Result<Vec<(String, Result<Origin>)>> {
    let named = session.connect.url.is_some() || session.connect.source.is_some();
    if named || session.config.sources.is_empty() {
        let origin = session.origin()?;
        return Ok(vec![(origin.name.clone(), Ok(origin))]);
    }
    let first = session.in_environment().transpose();
    let first = first.map(|origin| (origin.as_ref().map_or("the environment", |o| &o.name).to_owned(), origin));
    let configured = session.config.sources.values().map(|source| (source.name.clone(), session.named(source)));
    Ok(first.into_iter().chain(configured).collect())
}

async fn probe(session: &SourceChoice, source: String, origin: Result<Origin>) -> SourceOutput {
    let mut record = SourceOutput {
        source,
        address: None,
        reachable: false,
        server: None,
        database: None,
        user: None,
        production: false,
        read_only: false,
        stores: Vec::new(),
        error: None,
    };
    let looked = async {
        let origin = origin?;
        record.address = Some(origin.target.label());
        record.production = origin.production();
        record.read_only = origin.read_only;
        let budget = session.budget(&origin);
        survey(session, origin, &budget).await
    }
    .await;
    match looked {
        Ok(surveyed) => {
            let source = surveyed.survey.source();
            record.reachable = true;
            record.server = Some(source.server().to_owned());
            record.database = Some(source.database().to_owned());
            record.user = Some(source.user().to_owned()).filter(|u| !u.is_empty());
            record.read_only |= source.read_only().is_some();
            record.stores = surveyed
                .survey
                .found()
                .iter()
                .map(|f| StoreRecord { adapter: f.adapter.clone(), store: f.label() })
                .collect();
        }
        Err(error) => record.error = Some(mask_secrets(&format!("{error:#}"))),
    }
    record
}

fn print(records: Vec<SourceOutput>, format: Format) -> Result<()> {
    let mut out = output::stdout();
    match format {
        Format::Json => output::json(&mut out, &output::Versioned::new(SourcesOutput { sources: records }))?,
        Format::Jsonl => {
            for record in &records {
                output::json_line(&mut out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(&mut out, ["source", "address", "reachable", "server", "adapter", "store", "error"])?;
            for row in records.iter().flat_map(rows) {
                let row = row.map(|cell| Clean::line(&cell).to_string());
                output::csv(&mut out, row.iter().map(String::as_str))?;
            }
        }
        Format::Table => {
            let mut table = TextTable::new([
                TableColumn::Text("source"),
                TableColumn::Text("address"),
                TableColumn::Whole("reachable"),
                TableColumn::Text("server"),
                TableColumn::Whole("adapter"),
                TableColumn::Text("store"),
                TableColumn::Text("error"),
            ])
            .yielding(["server", "address", "reachable"]);
            for row in records.iter().flat_map(rows) {
                table.row(row.iter().map(String::as_str));
            }
            table.print(&mut out, terminal_width())?;
        }
    }
    out.flush()?;
    Ok(())
}

/// A row for each store of a source, or one that says why there is none.
fn rows(record: &SourceOutput) -> Vec<[String; 7]> {
    let row = |adapter: &str, store: &str| {
        [
            record.source.clone(),
            record.address.clone().unwrap_or_default(),
            if record.reachable { "yes" } else { "no" }.to_owned(),
            record.server.clone().unwrap_or_default(),
            adapter.to_owned(),
            store.to_owned(),
            record.error.clone().unwrap_or_default(),
        ]
    };
    match record.stores.as_slice() {
        [] => vec![row("", "")],
        stores => stores.iter().map(|s| row(&s.adapter, &s.store)).collect(),
    }
}
