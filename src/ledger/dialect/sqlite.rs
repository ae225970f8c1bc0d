//! SQLite's words. Statements name their index: left to itself the planner walks a run from its first job at every batch.

use super::{InsertRows, LedgerSql};

pub(super) const TEXT: LedgerSql = LedgerSql {
    place: Some('?'),
    rows: InsertRows::Places,
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
        // Jobs are found by what they are known by through `run_keys`, never by walking through a run.
        ("known", "(run, ord) IN (SELECT run, ord FROM {run_keys} WHERE known_as = @)"),
        (
            "all_known",
            "(run, ord) IN (SELECT k.run, k.ord FROM {asked @} CROSS JOIN {run_keys} AS k ON k.known_as = asked.value)",
        ),
        (
            "past",
            "CROSS JOIN {run_keys} AS k ON k.known_as = @ CROSS JOIN {run_jobs} AS past ON past.run = k.run \
             AND past.ord = k.ord",
        ),
        (
            "had",
            "CROSS JOIN {run_keys} AS k ON k.known_as = @ AND k.run = back.seq CROSS JOIN {run_jobs} AS had \
             ON had.run = k.run AND had.ord = k.ord",
        ),
        ("by_not_started", "INDEXED BY {prefix}run_jobs_not_started"),
        ("by_in_doubt", "INDEXED BY {prefix}run_jobs_in_doubt"),
        ("not_started", "batch IS NULL"),
        (
            "settle",
            // The limit keeps the planner from reading the jobs of the run first.
            "UPDATE {run_jobs} AS j SET outcome = told.c1, reason = told.c2 FROM (SELECT k.run, k.ord, told.c0, told.c1, \
             told.c2 FROM {told ?3} CROSS JOIN {run_keys} AS k ON k.known_as = told.c0 AND k.run = ?1 LIMIT -1) AS told \
             WHERE j.run = told.run AND j.ord = told.ord AND j.job_id = told.c0 AND j.batch = ?2 AND j.outcome IS NULL",
        ),
        (
            "name_again",
            "UPDATE {run_jobs} SET batch = ?2, outcome = NULL, reason = NULL WHERE run = ?1 \
             AND ord IN (SELECT CAST(value AS BIGINT) FROM {asked ?3}) AND outcome = 'skipped'",
        ),
        ("now", "CAST(round((julianday('now') - 2440587.5) * 86400000000) AS INTEGER)"),
        ("look", "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{ledger}'"),
        ("look_deeper", "SELECT 1, 1 WHERE 1 = 0"),
        (
            "record_done",
            "UPDATE {run_jobs} {by_in_doubt} SET outcome = 'done' WHERE run = ?1 AND batch IS NOT NULL AND outcome IS NULL \
             AND job_id {among ?3} \
             AND EXISTS (SELECT 1 FROM {runs} WHERE seq = ?1 AND holder = ?2)",
        ),
    ],
};
