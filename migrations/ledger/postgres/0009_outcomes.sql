-- The outcome of each replayed job, with the error class that it failed with since, and when that was seen; and their
-- counts for a whole run, as JSON.
ALTER TABLE dlq_tui.run_jobs ADD COLUMN replay_outcome TEXT;

ALTER TABLE dlq_tui.run_jobs ADD COLUMN replay_error TEXT;

ALTER TABLE dlq_tui.run_jobs ADD COLUMN outcome_at BIGINT;

ALTER TABLE dlq_tui.runs ADD COLUMN outcomes TEXT;
