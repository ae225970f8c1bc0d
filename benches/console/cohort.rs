//! Slices of the table: each replay takes jobs of its own, so that one copy of the database serves all of them.

use chrono::DateTime;

use crate::fixtures::seed::{START, rows_a_second};

/// The error class whose jobs are replayed.
pub const COHORT_CLASS: &str = "Net::ReadTimeout";
/// Parts of a thousand that are dead, and that are dead and of the cohort's class.
const DEAD: u64 = 970;
const OF_CLASS: u64 = 284;

/// Jobs that died within a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    from: i64,
    until: i64,
    /// Whether only those of the cohort's class are meant.
    pub one_class: bool,
}

impl Slice {
    /// Its ends in the database's own words.
    pub fn sql(&self) -> (String, String) {
        (instant(self.from, "%Y-%m-%d %H:%M:%S"), instant(self.until, "%Y-%m-%d %H:%M:%S"))
    }

    /// The filter that selects it.
    pub fn filter(&self) -> String {
        let form = "%Y-%m-%dT%H:%M:%SZ";
        let ends = format!("since:{} until:{}", instant(self.from, form), instant(self.until, form));
        if self.one_class { format!("error:{COHORT_CLASS} {ends}") } else { ends }
    }
}

fn instant(seconds: i64, form: &str) -> String {
    DateTime::from_timestamp(seconds, 0).unwrap_or_default().format(form).to_string()
}

/// The instant at which about `share` of `rows` rows had died, in the database's own words.
pub fn instant_at(rows: u32, share: f64) -> String {
    let seconds = f64::from(rows) * share / f64::from(rows_a_second(rows));
    instant(START + seconds as i64, "%Y-%m-%d %H:%M:%S")
}

/// What is left of a table, the oldest first.
#[derive(Debug)]
pub struct Slices {
    next: i64,
    end: i64,
    rate: u64,
}

impl Slices {
    /// All of a table of `rows` rows.
    pub fn of(rows: u32) -> Self {
        let rate = rows_a_second(rows);
        Self { next: START, end: START + i64::from(rows / rate), rate: u64::from(rate) }
    }

    /// The next slice with about `jobs` dead jobs, of the cohort's class or of all; a sentence where the table has no more.
    pub fn take(&mut self, jobs: u64, one_class: bool) -> Result<Slice, String> {
        let rows = jobs * 1_000 / if one_class { OF_CLASS } else { DEAD };
        let seconds = i64::try_from(rows.div_ceil(self.rate)).unwrap_or(i64::MAX);
        let until = self.next.saturating_add(seconds.max(1));
        if until > self.end {
            return Err(format!("left out: it replays {jobs} jobs, and the table has no more; use more --rows"));
        }
        let slice = Slice { from: self.next, until, one_class };
        self.next = until;
        Ok(slice)
    }
}
