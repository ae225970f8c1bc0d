-- One row for each job that used up its attempts. Times are UTC.
CREATE TABLE dead_letter_jobs (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    job_class varchar NOT NULL,
    job_id varchar NOT NULL,
    queue_name varchar,
    arguments jsonb NOT NULL DEFAULT '{}',
    error_class varchar NOT NULL,
    error_message text,
    error_backtrace jsonb NOT NULL DEFAULT '[]',
    failed_at timestamp NOT NULL,
    -- failed, retrying, resolved or ignored
    status varchar NOT NULL DEFAULT 'failed',
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'utc'),
    updated_at timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'utc')
);
CREATE UNIQUE INDEX index_dead_letter_jobs_on_job_id ON dead_letter_jobs (job_id);
CREATE INDEX index_dead_letter_jobs_on_job_class_and_status ON dead_letter_jobs (job_class, status);
-- Lists of a state, newest first; then counts by error, and the jobs of one.
CREATE INDEX index_dead_letter_jobs_on_status_and_failed_at ON dead_letter_jobs (status, failed_at, id);
CREATE INDEX index_dead_letter_jobs_on_status_and_error_class ON dead_letter_jobs (status, error_class, failed_at);
CREATE INDEX index_dead_letter_jobs_on_failed_at ON dead_letter_jobs (failed_at);
