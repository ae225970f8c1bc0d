-- How far a run has come that proves itself: its phase, its canary jobs and what was known of their outcomes, as JSON. The
-- rule itself is among its options.
ALTER TABLE dlq_tui.runs ADD COLUMN rollout TEXT;
