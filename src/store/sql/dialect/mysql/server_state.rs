//! What looks ask of MySQL and MariaDB.

use super::MysqlDialect;
use crate::store::sql::dialect::ServerState;

impl ServerState for MysqlDialect {
    fn clock(&self) -> &'static str {
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
    }

    fn gate(&self) -> Option<&'static str> {
        // A server that follows another is not told from one that somebody has closed.
        Some("CASE WHEN CAST(@@global.read_only AS CHAR) IN ('0', 'OFF') THEN 0 ELSE 1 END")
    }

    fn change_token(&self, is_first: bool) -> Option<&'static str> {
        // The number that InnoDB has for the next transaction: each that writes takes one when it begins and another one when it
        // commits, while clearing up behind them moves nothing but the log. To ask costs a fraction of a millisecond, as the
        // server puts together all that it counts. Only MariaDB reads on behind this mark: MySQL tells it to nobody without the
        // right to see every session.
        is_first.then_some(
            "COALESCE(/*M! @dlq_tui_token := (SELECT variable_value FROM information_schema.global_status \
             WHERE variable_name = 'INNODB_MAX_TRX_ID'), */ NULL)",
        )
    }

    fn is_token_early(&self) -> bool {
        // The number of a commit is taken while the commit is written, a moment before anybody sees it.
        true
    }

    fn change_token_again(&self, is_first: bool) -> Option<&'static str> {
        is_first.then_some("@dlq_tui_token")
    }
}
