//! Jobs by their ids, as much of each as is asked for.

use futures_util::future::BoxFuture;

use super::{Budget, Entry, Result, Store};
use crate::domain::job::{JobDetail, JobId};

/// How much of a job is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    /// The light row.
    Row,
    /// Everything.
    Full,
}

/// A job, as much of it as was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// By [`Projection::Row`].
    Row(Entry),
    /// By [`Projection::Full`].
    Full(JobDetail),
}

/// The answers of [`Store::fetch`] by type.
pub trait StoreExt: Store {
    /// Light rows of these jobs, for those that still exist; in no order.
    fn rows<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Entry>>> {
        let row = |job| match job {
            Job::Row(entry) => Some(entry),
            Job::Full(_) => None,
        };
        Box::pin(
            async move { Ok(self.fetch(ids, Projection::Row, budget).await?.into_iter().filter_map(row).collect()) },
        )
    }

    /// Everything of these jobs, for those that still exist; in no order.
    fn details<'a>(&'a self, ids: &'a [JobId], budget: &'a Budget) -> BoxFuture<'a, Result<Vec<JobDetail>>> {
        let detail = |job| match job {
            Job::Full(detail) => Some(detail),
            Job::Row(_) => None,
        };
        Box::pin(async move {
            Ok(self.fetch(ids, Projection::Full, budget).await?.into_iter().filter_map(detail).collect())
        })
    }

    /// Everything of one job; `None` when it is gone.
    fn detail<'a>(&'a self, id: &'a JobId, budget: &'a Budget) -> BoxFuture<'a, Result<Option<JobDetail>>> {
        Box::pin(async move { Ok(self.details(std::slice::from_ref(id), budget).await?.pop()) })
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
