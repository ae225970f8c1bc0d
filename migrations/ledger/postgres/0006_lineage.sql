-- By what a job is known across its deaths, the new id under which the run puts it back, and how often it had been
-- replayed before. Kept for replays only.
ALTER TABLE dlq_tui.run_jobs ADD COLUMN lineage TEXT;

ALTER TABLE dlq_tui.run_jobs ADD COLUMN successor TEXT;

ALTER TABLE dlq_tui.run_jobs ADD COLUMN replays BIGINT NOT NULL DEFAULT 0;

CREATE INDEX run_jobs_by_lineage ON dlq_tui.run_jobs (lineage) WHERE lineage IS NOT NULL AND outcome = 'done';

CREATE INDEX run_jobs_by_successor ON dlq_tui.run_jobs (successor) WHERE successor IS NOT NULL AND outcome = 'done';
