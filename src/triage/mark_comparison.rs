//! Bars compared with a mark: three counts of the store, each of one stretch of time.

use std::time::Duration;

use super::StoreContext;
use super::contrast::count_values;
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::histogram::{Bar, Exactness};
use crate::domain::mark::comparison::{ComparedBar, compare};
use crate::domain::mark::{MarkName, NamedMoment};
use crate::domain::time::Timestamp;
use crate::ledger::find_mark;
use crate::store::{Budget, HistogramQuery, HistogramStep, SourceError};

/// What the bars of a comparison stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparedBy {
    /// The values of a facet.
    Facet(Facet),
    /// The values at a path of the arguments.
    Argument(Vec<String>),
}

/// Bars compared with a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkComparison {
    /// The mark.
    pub mark: NamedMoment,
    /// The source's clock, until which was counted.
    pub as_of: Timestamp,
    /// What was counted: terms for the time of death are left out.
    pub filter: Filter,
    /// What by.
    pub by: ComparedBy,
    /// The values that had deaths in the time before or since.
    pub bars: Vec<ComparedBar>,
}

impl MarkComparison {
    /// How long the time since the mark is, and the one before that it is compared with.
    pub fn span(&self) -> Duration {
        self.mark.at.age(self.as_of)
    }
}

impl StoreContext {
    /// Counts by a facet to the end, and returns the last step: complete, with where polls take over.
    ///
    /// # Errors
    /// As [`StoreContext::count`].
    pub async fn count_to_end(
        &self,
        facet: Facet,
        filter: &Filter,
        budget: &Budget,
    ) -> Result<HistogramStep, SourceError> {
        // Once, and not for each step.
        let filter = self.with_marks(filter.clone()).await?;
        let mut query = HistogramQuery::exact(facet, filter, None);
        loop {
            let step = self.count(query.clone(), budget).await?;
            match step.resume {
                Some(resume) => query.resume = Some(resume),
                None => return Ok(step),
            }
        }
    }

    /// Compares deaths since a mark with those of an equally long time before it, among the jobs of a filter.
    ///
    /// # Errors
    /// When there is no mark of that name, it lies ahead, the layout keeps no times, or the source or the ledger fails.
    pub async fn compare_with_mark(
        &self,
        name: &MarkName,
        by: ComparedBy,
        filter: &Filter,
        budget: &Budget,
    ) -> Result<MarkComparison, SourceError> {
        let input = |sentence: String| SourceError::Input(sentence);
        if !self.store.info().capabilities.facets.contains(&Facet::Hour) {
            return Err(input(format!(
                "{} keeps no time of death: nothing can be compared with a mark",
                self.store_name()
            )));
        }
        if by == ComparedBy::Facet(Facet::Hour) {
            return Err(input("hours are on one side of a mark each: compare by another facet".to_owned()));
        }
        let locator = self.ledger.as_ref().ok_or_else(|| input("no ledger tells of marks here".to_owned()))?;
        let ledger = locator.ledger().await.map_err(|error| input(error.to_string()))?;
        let marks = ledger.marks().list(&self.source).await.map_err(|error| input(error.to_string()))?;
        let mark = NamedMoment::from(find_mark(&marks, name).map_err(|error| input(error.to_string()))?);
        let as_of = self.store.clock();
        if mark.at >= as_of {
            return Err(input(format!("mark {name} lies ahead, at {}: nothing can be compared with it yet", mark.at)));
        }
        let filter = filter.without(&Key::At);
        let before = mark.at.before(mark.at.age(as_of));
        let count = async |from, to| self.bars(&by, &within(&filter, from, to)?, budget).await;
        let since = count(Some(mark.at), Some(as_of)).await?;
        let until = count(Some(before), Some(mark.at)).await?;
        let earlier = count(None, Some(mark.at)).await?;
        let bars = compare(mark.at, &earlier, &until, &since);
        Ok(MarkComparison { mark, as_of, filter, by, bars })
    }

    async fn bars(&self, by: &ComparedBy, filter: &Filter, budget: &Budget) -> Result<Vec<Bar>, SourceError> {
        match by {
            ComparedBy::Facet(facet) => Ok(self.count_to_end(*facet, filter, budget).await?.histogram.bars),
            ComparedBy::Argument(keys) => {
                let counted = count_values(self, filter, keys, budget, &mut |_| ()).await?;
                Ok(counted.counts(Exactness::Exact).0)
            }
        }
    }
}

/// The jobs of a filter without terms for times that died in a stretch of time: `from` included, `to` excluded.
fn within(filter: &Filter, from: Option<Timestamp>, to: Option<Timestamp>) -> Result<Filter, SourceError> {
    let bound =
        |word: &str, at: Option<Timestamp>| at.map(|at| format!(" {word}:{}", at.to_rfc3339())).unwrap_or_default();
    let text = format!("{filter}{}{}", bound("since", from), bound("until", to));
    Filter::parse(text.trim()).map_err(|error| SourceError::Input(error.to_string()))
}
