-- The live queue: workers take what is due and not locked. Times are UTC, written as '2026-11-18 09:14:02.123456'.
CREATE TABLE jobs (
    id integer PRIMARY KEY AUTOINCREMENT,
    payload text NOT NULL CHECK (json_valid(payload)),
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 5,
    run_after text NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')),
    locked_at text,
    locked_by text,
    created_at text NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))
);
CREATE INDEX jobs_run_after ON jobs (run_after) WHERE locked_at IS NULL;
-- Few at any time; workers that are lost are found by it.
CREATE INDEX jobs_locked_at ON jobs (locked_at) WHERE locked_at IS NOT NULL;
