//! MySQL's and MariaDB's words. There are no partial indexes: what has no outcome stands together in one over all jobs.
//! An `UPDATE` that looks for its rows with `IN (SELECT …)` would read every row, so it joins.

use super::{InsertRows, LedgerSql};

pub(super) const TEXT: LedgerSql = LedgerSql {
    place: None,
    rows: InsertRows::Places,
    words: &[
        ("lock", " FOR UPDATE"),
        ("bigint", "SIGNED"),
        ("insert_new", "INSERT IGNORE"),
        ("unless_known", ""),
        ("row", "`row`"),
        ("or_replace_row", "ON DUPLICATE KEY UPDATE `row` = VALUES(`row`)"),
        ("or_replace_note", "ON DUPLICATE KEY UPDATE job_ids = VALUES(job_ids)"),
        // The order of the tables is the order in which they are read.
        ("join", "STRAIGHT_JOIN"),
        ("materialized", ""),
        (
            "asked",
            "JSON_TABLE(@, '$[*]' COLUMNS (value VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) \
             AS asked",
        ),
        ("among", "IN (SELECT value FROM {asked @})"),
        (
            "told",
            "JSON_TABLE(@, '$[*]' COLUMNS (\
             c0 VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[0]', \
             c1 LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]', c2 LONGTEXT PATH '$[2]')) AS told",
        ),
        ("known", "1 = 1"),
        ("all_known", "1 = 1"),
        ("past", "{join} {run_jobs} AS past ON 1 = 1"),
        ("had", "{join} {run_jobs} AS had ON had.run = back.seq"),
        ("by_not_started", "FORCE INDEX (run_jobs_open)"),
        ("by_in_doubt", "FORCE INDEX (run_jobs_open)"),
        ("not_started", "batch IS NULL AND outcome IS NULL"),
        (
            "settle",
            "UPDATE {told ?3} STRAIGHT_JOIN {run_jobs} AS j ON j.run = ?1 AND j.batch = ?2 AND j.job_id = told.c0 \
             SET j.outcome = told.c1, j.reason = told.c2 WHERE j.outcome IS NULL",
        ),
        (
            "name_again",
            "UPDATE {asked ?3} STRAIGHT_JOIN {run_jobs} AS j ON j.run = ?1 AND j.ord = CAST(asked.value AS SIGNED) \
             SET j.batch = ?2, j.outcome = NULL, j.reason = NULL WHERE j.outcome = 'skipped'",
        ),
        ("now", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"),
        ("look", "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{ledger}'"),
        (
            "look_deeper",
            "SELECT k.table_name, k.engine FROM information_schema.tables AS k JOIN information_schema.engines AS e \
             ON e.engine = k.engine WHERE k.table_schema = DATABASE() AND k.table_name IN ('{ledger}', '{runs}', '{run_jobs}', \
             '{batches}', '{run_tallies}', '{archive}', '{transactions}', '{edits}', '{marks}') AND COALESCE(e.transactions, '') <> 'YES' \
             ORDER BY k.table_name",
        ),
        (
            "record_done",
            "UPDATE {asked ?3} STRAIGHT_JOIN {run_jobs} AS j ON j.job_id = asked.value AND j.run = ?1 \
             SET j.outcome = 'done' WHERE j.batch IS NOT NULL AND j.outcome IS NULL \
             AND EXISTS (SELECT 1 FROM {runs} AS r WHERE r.seq = ?1 AND r.holder = ?2)",
        ),
    ],
};
