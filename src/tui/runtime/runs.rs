//! Acts: freezing, running, dismissing. They end by themselves or by the operator's word, never for a newer request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::session::{Going, Session};
use super::world::Fact;
use crate::domain::histogram::jobs;
use crate::domain::repair::{ChangeShape, RepairGroup};
use crate::domain::run_options::Options;
use crate::domain::run_options::validator::Validator;
use crate::domain::time::Timestamp;
use crate::ledger::{Run, RunId, RunState, RunTally};
use crate::triage::freeze::{Ask, PlanError, freeze};
use crate::triage::plan::ActionScope;
use crate::triage::plan::Plan;
use crate::triage::progress::{FreezeProgress, RunProgress};
use crate::triage::repair::{EditRequest, EditSource, EvaluatorOptions};
use crate::triage::run::{Receipt, RunError, RunOptions, execute, resume};
use crate::triage::validate::{CommandValidator, Validate};
use crate::tui::OpenStore;
use crate::tui::app::Msg;

/// Progress is reported at most this often: more than a screen shows would only be drawn over.
const PACE: Duration = Duration::from_millis(100);

/// How the arguments of a plan are changed, where they are; an undo has what it writes from the run that it undoes.
fn edit_request(ask: &Ask) -> Result<Option<EditRequest>, String> {
    if ask.edit.is_some() {
        return Ok(ask.edit.clone());
    }
    let is_undo = matches!(ask.scope, ActionScope::Undo(..));
    let Some(expression) = ask.options.repair.clone().filter(|_| !is_undo) else { return Ok(None) };
    let evaluator = EvaluatorOptions::new().map_err(|e| format!("cannot find this program's own file: {e}"))?;
    Ok(Some(EditRequest { source: EditSource::Expression { expression, evaluator }, examples: 0 }))
}

/// Why there is no plan; where an expression changes nothing, what came of most of the jobs.
fn why_unplanned(error: &PlanError) -> String {
    match error {
        PlanError::Unchanged { report, .. } => match report.groups.first() {
            Some(RepairGroup { shape: ChangeShape::Failed(why), .. }) if report.jobs == 1 => {
                format!("nothing was written: {}", why.line())
            }
            Some(group) => format!("{error} ({}: {})", jobs(group.jobs), group.shape.describe()),
            None => error.to_string(),
        },
        error => error.to_string(),
    }
}

impl Session {
    /// Freezes a cohort and makes its plan; `is_validated` says whether the validator of the source is asked.
    pub async fn plan(&self, ask: Ask, is_validated: bool, going: &Going) -> Result<Plan, String> {
        let open = self.store().map_err(|e| e.to_string())?;
        let validate = open.validate.filter(|_| is_validated && ask.action.is_validated());
        let edit = edit_request(&ask)?;
        let options = Options { validate, ..ask.options };
        let ask = Ask { options, thresholds: self.thresholds, edit, ..ask };
        let tell = throttled(going.facts.clone());
        let ledger = self.ledger().await.map_err(|e| e.to_string())?;
        let plan = freeze(&open.desk, &ledger, ask, &going.budget, tell).await;
        if let Err(PlanError::Outdated(table)) = &plan {
            // Nobody listens when the console has ended.
            let _ = going.facts.send(Fact::Told(Msg::Outdated(table.clone(), None)));
        }
        let mut plan = plan.map_err(|error| why_unplanned(&error))?;
        plan.sample = plan.sample.into_iter().map(|row| self.masked_row(row)).collect();
        Ok(plan)
    }

    /// Executes a confirmed run and tells how far it has got.
    pub async fn execute(&self, run: RunId, going: &Going) -> Result<Run, String> {
        let open = self.store().map_err(|e| e.to_string())?;
        let ledger = self.ledger().await.map_err(|e| e.to_string())?;
        let (progress, seen) = watch::channel(nothing_yet(&run));
        let options = self.run_options(&open, open.validate.as_ref());
        self.follow(execute(&open.desk, &ledger, &run, options, &going.control, &progress), seen, going).await
    }

    /// Resumes a run that was stopped or interrupted, and tells how far it has got.
    pub async fn resume(&self, run: RunId, skip_gate: bool, going: &Going) -> Result<Run, String> {
        let open = self.store().map_err(|e| e.to_string())?;
        let ledger = self.ledger().await.map_err(|e| e.to_string())?;
        let planned = ledger.runs().get(&run).await.map_err(|e| e.to_string())?.intent.options.validate;
        // A run is judged as it was planned; which command does that, the record alone must not say.
        let is_planned = |named: &&Validator| planned.as_ref().is_some_and(|p| p.command == named.command);
        let options = self.run_options(&open, open.validate.as_ref().filter(is_planned));
        let options = RunOptions { skip_gate, ..options };
        let (progress, seen) = watch::channel(nothing_yet(&run));
        self.follow(resume(&open.desk, &ledger, &run, options, &going.control, &progress), seen, going).await
    }

    /// How a run is executed here. Its validator is the config's, and not what a record says that others can write.
    fn run_options(&self, open: &OpenStore, validate: Option<&Validator>) -> RunOptions {
        let validate = validate.map(|v| Arc::new(CommandValidator::from(v)) as Arc<dyn Validate>);
        let deliver = open.deliver.clone();
        RunOptions { deliver, validate, statement: self.statement, ..RunOptions::default() }
    }

    async fn follow(
        &self,
        work: impl Future<Output = Result<Receipt, RunError>>,
        seen: watch::Receiver<RunProgress>,
        going: &Going,
    ) -> Result<Run, String> {
        let receipt = tokio::select! {
            receipt = work => receipt.map_err(|e| e.to_string())?,
            // Never ends: the sender lives as long as this future.
            () = forward(seen, going.facts.clone()) => return Err("the run was lost sight of".into()),
        };
        let told = match (receipt.outdated, receipt.halted) {
            (Some(table), _) => Some(Msg::Outdated(table, Some(receipt.run.id.clone()))),
            (None, halted) => halted.map(|reason| Msg::Said(Err(reason))),
        };
        if let Some(msg) = told {
            // Nobody listens when the console has ended.
            let _ = going.facts.send(Fact::Told(msg));
        }
        Ok(receipt.run)
    }

    /// Dismisses a plan.
    pub async fn dismiss(&self, run: RunId) -> Result<(), String> {
        let ledger = self.ledger().await.map_err(|e| e.to_string())?;
        ledger.runs().dismiss(&run, Timestamp::now()).await.map_err(|e| e.to_string())
    }
}

/// Tells the first and then a step now and again.
fn throttled(facts: UnboundedSender<Fact>) -> impl FnMut(FreezeProgress) + Send {
    let mut last: Option<Instant> = None;
    move |progress| {
        if last.is_none_or(|last| last.elapsed() >= PACE) {
            last = Some(Instant::now());
            // Nobody listens when the console has ended.
            let _ = facts.send(Fact::Told(Msg::Freezing(progress)));
        }
    }
}

async fn forward(mut seen: watch::Receiver<RunProgress>, facts: UnboundedSender<Fact>) {
    while seen.changed().await.is_ok() {
        let progress = seen.borrow_and_update().clone();
        // Nobody listens when the console has ended.
        let _ = facts.send(Fact::Told(Msg::Running(progress)));
        sleep(PACE).await;
    }
}

fn nothing_yet(run: &RunId) -> RunProgress {
    RunProgress {
        run: run.clone(),
        state: RunState::Running,
        tally: RunTally::default(),
        rate: 0.0,
        eta: None,
        waiting: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[tokio::test(start_paused = true)]
    async fn progress_is_told_ten_times_a_second_and_the_latest_is_never_lost() {
        let (facts, mut told) = unbounded_channel();
        let (progress, seen) = watch::channel(nothing_yet(&RunId("r1".into())));
        tokio::spawn(forward(seen, facts));
        for done in 1..=1_000 {
            progress.send_modify(|progress| progress.tally.done = done);
            sleep(Duration::from_millis(1)).await;
        }
        sleep(PACE * 2).await;
        let mut all = Vec::new();
        while let Ok(Fact::Told(Msg::Running(progress))) = told.try_recv() {
            all.push(progress.tally.done);
        }
        assert!((9..=12).contains(&all.len()), "{all:?}");
        assert_eq!(all.last(), Some(&1_000));
    }
}
