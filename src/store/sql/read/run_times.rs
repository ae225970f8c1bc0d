//! How long jobs ran that succeeded, where the layout keeps them.

use std::time::Duration;

use super::page::Reader;
use crate::db::cells::Cells;
use crate::store::sql::query::template::{Fill, expand};
use crate::store::{Budget, Result, RunTime};

impl Reader<'_> {
    pub(crate) async fn read_run_times(self, budget: &Budget) -> Result<Vec<RunTime>> {
        let Some(statement) = &self.context.layout.spec.replayed.run_times else { return Ok(Vec::new()) };
        let fill = Fill::names_only(&self.context.layout, self.context.destination.table());
        let statement = expand(statement.get_ref(), &fill);
        let rows = self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default();
        let run_time = |row| {
            let mut cells = Cells::new(row);
            let job_class = cells.untrusted()?;
            let took = cells.int()?.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
            Ok(took.map(|took| RunTime { job_class, took }))
        };
        rows.into_iter().filter_map(|row| run_time(row).transpose()).collect()
    }
}
