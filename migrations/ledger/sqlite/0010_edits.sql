-- What runs write into the arguments of their jobs, and what must stand there until then: the column's text, and where the
-- arguments stand in it.
CREATE TABLE edits (
    run      BIGINT NOT NULL,
    job_id   TEXT NOT NULL,
    path     TEXT NOT NULL,
    original TEXT NOT NULL,
    edited   TEXT NOT NULL,
    PRIMARY KEY (run, job_id)
);
