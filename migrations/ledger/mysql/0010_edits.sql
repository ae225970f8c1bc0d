-- What runs write into the arguments of their jobs, and what must stand there until then: the column's text, and where the
-- arguments stand in it.
CREATE TABLE dlq_tui_edits (
    run      BIGINT NOT NULL,
    job_id   VARCHAR(500) NOT NULL,
    path     VARCHAR(500) NOT NULL,
    original LONGTEXT NOT NULL,
    edited   LONGTEXT NOT NULL,
    PRIMARY KEY (run, job_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
