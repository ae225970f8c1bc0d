//! The gate: the other jobs wait until the outcomes of the canary jobs are known.

use tokio::time::Instant;

use super::super::executor::RunExecutor;
use super::super::stop_reason::StopReason;
use super::RolloutRun;
use crate::domain::histogram::jobs;
use crate::domain::rollout::RolloutPhase;
use crate::domain::rollout::evidence::{Evidence, GateVerdict};
use crate::domain::time::exact_span;
use crate::triage::freeze::PlanError;
use crate::triage::outcomes::gather_evidence;

impl RunExecutor<'_> {
    pub(super) async fn pass_gate(&mut self, rollout: &mut RolloutRun) -> Result<(), StopReason> {
        let places: Vec<i64> = (rollout.state.evidence_start + 1..=rollout.state.canary_end).collect();
        let began = Instant::now();
        loop {
            self.context.allowed().await?;
            let left = rollout.rule.gate_wait().saturating_sub(began.elapsed());
            let interval = self.context.options.outcome_interval;
            let Some(evidence) = self.evidence_of(&places, began).await? else { continue };
            rollout.state.evidence = evidence;
            let evidence = &rollout.state.evidence;
            match evidence.gate(rollout.rule.stop_above, left.is_zero()) {
                _ if self.context.options.skip_gate => return self.open_gate(rollout).await,
                GateVerdict::Open => return self.open_gate(rollout).await,
                GateVerdict::Failed => return self.stop_by_rule(rollout).await,
                GateVerdict::Wait => {
                    let wait = exact_span(std::time::Duration::from_secs(left.as_secs()));
                    let (of, known) = (jobs(evidence.total()), evidence.summary());
                    self.context.tell(Some(format!("gate: of {of} {known}; waits up to {wait}")));
                    self.context.control.rest(interval.min(left)).await;
                }
                GateVerdict::Undecided => {
                    rollout.write(self.context).await?;
                    return Err(StopReason::Because(undecided(&rollout.state.evidence)));
                }
            }
        }
    }

    async fn open_gate(&mut self, rollout: &mut RolloutRun) -> Result<(), StopReason> {
        rollout.state.phase = RolloutPhase::Rest;
        rollout.state.evidence_start = rollout.state.canary_end;
        rollout.write(self.context).await?;
        self.context.tell(None);
        Ok(())
    }

    /// What the outcomes of these jobs say; `None` where the source cannot be asked at the moment.
    pub(super) async fn evidence_of(&self, places: &[i64], since: Instant) -> Result<Option<Evidence>, StopReason> {
        let context = self.context;
        let found = gather_evidence(context.desk, context.ledger, &context.run.id, places, &context.budget).await;
        match found {
            Ok(evidence) => Ok(Some(evidence)),
            Err(PlanError::Store(error)) if error.retryable() && since.elapsed() < context.options.patience => {
                context.tell(Some(format!("{error}; trying again")));
                context.control.rest(context.options.outcome_interval).await;
                Ok(None)
            }
            Err(PlanError::Store(error)) => Err(StopReason::by(error)),
            Err(PlanError::Ledger(error)) => Err(error.into()),
            Err(error) => Err(StopReason::Because(error.to_string())),
        }
    }
}

/// Why the gate does not open by itself, and what the operator can do.
fn undecided(evidence: &Evidence) -> String {
    let known = match evidence.total() {
        0 => "no canary job was replayed".to_owned(),
        n => format!("of {} of the canary {}", jobs(n), evidence.summary()),
    };
    format!("the gate cannot tell, {known}: look at these jobs; --skip-gate goes on with the others")
}
