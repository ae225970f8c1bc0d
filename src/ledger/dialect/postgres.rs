//! PostgreSQL's words.

use super::{InsertRows, LedgerSql};

pub(super) const TEXT: LedgerSql = LedgerSql {
    place: Some('$'),
    rows: InsertRows::Arrays,
    words: &[
        ("lock", " FOR UPDATE"),
        ("bigint", "BIGINT"),
        ("insert_new", "INSERT"),
        ("unless_known", "ON CONFLICT (id) DO NOTHING"),
        ("row", "\"row\""),
        ("or_replace_row", "ON CONFLICT (run, job_id) DO UPDATE SET \"row\" = excluded.\"row\""),
        ("or_replace_note", "ON CONFLICT (run, name) DO UPDATE SET job_ids = excluded.job_ids"),
        ("join", "JOIN"),
        ("materialized", "MATERIALIZED"),
        ("asked", "unnest(@::text[]) AS asked(value)"),
        ("among", "= ANY(@::text[])"),
        (
            "told",
            "(SELECT value ->> 0 AS c0, value ->> 1 AS c1, value ->> 2 AS c2 \
             FROM jsonb_array_elements(@::text::jsonb) AS told(value)) AS told",
        ),
        ("known", "1 = 1"),
        ("all_known", "1 = 1"),
        ("past", "{join} {run_jobs} AS past ON 1 = 1"),
        ("had", "{join} {run_jobs} AS had ON had.run = back.seq"),
        ("by_not_started", ""),
        ("by_in_doubt", ""),
        ("not_started", "batch IS NULL"),
        (
            "settle",
            "UPDATE {run_jobs} AS j SET outcome = told.c1, reason = told.c2 FROM {told ?3} \
             WHERE j.run = ?1 AND j.batch = ?2 AND j.job_id = told.c0 AND j.outcome IS NULL",
        ),
        (
            "name_again",
            "UPDATE {run_jobs} SET batch = ?2, outcome = NULL, reason = NULL WHERE run = ?1 \
             AND ord IN (SELECT CAST(value AS BIGINT) FROM {asked ?3}) AND outcome = 'skipped'",
        ),
        ("now", "CAST(round(extract(epoch FROM clock_timestamp()) * 1000000) AS BIGINT)"),
        (
            "look",
            "SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
             WHERE n.nspname = 'dlq_tui' AND c.relname = 'ledger'",
        ),
        ("look_deeper", "SELECT 1, 1 WHERE 1 = 0"),
        (
            "record_done",
            "UPDATE {run_jobs} SET outcome = 'done' WHERE run = ?1 AND batch IS NOT NULL AND outcome IS NULL \
             AND job_id {among ?3} \
             AND EXISTS (SELECT 1 FROM {runs} WHERE seq = ?1 AND holder = ?2)",
        ),
    ],
};
