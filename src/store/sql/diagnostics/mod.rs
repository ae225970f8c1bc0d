//! What `doctor` asks: indexes, bloat and the health of a connection and a table.

pub(super) mod bloat;
pub(super) mod health;
pub(super) mod index_advice;

use futures_util::future::BoxFuture;

use crate::adapter::{Retention, Table};
use crate::domain::action::Action;
use crate::store::sql::SqlStore;
use crate::store::sql::context::Context;
use crate::store::sql::count::statistics::Statistics;
use crate::store::sql::write::foreign_keys::ForeignKeys;
use crate::store::{Bloat, Budget, Diagnose, Extent, Following, Grant, Housekeeping, Result, Served};

/// Answers what `doctor` asks.
#[derive(Clone, Copy)]
pub(crate) struct Diagnostics<'s> {
    pub(crate) context: &'s Context,
    /// The table as it was seen when the store was opened.
    pub(crate) table: &'s Table,
    pub(crate) statistics: Statistics<'s>,
}

impl Diagnose for SqlStore {
    fn lacks(&self) -> &[(Option<Action>, Vec<Grant>)] {
        &self.lacks
    }

    fn retention(&self) -> Option<&Retention> {
        self.context.layout.spec.retention.as_ref()
    }

    fn extent<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Extent>> {
        Box::pin(self.diagnostics().extent(budget))
    }

    fn served<'a>(&'a self, extent: Extent, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Served>>> {
        Box::pin(self.diagnostics().served(extent, budget))
    }

    fn housekeeping<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Housekeeping>> {
        Box::pin(self.diagnostics().housekeeping(budget))
    }

    fn bloat<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Bloat>> {
        Box::pin(self.diagnostics().bloat(budget))
    }

    fn followers<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Following>> {
        Box::pin(ForeignKeys::new(&self.context).followers(budget))
    }
}
