-- The outcome of each replayed job, with the error class that it failed with since, and when that was seen; and their
-- counts for a whole run, as JSON.
ALTER TABLE dlq_tui_run_jobs
    ADD COLUMN replay_outcome VARCHAR(40),
    ADD COLUMN replay_error LONGTEXT,
    ADD COLUMN outcome_at BIGINT;

ALTER TABLE dlq_tui_runs ADD COLUMN outcomes LONGTEXT;
