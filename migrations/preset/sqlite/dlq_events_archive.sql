-- Where `dlq-tui archive` moves events to: whatever could stand in dlq_events can stand here.
CREATE TABLE dlq_events_archive (
    id integer NOT NULL,
    event_type text,
    payload text,
    error_reason text,
    error_stacktrace text,
    status text,
    retry_count integer,
    retry_after text,
    created_at text,
    updated_at text,
    archived_at text NOT NULL,
    archive_run text NOT NULL,
    PRIMARY KEY (id, archive_run)
);
