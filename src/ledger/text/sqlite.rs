//! SQLite's words. Statements name their index: left to itself the planner walks a run from its first job at every batch.

use super::{Rows, Text};

pub(super) const TEXT: Text = Text {
    place: Some('?'),
    rows: Rows::Places,
    words: &[
        ("lock", ""),
        ("bigint", "BIGINT"),
        ("insert_new", "INSERT"),
        ("unless_known", "ON CONFLICT (id) DO NOTHING"),
        ("row", "row"),
        ("or_replace_row", "ON CONFLICT (run, job_id) DO UPDATE SET row = excluded.row"),
        ("or_replace_note", "ON CONFLICT (run, name) DO UPDATE SET job_ids = excluded.job_ids"),
        // The order of the tables is the order in which they are read.
        ("join", "CROSS JOIN"),
        ("materialized", "MATERIALIZED"),
        ("asked", "json_each(@) AS asked"),
        ("among", "IN (SELECT value FROM {asked @})"),
        ("told", "(SELECT value ->> 0 AS c0, value ->> 1 AS c1, value ->> 2 AS c2 FROM json_each(@)) AS told"),
        ("by_job", "INDEXED BY {prefix}run_jobs_by_job"),
        ("by_not_started", "INDEXED BY {prefix}run_jobs_not_started"),
        ("by_in_doubt", "INDEXED BY {prefix}run_jobs_in_doubt"),
        ("not_started", "batch IS NULL"),
        (
            "settle",
            "UPDATE {run_jobs} AS j {by_job} SET outcome = told.c1, reason = told.c2 FROM {told ?3} \
             WHERE j.run = ?1 AND j.batch = ?2 AND j.job_id = told.c0 AND j.outcome IS NULL",
        ),
        (
            "name_again",
            "UPDATE {run_jobs} SET batch = ?2, outcome = NULL, reason = NULL WHERE run = ?1 \
             AND ord IN (SELECT CAST(value AS BIGINT) FROM {asked ?3}) AND outcome = 'skipped'",
        ),
        ("now", "CAST(round((julianday('now') - 2440587.5) * 86400000000) AS INTEGER)"),
        ("look", "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{ledger}'"),
        (
            "record_done",
            "UPDATE {run_jobs} {by_job} SET outcome = 'done' WHERE run = ?1 AND batch IS NOT NULL AND outcome IS NULL \
             AND job_id {among ?3} \
             AND EXISTS (SELECT 1 FROM {runs} WHERE seq = ?1 AND holder = ?2)",
        ),
    ],
};
