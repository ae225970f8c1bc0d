//! The jobs of a replay that have one attempt, whatever the others have: its canary, where the layout can do that.

use std::collections::HashSet;

use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::run_options::{Attempts, Options};
use crate::ledger::{CohortPart, Ledger, LedgerError, Run, RunId};

/// Those jobs. The undo of a replay has them too: it knows an untouched job by the attempts that the replay gave it.
#[derive(Default)]
pub(super) struct SingleAttempts(HashSet<JobId>);

impl SingleAttempts {
    /// Those of a run, or of the replay that it takes back. Of a run that goes on with another canary they are read again.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub(super) async fn of(ledger: &Ledger, run: &RunId) -> Result<Self, LedgerError> {
        let asked = ledger.runs().get(run).await?;
        match (asked.intent.action, asked.intent.options.undoes.clone().map(RunId)) {
            (Action::Replay, None) => Self::of_replay(ledger, &asked).await,
            (Action::Recall, Some(undone)) => {
                // That run may be recorded elsewhere than this one.
                let ledger = ledger.of(&undone).await?;
                Self::of_replay(&ledger, &ledger.runs().get(&undone).await?).await
            }
            _ => Ok(Self::default()),
        }
    }

    async fn of_replay(ledger: &Ledger, run: &Run) -> Result<Self, LedgerError> {
        let mut jobs = HashSet::new();
        let rule = run.intent.options.rollout.filter(|rule| rule.one_attempt);
        for (start, end) in rule.and(run.rollout.as_ref()).map(|state| state.canaries.clone()).unwrap_or_default() {
            let most = usize::try_from(end - start).unwrap_or_default();
            let read = ledger.cohorts().jobs(&run.id, CohortPart::All, start, most).await?;
            jobs.extend(read.into_iter().take_while(|job| job.ord <= end).map(|job| job.id));
        }
        Ok(Self(jobs))
    }

    /// Jobs apart by their attempts, with the options of each part.
    pub(super) fn parts(&self, ids: &[JobId], options: &Options) -> Vec<(Vec<JobId>, Options)> {
        let (single, others): (Vec<JobId>, Vec<JobId>) = ids.iter().cloned().partition(|id| self.0.contains(id));
        let once = Options { attempts: Some(Attempts::Once), ..options.clone() };
        let parts = [(single, once), (others, options.clone())];
        parts.into_iter().filter(|(ids, _)| !ids.is_empty()).collect()
    }
}
