//! `dlq-tui undo RUN`: a run that takes back what an earlier one did, job by job where it still can be.

use std::io::Write;

use anyhow::Result;

use crate::cli::args::{Format, UndoArgs};
use crate::cli::exit::{CliError, Code};
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs::ids;
use crate::cli::verbs::jobs::JobPrinter;
use crate::cli::verbs::{self, Asking};
use crate::ledger::{Ledger, RunId};
use crate::triage::freeze::Ask;
use crate::triage::plan::{ActionScope, Plan};
use crate::triage::undo::preview;

/// Plans the undo, asks, and executes it.
///
/// # Errors
/// When there is no such run, it cannot be undone, it is not confirmed, or source or ledger fail.
pub async fn run(opened: &OpenedStore, args: &UndoArgs) -> Result<Code> {
    let ledger = opened.ledger().await?;
    let undone = RunId(args.run.clone());
    let done = ledger.runs().get(&undone).await?.intent.action;
    let Some(action) = done.undone_by() else {
        return Err(CliError::refused(format!("run {undone}: {}", done.why_final())).into());
    };
    let ids = ids::named(&args.ids).await?;
    let ask = Ask {
        reason: args.reason.clone(),
        thresholds: opened.thresholds,
        ..Ask::new(ActionScope::Undo(undone, ids), action, opened.now)
    };
    let asking = Asking { dry_run: args.dry_run, yes: args.yes, output: args.output.output, named: true };
    verbs::plan_and_go(opened, &ledger, ask, &asking).await
}

/// Prints for each job of a planned undo what would become of it.
///
/// # Errors
/// When source or ledger cannot be read, or the list not be written.
pub async fn write_preview(opened: &OpenedStore, ledger: &Ledger, plan: &Plan, format: Format) -> Result<()> {
    let mut out = Vec::new();
    let mut printer = JobPrinter::new(&mut out, format, &plan.run, plan.action)?;
    let mut broken = Ok(());
    let mut each = |outcomes: &[_]| {
        for outcome in outcomes {
            if broken.is_ok() {
                broken = printer.foreseen(outcome);
            }
        }
    };
    preview(&opened.desk, ledger, &plan.run, &opened.budget, &mut each).await?;
    broken?;
    printer.end()?;
    let mut stdout = output::stdout();
    stdout.write_all(&out)?;
    Ok(stdout.flush()?)
}
