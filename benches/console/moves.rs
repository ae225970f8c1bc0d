//! Writes, as somebody who knows SQL would write them: the whole move at once, the same row by row, and jobs that die.

use crate::baseline::Baseline;
use crate::cohort::Slice;
use crate::fixtures::Layout;
use crate::harness::Engine;

/// What a replayed job is enqueued as.
fn payload(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "jsonb_build_object('job_class', job_class, 'job_id', gen_random_uuid()::text, 'provider_job_id', null, \
             'queue_name', coalesce(queue_name, 'default'), 'priority', null, 'arguments', arguments, 'executions', 0, \
             'exception_executions', '{}'::jsonb, 'locale', null, 'timezone', null, 'enqueued_at', now())"
        }
        Engine::Mysql => {
            "json_object('job_class', job_class, 'job_id', uuid(), 'queue_name', coalesce(queue_name, 'default'), \
             'arguments', json_compact(arguments), 'executions', 0, 'enqueued_at', now(6))"
        }
        Engine::Sqlite => {
            "json_object('job_class', job_class, 'job_id', lower(hex(randomblob(16))), 'queue_name', \
             coalesce(queue_name, 'default'), 'arguments', json(arguments), 'executions', 0, 'enqueued_at', datetime('now'))"
        }
    }
}

fn now(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "now()",
        Engine::Mysql => "now(6)",
        Engine::Sqlite => "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    }
}

/// What stands for the key in the statements of [`RowByRow`].
const KEY: &str = ":key";

/// The statements that move one row.
pub struct RowByRow {
    pub read: String,
    pub moves: Vec<String>,
}

impl RowByRow {
    /// All of them for a key, in a transaction.
    pub fn in_transaction(&self, key: &str) -> Vec<String> {
        let named = |statement: &String| statement.replace(KEY, &format!("'{key}'"));
        transaction(std::iter::once(&self.read).chain(&self.moves).map(named))
    }
}

fn transaction(statements: impl IntoIterator<Item = String>) -> Vec<String> {
    let ends = |word: &str| std::iter::once(word.to_owned());
    ends("begin").chain(statements).chain(ends("commit")).collect()
}

impl Baseline {
    /// The whole move in one transaction, in one statement where the database has such: what one would type during an
    /// incident.
    pub fn replay(self, slice: &Slice) -> Vec<String> {
        let cohort = self.cohort(slice);
        if self.engine != Engine::Postgres {
            return self.in_transaction(&cohort);
        }
        vec![match self.layout {
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
        }]
    }

    /// The same move of one row, as the loop of a script has it: it reads, enqueues, marks, commits.
    pub fn row_by_row(self) -> RowByRow {
        let row = format!("id = {KEY} and {}", self.layout.is_dead());
        let lock = if self.engine == Engine::Sqlite { "" } else { " for update" };
        RowByRow { read: format!("select * from {} where {row}{lock}", self.layout.table()), moves: self.moves(&row) }
    }

    fn in_transaction(self, cohort: &str) -> Vec<String> {
        transaction(self.moves(cohort))
    }

    fn moves(self, cohort: &str) -> Vec<String> {
        let (payload, now) = (payload(self.engine), now(self.engine));
        let metadata = match self.engine {
            Engine::Postgres => "metadata || jsonb_build_object('replay_run', 'by hand')",
            _ => "json_set(metadata, '$.replay_run', 'by hand')",
        };
        match self.layout {
            Layout::DeadLetterJobs => vec![
                format!(
                    "insert into jobs (payload, run_after) select {payload}, {now} from dead_letter_jobs where {cohort}"
                ),
                format!(
                    "update dead_letter_jobs set status = 'resolved', updated_at = {now}, metadata = {metadata} where {cohort}"
                ),
            ],
            Layout::DlqEvents => vec![format!(
                "update dlq_events set status = 'PENDING', retry_after = {now}, retry_count = 0, updated_at = {now} where {cohort}"
            )],
            Layout::JobsDlq => vec![
                format!(
                    "insert into jobs (payload, attempts, run_after) select payload, 0, {now} from jobs_dlq where {cohort}"
                ),
                format!("delete from jobs_dlq where {cohort}"),
            ],
        }
    }

    /// `count` rows that died just now. PostgreSQL only.
    pub fn new_rows(self, count: u32) -> String {
        let rows = format!("from generate_series(1, {count}) i");
        match self.layout {
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

    /// Some jobs of `dead_letter_jobs` that are ignored or dead again, and some that go, wherever they lie among so many.
    pub fn moved_rows(self, count: u32, rows: u32) -> String {
        // Some dozen blocks, of as many rows each.
        let share = (19_200.0 / f64::from(rows)).min(100.0);
        let some = format!("select ctid from dead_letter_jobs tablesample system ({share:.5}) limit {count}");
        format!(
            "update dead_letter_jobs set status = case status when 'failed' then 'ignored' else 'failed' end
             where ctid in ({some}) and status in ('failed', 'ignored');
             delete from dead_letter_jobs where ctid in ({some})"
        )
    }
}
