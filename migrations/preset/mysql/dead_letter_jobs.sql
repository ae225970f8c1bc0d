-- One row for each job that used up its attempts. Times are UTC.
-- JSON is kept as checked text: MySQL's own type would round big and exact numbers.
CREATE TABLE dead_letter_jobs (
    id char(36) CHARACTER SET ascii NOT NULL DEFAULT (uuid()) PRIMARY KEY,
    job_class varchar(255) NOT NULL,
    job_id varchar(255) NOT NULL,
    queue_name varchar(255),
    arguments longtext NOT NULL DEFAULT ('{}') CHECK (json_valid(arguments)),
    error_class varchar(255) NOT NULL,
    error_message longtext,
    error_backtrace longtext NOT NULL DEFAULT ('[]') CHECK (json_valid(error_backtrace)),
    failed_at datetime(6) NOT NULL,
    -- failed, retrying, resolved or ignored
    status varchar(255) NOT NULL DEFAULT 'failed',
    metadata longtext NOT NULL DEFAULT ('{}') CHECK (json_valid(metadata)),
    created_at datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    updated_at datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    UNIQUE INDEX index_dead_letter_jobs_on_job_id (job_id),
    INDEX index_dead_letter_jobs_on_job_class_and_status (job_class, status),
    -- Lists of a state, newest first; then counts by error, and the jobs of one.
    INDEX index_dead_letter_jobs_on_status_and_failed_at (status, failed_at, id),
    INDEX index_dead_letter_jobs_on_status_and_error_class (status, error_class, failed_at),
    INDEX index_dead_letter_jobs_on_failed_at (failed_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
