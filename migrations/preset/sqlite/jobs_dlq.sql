-- Jobs that used up their attempts, moved out of the live queue. Times are UTC, written as '2026-11-18 09:14:02.123456'.
CREATE TABLE jobs_dlq (
    id integer PRIMARY KEY AUTOINCREMENT,
    original_id integer,
    payload text CHECK (payload IS NULL OR json_valid(payload)),
    attempts integer,
    error_class text,
    error_msg text,
    stacktrace text,
    failed_by text,
    failed_at text
);
CREATE INDEX jobs_dlq_failed_at ON jobs_dlq (failed_at);
