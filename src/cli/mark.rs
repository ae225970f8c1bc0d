//! `dlq-tui mark`: named moments, such as deploys, that deaths are compared with.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::args::{Format, MarkArgs};
use super::exit::{CliError, Code};
use super::output;
use crate::cli::operator;
use crate::cli::source::source_choice::{Origin, SourceChoice};
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::filter::instant;
use crate::domain::mark::MarkName;
use crate::domain::text::Clean;
use crate::ledger::{Ledger, LedgerLocator, Mark};
use crate::store::survey::ConnectedSource;

#[derive(Serialize)]
struct MarkRecord<'a> {
    name: &'a str,
    at: String,
    set_at: String,
    user: &'a str,
    database_user: &'a str,
    host: &'a str,
    ssh_client: Option<&'a str>,
}

impl<'a> From<&'a Mark> for MarkRecord<'a> {
    fn from(mark: &'a Mark) -> Self {
        let operator = &mark.operator;
        Self {
            name: mark.name.as_str(),
            at: mark.at.to_rfc3339(),
            set_at: mark.set_at.to_rfc3339(),
            user: &operator.user,
            database_user: &operator.database_user,
            host: &operator.host,
            ssh_client: operator.ssh_client.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct MarksOutput<'a> {
    source: &'a str,
    marks: Vec<MarkRecord<'a>>,
}

/// A source and the ledger that keeps its marks. A mark that goes elsewhere because the source cannot be reached would not be found
/// later, so nothing replaces either.
struct MarkedSource {
    origin: Origin,
    connected: ConnectedSource,
    ledger: Ledger,
}

impl MarkedSource {
    async fn open(session: &SourceChoice) -> Result<Self> {
        let origin = session.origin()?;
        let connected = origin.connect(session, &session.budget(&origin)).await?;
        let ledger = LedgerLocator::new(session.paths.ledger(), Some(connected.clone())).ledger().await?;
        if let Some(remark) = ledger.warning() {
            output::say(&format!("dlq-tui: {remark}"));
        }
        Ok(Self { origin, connected, ledger })
    }

    async fn set(&self, name: &MarkName, args: &MarkArgs) -> Result<Mark> {
        let now = self.connected.clock();
        let at = args.at.as_deref().map_or(Ok(now), |text| instant(text, now));
        let at = at.map_err(|wrong| CliError::usage(format!("--at: {wrong}")))?;
        let mark = Mark { name: name.clone(), at, set_at: now, operator: operator::current(self.connected.user()) };
        self.ledger.marks().set(&self.origin.name, &mark, args.force).await?;
        let whose = if self.ledger.is_shared() { "for all operators of" } else { "on this machine, for" };
        output::say(&format!("mark {name} is set at {at}, {whose} {}", Clean::line(&self.origin.name)));
        Ok(mark)
    }

    async fn remove(&self, name: &MarkName) -> Result<Mark> {
        let mark = self.ledger.marks().remove(&self.origin.name, name).await?;
        output::say(&format!("mark {name} is removed; it was set at {}", mark.at));
        Ok(mark)
    }
}

/// Sets or removes a mark, or lists them all.
///
/// # Errors
/// When the name or the time is wrong, a mark of that name is there or is not, or the ledger cannot be used.
pub async fn run(session: &SourceChoice, args: &MarkArgs) -> Result<Code> {
    let marked = MarkedSource::open(session).await?;
    let mut out = output::stdout();
    match &args.name {
        None => {
            let marks = marked.ledger.marks().list(&marked.origin.name).await?;
            if marks.is_empty() && args.output.output == Format::Table {
                output::say("no marks yet: `dlq-tui mark NAME` sets one, such as after a deploy");
            } else {
                print(&mut out, &marked.origin.name, &marks, args.output.output)?;
            }
        }
        Some(name) => {
            let mark = if args.remove { marked.remove(name).await? } else { marked.set(name, args).await? };
            match args.output.output {
                Format::Table => {}
                Format::Csv => print(&mut out, &marked.origin.name, &[mark], Format::Csv)?,
                Format::Json => output::json(&mut out, &output::Versioned::new(MarkRecord::from(&mark)))?,
                Format::Jsonl => output::json_line(&mut out, &output::Versioned::new(MarkRecord::from(&mark)))?,
            }
        }
    }
    out.flush()?;
    Ok(Code::Done)
}

fn print(out: &mut impl Write, source: &str, marks: &[Mark], format: Format) -> Result<()> {
    let records: Vec<MarkRecord<'_>> = marks.iter().map(MarkRecord::from).collect();
    match format {
        Format::Json => output::json(out, &output::Versioned::new(MarksOutput { source, marks: records }))?,
        Format::Jsonl => {
            for record in records {
                output::json_line(out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(out, ["name", "at", "set_at", "user", "database_user", "host", "ssh_client"])?;
            for r in records {
                let who = [r.user, r.database_user, r.host, r.ssh_client.unwrap_or_default()].map(Clean::line);
                let cells = [r.name, &r.at, &r.set_at].into_iter().chain(who.iter().map(|cell| &**cell));
                output::csv(out, cells)?;
            }
        }
        Format::Table => {
            let columns = [
                TableColumn::Text("mark"),
                TableColumn::Whole("at"),
                TableColumn::Text("set by"),
                TableColumn::Whole("set"),
            ];
            let mut table = TextTable::new(columns).yielding(["set", "set by"]);
            for mark in marks {
                let who = format!("{}@{}", mark.operator.user, mark.operator.host);
                table.row([mark.name.as_str(), &mark.at.to_second(), &who, &mark.set_at.to_second()]);
            }
            table.print(out, terminal_width())?;
        }
    }
    Ok(())
}
