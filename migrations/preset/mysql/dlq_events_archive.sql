-- Where `dlq-tui archive` moves events to: whatever could stand in dlq_events can stand here.
CREATE TABLE dlq_events_archive (
    id bigint NOT NULL,
    event_type varchar(255),
    payload longtext,
    error_reason longtext,
    error_stacktrace longtext,
    status varchar(20),
    retry_count int,
    retry_after datetime(6),
    created_at datetime(6),
    updated_at datetime(6),
    archived_at datetime(6) NOT NULL,
    archive_run varchar(64) CHARACTER SET ascii NOT NULL,
    PRIMARY KEY (id, archive_run)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
