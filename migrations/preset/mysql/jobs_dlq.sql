-- Jobs that used up their attempts, moved out of the live queue. Times are UTC.
CREATE TABLE jobs_dlq (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    original_id bigint,
    payload longtext CHECK (json_valid(payload)),
    attempts int,
    error_class varchar(255),
    error_msg longtext,
    stacktrace longtext,
    failed_by varchar(255),
    failed_at datetime(6),
    INDEX jobs_dlq_failed_at (failed_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
