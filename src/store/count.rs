//! Counts: a step of a full count, and what changed since.

use std::sync::Arc;
use std::time::Duration;

use super::{Listed, sql};
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
    /// Where an unfinished count goes on; `None` starts it.
    pub resume: Option<Resume>,
}

/// Where an unfinished count goes on; the store's own business.
#[derive(Clone, Debug)]
pub struct Resume(Arc<Unfinished>);

#[derive(Debug)]
enum Unfinished {
    Counted(sql::CountState),
    Listed(Listed),
}

impl Resume {
    pub(crate) fn from_counted(state: sql::CountState) -> Self {
        Self(Arc::new(Unfinished::Counted(state)))
    }

    pub(crate) fn counted(&self) -> Option<&sql::CountState> {
        match &*self.0 {
            Unfinished::Counted(state) => Some(state),
            Unfinished::Listed(_) => None,
        }
    }

    /// A count by listing goes on here.
    pub fn from_listed(state: Listed) -> Self {
        Self(Arc::new(Unfinished::Listed(state)))
    }

    /// The state of a count by listing, where it is one.
    pub fn listed(&self) -> Option<&Listed> {
        match &*self.0 {
            Unfinished::Listed(state) => Some(state),
            Unfinished::Counted(_) => None,
        }
    }
}

/// What is counted so far.
#[derive(Clone, Debug)]
pub struct HistogramStep {
    /// The counts; `progress` is `None` once they are complete.
    pub histogram: Histogram,
    /// Pass it back to go on; `None` when the count is complete.
    pub resume: Option<Resume>,
    /// Where deltas of [`super::Store::changes`] take over; `None` until the count is complete.
    pub watermark: Option<Watermark>,
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
        Self { histogram, resume: None, watermark: None, recent, recent_from, cost: Duration::ZERO }
    }
}

/// What a store remembers from one look to the next; the store's own business.
#[derive(Clone, Debug)]
pub struct Watermark(pub(crate) Arc<sql::Mark>);

impl Watermark {
    /// Where looks go on once a full count has come: from where they had got to themselves where what they told stays
    /// (`keeps_looks`), otherwise from the count.
    pub fn after_count(looked: Option<&Watermark>, counted: Option<Watermark>, keeps_looks: bool) -> Option<Watermark> {
        match (keeps_looks, looked, counted) {
            (true, Some(looked), Some(counted)) => Some(Watermark(Arc::new(looked.0.after_count(&counted.0)))),
            (false, Some(looked), Some(counted)) => Some(Watermark(Arc::new(counted.0.settled_by(&looked.0)))),
            (_, _, counted) => counted,
        }
    }

    /// Whether the database tells that nothing has changed between the two.
    pub fn is_same_moment(&self, other: &Watermark) -> bool {
        self.0.is_same_moment(&other.0)
    }
}

/// What is known of the rows that are older than what looks read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// No row of the table was changed or removed since the full count: whatever was written was added.
    Untouched,
    /// Some row was, perhaps an older one.
    Rewritten,
    /// The database does not say.
    Unknown,
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

/// What is new since the last look.
#[derive(Clone, Debug)]
pub struct Changes {
    /// To be passed to the next look.
    pub watermark: Watermark,
    /// Whether anything may have changed at all; when not, `cells` is empty and means nothing.
    pub changed: bool,
    /// Whether `cells` say nothing, as what the filter asks for is not counted by looks: only a full count tells what has become
    /// of the numbers, whether or not the source has changed.
    pub uncounted: bool,
    /// Whether the look before found a change that the database may have told of a moment before it could be seen: what was
    /// counted since then may miss it.
    pub unsettled: bool,
    /// What is known of the rows before them, since the full count that the watermark goes on from.
    pub older: Older,
    /// Rows of any age and state that were added to the table since that count, where the database tells; those that it was
    /// told of last may be some seconds short.
    pub added: Option<u64>,
    /// Whether the database says that rows were changed or removed since the look before. PostgreSQL does; where none does, or
    /// the look is the first, this is `false` and means nothing.
    pub rewriting: bool,
    /// Cells from this bucket on replace all that were known; earlier ones stand.
    pub from_bucket: i64,
    /// The recounted cells.
    pub cells: Vec<Cell>,
    /// The database's clock at the look.
    pub server_time: Timestamp,
    /// Database time that the look cost.
    pub cost: Duration,
    /// Whether the server takes changes now and did not when the store was opened, or the other way round: a replica that
    /// was promoted, a server that somebody has closed; or the first times came of which the unit was not known. Opening the store anew tells what can be done there now.
    pub turned: bool,
}
