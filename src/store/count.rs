//! Counts: a step of a full count, and what changed since.

use std::time::Duration;

use super::Token;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::Histogram;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// A request for counts.
#[derive(Clone, Debug)]
pub struct HistogramQuery {
    /// The dimension.
    pub facet: Facet,
    /// Which jobs; resolved.
    pub filter: Filter,
    /// How exact.
    pub accuracy: Accuracy,
    /// Where an unfinished count goes on; `None` starts it.
    pub resume: Option<Token>,
}

/// How exact a count has to be, and so what it may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// Every job that the filter selects, a step at a time.
    Exact,
    /// One step over all jobs by state, whatever the filter: counted, or guessed where that takes too long. A guess may know of
    /// dead jobs alone, and not of all of them. Other facets are estimated.
    Affordable {
        /// Whether it is counted although that took too long lately.
        retry: bool,
    },
    /// One step over all dead jobs, whatever the filter, from the source's statistics. There are no bars where it keeps none.
    Estimate,
}

impl HistogramQuery {
    /// Counts every job that a filter selects.
    pub fn exact(facet: Facet, filter: Filter, resume: Option<Token>) -> Self {
        Self { facet, filter, accuracy: Accuracy::Exact, resume }
    }

    /// Estimates a whole facet.
    pub fn estimate(facet: Facet) -> Self {
        Self { facet, filter: Filter::all(), accuracy: Accuracy::Estimate, resume: None }
    }

    /// Jobs by state; [`Histogram::by_state`] reads the answer.
    pub fn states(retry: bool) -> Self {
        Self { accuracy: Accuracy::Affordable { retry }, ..Self::estimate(Facet::State) }
    }
}

/// What is counted so far.
#[derive(Clone, Debug)]
pub struct HistogramStep {
    /// The counts; `progress` is `None` once they are complete.
    pub histogram: Histogram,
    /// Pass it back to go on; `None` when the count is complete.
    pub resume: Option<Token>,
    /// Where polls take over; `None` until the count is complete.
    pub token: Option<Token>,
    /// The cells of the recent past that are contained in the counts already: what the first deltas replace. Empty
    /// until the count is complete.
    pub recent: Vec<Cell>,
    /// From this bucket on `recent` holds all there is; `None` where it holds nothing.
    pub recent_from: Option<i64>,
    /// Database time that the step cost.
    pub cost: Duration,
}

impl HistogramStep {
    /// Counts that no look goes on from.
    pub fn of(histogram: Histogram) -> Self {
        let (recent, recent_from) = (Vec::new(), None);
        Self { histogram, resume: None, token: None, recent, recent_from, cost: Duration::ZERO }
    }
}

/// Jobs counted in one cell of the recent past.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The slot of the store's order (time or key) that the cell covers; later is greater.
    pub bucket: i64,
    /// Value of the facet.
    pub value: Option<Untrusted>,
    /// Jobs.
    pub n: u64,
    /// Oldest of them.
    pub first_seen: Option<Timestamp>,
    /// Newest of them.
    pub last_seen: Option<Timestamp>,
    /// As [`crate::domain::histogram::Bar::example`].
    pub example: Option<Untrusted>,
}

/// What is new since the last poll.
#[derive(Clone, Debug)]
pub struct Changes {
    /// To be passed to the next poll.
    pub token: Token,
    /// Whether anything may have changed at all; when not, `cells` is empty and means nothing.
    pub changed: bool,
    /// Whether `cells` say nothing, as what the filter asks for is not counted by polls: only a full count tells what has become
    /// of the numbers, whether or not the source has changed.
    pub uncounted: bool,
    /// Whether the poll before found a change that the source may have told of a moment before it could be seen: what was
    /// counted since then may miss it.
    pub unsettled: bool,
    /// Cells from this bucket on replace all that were known; earlier ones stand.
    pub from_bucket: i64,
    /// The recounted cells.
    pub cells: Vec<Cell>,
    /// The source's clock at the poll.
    pub server_time: Timestamp,
    /// Time of the source that the poll cost.
    pub cost: Duration,
    /// Whether the store has to be opened again to know what can be done there now: the server takes changes and did not, or the
    /// other way round; or the first times came of which the unit was not known.
    pub needs_reopen: bool,
}
