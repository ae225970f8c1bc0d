//! A batch that the database asks to try again: a deadlock, a serialisation failure, a lock that was not had.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::sleep;

use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::{Applied, Batch, Budget, Interrupted, SourceError, Store};

/// How often a batch is tried.
const TRIES: u32 = 6;
/// The wait before the second try; later ones double.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// Applies a batch; the jobs that are not answered for because of a lock are tried again, a few times in a row.
pub(super) async fn apply(store: &dyn Store, mut batch: Batch, budget: &Budget) -> Applied {
    let mut outcomes = Vec::new();
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        let applied = store.apply(batch.clone(), budget).await;
        outcomes.extend(applied.outcomes);
        match applied.broke {
            Some(Interrupted { error: SourceError::Locked(_), unsure: false }) => {}
            broke => return Applied { outcomes, broke },
        }
        let answered: HashSet<&JobId> = outcomes.iter().map(|(id, _)| id).collect();
        let before = batch.ids.len();
        batch.ids.retain(|id| !answered.contains(id));
        // Those that are answered for have the first of the instants at which jobs of the batch may run.
        let gone = i64::try_from(before - batch.ids.len()).unwrap_or(i64::MAX);
        batch.run_after = batch.run_after.map(|at| Timestamp(at.0.saturating_add(gone)));
        // Two that ran into each other must not come back in step.
        let share = uuid::Uuid::new_v4().as_bytes()[0];
        sleep(pause / 2 + pause * u32::from(share) / 256).await;
        pause *= 2;
    }
    let applied = store.apply(batch, budget).await;
    outcomes.extend(applied.outcomes);
    Applied { outcomes, broke: applied.broke }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::{Action, JobResult};
    use crate::triage::memory_store::{InjectedFault, MemoryStore};

    fn replay(n: u64) -> Batch {
        Batch::of(Action::Replay, (0..n).map(|id| JobId::new(id.to_string())).collect(), "run-1")
    }

    fn locked() -> SourceError {
        SourceError::Locked("deadlock".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn the_jobs_that_a_lock_kept_from_an_answer_are_tried_again_and_no_others() {
        let fake = MemoryStore::of(5, |_| {});
        let faults = [InjectedFault::Before(locked()), InjectedFault::Midway(2, locked())];
        fake.with(|data| data.faults = faults.into());
        let applied = apply(&*fake, replay(5), &Budget::new(Duration::from_secs(1))).await;
        assert!(applied.broke.is_none(), "{:?}", applied.broke);
        assert_eq!(applied.outcomes.iter().filter(|(_, result)| *result == JobResult::Done).count(), 5);
        assert_eq!(fake.with(|data| data.batches.clone()), [2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_that_stays_and_any_other_error_are_for_the_caller() {
        let budget = Budget::new(Duration::from_secs(1));
        let fake = MemoryStore::of(5, |_| {});
        fake.with(|data| data.faults = (0..9).map(|_| InjectedFault::Before(locked())).collect());
        let applied = apply(&*fake, replay(5), &budget).await;
        assert!(matches!(applied.broke, Some(Interrupted { error: SourceError::Locked(_), unsure: false })));
        assert_eq!(fake.with(|data| data.faults.len()), 9 - TRIES as usize);
        fake.with(|data| data.faults = [InjectedFault::Before(SourceError::Denied("no".into()))].into());
        let applied = apply(&*fake, replay(5), &budget).await;
        assert!(matches!(applied.broke, Some(Interrupted { error: SourceError::Denied(_), .. })));
        assert_eq!(fake.with(|data| data.live.len()), 0);
    }
}
