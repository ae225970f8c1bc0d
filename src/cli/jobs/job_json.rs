//! What commands print of jobs as JSON: field for field, exact.

use serde::Serialize;

use crate::domain::histogram::{Bar, Count, Exactness};
pub use crate::domain::job::job_record::{DetailRecord, RowRecord};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// A job, with what the ledger knows of it.
#[derive(Serialize)]
pub struct JobWithHistory<J: Serialize> {
    /// As the store has it.
    #[serde(flatten)]
    pub job: J,
    /// How often it was replayed before, along its lineage; left out where the ledger cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<u64>,
}

/// A number of jobs.
#[derive(Serialize)]
pub struct CountRecord {
    /// How many.
    pub n: u64,
    /// `exact`, `at_least` or `estimate`.
    pub exactness: &'static str,
}

impl From<Count> for CountRecord {
    fn from(count: Count) -> Self {
        let exactness = match count.exactness {
            Exactness::Exact => "exact",
            Exactness::AtLeast => "at_least",
            Exactness::Estimate => "estimate",
        };
        Self { n: count.n, exactness }
    }
}

/// A bar of a histogram.
#[derive(Serialize)]
pub struct BarRecord<'a> {
    /// The value; `null` for jobs without one.
    pub value: Option<&'a str>,
    /// Jobs.
    #[serde(flatten)]
    pub count: CountRecord,
    /// Oldest of them.
    pub first_seen: Option<String>,
    /// Newest of them.
    pub last_seen: Option<String>,
    /// The message of one of them; left out where the value speaks for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<&'a str>,
}

impl<'a> From<&'a Bar> for BarRecord<'a> {
    fn from(bar: &'a Bar) -> Self {
        Self {
            value: bar.value.as_ref().map(Untrusted::exact),
            count: bar.count.into(),
            first_seen: bar.first_seen.map(Timestamp::to_rfc3339),
            last_seen: bar.last_seen.map(Timestamp::to_rfc3339),
            example: bar.example.as_ref().map(Untrusted::exact),
        }
    }
}
