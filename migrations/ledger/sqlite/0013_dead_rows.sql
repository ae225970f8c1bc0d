-- The dead row of a replayed job that died again, where that is another one than the row that was replayed.
ALTER TABLE run_jobs ADD COLUMN dead_row TEXT;
CREATE INDEX run_jobs_by_dead_row ON run_jobs (dead_row) WHERE dead_row IS NOT NULL;
