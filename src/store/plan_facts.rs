//! What a store can say of an action before it is done.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Budget, Ineligible, Preparation, Result};
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::text::Untrusted;

/// What a plan says of an action. A store says nothing of what it leaves out.
pub trait PlanFacts: Send + Sync {
    /// Those of these jobs for which the layout does not allow an action, each with the reason. With `by_state` also those that
    /// the action does not take as they stand: whole cohorts in the state that it is for are not looked at for that.
    fn unfit<'a>(
        &'a self,
        _action: Action,
        _ids: &'a [JobId],
        _by_state: bool,
        _budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(JobId, Ineligible)>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What a plan says of some of these jobs, each sentence with the number of jobs.
    fn cautions<'a>(
        &'a self,
        _action: Action,
        _ids: &'a [JobId],
        _budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<(String, u64)>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What an action would make in the database before its first use there; `None` when nothing is missing.
    ///
    /// # Errors
    /// Also [`super::SourceError::Input`] when what is there cannot be used; the sentence says what to do.
    fn preparation<'a>(&'a self, _action: Action, _budget: &'a Budget) -> BoxFuture<'a, Result<Option<Preparation>>> {
        Box::pin(async { Ok(None) })
    }

    /// Makes what [`PlanFacts::preparation`] says, where it is missing.
    ///
    /// # Errors
    /// As there; also when the role may not.
    fn prepare<'a>(&'a self, _action: Action, _budget: &'a Budget) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// What the database does by itself as an action takes its rows, in sentences: rows of other tables that go along.
    ///
    /// # Errors
    /// Also [`super::SourceError::Outdated`] where rows are to be kept, as `keeps` says, and their table is no longer what it was when
    /// the store was opened.
    fn consequences<'a>(
        &'a self,
        _action: Action,
        _keeps: bool,
        _budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// How long some jobs ran that succeeded; nothing where the layout does not show that.
    fn run_times<'a>(&'a self, _budget: &'a Budget) -> BoxFuture<'a, Result<Vec<RunTime>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// How long a job ran that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTime {
    /// What was run.
    pub job_class: Option<Untrusted>,
    /// From its start to its end, in whole milliseconds.
    pub took: Duration,
}

/// A store that says nothing.
pub(super) struct NoPlanFacts;

impl PlanFacts for NoPlanFacts {}
