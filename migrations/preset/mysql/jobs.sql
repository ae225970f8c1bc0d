-- The live queue: workers take what is due and not locked. Times are UTC.
CREATE TABLE jobs (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    payload longtext NOT NULL CHECK (json_valid(payload)),
    attempts int NOT NULL DEFAULT 0,
    max_attempts int NOT NULL DEFAULT 5,
    run_after datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    locked_at datetime(6),
    locked_by varchar(255),
    created_at datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    -- There is no partial index here.
    INDEX jobs_run_after (locked_at, run_after)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
