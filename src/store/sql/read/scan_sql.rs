//! The statements of a scan: which rows are read, from which place on, in which order.

use crate::db::Statement;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{WindowShape, order_by};
use crate::store::sql::query::buckets::Axis;
use crate::store::sql::query::columns::select;
use crate::store::sql::query::layout::{Expr, Layout};
use crate::store::sql::query::time_of_death::Rows;
use crate::store::sql::query::where_clause::WhereClause;
use crate::store::sql::read::scan::Segment;
use crate::store::{Result, Sort, SourceError};

/// Writes the statements of a scan.
#[derive(Clone, Copy)]
pub(crate) struct ScanSql<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) judge: &'a WhereClause<'a>,
    pub(crate) sort: Sort,
    /// Only rows before this bucket of the axis of looks are asked for; the others are counted already.
    pub(crate) before: Option<i64>,
}

impl<'a> ScanSql<'a> {
    pub(crate) fn order(&self) -> Result<&'a Expr> {
        let missing = || SourceError::Input("this layout cannot be sorted by attempts".to_owned());
        self.layout.order(self.sort.key, self.judge.only_dead()).ok_or_else(missing)
    }

    pub(crate) fn direct_statement(&self, order: &Expr, segment: &Segment, forward: bool, limit: usize) -> Statement {
        let mut sql = Sql::new(self.layout.dialect);
        sql.push("SELECT ");
        select(&mut sql, self.layout, order, self.judge.extras);
        self.push_rows(&mut sql, order, segment, forward, limit);
        sql.done()
    }

    /// Writes which rows are read directly, and in which order.
    fn push_rows(&self, sql: &mut Sql, order: &Expr, segment: &Segment, forward: bool, limit: usize) {
        sql.push(&format!(" FROM {} WHERE ", self.layout.tables.from));
        self.judge.push_for(sql, Rows::of(self.sort.key, segment.null));
        sql.push(" AND ");
        // What is asked of all rows stands there already: said twice, the planner would take it for two chances.
        self.beyond(sql, order, segment, forward);
        let order = order_by(&self.by(order, segment.null), self.sort.descending == forward);
        sql.push(&format!(" ORDER BY {order} LIMIT {limit}"));
    }

    pub(crate) fn window_statement(&self, order: &Expr, segment: &Segment, forward: bool, size: usize) -> Statement {
        let key = self.layout.key.expr.column.as_deref().unwrap_or_default();
        let shape = WindowShape {
            table: &self.layout.tables.table,
            key: &self.layout.dialect.quote(key),
            by: &self.by(order, segment.null),
            descending: self.sort.descending == forward,
            rows: size,
        };
        let mut sql = Sql::new(self.layout.dialect);
        sql.push("SELECT ");
        select(&mut sql, self.layout, order, self.judge.extras);
        // A row comes back because it passes, or as the last of the window. Only of that one it is asked again whether it
        // passes: a filter may read a text of megabytes.
        sql.push(&format!(", CASE WHEN rn < {size} THEN 1 ELSE "));
        self.push_passes(&mut sql);
        sql.push(" END AS hit, rn FROM ");
        let within = &mut |sql: &mut Sql| self.in_window(sql, order, segment, forward);
        self.layout.dialect.window(&mut sql, &shape, within);
        sql.push(&self.layout.tables.join);
        sql.push(&format!(" WHERE rn = {size} OR "));
        self.push_passes(&mut sql);
        sql.push(" = 1");
        sql.done()
    }

    /// Writes a column: whether a row passes.
    pub(crate) fn push_hit(&self, sql: &mut Sql) {
        sql.push(", ");
        self.push_passes(sql);
        sql.push(" AS hit");
    }

    /// Writes 1 for a row that passes, 0 for one that does not. No planner sees a condition in it, by which it would read the
    /// rows of a window in another order.
    fn push_passes(&self, sql: &mut Sql) {
        sql.push("CASE WHEN ");
        self.judge.push(sql);
        sql.push(" THEN 1 ELSE 0 END");
    }

    /// Writes which rows of a segment a window may hold, whether or not they pass.
    pub(crate) fn in_window(&self, sql: &mut Sql, order: &Expr, segment: &Segment, forward: bool) {
        self.judge.span(sql, Rows::of(self.sort.key, segment.null));
        self.within(sql, order, segment, forward);
    }

    /// Writes whether a row belongs to a segment and lies beyond its place.
    pub(crate) fn within(&self, sql: &mut Sql, order: &Expr, segment: &Segment, forward: bool) {
        if let Some(condition) = self.layout.among(self.judge.only_dead()) {
            sql.push(&format!("{condition} AND "));
        }
        self.beyond(sql, order, segment, forward);
    }

    /// The same, of rows that are all asked for.
    pub(crate) fn beyond(&self, sql: &mut Sql, order: &Expr, segment: &Segment, forward: bool) {
        let dialect = self.layout.dialect;
        let key = &self.layout.key.expr;
        let descending = self.sort.descending == forward;
        self.older(sql);
        let Some(from) = &segment.from else {
            match (segment.null, order.nullable && !self.layout.is_key(order)) {
                (true, _) => sql.push(&format!("{} IS NULL", order.raw)),
                (false, true) => sql.push(&format!("{} IS NOT NULL", order.raw)),
                (false, false) => sql.push("1 = 1"),
            };
            return;
        };
        if segment.null {
            sql.push(&format!("{} IS NULL AND ", order.raw));
        } else if order.nullable && !self.layout.is_key(order) {
            // It follows from what comes, but not to the planner: an index over rows that have the value serves only then.
            sql.push(&format!("{} IS NOT NULL AND ", order.raw));
        }
        let by_key = segment.null || self.layout.is_key(order);
        if let Some(value) = from.key.as_ref().filter(|_| !by_key && self.layout.is_unique(order)) {
            let place = dialect.placed(sql, value, order.kind);
            dialect.beyond(sql, None, (&order.raw, place), descending);
            return;
        }
        let value = match (&from.key, by_key) {
            (Some(value), false) => {
                let mut place = || dialect.placed(sql, value, order.kind);
                let first = place();
                if dialect.beyond_repeats_key() {
                    place();
                }
                Some((order.raw.as_str(), first))
            }
            _ => None,
        };
        let id = dialect.placed(sql, self.layout.bare(from.id.as_str()), key.kind);
        dialect.beyond(sql, value, (&key.raw, id), descending);
    }

    /// Writes that looks have not counted a row, before an AND; nothing where it is no matter.
    pub(crate) fn older(&self, sql: &mut Sql) {
        if let (Some(bucket), Some(axis)) = (self.before, Axis::of(self.layout, self.judge.only_dead())) {
            axis.before(sql, bucket);
            sql.push(" AND ");
        }
    }

    /// What orders the rows of a segment, the key last where it takes it to tell them apart. Rows without the order's value
    /// are ordered by it all the same: a planner that was asked for the key alone would look for them along the whole table.
    pub(crate) fn by<'b>(&'b self, order: &'b Expr, null: bool) -> Vec<&'b str> {
        let key = self.layout.key.expr.raw.as_str();
        match (self.layout.is_key(order), self.layout.is_unique(order) && !null) {
            (true, _) => vec![key],
            (false, true) => vec![&order.raw],
            (false, false) => vec![&order.raw, key],
        }
    }
}
