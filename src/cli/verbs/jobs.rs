//! Jobs of a run with what became of them, or would: one line each.

use std::io::{self, Write};

use serde::Serialize;

use crate::cli::args::{Format, PartWord};
use crate::cli::output;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::domain::action::{Action, JobOutcome, JobResult};
use crate::domain::text::{Clean, Untrusted};
use crate::ledger::{CohortPart, Ledger, Outcome, RunId, RunJob};
use crate::triage::undo;

/// Jobs read at a time.
const PAGE: usize = 5_000;

/// One job of a run.
#[derive(Serialize)]
struct JobRecord<'a> {
    run: &'a str,
    id: &'a str,
    /// `done`, `skipped`, `failed`, `in doubt`, `not started`; of an undo that is only planned, `can be undone` for `done`.
    outcome: &'a str,
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_class: Option<&'a str>,
    /// Of a replayed job, what was last seen of it since.
    replay_outcome: Option<&'static str>,
    /// The error class with which it failed since.
    replay_error: Option<&'a str>,
}

/// Prints jobs one by one, in any form.
pub struct JobPrinter<'a, W: Write> {
    out: &'a mut W,
    format: Format,
    run: &'a str,
    action: Action,
    table: TextTable,
    count: usize,
}

impl<'a, W: Write> JobPrinter<'a, W> {
    /// Begins a list of jobs of `run`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: &'a mut W, format: Format, run: &'a RunId, action: Action) -> io::Result<Self> {
        let columns = [
            TableColumn::Whole("id"),
            TableColumn::Whole("outcome"),
            TableColumn::Text("error class"),
            TableColumn::Text("reason"),
        ];
        match format {
            Format::Csv => {
                output::csv(out, ["run", "id", "outcome", "error_class", "reason", "replay_outcome", "replay_error"])?
            }
            Format::Json => write!(out, "{{\"version\":{},\"jobs\":[", output::JSON_VERSION)?,
            Format::Table | Format::Jsonl => {}
        }
        Ok(Self {
            out,
            format,
            run: &run.0,
            action,
            table: TextTable::new(columns).yielding(["error class"]),
            count: 0,
        })
    }

    /// Prints a job; `shown` is what a table says of its outcome.
    fn print(&mut self, record: &JobRecord<'_>, shown: &str) -> io::Result<()> {
        self.count += 1;
        let text = |value: Option<&str>| Clean::line(value.unwrap_or_default()).into_owned();
        match self.format {
            Format::Jsonl => output::json_line(self.out, &output::Versioned::new(record)),
            Format::Json => {
                self.out.write_all(if self.count > 1 { b",\n" } else { b"\n" })?;
                Ok(serde_json::to_writer(&mut *self.out, record)?)
            }
            Format::Csv => {
                let (class, reason, error) = (text(record.error_class), text(record.reason), text(record.replay_error));
                let replay = record.replay_outcome.unwrap_or_default();
                output::csv(self.out, [record.run, record.id, record.outcome, &class, &reason, replay, &error])
            }
            Format::Table => {
                let cells = [record.id, shown, record.error_class.unwrap_or_default()];
                self.table.row(cells.into_iter().chain([record.reason.unwrap_or_default()]));
                Ok(())
            }
        }
    }

    /// Prints what became of a job.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_outcome(&mut self, job: &RunJob) -> io::Result<()> {
        let (outcome, reason) = match &job.outcome {
            None => ("not started", None),
            Some(Outcome::Done(note)) => ("done", note.as_ref()),
            Some(Outcome::Skipped(reason)) => ("skipped", Some(reason)),
            Some(Outcome::Failed(reason)) => ("failed", Some(reason)),
            Some(Outcome::InDoubt) => ("in doubt", None),
        };
        let error_class = job.error_class.as_ref().map(Untrusted::exact);
        let (run, reason) = (self.run, reason.map(Untrusted::exact));
        let replay_outcome = job.replay.as_ref().map(|replay| replay.kind().field());
        let replay_error = job.replay.as_ref().and_then(|replay| replay.error_class()).map(Untrusted::exact);
        // That a job was put back does not say that it succeeded.
        let shown = match (&job.replay, outcome) {
            (Some(replay), _) => replay.summary(),
            (None, "done") if self.action == Action::Replay => self.action.done_word().to_owned(),
            (None, outcome) => outcome.to_owned(),
        };
        let id = job.id.as_str();
        self.print(&JobRecord { run, id, outcome, reason, error_class, replay_outcome, replay_error }, &shown)
    }

    /// Prints what would become of a job.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn foreseen(&mut self, (id, result): &JobOutcome) -> io::Result<()> {
        let outcome = match result {
            JobResult::Done => undo::CAN,
            JobResult::Skipped(_) => "skipped",
            JobResult::Failed(_) => "failed",
        };
        let reason = (*result != JobResult::Done).then(|| undo::word(result));
        let (run, id) = (self.run, id.as_str());
        let unknown =
            JobRecord { run, id, outcome, reason, error_class: None, replay_outcome: None, replay_error: None };
        self.print(&unknown, outcome)
    }

    /// Ends the list.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(self) -> io::Result<()> {
        match self.format {
            Format::Json => writeln!(self.out, "\n]}}"),
            Format::Table => self.table.print(self.out, terminal_width()),
            Format::Jsonl | Format::Csv => Ok(()),
        }
    }
}

/// Prints the jobs of a part of a run, from the record that has it.
///
/// # Errors
/// When the ledger cannot be read, or the list not be written.
pub async fn of_run(
    out: &mut impl Write,
    ledger: &Ledger,
    run: &RunId,
    part: PartWord,
    format: Format,
) -> anyhow::Result<()> {
    // A run that is not there has no jobs, which is no answer.
    let action = ledger.runs().get(run).await?.intent.action;
    let ledger = ledger.of(run).await?;
    let mut printer = JobPrinter::new(out, format, run, action)?;
    let mut after = 0;
    loop {
        let jobs = ledger.cohorts().jobs(run, part.into(), after, PAGE).await?;
        let Some(last) = jobs.last() else { break };
        after = last.ord;
        for job in &jobs {
            printer.write_outcome(job)?;
        }
    }
    Ok(printer.end()?)
}

impl From<PartWord> for CohortPart {
    fn from(word: PartWord) -> Self {
        match word {
            PartWord::All => CohortPart::All,
            PartWord::Done => CohortPart::Done,
            PartWord::Skipped => CohortPart::Skipped,
            PartWord::Failed => CohortPart::Failed,
            PartWord::InDoubt => CohortPart::InDoubt,
            PartWord::NotStarted => CohortPart::NotStarted,
            PartWord::Remainder => CohortPart::Remainder,
        }
    }
}
