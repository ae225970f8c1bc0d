//! Asks for the outcomes of replays while somebody looks at them, more rarely where nothing changes and polls are dear.

use std::collections::HashMap;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::domain::action::Action;
use crate::domain::outcome::OutcomeCounts;
use crate::ledger::{Ledger, Run, RunId};
use crate::store::Budget;
use crate::triage::StoreContext;
use crate::triage::outcomes::{OutcomePoll, PollPause};

/// Replays that are asked about, the latest first.
const REPLAYS: usize = 3;

/// What is known of the polls so far, by run.
#[derive(Default)]
pub(super) struct OutcomePolls {
    polls: Mutex<HashMap<RunId, RunPoll>>,
}

struct RunPoll {
    poll: OutcomePoll,
    due: Instant,
    pause: PollPause,
}

impl OutcomePolls {
    /// Asks about the latest replays of an open store whose outcomes can still change, where that is due. What cannot be asked
    /// now stays as it was last seen.
    /// `followed` is asked about in any case.
    pub(super) async fn refresh(
        &self,
        desk: &StoreContext,
        ledger: &Ledger,
        runs: &mut [Run],
        followed: Option<&RunId>,
        budget: &Budget,
    ) {
        let store = desk.store_name();
        let mut polls = self.polls.lock().await;
        let is_replay = |run: &&mut Run| {
            run.intent.action == Action::Replay && run.tally.done > 0 && run.is_of(&desk.source, &store)
        };
        for run in runs.iter_mut().filter(is_replay).take(REPLAYS) {
            if run.outcomes.as_ref().is_some_and(|counts| counts.replayed == run.tally.done && counts.open() == 0) {
                continue;
            }
            let known = polls.entry(run.id.clone()).or_insert_with(|| RunPoll {
                poll: OutcomePoll::new(run.id.clone()),
                due: Instant::now(),
                pause: PollPause::default(),
            });
            if known.due > Instant::now() && followed != Some(&run.id) {
                continue;
            }
            let began = Instant::now();
            let seen: Option<OutcomeCounts> = known.poll.poll(desk, ledger, budget).await.ok();
            let has_changed = seen.is_some() && seen != run.outcomes;
            known.due = Instant::now() + known.pause.after(has_changed, began.elapsed());
            run.outcomes = seen.or_else(|| run.outcomes.take());
        }
    }
}
