-- One row for each job that used up its attempts. Times are UTC, written as '2026-11-18 09:14:02.123456'.
CREATE TABLE dead_letter_jobs (
    -- A random UUID; SQLite has no function for it.
    id text NOT NULL PRIMARY KEY DEFAULT (
        lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
              || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
    ),
    job_class text NOT NULL,
    job_id text NOT NULL,
    queue_name text,
    arguments text NOT NULL DEFAULT '{}' CHECK (json_valid(arguments)),
    error_class text NOT NULL,
    error_message text,
    error_backtrace text NOT NULL DEFAULT '[]' CHECK (json_valid(error_backtrace)),
    failed_at text NOT NULL,
    -- failed, retrying, resolved or ignored
    status text NOT NULL DEFAULT 'failed',
    metadata text NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
    created_at text NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
    updated_at text NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
);
CREATE UNIQUE INDEX index_dead_letter_jobs_on_job_id ON dead_letter_jobs (job_id);
CREATE INDEX index_dead_letter_jobs_on_job_class_and_status ON dead_letter_jobs (job_class, status);
-- Lists of a state, newest first; then counts by error, and the jobs of one.
CREATE INDEX index_dead_letter_jobs_on_status_and_failed_at ON dead_letter_jobs (status, failed_at, id);
CREATE INDEX index_dead_letter_jobs_on_status_and_error_class ON dead_letter_jobs (status, error_class, failed_at);
CREATE INDEX index_dead_letter_jobs_on_failed_at ON dead_letter_jobs (failed_at);
