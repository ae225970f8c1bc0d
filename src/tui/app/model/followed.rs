//! The replay of this console whose jobs are followed: what became of them stays on the screen until it was seen.

use std::time::Duration;

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
    /// When the question was asked that has no answer yet.
    asked: Option<Timestamp>,
    answered: Option<Timestamp>,
}

impl FollowedReplay {
    /// Begins to follow the jobs of a run.
    pub fn new(run: &Run, now: Timestamp) -> Self {
        let (run, replayed) = (run.id.clone(), run.tally.done);
        Self { run, replayed, outcomes: None, due: Some(now), pause: PollPause::default(), asked: None, answered: None }
    }

    /// Notes that it is asked now.
    pub fn ask(&mut self, now: Timestamp) {
        self.asked = Some(now);
    }

    /// Whether more will be known.
    pub fn is_final(&self) -> bool {
        self.outcomes.as_ref().is_some_and(|counts| counts.replayed >= self.replayed && counts.open() == 0)
    }

    /// Notes what is known now.
    pub fn take(&mut self, outcomes: Option<OutcomeCounts>, now: Timestamp) {
        let has_changed = outcomes.is_some() && outcomes != self.outcomes;
        let took = self.asked.take().map_or(0, |asked| now.0.saturating_sub(asked.0).max(0).unsigned_abs());
        let pause = self.pause.after(has_changed, Duration::from_micros(took));
        self.outcomes = outcomes.or_else(|| self.outcomes.take());
        self.answered = Some(now);
        self.due = (!self.is_final()).then(|| now.after(pause));
    }

    /// The table has changed: a job of the replay may have died again.
    pub fn hurry(&mut self, now: Timestamp) {
        let soon = self.answered.map_or(now, |answered| answered.after(PollPause::SHORTEST).max(now));
        self.due = self.due.map(|due| due.min(soon));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(waiting: u64, succeeded: u64) -> Option<OutcomeCounts> {
        Some(OutcomeCounts { replayed: waiting + succeeded, waiting, succeeded, ..OutcomeCounts::default() })
    }

    #[test]
    fn it_is_asked_more_rarely_while_nothing_changes_and_asking_is_dear_and_never_once_all_have_settled() {
        let now = Timestamp(0);
        let run = RunId("r-1".into());
        let pause = PollPause::default();
        let due = Some(now);
        let mut followed = FollowedReplay { run, replayed: 5, outcomes: None, due, pause, asked: None, answered: None };
        for (ms, wanted) in [(90, [1; 7]), (300, [2, 3, 3, 3, 3, 3, 3]), (5_000, [6, 12, 24, 30, 30, 30, 30])] {
            let waits = wanted.map(|_| {
                followed.ask(Timestamp(-ms * 1_000));
                followed.take(counts(5, 0), now);
                followed.due.map_or(0, |due| due.0 / 1_000_000)
            });
            assert_eq!(waits, wanted, "{ms} ms");
        }
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
