-- The dead row of a replayed job that died again, where that is another one than the row that was replayed.
ALTER TABLE dlq_tui_run_jobs
    ADD COLUMN dead_row VARCHAR(500),
    ADD INDEX run_jobs_by_dead_row (dead_row);
