-- Events whose handling failed, with their own retries: dead is what stands as FAILED_PERMANENTLY.
CREATE TABLE dlq_events (
    id bigserial PRIMARY KEY,
    event_type varchar(255),
    payload jsonb,
    error_reason text,
    error_stacktrace text,
    -- PENDING, PROCESSING, SUCCEEDED or FAILED_PERMANENTLY
    status varchar(20) DEFAULT 'PENDING',
    retry_count int DEFAULT 0,
    retry_after timestamptz,
    created_at timestamptz DEFAULT now(),
    updated_at timestamptz DEFAULT now()
);
-- Lists of a state, newest first; then what is due.
CREATE INDEX dlq_events_status_created_at ON dlq_events (status, created_at, id);
CREATE INDEX dlq_events_status_retry_after ON dlq_events (status, retry_after);
CREATE INDEX dlq_events_event_type ON dlq_events (event_type);
CREATE INDEX dlq_events_created_at ON dlq_events (created_at);
