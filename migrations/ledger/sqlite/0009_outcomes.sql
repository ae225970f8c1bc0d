-- The outcome of each replayed job, with the error class that it failed with since, and when that was seen; and their
-- counts for a whole run, as JSON.
ALTER TABLE run_jobs ADD COLUMN replay_outcome TEXT;
ALTER TABLE run_jobs ADD COLUMN replay_error TEXT;
ALTER TABLE run_jobs ADD COLUMN outcome_at BIGINT;
ALTER TABLE runs ADD COLUMN outcomes TEXT;
