-- Where `dlq-tui archive` moves events to: whatever could stand in dlq_events can stand here.
CREATE TABLE dlq_events_archive (
    id bigint NOT NULL,
    event_type varchar(255),
    payload jsonb,
    error_reason text,
    error_stacktrace text,
    status varchar(20),
    retry_count int,
    retry_after timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    archived_at timestamptz NOT NULL,
    archive_run text NOT NULL,
    PRIMARY KEY (id, archive_run)
);
