//! What looks ask of MySQL and MariaDB.

use super::Mysql;
use crate::store::sql::dialect::Signs;

impl Signs for Mysql {
    fn clock(&self) -> &'static str {
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
    }

    fn gate(&self) -> Option<&'static str> {
        // A server that follows another is not told from one that somebody has closed.
        Some("CASE WHEN CAST(@@global.read_only AS CHAR) IN ('0', 'OFF') THEN 0 ELSE 1 END")
    }

    fn change_token(&self, is_first: bool) -> Option<&'static str> {
        // How far InnoDB's log reaches, which no commit leaves where it was; it stands still on an idle server. Only MariaDB
        // reads on behind this mark: MySQL tells it to nobody without the right to see every session.
        is_first.then_some(
            "COALESCE(/*M! (SELECT variable_value FROM information_schema.global_status \
             WHERE variable_name = 'INNODB_LSN_CURRENT'), */ NULL)",
        )
    }
}
