-- The record of runs, beside the application's tables and apart from them. Times are microseconds since 1970 in UTC;
-- words are those of the command line.
-- How far this record is brought up to date.
CREATE TABLE dlq_tui_ledger (
    version BIGINT PRIMARY KEY
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- holder is who executes a run, until held_until by the database's clock unless that is renewed.
CREATE TABLE dlq_tui_runs (
    seq           BIGINT AUTO_INCREMENT PRIMARY KEY,
    id            VARCHAR(64) NOT NULL UNIQUE,
    action        VARCHAR(40) NOT NULL,
    state         VARCHAR(40) NOT NULL,
    source        TEXT NOT NULL,
    store         TEXT NOT NULL,
    filter        MEDIUMTEXT NOT NULL,
    resolved      MEDIUMTEXT NOT NULL,
    reason        MEDIUMTEXT,
    os_user       TEXT NOT NULL,
    database_user TEXT NOT NULL,
    host          TEXT NOT NULL,
    ssh_client    TEXT,
    frozen_at     BIGINT NOT NULL,
    started_at    BIGINT,
    ended_at      BIGINT,
    planned       BIGINT NOT NULL DEFAULT 0,
    options       MEDIUMTEXT,
    holder        TEXT,
    held_until    BIGINT
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The frozen cohort, and what became of each job of it.
-- run_jobs_by_job is what the record knows of a job; in run_jobs_open the next batch and the batch in doubt are found
-- without passing over what is settled. batch is NULL until the job was named in a batch; outcome is
-- NULL while the result of that batch is not known.
CREATE TABLE dlq_tui_run_jobs (
    run         BIGINT NOT NULL,
    ord         BIGINT NOT NULL,
    job_id      VARCHAR(500) NOT NULL,
    error_class VARCHAR(250),
    job_class   VARCHAR(250),
    died_at     BIGINT,
    state       VARCHAR(40) NOT NULL,
    batch       BIGINT,
    outcome     VARCHAR(40),
    reason      TEXT,
    native      TEXT,
    PRIMARY KEY (run, ord),
    INDEX run_jobs_by_job (job_id, run),
    INDEX run_jobs_open (run, outcome, batch, ord)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE dlq_tui_batches (
    run      BIGINT NOT NULL,
    no       BIGINT NOT NULL,
    begun_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (run, no)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Sums of runs that are not being executed, so that listing runs does not count their jobs again.
CREATE TABLE dlq_tui_run_tallies (
    run     BIGINT NOT NULL,
    outcome VARCHAR(40) NOT NULL,
    reason  VARCHAR(200) NOT NULL,
    n       BIGINT NOT NULL,
    PRIMARY KEY (run, outcome, reason)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Whole rows, kept before they were deleted from their table.
CREATE TABLE dlq_tui_archive (
    run    BIGINT NOT NULL,
    job_id VARCHAR(500) NOT NULL,
    `row`  LONGTEXT NOT NULL,
    PRIMARY KEY (run, job_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which transaction acts on which jobs, for runs whose effect is not recorded along with it.
CREATE TABLE dlq_tui_transactions (
    run     BIGINT NOT NULL,
    name    VARCHAR(100) NOT NULL,
    job_ids LONGTEXT NOT NULL,
    PRIMARY KEY (run, name)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
