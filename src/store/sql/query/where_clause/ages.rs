//! How long ago a job died or was last changed.

use super::WhereClause;
use crate::domain::filter::{Test, TimeBound};
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::{Expr, Part};

/// Microseconds that two readings of the same instant may be apart.
const FINER: i64 = 1_000;

impl WhereClause<'_> {
    /// Whether a job died and was last changed before an instant; one without such times has no age that counts.
    pub(crate) fn untouched(&self, sql: &mut Sql, since: Timestamp) {
        let parts = [Part::At, Part::Touched].into_iter().filter_map(|p| self.layout.part(p));
        let parts: Vec<&Expr> = parts.collect();
        let before = Test::Time { from: None, to: Some(TimeBound::At(since)) };
        sql.join(&parts, " AND ", |sql, expr| self.value(sql, expr, &before));
    }

    /// Writes whether a job died at an instant at the latest, or has no such time.
    pub(crate) fn died_by(&self, sql: &mut Sql, at: Timestamp) {
        let Some(expr) = self.layout.part(Part::At) else {
            sql.push("1 = 1");
            return;
        };
        // The instant was read in microseconds; the column may be finer.
        let later = Timestamp(at.0.saturating_add(FINER));
        sql.push("(");
        self.layout.dialect.at_or_after(sql, &expr.raw, expr.kind, later);
        sql.push(") IS NOT TRUE");
    }
}
