//! What somebody who knows SQL and the table would write, per layout.

use crate::fixtures::Layout;

/// The error class whose jobs are replayed.
pub const COHORT_CLASS: &str = "Net::ReadTimeout";

/// Statements over one layout.
#[derive(Clone, Copy, Debug)]
pub struct Baseline(pub Layout);

impl Baseline {
    fn columns(self) -> &'static str {
        match self.0 {
            Layout::DeadLetterJobs => {
                "id, failed_at, error_class, job_class, queue_name, status, left(error_message, 160)"
            }
            Layout::DlqEvents => "id, created_at, event_type, status, retry_count, left(error_reason, 160)",
            Layout::JobsDlq => "id, failed_at, error_class, attempts, failed_by, left(error_msg, 160)",
        }
    }

    /// The columns that order the list.
    fn order(self) -> &'static [&'static str] {
        match self.0 {
            Layout::DeadLetterJobs => &["failed_at", "id"],
            Layout::DlqEvents => &["created_at", "id"],
            Layout::JobsDlq => &["id"],
        }
    }

    fn order_by(self, direction: &str) -> String {
        self.order().iter().map(|column| format!("{column} {direction}")).collect::<Vec<_>>().join(", ")
    }

    fn list(self, condition: &str, direction: &str, tail: &str) -> String {
        format!(
            "select {} from {} where {}{condition} order by {} limit 100{tail}",
            self.columns(),
            self.0.table(),
            self.0.is_dead(),
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

    /// The page that follows a row.
    pub fn page_after(self, id: &str) -> String {
        let columns = self.order().join(", ");
        let place = self.order_values(id);
        self.list(&format!(" and ({columns}) < ({place})"), "desc", "")
    }

    /// The row's place, as literals: a sub-select would not be used as an index bound.
    fn order_values(self, place: &str) -> String {
        place.split('|').map(|value| format!("'{value}'")).collect::<Vec<_>>().join(", ")
    }

    /// Where the row `depth` rows below the first stands: the values of the order, the key last.
    pub fn place(self, depth: u32) -> String {
        format!(
            "select {} from {} where {} order by {} limit 1 offset {depth}",
            self.order().join(", "),
            self.0.table(),
            self.0.is_dead(),
            self.order_by("desc")
        )
    }

    fn error_class(self) -> &'static str {
        if self.0 == Layout::DlqEvents { "split_part(error_reason, ': ', 1)" } else { "error_class" }
    }

    /// What a plan keeps of every dead job.
    pub fn cohort_columns(self) -> String {
        let columns = match self.0 {
            Layout::DeadLetterJobs => "id, error_class, job_class, failed_at, status, job_id",
            Layout::DlqEvents => "id, error_reason, event_type, created_at, status, md5(payload::text)",
            Layout::JobsDlq => "id, error_class, payload->>'type', failed_at, md5(payload::text)",
        };
        format!(
            "select {columns} from {} where {} order by {}",
            self.0.table(),
            self.0.is_dead(),
            self.order_by("desc")
        )
    }

    /// How many jobs are dead.
    pub fn dead_count(self) -> String {
        format!("select count(*) from {} where {}", self.0.table(), self.0.is_dead())
    }

    /// Counts by error class, as most consoles get them at each refresh.
    pub fn histogram(self) -> String {
        format!(
            "select {class}, count(*) from {} where {} group by 1",
            self.0.table(),
            self.0.is_dead(),
            class = self.error_class()
        )
    }

    /// `count` rows that died just now.
    pub fn new_rows(self, count: u32) -> String {
        let rows = format!("from generate_series(1, {count}) i");
        match self.0 {
            Layout::DeadLetterJobs => format!(
                "insert into dead_letter_jobs (job_class, job_id, queue_name, arguments, error_class, error_message, \
                 failed_at, created_at, updated_at)
                 select 'Billing::CaptureJob', gen_random_uuid(), 'billing', '[]', 'Bench::New', 'just now', \
                 clock_timestamp() at time zone 'utc', clock_timestamp() at time zone 'utc', \
                 clock_timestamp() at time zone 'utc' {rows}"
            ),
            Layout::DlqEvents => format!(
                "insert into dlq_events (event_type, payload, error_reason, status)
                 select 'billing.failed', '{{}}', 'Bench::New: just now', 'FAILED_PERMANENTLY' {rows}"
            ),
            Layout::JobsDlq => format!(
                "insert into jobs_dlq (original_id, payload, attempts, error_class, error_msg, failed_at)
                 select i, '{{}}', 5, 'Bench::New', 'just now', clock_timestamp() {rows}"
            ),
        }
    }

    /// The cohort that is replayed: jobs of one class below a place in the table.
    fn cohort(self, until: &str) -> String {
        let time = if self.0 == Layout::DlqEvents { "created_at" } else { "failed_at" };
        format!("{} and {} = '{COHORT_CLASS}' and {time} < '{until}'", self.0.is_dead(), self.error_class())
    }

    /// The whole move as one statement: what one would type during an incident.
    pub fn replay(self, until: &str) -> String {
        let cohort = self.cohort(until);
        match self.0 {
            Layout::DeadLetterJobs => format!(
                "with picked as materialized (
                     select id, gen_random_uuid()::text as new_id, job_class, coalesce(queue_name, 'default') as queue,
                            arguments from dead_letter_jobs where {cohort} for update),
                 sent as (insert into jobs (payload, run_after)
                     select jsonb_build_object('job_class', job_class, 'job_id', new_id, 'provider_job_id', null,
                         'queue_name', queue, 'priority', null, 'arguments', arguments, 'executions', 0,
                         'exception_executions', '{{}}'::jsonb, 'locale', null, 'timezone', null,
                         'enqueued_at', now()), now() from picked returning 1),
                 marked as (update dead_letter_jobs d set status = 'resolved', updated_at = now(),
                         metadata = metadata || jsonb_build_object('replayed_as', p.new_id, 'replay_run', 'by hand')
                     from picked p where d.id = p.id returning 1)
                 select (select count(*) from sent), (select count(*) from marked)"
            ),
            Layout::DlqEvents => format!(
                "update dlq_events set status = 'PENDING', retry_after = now(), retry_count = 0, updated_at = now()
                 where {cohort}"
            ),
            Layout::JobsDlq => format!(
                "with moved as (delete from jobs_dlq where {cohort} returning payload)
                 insert into jobs (payload, attempts, run_after) select payload, 0, now() from moved"
            ),
        }
    }

    /// How many jobs the cohort holds.
    pub fn cohort_size(self, until: &str) -> String {
        format!("select count(*) from {} where {}", self.0.table(), self.cohort(until))
    }
}
