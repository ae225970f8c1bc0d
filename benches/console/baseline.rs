//! What somebody who knows SQL and the table would write, per layout and database.

use crate::cohort::{COHORT_CLASS, Slice};
use crate::fixtures::Layout;
use crate::harness::Engine;

/// Statements over one layout.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    pub layout: Layout,
    pub engine: Engine,
}

impl Baseline {
    fn columns(self) -> &'static str {
        match self.layout {
            Layout::DeadLetterJobs => {
                "id, failed_at, error_class, job_class, queue_name, status, substr(error_message, 1, 160)"
            }
            Layout::DlqEvents => "id, created_at, event_type, status, retry_count, substr(error_reason, 1, 160)",
            Layout::JobsDlq => "id, failed_at, error_class, attempts, failed_by, substr(error_msg, 1, 160)",
        }
    }

    /// The columns that order the list.
    fn order(self) -> &'static [&'static str] {
        match self.layout {
            Layout::DeadLetterJobs => &["failed_at", "id"],
            Layout::DlqEvents => &["created_at", "id"],
            Layout::JobsDlq => &["id"],
        }
    }

    /// The column with the time of death.
    fn time(self) -> &'static str {
        if self.layout == Layout::DlqEvents { "created_at" } else { "failed_at" }
    }

    fn message(self) -> &'static str {
        match self.layout {
            Layout::DeadLetterJobs => "error_message",
            Layout::DlqEvents => "error_reason",
            Layout::JobsDlq => "error_msg",
        }
    }

    fn order_by(self, direction: &str) -> String {
        self.order().iter().map(|column| format!("{column} {direction}")).collect::<Vec<_>>().join(", ")
    }

    fn list(self, condition: &str, direction: &str, tail: &str) -> String {
        format!(
            "select {} from {} where {}{condition} order by {} limit 100{tail}",
            self.columns(),
            self.layout.table(),
            self.layout.is_dead(),
            self.order_by(direction)
        )
    }

    /// The first page.
    pub fn first_page(self) -> String {
        self.list("", "desc", "")
    }

    /// The last page.
    pub fn last_page(self) -> String {
        self.list("", "asc", "")
    }

    /// The page `depth` rows below the first, as most consoles get it.
    pub fn page_by_offset(self, depth: u32) -> String {
        self.list("", "desc", &format!(" offset {depth}"))
    }

    /// The page that follows a row, which is given by the values of the order, the key last.
    pub fn page_after(self, place: &[String]) -> String {
        let literal = |at: usize| format!("'{}'", place.get(at).map_or("", String::as_str));
        let condition = match (self.order(), self.engine) {
            // Row values are compared without an index there.
            ([time, id], Engine::Mysql) => {
                let (t, i) = (literal(0), literal(1));
                format!(" and {time} <= {t} and ({time} < {t} or {id} < {i})")
            }
            ([time, id], _) => format!(" and ({time}, {id}) < ({}, {})", literal(0), literal(1)),
            _ => format!(" and id < {}", literal(0)),
        };
        self.list(&condition, "desc", "")
    }

    /// The oldest row that died at a time or later: one statement for each value of the order, the key last.
    pub fn place(self, at: &str) -> Vec<String> {
        let select = |column: &&str| {
            format!(
                "select {column} from {} where {} and {} >= '{at}' order by {} limit 1",
                self.layout.table(),
                self.layout.is_dead(),
                self.time(),
                self.order_by("asc")
            )
        };
        self.order().iter().map(select).collect()
    }

    fn error_class(self) -> &'static str {
        match (self.layout, self.engine) {
            (Layout::DlqEvents, Engine::Postgres) => "split_part(error_reason, ': ', 1)",
            (Layout::DlqEvents, Engine::Mysql) => "substring_index(error_reason, ': ', 1)",
            (Layout::DlqEvents, Engine::Sqlite) => "substr(error_reason, 1, instr(error_reason, ': ') - 1)",
            _ => "error_class",
        }
    }

    /// What a comparison reads of every dead job.
    pub fn contrast_columns(self) -> String {
        let arguments = if self.layout == Layout::DeadLetterJobs { "arguments" } else { "payload" };
        format!("select {}, {arguments} from {} where {}", self.columns(), self.layout.table(), self.layout.is_dead())
    }

    /// What a plan keeps of every dead job.
    pub fn cohort_columns(self) -> String {
        let columns = match self.layout {
            Layout::DeadLetterJobs => "id, error_class, job_class, failed_at, status, job_id",
            Layout::DlqEvents => "id, error_reason, event_type, created_at, status, payload",
            Layout::JobsDlq => "id, error_class, failed_at, payload",
        };
        format!(
            "select {columns} from {} where {} order by {}",
            self.layout.table(),
            self.layout.is_dead(),
            self.order_by("desc")
        )
    }

    /// How many jobs are dead.
    pub fn dead_count(self) -> String {
        format!("select count(*) from {} where {}", self.layout.table(), self.layout.is_dead())
    }

    /// Counts by error class, as most consoles get them at each refresh.
    pub fn histogram(self) -> String {
        format!(
            "select {class}, count(*) from {} where {} group by 1",
            self.layout.table(),
            self.layout.is_dead(),
            class = self.error_class()
        )
    }

    /// Counts of one class by what its messages have in common.
    pub fn fingerprints(self) -> Option<String> {
        let common = match self.engine {
            Engine::Postgres => format!("regexp_replace({}, '[0-9]+', 'N', 'g')", self.message()),
            Engine::Mysql => format!("regexp_replace({}, '[0-9]+', 'N')", self.message()),
            Engine::Sqlite => return None,
        };
        let (table, dead, class) = (self.layout.table(), self.layout.is_dead(), self.error_class());
        Some(format!("select {common}, count(*) from {table} where {dead} and {class} = '{COHORT_CLASS}' group by 1"))
    }

    /// All rows whose message holds a text in whatever case.
    pub fn holding(self, text: &str) -> String {
        let like = if self.engine == Engine::Postgres { "ilike" } else { "like" };
        self.all(&format!("{} {like} '%{text}%'", self.message()))
    }

    /// All rows whose message matches a pattern, where the database knows patterns.
    pub fn matching(self, pattern: &str) -> Option<String> {
        match self.engine {
            Engine::Postgres => Some(self.all(&format!("{} ~ '{pattern}'", self.message()))),
            Engine::Mysql => Some(self.all(&format!("{} regexp '{pattern}'", self.message()))),
            Engine::Sqlite => None,
        }
    }

    /// All rows with a value under a key of their arguments, and the filter that says the same. Where the database can, it is
    /// asked as the filter asks, wherever the key stands.
    pub fn with_argument(self) -> (String, &'static str) {
        let (column, key, filter) = match self.layout {
            Layout::DeadLetterJobs => ("arguments", "_aj_globalid", "args._aj_globalid:nobody"),
            _ => ("payload", "type", "args.type:nobody"),
        };
        let place = if self.layout == Layout::DeadLetterJobs { "[0]" } else { "" };
        let condition = match self.engine {
            Engine::Postgres => format!("({column})::jsonb @? '$.**.\"{key}\" ? (@ == \"nobody\")'"),
            Engine::Mysql => format!("json_search({column}, 'one', 'nobody', null, '$**.{key}') is not null"),
            Engine::Sqlite => format!("json_extract({column}, '${place}.{key}') = 'nobody'"),
        };
        (self.all(&condition), filter)
    }

    fn all(self, condition: &str) -> String {
        format!(
            "select {} from {} where {} and {condition}",
            self.columns(),
            self.layout.table(),
            self.layout.is_dead()
        )
    }

    /// The cohort that is replayed: jobs of one class that died within a slice of time.
    pub fn cohort(self, slice: &Slice) -> String {
        let (from, until) = slice.sql();
        let time = self.time();
        let class =
            if slice.one_class { format!(" and {} = '{COHORT_CLASS}'", self.error_class()) } else { String::new() };
        format!("{}{class} and {time} >= '{from}' and {time} < '{until}'", self.layout.is_dead())
    }

    /// How many jobs the cohort holds.
    pub fn cohort_size(self, slice: &Slice) -> String {
        format!("select count(*) from {} where {}", self.layout.table(), self.cohort(slice))
    }

    /// The keys of the cohort.
    pub fn cohort_keys(self, slice: &Slice) -> String {
        format!("select id from {} where {}", self.layout.table(), self.cohort(slice))
    }
}
