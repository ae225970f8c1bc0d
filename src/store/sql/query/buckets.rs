//! What is new since the last look, in work proportional to what is new.
//!
//! The recent past is cut into buckets along the order of the list: ten seconds of time, or a thousand keys where the
//! key orders. A look recounts the buckets from a bound on and overwrites what was known of them, so that nothing is
//! counted twice and updates inside the range are seen.
//!
//! The bound: where the database tells its snapshot, every row that was invisible at the last look was written by a
//! transaction at or after that snapshot's oldest one, so it is enough to go back to the newest look that had ended
//! before that transaction began. Elsewhere the bound overlaps by a fixed stretch: a row that is committed later than
//! that after its time of death is missed until counts are taken anew. Rows that change *behind* the bound are not
//! seen by any database; a full count closes that.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::db::cells::Cells;
use crate::db::{Gate, Row, Statement};
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::Dialect;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::group_by::{Grouping, Tally, untrusted};
use crate::store::sql::query::layout::{Expr, Layout};
use crate::store::{Cell, SortKey, Token};

/// Microseconds of a bucket of time, and keys of a bucket of keys.
const TIME_WIDTH: i64 = 10_000_000;
const KEY_WIDTH: i64 = 1_000;
/// How far the first look, and each look without a snapshot, goes back.
const TIME_OVERLAP: i64 = 120_000_000;
const KEY_OVERLAP: i64 = 5_000;
/// What clocks and key sequences may be out of step by.
const TIME_SLACK: i64 = 1_000_000;
const KEY_SLACK: i64 = 500;
/// Looks that are remembered.
const MEMORY: usize = 64;
/// Connections whose tokens are remembered beside that of the last look.
const CONNECTIONS: usize = 7;

/// What is remembered from one look to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    token: Option<String>,
    /// The last tokens of other connections, where each has its own: what any of them has not seen change since has not changed
    /// since this look either.
    others: Vec<String>,
    /// Past looks: the next transaction to begin then, and how far the order reached then; the newest last.
    looks: Vec<(u64, i64)>,
    /// Where the next look starts, in the order's own unit.
    bound: i64,
    /// Before which no look starts: what lies there was not counted bucket by bucket.
    floor: Option<i64>,
    /// A digest of each bucket as it was counted when the token was new, where transactions move it before they are seen: one of
    /// them may be missing there, so that it is counted once more. What it did to older rows only a later full count tells.
    unsure: Option<Arc<BTreeMap<i64, u64>>>,
}

/// The axis along which the recent past is cut.
pub(crate) struct Axis<'a> {
    layout: &'a Layout,
    order: &'a Expr,
}

impl<'a> Axis<'a> {
    /// The axis of a layout: its order by time, of dead jobs alone or of others too.
    pub(crate) fn of(layout: &'a Layout, dead: bool) -> Option<Self> {
        layout.order(SortKey::Time, dead).map(|order| Self { layout, order })
    }

    pub(crate) fn is_time(&self) -> bool {
        self.order.kind.is_time()
    }

    fn width(&self) -> i64 {
        if self.is_time() { TIME_WIDTH } else { KEY_WIDTH }
    }

    /// The bucket's expression.
    pub(crate) fn bucket(&self) -> String {
        self.layout.dialect.bucket(&self.order.raw, self.order.kind, self.width())
    }

    /// The bucket that a place on the axis lies in.
    pub(crate) fn bucket_of(&self, at: i64) -> i64 {
        at.div_euclid(self.width())
    }

    /// Writes whether a row lies at a bucket or later.
    pub(crate) fn from(&self, sql: &mut Sql, bucket: i64) {
        let start = self.start_of(bucket);
        if self.is_time() {
            self.layout.dialect.at_or_after(sql, &self.order.raw, self.order.kind, Timestamp(start));
        } else {
            sql.push(&format!("{} >= ", self.order.raw)).push_int(start);
        }
    }

    /// Writes whether a row lies before a bucket, or nowhere on the axis: whether [`Axis::from`] does not hold.
    pub(crate) fn before(&self, sql: &mut Sql, bucket: i64) {
        let start = self.start_of(bucket);
        if self.is_time() {
            self.layout.dialect.not_at_or_after(sql, &self.order.raw, self.order.kind, Timestamp(start));
        } else {
            sql.push(&format!("({} >= ", self.order.raw)).push_int(start).push(") IS NOT TRUE");
        }
    }

    /// Where a bucket begins, if the axis is the time of death that `grouping` counts with.
    pub(crate) fn instant_of(&self, bucket: i64, grouping: &Grouping<'_>) -> Option<Timestamp> {
        (self.is_time() && self.order.raw == grouping.at().0).then(|| Timestamp(self.start_of(bucket)))
    }

    /// What orders rows so that the newest come first, as an index serves it.
    pub(crate) fn newest_first(&self) -> String {
        format!("{} DESC", self.order.raw)
    }

    fn start_of(&self, bucket: i64) -> i64 {
        bucket.saturating_mul(self.width())
    }

    /// Where a look starts that knows nothing of the past, by how far the order reaches.
    pub(crate) fn start(&self, reach: i64) -> i64 {
        reach.saturating_sub(if self.is_time() { TIME_OVERLAP } else { KEY_OVERLAP })
    }

    /// The clock alone; one row.
    pub(crate) fn clock(&self) -> Statement {
        let mut sql = Sql::new(self.layout.dialect);
        sql.push(&format!("SELECT {}, NULL, NULL, NULL", self.layout.dialect.clock()));
        sql.done()
    }

    /// The clock, the change token, how far the order reaches, and whether the server takes changes; one row.
    pub(crate) fn poll_statement(&self) -> Statement {
        let dialect = self.layout.dialect;
        let mut sql = Sql::new(dialect);
        let reach = match self.is_time() {
            true => "NULL".to_owned(),
            false => format!("(SELECT max({}) FROM {} AS t)", self.order.raw, self.layout.tables.table),
        };
        let (clock, token, gate) = (dialect.clock(), self.token().unwrap_or("NULL"), dialect.gate().unwrap_or("NULL"));
        sql.push(&format!("SELECT {clock}, {token}, {reach}, {gate}"));
        sql.done()
    }

    /// The counting of the buckets from one on; nothing where the token says that nothing changed since `mark`.
    pub(crate) fn count_since(
        &self,
        grouping: &Grouping<'_>,
        judge: &crate::store::sql::query::where_clause::WhereClause<'_>,
        from: i64,
        since: Option<&Mark>,
    ) -> Statement {
        grouping.statement(
            judge,
            Some(&|sql: &mut Sql| {
                sql.push(&self.bucket());
            }),
            |sql| {
                sql.push(" AND ");
                self.from(sql, from);
                self.gate(sql, since);
            },
        )
    }

    fn token(&self) -> Option<&'static str> {
        // How far keys reach is read along with it.
        let token = self.layout.dialect.change_token(self.is_time());
        token.filter(|_| self.layout.has_transactions)
    }

    /// Writes that anything may have changed since a look.
    pub(crate) fn gate(&self, sql: &mut Sql, since: Option<&Mark>) {
        // Asked for along with the look, which comes first.
        let again = self.layout.dialect.change_token_again(self.is_time());
        let Some(expression) = self.token().and(again) else { return };
        for token in since.into_iter().filter(|mark| mark.unsure.is_none()).flat_map(Mark::tokens) {
            sql.push(&format!(" AND {expression} <> ")).push_text(token);
        }
    }
}

/// One look at the database's clock and state.
pub(crate) struct PollReading {
    pub(crate) clock: Timestamp,
    token: Option<String>,
    reach: Option<i64>,
    /// Whether the server takes changes, where it says so.
    pub(crate) gate: Option<Gate>,
}

impl PollReading {
    pub(crate) fn read(rows: Vec<Row>) -> crate::store::Result<Self> {
        let row = rows.into_iter().next().unwrap_or(Row(Vec::new()));
        let mut cells = Cells::new(row);
        let (clock, token) = (cells.int()?.map(Timestamp).unwrap_or_default(), cells.text()?);
        let (reach, gate) = (cells.place()?, cells.int()?.map(Gate::from_number));
        Ok(Self { clock, token, reach, gate })
    }

    /// Whether anything may have changed since a look.
    pub(crate) fn differs(&self, since: Option<&Mark>) -> bool {
        since.is_none_or(|mark| !mark.tokens().any(|token| self.token.as_deref() == Some(token)))
    }

    /// How far the keys reach, where they order.
    pub(crate) fn reach(&self) -> i64 {
        self.reach.unwrap_or(0)
    }

    /// What to remember of this look.
    pub(crate) fn mark(self, axis: &Axis<'_>, before: Option<&Mark>) -> Mark {
        let reach = if axis.is_time() { self.clock.0 } else { self.reach.unwrap_or(0) };
        let (slack, overlap) = if axis.is_time() { (TIME_SLACK, TIME_OVERLAP) } else { (KEY_SLACK, KEY_OVERLAP) };
        let mut looks = before.map(|m| m.looks.clone()).unwrap_or_default();
        let span = self.token.as_deref().and_then(|t| axis.layout.dialect.token_span(t));
        let bound = match span {
            None => reach.saturating_sub(overlap),
            Some((oldest, next)) => {
                looks.push((next, reach));
                let settled = looks.iter().rev().find(|(next, _)| *next <= oldest).map(|(_, reach)| reach - slack);
                let first = looks.first().map_or(reach, |(_, reach)| *reach).saturating_sub(overlap);
                settled.unwrap_or(first)
            }
        };
        if looks.len() > MEMORY {
            looks.remove(0);
        }
        let floor = before.and_then(|m| m.floor);
        let dialect = axis.layout.dialect;
        let here = self.token.as_deref().and_then(|token| dialect.token_connection(token));
        let is_other = |token: &&str| here.is_some() && dialect.token_connection(token) != here;
        let others = before.into_iter().flat_map(Mark::tokens).filter(is_other);
        let others = others.take(CONNECTIONS).map(str::to_owned).collect();
        Mark { token: self.token, others, looks, bound, floor, unsure: None }
    }
}

impl Mark {
    /// The mark as callers keep it.
    pub(crate) fn into_token(self) -> Token {
        let moments: Vec<String> = self.tokens().map(str::to_owned).collect();
        Token::at(self, moments)
    }

    /// The tokens by which it is known that nothing has changed since, that of the look itself first.
    fn tokens(&self) -> impl Iterator<Item = &str> {
        self.token.iter().chain(&self.others).map(String::as_str)
    }

    /// The same, of a look that has counted these, with a token that nobody knew before.
    pub(crate) fn counted(self, dialect: &dyn Dialect, cells: &[Cell]) -> Self {
        let is_unsure = dialect.is_token_early() && self.token.is_some();
        Self { unsure: is_unsure.then(|| Arc::new(digests(cells))), ..self }
    }

    /// Whether these, which were counted from a bucket on, are other ones than were counted when the token was new; `None`
    /// where that is certain.
    pub(crate) fn has_missed(&self, cells: &[Cell], from: i64) -> Option<bool> {
        self.unsure.as_ref().map(|before| !before.range(from..).eq(digests(cells).range(from..)))
    }

    /// Whether the look before told of a change that it may have been too early to count.
    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure.is_some()
    }

    /// Where the next look starts.
    pub(crate) fn bound(&self) -> i64 {
        self.floor.map_or(self.bound, |floor| self.bound.max(floor))
    }

    /// The same, but that no later look starts before a bucket: whoever was not told what lies there would take all of it
    /// for new.
    pub(crate) fn not_before(self, axis: &Axis<'_>, bucket: i64) -> Self {
        Self { floor: self.floor.max(Some(axis.start_of(bucket))), ..self }
    }
}

/// What tells whether a bucket was counted otherwise, for each that has jobs.
fn digests(cells: &[Cell]) -> BTreeMap<i64, u64> {
    let mut buckets: BTreeMap<i64, DefaultHasher> = BTreeMap::new();
    for cell in cells {
        let value = cell.value.as_ref().map(|value| value.exact());
        let times = [cell.first_seen, cell.last_seen].map(|at| at.map(|at| at.0));
        (value, cell.n, times).hash(buckets.entry(cell.bucket).or_default());
    }
    buckets.into_iter().map(|(bucket, hasher)| (bucket, hasher.finish())).collect()
}

/// The counted buckets as the contract carries them.
pub(crate) fn cells(counted: Vec<crate::store::sql::query::group_by::Counted>) -> Vec<Cell> {
    let mut merged: BTreeMap<(i64, Option<String>), Tally> = BTreeMap::new();
    for one in counted {
        let Some(bucket) = one.slot else { continue };
        merged.entry((bucket, one.value)).or_default().add(&one.tally);
    }
    merged
        .into_iter()
        .map(|((bucket, value), t)| Cell {
            bucket,
            value: untrusted(&value),
            n: t.n,
            first_seen: t.first,
            last_seen: t.last,
            example: t.example,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::DatabaseKind;
    use crate::store::sql::dialect::dialect;

    fn cell(bucket: i64, value: &str, n: u64) -> Cell {
        Cell { bucket, value: Some(value.into()), n, first_seen: None, last_seen: None, example: None }
    }

    #[test]
    fn what_is_counted_once_more_tells_whether_anything_was_missing() {
        let mark = || Mark { token: Some("7".to_owned()), ..Mark::default() };
        let first = [cell(1, "a", 2), cell(2, "a", 1), cell(2, "b", 4)];
        let unsure = mark().counted(dialect(DatabaseKind::Mysql), &first);
        assert_eq!(unsure.has_missed(&first, 0), Some(false));
        assert_eq!(unsure.has_missed(&first[1..], 2), Some(false), "what lies before is not counted any more");
        let later = Cell { last_seen: Some(Timestamp(5)), ..cell(2, "a", 1) };
        for now in [
            vec![cell(2, "a", 2), cell(2, "b", 4)],
            vec![later, cell(2, "b", 4)],
            vec![cell(2, "b", 4)],
            vec![cell(3, "c", 1)],
            Vec::new(),
        ] {
            assert_eq!(unsure.has_missed(&now, 2), Some(true), "{now:?}");
        }
        assert_eq!(mark().has_missed(&[], 0), None);
        assert_eq!(
            mark().counted(dialect(DatabaseKind::Postgres), &first).has_missed(&[], 0),
            None,
            "a token is a snapshot"
        );
        assert_eq!(
            Mark::default().counted(dialect(DatabaseKind::Mysql), &first).has_missed(&[], 0),
            None,
            "nobody tells"
        );
    }
}
