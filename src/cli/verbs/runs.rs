//! `dlq-tui runs`: the ledger.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{Format, RunsArgs};
use crate::cli::exit::{CliError, Code};
use crate::cli::output;
use crate::cli::source::open::open;
use crate::cli::source::source_choice::SourceChoice;
use crate::cli::table::{TableColumn, TextTable, terminal_width};
use crate::cli::verbs::receipt::{self, RunRecord};
use crate::cli::verbs::{jobs, outcomes};
use crate::config::mask_secrets;
use crate::domain::action::Action;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::text::Clean;
use crate::ledger::{Ledger, LedgerLocator, Reveal, Run, RunId};

#[derive(Serialize)]
struct RunsOutput<'a> {
    runs: Vec<RunRecord<'a>>,
}

/// Lists the latest runs, or prints one.
///
/// # Errors
/// When the ledger cannot be read, or there is no such run.
pub async fn run(session: &SourceChoice, args: &RunsArgs) -> Result<Code> {
    let mut out = output::stdout();
    if args.reveals {
        // They stand in the operator's own file, whatever the source holds.
        let reveals = Ledger::open(&session.paths.ledger()).await?.reveals().latest(most(args.limit)).await?;
        print_reveals(&mut out, &reveals, args.output.output)?;
        if reveals.is_empty() && args.output.output == Format::Table {
            output::say("`--reveal` has not been used");
        }
        out.flush()?;
        return Ok(Code::Done);
    }
    let ledger = ledger(session).await?;
    match &args.run {
        Some(id) if args.jobs => {
            let id = RunId(id.clone());
            ask_outcomes(session, &ledger, &id).await?;
            jobs::of_run(&mut out, &ledger, &id, args.part, args.output.output).await?;
        }
        Some(id) => return with_outcomes(session, &ledger, &RunId(id.clone()), args).await,
        None => {
            let is_table = args.output.output == Format::Table;
            // Scripts get every run, as they always did.
            let runs = match is_table && !args.all {
                true => ledger.runs().latest_confirmed(most(args.limit)).await?,
                false => ledger.runs().latest(most(args.limit)).await?,
            };
            many(&mut out, &runs, args.output.output)?;
            if runs.is_empty() && is_table {
                let hidden = if args.all { "" } else { "; --all shows plans that were not confirmed" };
                output::say(&format!("no runs yet{hidden}"));
            }
        }
    }
    out.flush()?;
    Ok(Code::Done)
}

/// Prints a run, of a replay with the outcomes of its jobs, and waits for them before where that is asked for.
async fn with_outcomes(session: &SourceChoice, ledger: &Ledger, id: &RunId, args: &RunsArgs) -> Result<Code> {
    let mut ended = Ok(Code::Done);
    if args.wait {
        let opened = open(session).await?;
        ended = outcomes::wait(&opened, ledger, id, args.timeout).await;
        if ended.as_ref().is_err_and(|error| error.downcast_ref::<CliError>().is_none()) {
            return ended;
        }
    } else {
        ask_outcomes(session, ledger, id).await?;
    }
    let mut out = output::stdout();
    one(&mut out, &ledger.runs().get(id).await?, args.output.output)?;
    out.flush()?;
    ended
}

/// Asks once for the outcomes of a replay, where its source is at hand; else those that were last seen are as good as there are.
async fn ask_outcomes(session: &SourceChoice, ledger: &Ledger, id: &RunId) -> Result<()> {
    let run = ledger.runs().get(id).await?;
    if run.intent.action != Action::Replay || run.tally.done == 0 || session.origin().is_err() {
        return Ok(());
    }
    let asked = async { outcomes::refresh(&open(session).await?, ledger, &run).await };
    if let Err(error) = asked.await {
        let why = mask_secrets(&format!("{error:#}"));
        output::say(&format!("dlq-tui: the outcomes are those that were last seen: {}", Clean::line(&why)));
    }
    Ok(())
}

/// As many as are asked for; all where that is 0.
fn most(limit: usize) -> usize {
    if limit == 0 { usize::MAX } else { limit }
}

#[derive(Serialize)]
struct RevealRecord<'a> {
    at: String,
    user: &'a str,
    host: &'a str,
    ssh_client: Option<&'a str>,
    source: &'a str,
    command: &'a str,
}

impl<'a> From<&'a Reveal> for RevealRecord<'a> {
    fn from(reveal: &'a Reveal) -> Self {
        let operator = &reveal.operator;
        Self {
            at: reveal.at.to_rfc3339(),
            user: &operator.user,
            host: &operator.host,
            ssh_client: operator.ssh_client.as_deref(),
            source: &reveal.source,
            command: &reveal.command,
        }
    }
}

#[derive(Serialize)]
struct Reveals<'a> {
    reveals: Vec<RevealRecord<'a>>,
}

fn print_reveals(out: &mut impl Write, reveals: &[Reveal], format: Format) -> Result<()> {
    let records: Vec<RevealRecord<'_>> = reveals.iter().map(RevealRecord::from).collect();
    match format {
        Format::Json => output::json(out, &output::Versioned::new(Reveals { reveals: records }))?,
        Format::Jsonl => {
            for record in records {
                output::json_line(out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(out, ["at", "user", "host", "ssh_client", "source", "command"])?;
            for r in records {
                let cells = [&r.at, r.user, r.host, r.ssh_client.unwrap_or_default(), r.source, r.command];
                output::csv(out, cells.map(Clean::line).iter().map(|cell| &**cell))?;
            }
        }
        Format::Table => {
            let titles = ["at", "operator", "from", "source", "command"];
            let mut table = TextTable::new(titles.map(TableColumn::Text));
            for (r, at) in records.iter().zip(reveals.iter().map(|r| r.at.to_second())) {
                let operator = format!("{}@{}", r.user, r.host);
                table.row([&at, &operator, r.ssh_client.unwrap_or_default(), r.source, r.command]);
            }
            table.print(out, terminal_width())?;
        }
    }
    Ok(())
}

/// The record: with the source's own where one is named or configured and can be reached, else the operator's.
async fn ledger(session: &SourceChoice) -> Result<Ledger> {
    let path = session.paths.ledger();
    let is_named = session.connect.url.is_some() || session.connect.source.is_some();
    let origin = match session.origin() {
        Ok(origin) => origin,
        Err(error) if is_named => return Err(error),
        Err(_) => return Ok(Ledger::open(&path).await?),
    };
    let budget = session.budget(&origin);
    let ledger = match origin.connect(session, &budget).await {
        Ok(source) => LedgerLocator::new(path.clone(), Some(source)).ledger().await.map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    match ledger {
        Ok(ledger) => {
            if let Some(remark) = ledger.warning() {
                output::say(&format!("dlq-tui: {remark}"));
            }
            Ok(ledger)
        }
        Err(error) => {
            // Where that cannot be used either, it is all that there is to say.
            let local = Ledger::open(&path).await?;
            let why = mask_secrets(&format!("{error:#}"));
            let only = "only runs that are kept on this machine are known";
            output::say(&format!("dlq-tui: {}: {}; {only}", Clean::line(&origin.name), Clean::line(&why)));
            Ok(local)
        }
    }
}

fn one(out: &mut impl Write, run: &Run, format: Format) -> Result<()> {
    match format {
        Format::Table => receipt::run(out, run, terminal_width())?,
        Format::Json => output::json(out, &output::Versioned::new(RunRecord::from(run)))?,
        Format::Jsonl => output::json_line(out, &output::Versioned::new(RunRecord::from(run)))?,
        Format::Csv => many(out, std::slice::from_ref(run), format)?,
    }
    Ok(())
}

fn many(out: &mut impl Write, runs: &[Run], format: Format) -> Result<()> {
    match format {
        Format::Json => {
            let document = RunsOutput { runs: runs.iter().map(RunRecord::from).collect() };
            output::json(out, &output::Versioned::new(document))?;
        }
        Format::Jsonl => {
            for run in runs {
                output::json_line(out, &output::Versioned::new(RunRecord::from(run)))?;
            }
        }
        Format::Csv => csv(out, runs)?,
        Format::Table => table(runs).print(out, terminal_width())?,
    }
    Ok(())
}

/// Prints runs as comma-separated values; the parts of each add up to what was planned.
///
/// # Errors
/// When they cannot be written.
pub(crate) fn csv(out: &mut impl Write, runs: &[Run]) -> io::Result<()> {
    let head = ["run", "frozen_at", "action", "state", "planned"];
    let parts = ["done", "skipped", "failed", "in_doubt", "not_started"];
    output::csv(out, head.into_iter().chain(parts).chain(["source", "filter", "home", "user", "reason", "outcome"]))?;
    for run in runs {
        let t = &run.tally;
        let numbers = [t.planned, t.done, t.skipped_total(), t.failed_total(), t.in_doubt, t.not_started];
        let numbers = numbers.map(|n| n.to_string());
        let at = run.intent.frozen_at.to_rfc3339();
        let filter = receipt::typed(&run.intent.filter);
        let (source, filter) = (Clean::line(&run.intent.source), Clean::line(&filter));
        let head = [run.id.0.as_str(), &at, run.intent.action.word(), run.state.word()];
        let reason = receipt::typed(run.intent.reason.as_deref().unwrap_or_default());
        let outcome = run.outcomes.as_ref().map(OutcomeCounts::summary).unwrap_or_default();
        let (user, reason) = (Clean::line(&run.intent.operator.user), Clean::line(&reason));
        let tail = [&*source, &*filter, run.place.word(), &*user, &*reason, outcome.as_str()];
        output::csv(out, head.into_iter().chain(numbers.iter().map(String::as_str)).chain(tail))?;
    }
    Ok(())
}

fn table(runs: &[Run]) -> TextTable {
    // Said only where it tells runs apart.
    let homes = runs.iter().any(|run| run.place != runs[0].place);
    let sources = runs.iter().any(|run| run.intent.source != runs[0].intent.source);
    let in_doubt = runs.iter().any(|run| run.tally.in_doubt > 0);
    let not_started = runs.iter().any(|run| run.tally.not_started > 0);
    let reasons = runs.iter().any(|run| run.intent.reason.is_some());
    let mut columns = vec![
        TableColumn::Whole("run"),
        TableColumn::Whole("frozen"),
        TableColumn::Text("who"),
        TableColumn::Whole("what"),
        TableColumn::Whole("state"),
        TableColumn::Number("skipped"),
        TableColumn::Number("failed"),
    ];
    columns.extend(in_doubt.then_some(TableColumn::Number("in doubt")));
    columns.extend(not_started.then_some(TableColumn::Number("not started")));
    columns.push(TableColumn::Whole("outcome"));
    columns.extend(sources.then_some(TableColumn::Text("source")));
    columns.extend(reasons.then_some(TableColumn::Text("reason")));
    columns.push(TableColumn::Text("filter"));
    columns.extend(homes.then_some(TableColumn::Whole("home")));
    // The id tells the time too.
    let yields = [
        "frozen",
        "home",
        "source",
        "skipped",
        "failed",
        "not started",
        "in doubt",
        "state",
        "filter",
        "who",
        "reason",
    ];
    let mut table = TextTable::new(columns).yielding(yields);
    for run in runs {
        let t = &run.tally;
        let who = format!("{}@{}", run.intent.operator.user, run.intent.operator.host);
        let mut numbers = vec![t.skipped_total(), t.failed_total()];
        numbers.extend(in_doubt.then_some(t.in_doubt));
        numbers.extend(not_started.then_some(t.not_started));
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let (at, what) = (run.intent.frozen_at.to_second(), run.effect());
        let head = [run.id.0.as_str(), &at, &who, &what, run.state.label()];
        let outcome = run.outcomes.as_ref().map(OutcomeCounts::summary).unwrap_or_default();
        let (filter, reason) =
            (receipt::typed(&run.intent.filter), receipt::typed(run.intent.reason.as_deref().unwrap_or_default()));
        let tail = [outcome.as_str()].into_iter().chain(sources.then_some(run.intent.source.as_str()));
        let tail = tail.chain(reasons.then_some(&*reason)).chain([&*filter]).chain(homes.then_some(run.place.word()));
        table.row(head.into_iter().chain(numbers.iter().map(String::as_str)).chain(tail));
    }
    table
}
