-- The live queue: workers take what is due and not locked.
CREATE TABLE jobs (
    id bigserial PRIMARY KEY,
    payload jsonb NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    max_attempts int NOT NULL DEFAULT 5,
    run_after timestamptz NOT NULL DEFAULT now(),
    locked_at timestamptz,
    locked_by text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX jobs_run_after ON jobs (run_after) WHERE locked_at IS NULL;
-- Few at any time; workers that are lost are found by it.
CREATE INDEX jobs_locked_at ON jobs (locked_at) WHERE locked_at IS NOT NULL;
