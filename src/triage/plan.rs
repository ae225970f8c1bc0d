//! The plan of an action: a frozen cohort, and what an operator must know before it is confirmed.

use crate::domain::action::Action;
use crate::domain::filter::Filter;
use crate::domain::histogram::{grouped, jobs};
use crate::domain::job::{JobId, JobRow};
use crate::domain::rollout::canary::CanaryJob;
use crate::domain::run_options::Options;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::ledger::{CohortPart, RunId};
use crate::store::Preparation;
use crate::triage::repair::RepairReport;
use crate::triage::undo::CAN;

/// Which jobs an action is for.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionScope {
    /// The jobs named, one by one: the row under the cursor, or the marked rows.
    Jobs(Vec<JobId>),
    /// All that a filter selects at the moment of freezing.
    Filter(Filter),
    /// A part of an earlier run, such as its remainder.
    Run(RunId, CohortPart),
    /// What an earlier run did, to be undone: all of it, or these jobs.
    Undo(RunId, Vec<JobId>),
}

/// What the confirm dialog shows: exact, because the ids are frozen already.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The run that holds the frozen ids, in state `planned`.
    pub run: RunId,
    /// The verb.
    pub action: Action,
    /// The filter with its times resolved, empty for all dead jobs; `None` when jobs were named one by one.
    pub filter: Option<String>,
    /// How many jobs.
    pub count: u64,
    /// How they divide.
    pub breakdown: CohortBreakdown,
    /// A few of them as an example.
    pub sample: Vec<JobRow>,
    /// What speaks against it, in sentences: replayed before, would not be accepted, near retention.
    pub warnings: Vec<String>,
    /// What the adapter says of this verb, and what remains where when nothing is kept.
    pub notes: Vec<String>,
    /// Of an undo: how many jobs can be undone as the rows stand now, and how many cannot, by reason.
    pub outlook: Vec<(String, u64)>,
    /// What was asked for beside verb and jobs.
    pub options: Options,
    /// What is made in the database before the first job is touched.
    pub creates: Option<Preparation>,
    /// What it takes to confirm.
    pub confirm: Confirm,
}

impl Plan {
    /// How many jobs it changes as the rows stand now: of an undo those that can be undone, else all.
    pub fn acts_on(&self) -> u64 {
        if self.outlook.is_empty() {
            return self.count;
        }
        self.outlook.iter().filter(|(what, _)| what == CAN).map(|(_, n)| n).sum()
    }

    /// What is said of an undo that would change nothing; `None` where it would.
    pub fn cannot_undo(&self) -> Option<String> {
        if self.acts_on() > 0 || self.count == 0 {
            return None;
        }
        let whose = if self.count == 1 { "the job".to_owned() } else { format!("none of {}", jobs(self.count)) };
        let cannot = if self.count == 1 { "cannot" } else { "can" };
        let because = self.outlook.iter().map(|(what, n)| match self.count {
            1 => what.clone(),
            _ => format!("{} {what}", grouped(*n)),
        });
        let because = because.collect::<Vec<_>>().join(", ");
        Some(format!("nothing was touched: {whose} {cannot} be undone ({})", Clean::line(&because)))
    }

    /// The jobs in words: `7 of 10 jobs`, where an undo cannot have them all.
    pub fn jobs(&self) -> String {
        match self.acts_on() {
            n if n == self.count => jobs(n),
            n => format!("{} of {}", grouped(n), jobs(self.count)),
        }
    }
}

/// How a cohort divides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CohortBreakdown {
    /// By error class, the largest first; the rest summed up under `None` when there are many.
    pub by_error: Vec<CohortShare>,
    /// By job class, the largest first.
    pub by_class: Vec<CohortShare>,
    /// Oldest and newest death among them.
    pub span: Option<(Timestamp, Timestamp)>,
    /// The jobs that are replayed first, where that was asked for.
    pub canary: Vec<CanaryJob>,
    /// By what becomes of their arguments, where some change; with the jobs that are left out as theirs do not.
    pub by_change: Option<RepairReport>,
}

/// A part of a cohort.
#[derive(Clone, Debug, PartialEq)]
pub struct CohortShare {
    /// The value, `None` for jobs without one.
    pub value: Option<Untrusted>,
    /// Jobs.
    pub n: u64,
    /// Whether this is the sum of all values that are not listed.
    pub rest: bool,
}

/// What it takes to confirm, in proportion to the reach of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// One job whose action can be undone: the key was enough.
    Key,
    /// `y`; the focus is on No and Enter alone never confirms.
    Yes,
    /// The number of jobs must be typed.
    TypeCount,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo_of(count: u64, outlook: &[(&str, u64)]) -> Plan {
        Plan {
            run: RunId("r-2".into()),
            action: Action::Recall,
            filter: None,
            count,
            breakdown: CohortBreakdown::default(),
            sample: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            outlook: outlook.iter().map(|(what, n)| ((*what).to_owned(), *n)).collect(),
            options: Options::default(),
            creates: None,
            confirm: Confirm::Yes,
        }
    }

    #[test]
    fn an_undo_counts_the_jobs_that_can_be_undone() {
        let some = undo_of(10, &[(CAN, 7), ("changed", 3)]);
        assert_eq!((some.acts_on(), some.jobs(), some.cannot_undo()), (7, "7 of 10 jobs".to_owned(), None));
        let all = undo_of(10, &[(CAN, 10)]);
        assert_eq!((all.acts_on(), all.jobs()), (10, "10 jobs".to_owned()));
        let none = undo_of(10, &[("changed", 8), ("running", 2)]);
        let told = "nothing was touched: none of 10 jobs can be undone (8 changed, 2 running)";
        assert_eq!(none.cannot_undo().as_deref(), Some(told));
        let one = undo_of(1, &[("changed", 1)]).cannot_undo();
        assert_eq!(one.as_deref(), Some("nothing was touched: the job cannot be undone (changed)"));
        assert_eq!((undo_of(4, &[]).acts_on(), undo_of(4, &[]).cannot_undo()), (4, None), "another plan");
    }
}
