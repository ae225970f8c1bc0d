//! What the first screen shows, in one exchange where it takes one statement each.

use crate::store::sql::context::Context;
use crate::store::sql::count::histogram::Counter;
use crate::store::sql::query::where_clause::Judge;
use crate::store::sql::read::chunks::read_number;
use crate::store::sql::read::detail::Details;
use crate::store::sql::read::page::Reader;
use crate::store::sql::read::scan::{Scan, Segment};
use crate::store::{Budget, Glance, GlanceQuery, Result, SourceError};

/// Reads what the first screen shows.
#[derive(Clone, Copy)]
pub(crate) struct FirstScreenReader<'s> {
    pub(crate) context: &'s Context,
    pub(crate) reader: Reader<'s>,
    pub(crate) counter: Counter<'s>,
}

impl<'s> FirstScreenReader<'s> {
    /// All in one exchange where the page takes one statement, one after the other elsewhere.
    pub(crate) async fn read_glance(self, query: GlanceQuery, budget: &Budget) -> Result<Glance> {
        let judge = Judge::new(&self.context.layout, &query.page.filter, self.context.server_now());
        let mut scan = self.reader.scan(&judge, query.page.sort, budget);
        if let Some(only) = scan.only_segment(&query.page)? {
            match self.glance_at_once(&query, &scan, &only).await {
                // Each by itself has its own ways out.
                Err(error) if !matches!(error, SourceError::Cancelled | SourceError::Unreachable(_)) => {
                    scan.tried = error.took_too_long();
                }
                other => return other,
            }
        }
        let GlanceQuery { facet, page, .. } = query;
        let estimate = self.counter.statistics().read_statistics(facet, budget).await.unwrap_or_default();
        Ok(Glance { estimate, page: self.reader.page_by(&scan, &page).await?, job: None })
    }

    /// The same where the page is `only` one segment. Where no statistics tell the counts, how many rows there are is asked in
    /// their place, which is what comes next, and the rows of the page are counted.
    async fn glance_at_once(self, query: &GlanceQuery, scan: &Scan<'_>, only: &Segment) -> Result<Glance> {
        let GlanceQuery { facet, page, opens } = query;
        let mut statements = vec![scan.only_statement(only, page)?];
        // A key that is not unique by itself is asked for by name, and so is one where that costs nothing.
        let with_job = *opens && self.context.layout.scope.is_none() && self.context.layout.dialect.is_far();
        if with_job {
            let first = scan.first_key(only)?;
            statements.push(Details::new(self.context).detail_statement(|sql| first(sql)));
        }
        let statistics = self.counter.statistics().statistics_statement(*facet);
        let with_statistics = statistics.is_some();
        statements.extend(statistics.or_else(|| self.reader.rows_statement()));
        let mut results = self.context.engine.read(&statements, &scan.direct_budget()).await?.into_iter();
        let mut next = || results.next().unwrap_or_default();
        let step = scan.only_step(next(), page)?;
        let job = if with_job { Details::new(self.context).details_of(next()).next().transpose()? } else { None };
        let estimate = match with_statistics {
            true => self.counter.statistics().estimate_of(*facet, next(), scan.budget).await?,
            false => {
                self.counter.foretell(read_number(next())?);
                None
            }
        };
        let estimate = estimate.or_else(|| self.counter.glimpsed(*facet, page.sort, &step.rows));
        let page = self.reader.page_of(scan, step, true).await?;
        Ok(Glance { estimate, page, job })
    }
}
