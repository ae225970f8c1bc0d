-- The record of runs, beside the application's tables and apart from them. Times are microseconds since 1970 in UTC;
-- words are those of the command line.
CREATE SCHEMA dlq_tui;

-- How far this record is brought up to date.
CREATE TABLE dlq_tui.ledger (
    version BIGINT PRIMARY KEY
);

-- holder is who executes a run, until held_until by the database's clock unless that is renewed.
CREATE TABLE dlq_tui.runs (
    seq           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    action        TEXT NOT NULL,
    state         TEXT NOT NULL,
    source        TEXT NOT NULL,
    store         TEXT NOT NULL,
    filter        TEXT NOT NULL,
    resolved      TEXT NOT NULL,
    reason        TEXT,
    os_user       TEXT NOT NULL,
    database_user TEXT NOT NULL,
    host          TEXT NOT NULL,
    ssh_client    TEXT,
    frozen_at     BIGINT NOT NULL,
    started_at    BIGINT,
    ended_at      BIGINT,
    planned       BIGINT NOT NULL DEFAULT 0,
    options       TEXT,
    holder        TEXT,
    held_until    BIGINT
);

-- The frozen cohort, and what became of each job of it.
-- batch is NULL until the job was named in a batch; outcome is NULL while the result of that batch is not known.
CREATE TABLE dlq_tui.run_jobs (
    run         BIGINT NOT NULL,
    ord         BIGINT NOT NULL,
    job_id      TEXT NOT NULL,
    error_class TEXT,
    job_class   TEXT,
    died_at     BIGINT,
    state       TEXT NOT NULL,
    batch       BIGINT,
    outcome     TEXT,
    reason      TEXT,
    native      TEXT,
    PRIMARY KEY (run, ord)
);

-- What the record knows of a job. Only jobs that a batch has named: a frozen cohort costs no index in random order.
CREATE UNIQUE INDEX run_jobs_by_job ON dlq_tui.run_jobs (job_id, run) WHERE batch IS NOT NULL;

-- The next batch and the batch in doubt are found without passing over what is settled.
CREATE INDEX run_jobs_not_started ON dlq_tui.run_jobs (run, ord) WHERE batch IS NULL;

CREATE INDEX run_jobs_in_doubt ON dlq_tui.run_jobs (run, ord) WHERE batch IS NOT NULL AND outcome IS NULL;

CREATE TABLE dlq_tui.batches (
    run      BIGINT NOT NULL,
    no       BIGINT NOT NULL,
    begun_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (run, no)
);

-- Sums of runs that are not being executed, so that listing runs does not count their jobs again.
CREATE TABLE dlq_tui.run_tallies (
    run     BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    reason  TEXT NOT NULL,
    n       BIGINT NOT NULL,
    PRIMARY KEY (run, outcome, reason)
);

-- Whole rows, kept before they were deleted from their table.
CREATE TABLE dlq_tui.archive (
    run    BIGINT NOT NULL,
    job_id TEXT NOT NULL,
    "row"  TEXT NOT NULL,
    PRIMARY KEY (run, job_id)
);

-- Which transaction acts on which jobs, for runs whose effect is not recorded along with it.
CREATE TABLE dlq_tui.transactions (
    run     BIGINT NOT NULL,
    name    TEXT NOT NULL,
    job_ids TEXT NOT NULL,
    PRIMARY KEY (run, name)
);
