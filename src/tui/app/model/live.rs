//! The link to the source and the watch over it.

use std::time::Duration;

use crate::domain::histogram::Count;
use crate::domain::job::State;
use crate::domain::time::Timestamp;

/// How we stand with the source.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Link {
    /// Connecting for the first time.
    #[default]
    Connecting,
    /// Answers.
    Up,
    /// Lost: what is shown is as old as it says.
    Down {
        /// What went wrong, a sentence.
        reason: String,
        /// When it is tried again.
        retry_at: Timestamp,
        /// Attempts so far.
        attempts: u32,
    },
}

/// The live watch.
#[derive(Debug, Default)]
pub struct Live {
    /// How we stand with the source.
    pub link: Link,
    /// Whether the operator paused the watch.
    pub paused: bool,
    /// When the source was last heard.
    pub heard_at: Option<Timestamp>,
    /// Jobs by state, with when they were counted.
    pub totals: Option<(Timestamp, Vec<(State, Count)>)>,
    /// Database time that the last look cost.
    pub cost: Duration,
    /// When the next look is due.
    pub next_look: Option<Timestamp>,
    /// When the totals are due.
    pub next_totals: Option<Timestamp>,
    /// When an exact recount is due.
    pub next_count: Option<Timestamp>,
    /// The database's clock less ours, in microseconds, at the last look.
    pub skew: i64,
}

impl Live {
    /// Whether what is shown may be out of date: the link is down, or nothing was heard for a while.
    pub fn is_stale(&self) -> bool {
        matches!(self.link, Link::Down { .. })
    }

    /// The database's clock at our `now`.
    pub fn server_now(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_add(self.skew))
    }
}
