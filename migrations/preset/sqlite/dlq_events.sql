-- Events whose handling failed, with their own retries: dead is what stands as FAILED_PERMANENTLY.
-- Times are UTC, written as '2026-11-18 09:14:02.123456'.
CREATE TABLE dlq_events (
    id integer PRIMARY KEY AUTOINCREMENT,
    event_type text,
    payload text CHECK (payload IS NULL OR json_valid(payload)),
    error_reason text,
    error_stacktrace text,
    -- PENDING, PROCESSING, SUCCEEDED or FAILED_PERMANENTLY
    status text DEFAULT 'PENDING',
    retry_count integer DEFAULT 0,
    retry_after text,
    created_at text DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
    updated_at text DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
);
-- Lists of a state, newest first; then what is due.
CREATE INDEX dlq_events_status_created_at ON dlq_events (status, created_at, id);
CREATE INDEX dlq_events_status_retry_after ON dlq_events (status, retry_after);
CREATE INDEX dlq_events_event_type ON dlq_events (event_type);
CREATE INDEX dlq_events_created_at ON dlq_events (created_at);
