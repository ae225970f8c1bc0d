-- What the jobs of runs that were started are known by: their id, their lineage, and the id that a replay put them back
-- under. All of a run at once and sorted, before its first batch: an index that grew with each batch wrote a page of its
-- own for nearly every job.
CREATE TABLE run_keys (
    known_as TEXT NOT NULL,
    run      BIGINT NOT NULL,
    ord      BIGINT NOT NULL,
    PRIMARY KEY (known_as, run, ord)
) WITHOUT ROWID;
INSERT INTO run_keys SELECT job_id, run, ord FROM run_jobs WHERE run IN (SELECT seq FROM runs WHERE started_at IS NOT NULL)
UNION SELECT lineage, run, ord FROM run_jobs WHERE lineage IS NOT NULL AND run IN (SELECT seq FROM runs WHERE started_at IS NOT NULL)
UNION SELECT successor, run, ord FROM run_jobs WHERE successor IS NOT NULL AND run IN (SELECT seq FROM runs WHERE started_at IS NOT NULL)
ORDER BY 1;
DROP INDEX run_jobs_by_job;
DROP INDEX run_jobs_by_lineage;
DROP INDEX run_jobs_by_successor;
