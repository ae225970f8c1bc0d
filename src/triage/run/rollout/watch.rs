//! The outcomes of a sample of the jobs that are behind a run: too many failures stop it, and while workers keep up its rate
//! may grow.

use std::time::Duration;

use tokio::time::Instant;

use super::super::batches::BatchLimits;
use super::super::executor::RunExecutor;
use super::super::stop_reason::StopReason;
use crate::domain::rollout::ramp::Ramp;

/// Jobs of a sample: about so many, spread over what is behind the run, and half as many of the first ones, which workers
/// have had the longest.
const SAMPLE: i64 = 500;
/// Questions for outcomes to a step of a rate that grows.
const STEP: u32 = 5;

/// When outcomes are asked for next, and how fast the run may go until then.
pub(in crate::triage::run) struct OutcomeWatch {
    due: Instant,
    interval: Duration,
    ramp: Option<(Ramp, Instant)>,
}

impl OutcomeWatch {
    pub(in crate::triage::run) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }
}

impl RunExecutor<'_> {
    /// Begins to watch the outcomes of a run with a rule; its rate starts low where that is asked for.
    pub(in crate::triage::run) fn watch_outcomes(&self, limits: &mut BatchLimits) -> Option<OutcomeWatch> {
        let rollout = self.rollout.as_ref()?;
        let interval = self.context.options.outcome_interval;
        let now = Instant::now();
        let ramp = rollout.rule.ramp.then(|| (Ramp::new(limits.rate.get()), now + interval * STEP));
        if let Some((ramp, _)) = &ramp {
            limits.rate.set(ramp.rate());
        }
        Some(OutcomeWatch { due: now + interval, interval, ramp })
    }

    /// Asks for outcomes, and stops the run or lets it go on, faster perhaps.
    pub(in crate::triage::run) async fn check_outcomes(
        &mut self,
        watch: &mut OutcomeWatch,
        limits: &mut BatchLimits,
    ) -> Result<(), StopReason> {
        let Some(mut rollout) = self.rollout.take() else { return Ok(()) };
        let checked = async {
            let Some(end) = self.not_started(1).await?.first().map(|next| next.ord - 1) else { return Ok(()) };
            let places = sample(rollout.state.evidence_start, end);
            if let Some(evidence) = self.evidence_of(&places, Instant::now()).await? {
                let has_changed = evidence != rollout.state.evidence;
                rollout.state.evidence = evidence;
                if rollout.state.evidence.is_above(rollout.rule.stop_above) {
                    return self.stop_by_rule(&mut rollout).await;
                }
                if has_changed {
                    rollout.write(self.context).await?;
                }
            }
            let now = Instant::now();
            watch.due = now + watch.interval;
            if let Some((ramp, step_end)) = watch.ramp.as_mut().filter(|(_, step_end)| now >= *step_end) {
                *step_end = now + watch.interval * STEP;
                let evidence = &rollout.state.evidence;
                // Where most jobs still wait, a higher rate would only make the queue longer.
                if evidence.total() > 0 && evidence.open * 2 <= evidence.total() {
                    ramp.advance();
                    limits.rate.set(ramp.rate());
                }
            }
            Ok(())
        }
        .await;
        self.rollout = Some(rollout);
        checked
    }
}

/// Places between `start`, which is not among them, and `end`: the first ones, and others at the same distance from each
/// other. It doubles as the span grows, so that most of them were in the sample before.
fn sample(start: i64, end: i64) -> Vec<i64> {
    let span = end.saturating_sub(start).max(0);
    let first = span.min(SAMPLE / 2);
    let mut stride = 1;
    while span / stride > SAMPLE {
        stride *= 2;
    }
    let spread = (1..).map(|nth| nth * stride).take_while(|at| *at <= span).filter(|at| *at > first);
    (1..=first).chain(spread).map(|at| start + at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_bounded_spread_and_grows_out_of_the_one_before() {
        assert_eq!(sample(10, 10), Vec::<i64>::new());
        assert_eq!(sample(i64::MAX, 5), Vec::<i64>::new());
        assert_eq!(sample(10, 13), [11, 12, 13]);
        let (earlier, later) = (sample(0, 40_000), sample(0, 90_000));
        assert!(later.len() <= 750 && later.last().is_some_and(|last| *last > 89_000), "{}", later.len());
        let known = later.iter().filter(|at| earlier.contains(at)).count();
        let before = later.iter().filter(|at| **at <= 40_000).count();
        assert_eq!(known, before, "what was asked for before is asked for again");
        assert!(sample(0, 10_000_000).len() <= 750);
    }
}
