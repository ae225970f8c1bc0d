-- Jobs that used up their attempts, moved out of the live queue.
CREATE TABLE jobs_dlq (
    id bigserial PRIMARY KEY,
    original_id bigint,
    payload jsonb,
    attempts int,
    error_class text,
    error_msg text,
    stacktrace text,
    failed_by text,
    failed_at timestamptz
);
CREATE INDEX jobs_dlq_failed_at ON jobs_dlq (failed_at);
