//! The replay of this console whose jobs are followed: what became of them stays on the screen until it was seen.

use crate::domain::outcome::OutcomeCounts;
use crate::domain::time::Timestamp;
use crate::ledger::{Run, RunId};
use crate::triage::outcomes::PollPause;

/// A replay that has put jobs back.
#[derive(Clone, Debug)]
pub struct FollowedReplay {
    /// The run.
    pub run: RunId,
    /// Jobs that it has put back.
    pub replayed: u64,
    /// Where they have got to, once that was asked.
    pub outcomes: Option<OutcomeCounts>,
    /// When that is asked again; `None` once all have settled.
    pub due: Option<Timestamp>,
    pause: PollPause,
    asked: Option<Timestamp>,
}

impl FollowedReplay {
    /// Begins to follow the jobs of a run.
    pub fn new(run: &Run, now: Timestamp) -> Self {
        let (run, replayed) = (run.id.clone(), run.tally.done);
        Self { run, replayed, outcomes: None, due: Some(now), pause: PollPause::default(), asked: None }
    }

    /// Whether more will be known.
    pub fn is_final(&self) -> bool {
        self.outcomes.as_ref().is_some_and(|counts| counts.replayed >= self.replayed && counts.open() == 0)
    }

    /// Notes what is known now.
    pub fn take(&mut self, outcomes: Option<OutcomeCounts>, now: Timestamp) {
        let has_changed = outcomes.is_some() && outcomes != self.outcomes;
        let pause = self.pause.after(has_changed);
        self.outcomes = outcomes.or_else(|| self.outcomes.take());
        self.asked = Some(now);
        self.due = (!self.is_final()).then(|| now.after(pause));
    }

    /// The table has changed: a job of the replay may have died again.
    pub fn hurry(&mut self, now: Timestamp) {
        let soon = self.asked.map_or(now, |asked| asked.after(PollPause::SHORTEST).max(now));
        self.due = self.due.map(|due| due.min(soon));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn counts(waiting: u64, succeeded: u64) -> Option<OutcomeCounts> {
        Some(OutcomeCounts { replayed: waiting + succeeded, waiting, succeeded, ..OutcomeCounts::default() })
    }

    #[test]
    fn it_is_asked_more_rarely_while_nothing_changes_at_once_after_a_change_and_never_once_all_have_settled() {
        let now = Timestamp(0);
        let run = RunId("r-1".into());
        let pause = PollPause::default();
        let mut followed = FollowedReplay { run, replayed: 5, outcomes: None, due: Some(now), pause, asked: None };
        let mut waits = Vec::new();
        for _ in 0..7 {
            followed.take(counts(5, 0), now);
            waits.push(followed.due.map_or(0, |due| due.0 / 1_000_000));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        followed.hurry(now.after(Duration::from_secs(9)));
        assert_eq!(followed.due, Some(now.after(Duration::from_secs(9))));
        followed.hurry(now);
        assert_eq!(followed.due, Some(now.after(PollPause::SHORTEST)), "not more often than that");
        followed.take(counts(1, 4), now);
        assert_eq!(followed.due, Some(now.after(PollPause::SHORTEST)));
        followed.take(counts(0, 5), now);
        assert_eq!((followed.due, followed.is_final()), (None, true));
        followed.hurry(now);
        assert_eq!(followed.due, None);
    }
}
