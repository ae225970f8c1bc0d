//! What `doctor` asks of a store beside its jobs: privileges, indexes, unused room, retention.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Budget, Result};
use crate::adapter::Retention;
use crate::domain::action::Action;

/// How a store is doing where it is kept.
///
/// # Errors
/// Every call fails when the source cannot be read.
pub trait Diagnose: Send + Sync {
    /// What the role is known to lack: to see everything (`None`), and for each verb.
    fn lacks(&self) -> &[(Option<Action>, Vec<Grant>)];

    /// What becomes of its dead jobs by themselves as they grow old, as far as the adapter knows.
    fn retention(&self) -> Option<&Retention>;

    /// What the table holds, as far as is known without counting.
    fn extent<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Extent>>;

    /// What an index serves of the layout's order, facets and filters, and what it would take where none does.
    fn served<'a>(&'a self, extent: Extent, budget: &'a Budget) -> BoxFuture<'a, Result<Vec<Served>>>;

    /// The housekeeping of the table.
    fn housekeeping<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Housekeeping>>;

    /// The bloat of the table.
    fn bloat<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Bloat>>;

    /// What becomes of rows of other tables that refer to jobs, as these are deleted by any verb.
    fn followers<'a>(&'a self, budget: &'a Budget) -> BoxFuture<'a, Result<Following>>;
}

/// Rights on one thing, and what gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What the role may not do without it, as it follows on `may not`: `UPDATE, DELETE public.jobs`.
    pub act: String,
    /// The statement, without a semicolon.
    pub sql: String,
}

/// What a table holds, as far as is known without counting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    /// Rows; `None` where nobody knows.
    pub rows: Option<u64>,
    /// Bytes, indexes aside; on SQLite those of the whole file.
    pub bytes: u64,
}

/// Something that lists and counts go by.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// What: `facet error`, `order by time`.
    pub what: String,
    /// How an index stands to it.
    pub by: Service,
}

/// How an index serves something.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// An index has it in order: the columns that it is known by.
    Index(String),
    /// It is made of other columns, row by row: no index of this table can serve it.
    Computed,
    /// There is none.
    Missing(Option<MissingIndex>),
}

/// An index that is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingIndex {
    /// What it is for.
    pub purpose: String,
    /// The statement that makes it.
    pub ddl: String,
    /// How big it will be, about; `None` where the table's extent is not known.
    pub bytes: Option<u64>,
    /// How long it takes to make on a machine with nothing else to do, about.
    pub build: Option<Duration>,
}

/// What a table's housekeeping has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Housekeeping {
    /// The share of the table's pages that an index alone can count, from 0 to 1; `None` where there is no such thing.
    pub visible: Option<f64>,
    /// New rows after which the database tidies up by itself; `None` where it does not go by that.
    pub tidies_after: Option<u64>,
    /// Whether its planner has statistics.
    pub analyzed: bool,
    /// What gives it some.
    pub analyze: String,
    /// What has it tidy up often enough.
    pub tidy: Option<String>,
}

/// What a table takes without using it; on SQLite what the whole file does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bloat {
    /// Living row versions, where the database counts versions.
    pub live: Option<u64>,
    /// Dead ones, which nobody sees any more.
    pub dead: Option<u64>,
    /// Since it was last vacuumed; `None` where that never was, or there is no such thing.
    pub vacuumed: Option<Duration>,
    /// Whether it is vacuumed by itself, where there is such a thing.
    pub automatic: Option<bool>,
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes that are free, where the database knows.
    pub free: Option<u64>,
    /// Whoever keeps dead versions from being removed.
    pub oldest: Oldest,
    /// The statement that makes room.
    pub vacuum: String,
    /// The statement that has it vacuumed by itself again.
    pub autovacuum: Option<String>,
}

/// The oldest transaction of somebody else's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Oldest {
    /// There is none, or no such thing.
    #[default]
    None,
    /// It may not be looked for by this role.
    Hidden,
    /// This one.
    Transaction {
        /// Whether it was prepared for a commit in two phases, and belongs to no session.
        prepared: bool,
        /// Its session's number, or its name.
        known_as: String,
        /// How old it is.
        age: Duration,
        /// The statement that shows it.
        show: String,
    },
}

/// What becomes of rows that refer to jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// Whether any verb deletes jobs at all.
    pub deletes: bool,
    /// Whether tables of all other databases of the server are among them, where rows there can refer to these.
    pub all: bool,
    /// Tables by how they follow.
    pub(crate) tables: BTreeMap<String, BTreeSet<String>>,
}

/// The rule by which rows do not go that others refer to.
pub(crate) const REFUSING: &str = "RESTRICT";

impl Following {
    /// The tables whose rows go or are changed, by how, as an ON DELETE has it.
    pub fn taken(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.tables.iter().filter(|(rule, _)| *rule != REFUSING).map(|(rule, tables)| (rule.as_str(), tables))
    }

    /// The tables whose rows keep the jobs from being deleted that they refer to.
    pub fn refusing(&self) -> impl Iterator<Item = &str> {
        self.tables.get(REFUSING).into_iter().flatten().map(String::as_str)
    }
}

/// A connection as it turned out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// How long the shortest question takes, from here and back.
    pub latency: Duration,
    /// The port that the server itself listens on, where that is another than the one that was called.
    pub other_port: Option<u64>,
    /// The setting, `name = value`, by which the server may lose in a crash what it has committed.
    pub forgets: Option<String>,
    /// How far its clock is ahead of ours, in microseconds; behind where negative. With half the latency in it; `None` where
    /// both are one.
    pub ahead: Option<i64>,
    /// Which version of TLS the server sees; `None` where it sees none, or there is no server.
    pub encryption: Option<String>,
}
