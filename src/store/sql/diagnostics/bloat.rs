//! Room that a table takes and does not use, and who keeps it from being used again.

use std::time::Duration;

use crate::db::Statement;
use crate::db::cells::Cells;
use crate::store::sql::diagnostics::Diagnostics;
use crate::store::sql::dialect::Place;
use crate::store::sql::dialect::catalogue::bloat::bloat;
use crate::store::{Bloat, Budget, Oldest, Result, SourceError};

impl<'s> Diagnostics<'s> {
    pub(crate) async fn bloat(self, budget: &Budget) -> Result<Bloat> {
        let place = Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table };
        let says = bloat(self.context.engine.kind());
        let mut found = Bloat { vacuum: says.vacuum(place), autovacuum: says.autovacuum(place), ..Bloat::default() };
        let rows = self.context.engine.read(&[says.unused(place)], budget).await?.pop();
        if let Some(row) = rows.unwrap_or_default().pop() {
            let mut cells = Cells::new(row);
            let mut count = || Ok::<_, SourceError>(cells.int()?.and_then(|n| u64::try_from(n).ok()));
            found.live = count()?;
            found.dead = count()?;
            found.vacuumed = count()?.map(Duration::from_secs);
            found.automatic = count()?.map(|on| on == 1);
            found.bytes = count()?.unwrap_or(0);
            found.free = count()?;
        }
        found.oldest = self.oldest(budget).await?;
        Ok(found)
    }

    async fn oldest(self, budget: &Budget) -> Result<Oldest> {
        let says = bloat(self.context.engine.kind());
        let Some(sql) = says.oldest() else { return Ok(Oldest::None) };
        let statement = Statement { sql: sql.to_owned(), binds: Vec::new() };
        let rows = match self.context.engine.read(&[statement], budget).await {
            Ok(mut results) => results.pop().unwrap_or_default(),
            // Not every role may ask for it.
            Err(SourceError::Denied(_) | SourceError::Refused { .. } | SourceError::Unfit { .. }) => {
                return Ok(Oldest::Hidden);
            }
            Err(error) => return Err(error),
        };
        let Some(row) = rows.into_iter().next() else { return Ok(Oldest::None) };
        let mut cells = Cells::new(row);
        let (kind, known_as, age, hidden) = (cells.text()?, cells.text()?, cells.int()?, cells.int()?);
        Ok(match (kind, known_as) {
            (Some(kind), Some(known_as)) => {
                let age = Duration::from_secs(age.and_then(|n| u64::try_from(n).ok()).unwrap_or(0));
                Oldest::Transaction { prepared: kind == "prepared", show: says.show(&known_as), known_as, age }
            }
            _ if hidden.unwrap_or(0) > 0 => Oldest::Hidden,
            _ => Oldest::None,
        })
    }
}
