//! A run that proves itself: its canary jobs, the gate behind them, and the outcomes by which the rest is stopped.
//!
//! Each step is in the ledger before the next one begins, so that a run that was killed goes on where it was.

mod gate;
mod watch;

use crate::domain::histogram::grouped;
use crate::domain::rollout::{MAX_CANARY, Rollout, RolloutPhase, RolloutState};
use crate::ledger::{CohortPart, Run, RunJob};

use super::context::RunContext;
use super::executor::RunExecutor;
use super::progress::UnrecordedBatch;
use super::stop_reason::StopReason;

/// The rule of a run, and how far it has come.
pub(super) struct RolloutRun {
    rule: Rollout,
    state: RolloutState,
}

impl RolloutRun {
    /// That of a run, where it has a rule.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let rule = run.intent.options.rollout?;
        Some(Self { rule, state: run.rollout.clone().unwrap_or_else(|| RolloutState::starting(0)) })
    }

    /// Writes down how far it has come.
    async fn write(&self, context: &RunContext<'_>) -> Result<(), StopReason> {
        let (ledger, run) = (context.ledger, &context.run.id);
        context.record_until_written(false, || ledger.runs().set_rollout(run, &self.state)).await
    }
}

impl RunExecutor<'_> {
    /// Replays the canary jobs and waits for their outcomes, where the run is not behind that.
    pub(super) async fn replay_canary(&mut self) -> Result<(), StopReason> {
        let Some(mut rollout) = self.rollout.take() else { return Ok(()) };
        let passed = self.lead(&mut rollout).await;
        self.rollout = Some(rollout);
        passed
    }

    async fn lead(&mut self, rollout: &mut RolloutRun) -> Result<(), StopReason> {
        if rollout.state.phase == RolloutPhase::Stopped {
            self.start_again(rollout).await?;
        }
        if rollout.state.phase == RolloutPhase::Canary {
            self.put_back_canary(rollout).await?;
            rollout.state.phase = RolloutPhase::Gate;
            rollout.write(self.context).await?;
        }
        if self.context.report.counts().tally.not_started == 0 {
            // Nothing is left that the gate could hold back.
            return Ok(());
        }
        match rollout.state.phase {
            RolloutPhase::Gate => self.pass_gate(rollout).await,
            RolloutPhase::Canary | RolloutPhase::Rest | RolloutPhase::Stopped => Ok(()),
        }
    }

    /// Starts again behind the jobs for which the rule stopped the run: the next ones are the canary.
    async fn start_again(&mut self, rollout: &mut RolloutRun) -> Result<(), StopReason> {
        let canary = rollout.rule.canary.filter(|_| !self.context.options.skip_gate);
        let next = self.not_started(usize::try_from(canary.unwrap_or(1)).unwrap_or(1)).await?;
        let end = next.last().filter(|_| canary.is_some()).map_or(0, |last| last.ord);
        let start = next.first().map_or(i64::MAX, |first| first.ord - 1);
        rollout.state = std::mem::take(&mut rollout.state).starting_again(start, end);
        rollout.write(self.context).await?;
        self.applier.read_single_attempts().await
    }

    async fn put_back_canary(&mut self, rollout: &RolloutRun) -> Result<(), StopReason> {
        let mut limits = self.limits();
        loop {
            let next = self.not_started(usize::try_from(MAX_CANARY).unwrap_or(usize::MAX)).await?;
            let left = next.iter().filter(|job| job.ord <= rollout.state.canary_end).count();
            if left == 0 {
                return Ok(());
            }
            limits.cap = limits.cap.min(left);
            let Some((no, ids)) = self.begin(&limits).await? else { return Ok(()) };
            self.set_out(ids.len(), &mut limits.rate);
            let answer = self.ask_named(&ids, false).await?;
            limits.size.took(ids.len(), answer.elapsed);
            self.record(UnrecordedBatch { no, ids, answer }, 0).await?;
        }
    }

    /// The next jobs that no batch has named.
    async fn not_started(&self, n: usize) -> Result<Vec<RunJob>, StopReason> {
        let (ledger, run) = (self.context.ledger, &self.context.run.id);
        self.context.record_until_written(false, || ledger.cohorts().jobs(run, CohortPart::NotStarted, 0, n)).await
    }

    /// Stops the run by its rule.
    async fn stop_by_rule(&self, rollout: &mut RolloutRun) -> Result<(), StopReason> {
        rollout.state.phase = RolloutPhase::Stopped;
        rollout.write(self.context).await?;
        let failures = self.context.desk.redactor.prose(&rollout.state.failures()).into_owned();
        let left = grouped(self.context.report.counts().tally.not_started);
        Err(StopReason::Because(format!("{failures}; {left} not started")))
    }
}
