//! One run of the bench: what it measures on, and how thoroughly.

use dlq_tui::store::Budget;

use crate::baseline::Baseline;
use crate::books::Meter;
use crate::client::Client;
use crate::cohort::Slice;
use crate::ground::Ground;
use crate::harness::Engine;

/// From here on a look at the whole table is a matter of seconds, and taken less often.
const LARGE: u32 = 2_000_000;

/// What every part of the bench is given.
pub struct Bench<'a> {
    pub ground: &'a Ground,
    /// The database with ten thousand rows.
    pub few: &'a str,
    /// The database with as many rows as were asked for. Nobody writes to it where it can be copied.
    pub many: &'a str,
    pub rows: u32,
    /// Whether only the bench itself is tried.
    pub small: bool,
    pub tells_statements: bool,
    pub budget: Budget,
}

impl Bench<'_> {
    /// How often something is measured that takes the time of a look at the whole table.
    pub fn runs(&self, usual: usize) -> usize {
        match (self.small, self.rows) {
            (true, _) => 1,
            (_, LARGE..) => usual.min(3),
            _ => usual,
        }
    }

    pub fn is_large(&self) -> bool {
        self.rows >= LARGE
    }

    pub fn baseline(&self) -> Baseline {
        Baseline { layout: self.ground.layout, engine: self.ground.engine }
    }

    pub fn client(&self) -> Client {
        Client::new(self.many)
    }

    pub fn meter(&self, url: &str) -> Meter {
        Meter::new(url, self.tells_statements)
    }

    /// Jobs of a slice.
    pub fn jobs_of(&self, url: &str, slice: &Slice) -> u64 {
        Client::new(url).print(&[&self.baseline().cohort_size(slice)]).parse().expect("a number")
    }

    /// Has what was written so far brought home: what one side leaves to be written is not to be the other's.
    pub fn settle(&self, url: &str) {
        if self.is_postgres() {
            Client::new(url).once(&["checkpoint".to_owned()]);
        }
    }

    pub fn is_postgres(&self) -> bool {
        self.ground.engine == Engine::Postgres
    }

    /// Whether the database may be far away.
    pub fn has_server(&self) -> bool {
        self.ground.engine != Engine::Sqlite
    }
}
