-- Which transaction of the source's database acts on which jobs (their ids, a JSON array), noted before it commits:
-- after an interruption the database is asked how it ended. Kept no longer than jobs of the run are in doubt.
CREATE TABLE transactions (
    run     BIGINT NOT NULL,
    name    TEXT NOT NULL,
    job_ids TEXT NOT NULL,
    PRIMARY KEY (run, name)
);
