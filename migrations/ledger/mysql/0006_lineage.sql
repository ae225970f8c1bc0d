-- By what a job is known across its deaths, the new id under which the run puts it back, and how often it had been
-- replayed before. Kept for replays only.
ALTER TABLE dlq_tui_run_jobs
    ADD COLUMN lineage VARCHAR(500),
    ADD COLUMN successor VARCHAR(500),
    ADD COLUMN replays BIGINT NOT NULL DEFAULT 0,
    ADD INDEX run_jobs_by_lineage (lineage),
    ADD INDEX run_jobs_by_successor (successor);
