-- Events whose handling failed, with their own retries: dead is what stands as FAILED_PERMANENTLY. Times are UTC.
CREATE TABLE dlq_events (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    event_type varchar(255),
    payload longtext CHECK (json_valid(payload)),
    error_reason longtext,
    error_stacktrace longtext,
    -- PENDING, PROCESSING, SUCCEEDED or FAILED_PERMANENTLY
    status varchar(20) DEFAULT 'PENDING',
    retry_count int DEFAULT 0,
    retry_after datetime(6),
    created_at datetime(6) DEFAULT (utc_timestamp(6)),
    updated_at datetime(6) DEFAULT (utc_timestamp(6)),
    -- Lists of a state, newest first; then what is due.
    INDEX dlq_events_status_created_at (status, created_at, id),
    INDEX dlq_events_status_retry_after (status, retry_after),
    INDEX dlq_events_event_type (event_type),
    INDEX dlq_events_created_at (created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
