//! `dlq-tui repair`: changes the arguments of jobs by an expression, or says what it would change.

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::args::{Format, RepairArgs};
use crate::cli::exit::{CliError, Code};
use crate::cli::jobs::{edit_arguments, no_match};
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::cli::verbs::{self, ids};
use crate::domain::action::Action;
use crate::domain::filter::{Filter, Key};
use crate::domain::histogram::{grouped, jobs};
use crate::domain::job::JobId;
use crate::domain::repair::{ArgumentChange, ChangeShape, RepairGroup};
use crate::domain::run_options::Options;
use crate::domain::text::Clean;
use crate::store::Availability;
use crate::triage::freeze::Ask;
use crate::triage::plan::ActionScope;
use crate::triage::repair::{
    EditRequest, EditSource, Evaluator, EvaluatorError, EvaluatorOptions, RepairError, RepairQuery, RepairReport,
    preview,
};

/// Jobs from which on progress is shown.
const MANY: u64 = 5_000;

#[derive(Serialize)]
struct RepairOutput<'a> {
    source: &'a str,
    store: &'a str,
    filter: String,
    expression: &'a str,
    jobs: u64,
    /// Jobs whose arguments would change.
    changed: u64,
    groups: Vec<GroupRecord>,
    examples: Vec<ExampleRecord>,
}

#[derive(Serialize)]
struct GroupRecord {
    jobs: u64,
    /// `changed`, `unchanged` or `failed`.
    outcome: &'static str,
    /// In words.
    summary: String,
    /// Whether the values differ from job to job; then those of one of them are shown.
    varied: bool,
    changes: Vec<ChangeRecord>,
    /// One of the jobs.
    example: String,
}

#[derive(Serialize)]
struct ChangeRecord {
    path: String,
    /// JSON, shortened and masked; `null` where nothing was.
    before: Option<String>,
    /// JSON, shortened and masked; `null` where nothing will be.
    after: Option<String>,
}

#[derive(Serialize)]
struct ExampleRecord {
    id: String,
    changes: Vec<ChangeRecord>,
}

/// Repairs, or shows what would change.
///
/// # Errors
/// When the filter or the expression is wrong, the repair is not confirmed, or the database or the ledger fails.
pub async fn run(opened: &OpenedStore, args: &RepairArgs) -> Result<Code> {
    if args.edit {
        return edit_arguments::run(opened, args).await;
    }
    if args.ids.is_empty() && args.filter.filter.is_none() && !args.all {
        return Err(CliError::usage("name the jobs with -f or by their ids, or all dead jobs with --all").into());
    }
    let filter = opened.filter(args.filter.filter.as_deref())?;
    let ids = ids::named(&args.ids).await?;
    let options = EvaluatorOptions::new().context("cannot find this program's own file")?;
    let evaluator = Evaluator::start(&args.expression, options.clone()).await.map_err(|error| match error {
        EvaluatorError::Expression(error) => CliError::usage(error.to_string()).into(),
        error => anyhow::Error::from(error),
    })?;
    if args.plan.dry_run {
        let named = ids.iter().try_fold(filter, |filter, id| filter.with(&Key::Id, Some(id.as_str()), false))?;
        return show(opened, args, evaluator, named).await;
    }
    // A plan starts one of its own.
    drop(evaluator);
    let scope = if ids.is_empty() { ActionScope::Filter(filter) } else { ActionScope::Jobs(ids) };
    let action = if args.replay { Action::Replay } else { Action::Repair };
    let source = EditSource::Expression { expression: args.expression.clone(), evaluator: options };
    let edit = EditRequest { source, examples: args.show };
    let options = Options { validate: opened.validate.clone(), ..Options::default() };
    let ask = Ask { edit: Some(edit), ..verbs::ask(opened, scope, action, options, &args.plan) };
    verbs::carry_out(opened, ask, &args.plan).await
}

/// Evaluates and prints.
async fn show(opened: &OpenedStore, args: &RepairArgs, mut evaluator: Evaluator, filter: Filter) -> Result<Code> {
    let line = output::ProgressLine::begin();
    let mut on_progress = |read| {
        if read > MANY {
            line.show(&format!("evaluating: {}", jobs(read)));
        }
    };
    let query = RepairQuery { filter: filter.clone(), examples: args.show };
    let report = preview(&opened.desk, &mut evaluator, &query, &opened.budget, &mut on_progress).await;
    drop(line);
    let report = report.map_err(|error| match error {
        // The exit code goes by what went wrong in the source.
        RepairError::Store(error) => error.into(),
        RepairError::Evaluator(error) => anyhow::Error::from(error),
    })?;
    if report.jobs == 0 {
        no_match::explain(opened, &filter).await;
    }
    print(opened, &filter, args, &report)?;
    if let Availability::Disabled(reason) = opened.desk.store.info().availability(Action::Repair) {
        output::say(&format!("this cannot be written here: {reason}"));
    }
    Ok(Code::Done)
}

fn print(opened: &OpenedStore, filter: &Filter, args: &RepairArgs, report: &RepairReport) -> Result<()> {
    let mut out = output::stdout();
    let groups = || report.groups.iter().map(group);
    match args.plan.output.output {
        Format::Table => print_table(&mut out, report)?,
        Format::Json => {
            let example = |(id, changes): &(_, Vec<_>)| ExampleRecord { id: job_id(id), changes: records(changes) };
            let document = RepairOutput {
                source: &opened.desk.source,
                store: &opened.desk.store.info().title,
                filter: filter.to_string(),
                expression: &args.expression,
                jobs: report.jobs,
                changed: report.changed,
                groups: groups().collect(),
                examples: report.examples.iter().map(example).collect(),
            };
            output::json(&mut out, &output::Versioned::new(document))?;
        }
        Format::Jsonl => {
            for record in groups() {
                output::json_line(&mut out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(&mut out, ["jobs", "outcome", "summary", "example"])?;
            for record in groups() {
                let jobs = record.jobs.to_string();
                output::csv(&mut out, [&*jobs, record.outcome, &*record.summary, &*record.example])?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn print_table(out: &mut impl Write, report: &RepairReport) -> Result<()> {
    writeln!(out, "{} of {} would change; nothing was written", grouped(report.changed), jobs(report.jobs))?;
    write_groups(out, report)
}

/// Prints the groups, and the changes of some jobs.
///
/// # Errors
/// When they cannot be written.
pub fn write_groups(out: &mut impl Write, report: &RepairReport) -> Result<()> {
    if !report.groups.is_empty() {
        writeln!(out)?;
        let mut table =
            TextTable::new([TableColumn::Number("jobs"), TableColumn::Text("change"), TableColumn::Text("example")]);
        for RepairGroup { jobs, shape, example } in &report.groups {
            table.row([&*grouped(*jobs), &*shape.describe(), &*job_id(example)]);
        }
        table.print(out, terminal_width())?;
    }
    for (id, changes) in &report.examples {
        writeln!(out, "\n{}", Clean::line(id.as_str()))?;
        for change in changes {
            writeln!(out, "  {}", change.describe())?;
        }
    }
    Ok(())
}

fn job_id(id: &JobId) -> String {
    id.as_str().to_owned()
}

fn group(group: &RepairGroup) -> GroupRecord {
    let (outcome, varied, changes) = match &group.shape {
        ChangeShape::Same(changes) => ("changed", false, records(changes)),
        ChangeShape::Varied(changes) => ("changed", true, records(changes)),
        ChangeShape::OtherChanges => ("changed", true, Vec::new()),
        ChangeShape::Unchanged => ("unchanged", false, Vec::new()),
        ChangeShape::Failed(_) | ChangeShape::OtherFailures => ("failed", false, Vec::new()),
    };
    let summary = group.shape.describe();
    GroupRecord { jobs: group.jobs, outcome, summary, varied, changes, example: job_id(&group.example) }
}

fn records(changes: &[ArgumentChange]) -> Vec<ChangeRecord> {
    let record = |change: &ArgumentChange| ChangeRecord {
        path: change.path.exact().to_owned(),
        before: change.before.as_ref().map(|value| value.json.exact().to_owned()),
        after: change.after.as_ref().map(|value| value.json.exact().to_owned()),
    };
    changes.iter().map(record).collect()
}
