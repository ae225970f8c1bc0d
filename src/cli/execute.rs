//! Executing a confirmed run without a console: progress on standard error, an orderly stop at an interrupt, the receipt.

use std::io::{ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::watch;

use super::args::{Format, ResumeArgs};
use super::exit::{Code, Fault};
use super::open::Opened;
use super::out;
use super::receipt::{self, RunRecord};
use crate::domain::histogram::grouped;
use crate::domain::time::short_span;
use crate::ledger::{Ledger, Run, RunId, RunState, Tally};
use crate::triage::progress::RunProgress;
use crate::triage::run::{Receipt, RunControl, RunOptions, execute};

/// Executes a run that was just confirmed.
///
/// # Errors
/// When it cannot be executed, or the record can no longer be kept.
pub async fn confirmed(
    opened: &Opened,
    ledger: &Ledger,
    run: &RunId,
    rate: Option<f64>,
    format: Format,
) -> Result<Code> {
    let options = RunOptions { deliver: opened.deliver.clone(), rate, ..RunOptions::default() };
    let control = RunControl::new();
    let (tell, told) = watch::channel(start(run));
    let (stop, interrupted) = (control.clone(), opened.budget.cancel.clone());
    let at_signal = tokio::spawn(async move {
        // Cancelled by the first signal since the command began, also by one that came before we listen here.
        interrupted.cancelled().await;
        out::say("stopping after this batch …");
        stop.stop();
    });
    let report = tokio::spawn(report(told));
    let receipt = execute(&opened.desk, ledger, run, options, &control, &tell).await;
    drop(tell);
    at_signal.abort();
    // The reporter ends with its channel; what it could not print is of no interest.
    let _ = report.await;
    let receipt = receipt?;
    match print(opened, &receipt, format) {
        // Nobody reads the receipt: what the run came to is told all the same.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(code(&receipt)),
    }
}

/// `dlq-tui resume RUN`: goes on with a run that was stopped or cut off.
///
/// # Errors
/// As [`confirmed`]; also when the run does not exist or is not one to go on with.
pub async fn resume(opened: &Opened, args: &ResumeArgs) -> Result<Code> {
    let ledger = opened.ledger().await?;
    let id = RunId(args.run.clone());
    let ledger = ledger.of(&id).await?;
    let run = ledger.run(&id).await?;
    if !matches!(run.state, RunState::Stopped | RunState::Running) {
        let message = format!("run {id} is {}: there is nothing to go on with", run.state.word());
        return Err(Fault::refused(message).into());
    }
    receipt::run(&mut std::io::stderr(), &run)?;
    if !args.yes {
        if !out::somebody_is_there() {
            return Err(Fault::refused("nothing was written: without a terminal to confirm on, --yes is needed").into());
        }
        let left = grouped(run.tally.not_started + run.tally.in_doubt);
        if !out::confirm(&format!("go on with {left} jobs?")).await? {
            return Err(Fault::refused("not confirmed: nothing was written").into());
        }
    }
    confirmed(opened, &ledger, &id, args.rate, args.output.output).await
}

fn start(run: &RunId) -> RunProgress {
    RunProgress {
        run: run.clone(),
        state: RunState::Planned,
        tally: Tally::default(),
        rate: 0.0,
        eta: None,
        waiting: None,
    }
}

/// How often a run without a terminal says how far it is.
const INTERVAL: Duration = Duration::from_secs(10);

/// Keeps one line on a terminal up to date; elsewhere says now and then how far the run is, and always why it waits.
async fn report(mut told: watch::Receiver<RunProgress>) {
    let terminal = std::io::stderr().is_terminal();
    let mut said = None;
    let mut last = Instant::now();
    while told.changed().await.is_ok() {
        let progress = told.borrow_and_update().clone();
        if progress.waiting != said {
            said.clone_from(&progress.waiting);
            if let Some(why) = &said {
                out::say(&format!("{}waiting: {why}", if terminal { "\r\u{1b}[K" } else { "" }));
            }
        }
        if terminal {
            out::hint(&format!("\r\u{1b}[K{}", line(&progress)));
        } else if last.elapsed() >= INTERVAL {
            last = Instant::now();
            out::say(&format!("{}: {}", progress.run, line(&progress)));
        }
    }
    if terminal {
        out::hint("\r\u{1b}[K");
    }
}

/// How far a run is: `12,000 of 800,000, 3400/s, 3m left`.
fn line(progress: &RunProgress) -> String {
    let tally = &progress.tally;
    let reached = tally.done + tally.skipped_total() + tally.failed_total();
    let eta = progress.eta.map(|eta| format!(", {} left", short_span(eta))).unwrap_or_default();
    format!("{} of {}, {:.0}/s{eta}", grouped(reached), grouped(tally.planned), progress.rate)
}

fn print(opened: &Opened, receipt: &Receipt, format: Format) -> std::io::Result<()> {
    let mut out = out::stdout();
    let printed = match format {
        Format::Table | Format::Csv => receipt::run(&mut out, &receipt.run),
        Format::Json => out::json(&mut out, &out::Versioned::new(RunRecord::from(&receipt.run))),
        Format::Jsonl => out::json_line(&mut out, &out::Versioned::new(RunRecord::from(&receipt.run))),
    }
    .and_then(|()| out.flush());
    let words = ["dlq-tui", "resume", &receipt.run.id.0];
    let resume = shell_words::join(words.into_iter().chain(opened.reach.iter().map(String::as_str)));
    if let Some(why) = &receipt.halted {
        out::say(&format!("stopped: {why}; go on with `{resume}`"));
    } else if receipt.run.state == RunState::Stopped {
        out::say(&format!("stopped; go on with `{resume}`"));
    }
    printed
}

fn code(receipt: &Receipt) -> Code {
    let Receipt { run: Run { tally, .. }, halted, .. } = receipt;
    if receipt.is_complete() {
        Code::Done
    } else if tally.done == 0 && (tally.failed_total() > 0 || halted.is_some()) {
        Code::Failed
    } else {
        Code::Partly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_a_run_is() {
        let tally = Tally { planned: 800_000, done: 11_990, skipped: vec![("gone".into(), 10)], ..Tally::default() };
        let progress = RunProgress { tally, rate: 3_400.4, ..start(&RunId("r-1".into())) };
        assert_eq!(line(&progress), "12,000 of 800,000, 3400/s");
        let late = RunProgress { eta: Some(Duration::from_secs(200)), ..progress };
        assert_eq!(line(&late), "12,000 of 800,000, 3400/s, 3m left");
    }
}
