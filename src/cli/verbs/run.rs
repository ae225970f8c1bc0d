//! Executing a confirmed run without a console: progress on standard error, an orderly stop at an interrupt, the receipt.

use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch;

use crate::cli::args::{Format, ResumeArgs};
use crate::cli::exit::{CliError, Code};
use crate::cli::source::open::OpenedStore;
use crate::cli::table::terminal_width;
use crate::cli::verbs::progress_bar;
use crate::cli::verbs::receipt::{self, RunRecord};
use crate::cli::verbs::runs;
use crate::cli::{output, signal};
use crate::domain::histogram::{grouped, jobs};
use crate::domain::run_options::validator::Validator;
use crate::ledger::{Ledger, LedgerError, Run, RunId, RunState, RunTally};
use crate::triage::progress::RunProgress;
use crate::triage::run::{Receipt, RunControl, RunError, RunOptions, Wish, execute};
use crate::triage::validate::{CommandValidator, Validate};

/// How long after a signal another one is the same again.
const ECHO: Duration = Duration::from_millis(100);

/// What an operator wants of one execution of a run.
#[derive(Clone, Copy, Default)]
pub struct ExecutionWishes<'a> {
    /// Jobs a second at the most, in place of what was planned.
    pub rate: Option<f64>,
    /// The validator, as somebody here names it.
    pub validate: Option<&'a Validator>,
    /// Whether the jobs behind the canary follow, whatever became of the canary.
    pub skip_gate: bool,
}

/// Executes a run that was just confirmed.
///
/// # Errors
/// When it cannot be executed, or the record can no longer be kept.
pub async fn confirmed(
    opened: &OpenedStore,
    ledger: &Ledger,
    run: &RunId,
    wishes: ExecutionWishes<'_>,
    format: Format,
) -> Result<Code> {
    let _unhurried = signal::Unhurried::begin();
    let ExecutionWishes { rate, validate, skip_gate } = wishes;
    let validate = validate.map(|validator| Arc::new(CommandValidator::from(validator)) as Arc<dyn Validate>);
    let options = RunOptions { deliver: opened.deliver.clone(), rate, validate, skip_gate, ..RunOptions::default() };
    let control = RunControl::new();
    let (tell, told) = watch::channel(start(run));
    let (stop, interrupted) = (control.clone(), opened.budget.cancel.clone());
    let mut at_signal = tokio::spawn(async move {
        // Cancelled by the first signal since the command began, also by one that came before we listen here.
        interrupted.cancelled().await;
        progress_bar::clear();
        output::say("stopping after this batch; a second interrupt leaves at once …");
        stop.stop();
        // `timeout` signals its child and then the whole group, which is one wish.
        tokio::time::sleep(ECHO).await;
        signal::stop_requested().await;
    });
    let pauses = tokio::spawn(heed(opened.pauses.clone(), control.clone()));
    let last = told.clone();
    let report = tokio::spawn(progress_bar::report(told));
    let receipt = tokio::select! {
        biased;
        receipt = execute(&opened.desk, ledger, run, options, &control, &tell) => Some(receipt),
        // Dropped in the middle, as a kill would: the batch that runs is settled when the run is resumed.
        _ = &mut at_signal => None,
    };
    drop(tell);
    at_signal.abort();
    pauses.abort();
    // The reporter ends with its channel; what it could not print is of no interest.
    let _ = report.await;
    let Some(receipt) = receipt else {
        output::say(&format!(
            "interrupted in the middle of a batch; resume with `{}`",
            resume_command(run, &opened.reach)
        ));
        return Ok(Code::Partly);
    };
    let receipt = receipt.inspect_err(|error| {
        let resume_command = resume_command(run, &opened.reach);
        match error {
            RunError::Ledger(LedgerError::Unusable { .. }) => {
                output::say(&format!("once the ledger can be written, resume with `{resume_command}`"));
            }
            RunError::Ledger(LedgerError::Moved { .. }) => output::say(&lost(&last.borrow().tally, &resume_command)),
            _ => {}
        }
    })?;
    match print(opened, &receipt, format) {
        // Nobody reads the receipt: what the run came to is told all the same.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let runs = ["dlq-tui", "runs", &run.0].into_iter().chain(opened.reach.iter().map(String::as_str));
            let (word, look) = (receipt.run.state.label(), shell_words::join(runs));
            output::say(&format!("run {run} is {word}, and its receipt cannot be printed: `{look}` shows it"));
            Err(error.into())
        }
        _ => Ok(code(&receipt)),
    }
}

/// How far a run got whose record was moved away: whatever was written there may be gone.
fn lost(RunTally { planned, done, in_doubt, .. }: &RunTally, way_on: &str) -> String {
    let (planned, [done, in_doubt]) = (jobs(*planned), [done, in_doubt].map(|n| grouped(*n)));
    format!(
        "of {planned}, {done} done and {in_doubt} in doubt; if the ledger was moved, move it back with its neighbouring files and resume with `{way_on}`; if it is gone, check the jobs and plan the rest again"
    )
}

/// Pauses a run and resumes it, as signals say.
async fn heed(mut pauses: watch::Receiver<bool>, control: RunControl) {
    pauses.mark_changed();
    while pauses.changed().await.is_ok() {
        let paused = *pauses.borrow_and_update();
        if paused && control.wish() == Wish::Go {
            progress_bar::clear();
            output::say(&format!("pausing after this batch; `kill -USR2 {}` resumes it", std::process::id()));
            control.pause();
        } else if !paused && control.wish() == Wish::Pause {
            progress_bar::clear();
            output::say("going on");
            control.go_on();
        }
    }
}

/// The command line that goes on with a run, with the options by which its source is reached.
pub fn resume_command(run: &RunId, reach: &[String]) -> String {
    let words = ["dlq-tui", "resume", &run.0];
    shell_words::join(words.into_iter().chain(reach.iter().map(String::as_str)))
}

/// `dlq-tui resume RUN`: goes on with a run that was stopped or cut off.
///
/// # Errors
/// As [`confirmed`]; also when the run does not exist or is not one to go on with.
pub async fn resume(opened: &OpenedStore, args: &ResumeArgs) -> Result<Code> {
    let ledger = opened.ledger().await?;
    let id = RunId(args.run.clone());
    let ledger = ledger.of(&id).await?;
    let run = ledger.runs().get(&id).await?;
    if !matches!(run.state, RunState::Stopped | RunState::Running) {
        let message = format!("run {id} is {}: there is nothing to resume", run.state.word());
        return Err(CliError::refused(message).into());
    }
    receipt::run(&mut std::io::stderr(), &run, output::talk_width())?;
    if let Some(reason) = run.diverts(opened.desk.store.info().destination.as_ref()) {
        return Err(CliError::refused(reason).into());
    }
    if !args.yes {
        if !output::somebody_is_there() {
            return Err(
                CliError::refused("nothing was written: without a terminal to confirm on, --yes is needed").into()
            );
        }
        let left = jobs(run.tally.not_started + run.tally.in_doubt);
        if !output::confirm(&format!("resume with {left}?")).await? {
            return Err(CliError::refused("not confirmed: nothing was written").into());
        }
    }
    let validate = known(opened, args, &run);
    let wishes = ExecutionWishes { rate: args.rate, validate, skip_gate: args.skip_gate };
    confirmed(opened, &ledger, &id, wishes, args.output.output).await
}

/// The validator that the run was planned with, where the operator names the same: with the command or in the config.
fn known<'a>(opened: &'a OpenedStore, args: &'a ResumeArgs, run: &Run) -> Option<&'a Validator> {
    let kept = run.intent.options.validate.as_ref()?;
    args.validate.iter().chain(&opened.validate).find(|named| named.command == kept.command)
}

fn start(run: &RunId) -> RunProgress {
    RunProgress {
        run: run.clone(),
        state: RunState::Planned,
        tally: RunTally::default(),
        rate: 0.0,
        eta: None,
        waiting: None,
    }
}

fn print(opened: &OpenedStore, receipt: &Receipt, format: Format) -> std::io::Result<()> {
    let mut out = output::stdout();
    let printed = match format {
        Format::Table => receipt::run(&mut out, &receipt.run, terminal_width()),
        Format::Csv => runs::csv(&mut out, std::slice::from_ref(&receipt.run)),
        Format::Json => output::json(&mut out, &output::Versioned::new(RunRecord::from(receipt))),
        Format::Jsonl => output::json_line(&mut out, &output::Versioned::new(RunRecord::from(receipt))),
    }
    .and_then(|()| out.flush());
    let resume = resume_command(&receipt.run.id, &opened.reach);
    if let Some(why) = &receipt.halted {
        output::say(&format!("stopped: {why}; resume with `{resume}`"));
    } else if receipt.run.state == RunState::Stopped {
        output::say(&format!("stopped; resume with `{resume}`"));
    }
    printed
}

fn code(receipt: &Receipt) -> Code {
    let Receipt { run: Run { tally, .. }, halted, .. } = receipt;
    if receipt.is_complete() {
        Code::Done
    } else if receipt.refused {
        Code::Refused
    } else if tally.done == 0 && (tally.failed_total() > 0 || halted.is_some()) {
        Code::Failed
    } else {
        Code::Partly
    }
}
