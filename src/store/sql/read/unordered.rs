//! Looking for what is rare: rows in the order of the list first, and the rest of the table as it is stored.
//!
//! The newest rows are looked at by windows of the order, so that hits near the top come at once. Where those are few,
//! filling the page that way would read most of the table through an index, without read-ahead. Its blocks are read
//! instead, the last ones first, each window bounded and the progress exact. What is beyond the place that was reached in
//! order, and only that, is asked for; the end of the table is read again at last, as rows that were changed meanwhile have
//! mostly moved there. A row that moves into another block that was read already is missed: a list that is looked at can
//! bear that, and a count of which it is said when rows changed meanwhile; a cohort cannot, and is not read like this.

use std::time::Instant;

use crate::db::Statement;
use crate::domain::job::JobId;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::{Read, read, select};
use crate::store::sql::query::layout::Expr;
use crate::store::sql::query::where_clause::{WhereClause, has_span};
use crate::store::sql::read::chunk_size::{LEAST_BLOCKS, TARGET, Yield};
use crate::store::sql::read::chunks::{ChunkEnd, ChunkReader, ROWS_OF_BLOCK, Window, share};
use crate::store::sql::read::page::Reader;
use crate::store::sql::read::scan::{Scan, Segment, segments};
use crate::store::sql::read::scan_sql::ScanSql;
use crate::store::{Budget, Cursor, Page, PageQuery, Result, Scanned, Token, Unordered};

/// Rows that are looked at in order before anything else is thought of.
const NEWEST: u64 = 20_000;
/// The same where rows are stored by their key: there each of them is looked up, which costs as much as several in turn.
const NEWEST_BY_KEY: u64 = 6_000;
/// A table of fewer blocks is through before it pays.
const LEAST: u64 = 1_000;
/// How much quicker rows are read as they are stored.
const QUICKER: u64 = 3;
/// Rows that a page has at the least that somebody looks at, where they lie apart: finding each costs the blocks of all that
/// lie between, and asking for a page a way there and back.
const APART: usize = 25;
/// Rows that one window returns at the most: they may bring heavy columns along.
const MOST: usize = 2_000;

/// How far a table was read as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct BlocksLeft {
    /// Blocks of the table when this pass over them began.
    blocks: u64,
    /// Those from here on were read in this pass.
    left: u64,
    /// Those before this one were read in an earlier pass.
    floor: u64,
    /// The key down to which rows were read, where a table is stored by its key and goes by that.
    key: Option<JobId>,
}

impl<'s> Reader<'s> {
    pub(crate) async fn search_page(self, query: PageQuery, screen: usize, budget: &Budget) -> Result<Page> {
        if let Cursor::Unordered(at) = &query.cursor
            && let Some(read) = at.token.state::<BlocksLeft>()
        {
            return self.stored_step(&query, at, read.clone(), budget).await;
        }
        let question = format!("{:?} {}", query.sort, query.filter);
        let newest = if self.context.layout.tables.is_stored_by_key { NEWEST_BY_KEY } else { NEWEST };
        if query.cursor == Cursor::Start {
            self.memory.pace.begin(&question);
        }
        let before = self.memory.pace.so_far(&question).rows;
        // Beyond those, the order is kept to because that is the better way. Against it, none of this is counted.
        let left = newest.checked_sub(before).filter(|left| *left > 0 && query.cursor.is_forward());
        let left = left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        let page = self.read_page(query.clone(), screen.max(APART), left, budget).await?;
        let (Some(Cursor::After(beyond)), Some(scanned)) = (&page.next, page.scanned) else { return Ok(page) };
        let step = Yield { rows: scanned.rows, hits: page.entries.len() as u64 };
        let so_far = self.memory.pace.note(&question, step, page.entries.len() >= query.limit);
        if so_far.rows < newest {
            return Ok(page);
        }
        let is_within = has_span(&self.context.layout, query.filter.clauses());
        let blocks = self.blocks(budget).await?.filter(|blocks| pays(so_far, query.limit, *blocks, is_within));
        let Some(blocks) = blocks else { return Ok(page) };
        let token = Token::new(BlocksLeft { blocks, left: blocks, floor: 0, key: None });
        let at = Unordered { beyond: beyond.clone(), until: None, token };
        Ok(Page { next: Some(Cursor::Unordered(at)), ..page })
    }

    /// Some windows of blocks.
    async fn stored_step(
        self,
        query: &PageQuery,
        ahead: &Unordered,
        mut at: BlocksLeft,
        budget: &Budget,
    ) -> Result<Page> {
        let judge = WhereClause::new(&self.context.layout, &query.filter, self.context.server_now());
        let scan = self.scan(&judge, query.sort, budget);
        let (began, mut entries) = (Instant::now(), Vec::new());
        while at.left > at.floor {
            let end = ChunkEnd { block: at.left, of: at.blocks, floor: at.floor, key: at.key.as_ref() };
            let (window, found) = scan.stored(end, Some(ahead)).await?;
            at.left = window.from;
            at.key = window.last_key();
            entries.extend(found.into_iter().map(|read| read.entry));
            // Another window would take about as long as this one.
            if entries.len() >= MOST || began.elapsed() >= TARGET / 2 {
                break;
            }
        }
        let is_first_pass = at.floor == 0;
        let share = if is_first_pass { share(at.left, at.blocks) } else { 1.0 };
        let next = match (at.left > at.floor, is_first_pass) {
            (true, _) => Some(at),
            // Where rows are stored by their key, none of them moves.
            (false, true) if !self.context.layout.tables.is_stored_by_key => Some(self.tail(at, budget).await?),
            (false, _) => None,
        };
        let scanned = Some(Scanned { rows: 0, share });
        let next = next.map(|at| Cursor::Unordered(Unordered { token: Token::new(at), ..ahead.clone() }));
        Ok(Page { entries, next, scanned })
    }

    /// Where rows went that were changed while all blocks were read: those that the table has gained, and the last ones
    /// before, which had room.
    async fn tail(self, at: BlocksLeft, budget: &Budget) -> Result<BlocksLeft> {
        let blocks = self.blocks(budget).await?.unwrap_or(0).max(at.blocks);
        Ok(BlocksLeft { blocks, left: blocks, floor: at.blocks.saturating_sub(LEAST_BLOCKS).max(1), ..at })
    }
}

impl Scan<'_> {
    /// The hits in the window before a place, of a search only those that lie ahead of it.
    pub(crate) async fn stored(&self, end: ChunkEnd<'_>, ahead: Option<&Unordered>) -> Result<(Window, Vec<Read>)> {
        let statement = |window: &Window| self.sql.stored_statement(window, ahead);
        let Self { engine, pace, budget, sql: ScanSql { layout, .. }, .. } = *self;
        let read_on = ChunkReader { engine, layout, pace, budget }.read_before(end, MOST, statement).await?;
        let (window, rows) = read_on.unwrap_or((Window { from: 0, to: 0, blocks: 0, keys: None }, Vec::new()));
        let reads = rows.into_iter().map(|row| read(self.sql.layout, row)).collect::<Result<Vec<Read>>>()?;
        let passes = |read: &Read| self.sql.judge.rest.as_ref().is_none_or(|rest| rest.matches(&read.subject()));
        Ok((window, reads.into_iter().filter(passes).collect()))
    }
}

impl ScanSql<'_> {
    fn stored_statement(&self, window: &Window, ahead: Option<&Unordered>) -> Result<Statement> {
        let order = self.order()?;
        let mut sql = Sql::new(self.layout.dialect);
        sql.push("SELECT ");
        select(&mut sql, self.layout, order, self.judge.extras);
        sql.push(&format!(" FROM {} WHERE ", self.layout.stored_joined()));
        self.older(&mut sql);
        self.judge.push(&mut sql);
        // Behind what few rows meet: the rows of a window are found by it, and some databases ask each of them once more.
        sql.push(" AND ");
        window.push(&mut sql, self.layout);
        if let Some(at) = ahead {
            self.push_beyond(&mut sql, order, at);
        }
        // No ORDER BY: the planner would take the index that serves it. The least of windows gives all that it has.
        if window.blocks > LEAST_BLOCKS {
            sql.push(&format!(" LIMIT {}", MOST + 1));
        }
        Ok(sql.done())
    }

    /// Writes a further condition: that a row lies ahead of a search.
    fn push_beyond(&self, sql: &mut Sql, order: &Expr, at: &Unordered) {
        // Rows without a value stand behind all that have one.
        let until = at.until.as_ref().filter(|place| place.key.is_some());
        let nullable = order.nullable && !self.layout.is_key(order) && until.is_none();
        let ahead = segments(&Cursor::After(at.beyond.clone()), true, nullable);
        sql.push(" AND ((").join(&ahead, ") OR (", |sql, segment| self.within(sql, order, segment, true)).push("))");
        if let Some(until) = until {
            sql.push(" AND ");
            self.within(sql, order, &Segment { null: false, from: Some(until.clone()) }, false);
        }
    }
}

/// Whether reading all blocks costs less than filling a page in order, at the rate at which hits came so far. A search that
/// keeps to a span of time ends with that: how much it holds is known when as much was read as all blocks would cost.
fn pays(so_far: Yield, limit: usize, blocks: u64, is_within: bool) -> bool {
    let all = blocks.saturating_mul(ROWS_OF_BLOCK) / QUICKER;
    let is_long = !is_within || so_far.rows >= all;
    is_long && blocks >= LEAST && (limit as u64).saturating_mul(so_far.rows) > so_far.hits.saturating_mul(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_table_is_read_only_where_a_page_would_cost_as_much() {
        let of = |rows, hits| Yield { rows, hits };
        assert!(pays(of(20_000, 0), 200, 800_000, false), "nothing so far");
        assert!(pays(of(20_000, 1), 200, 800_000, false), "a page would take four million rows");
        assert!(!pays(of(20_000, 20), 200, 800_000, false), "a page takes 200,000 rows");
        assert!(!pays(of(20_000, 0), 200, 999, false), "the table is small");
        assert!(!pays(of(20_000, 0), 200, 800_000, true), "the span may end with the next row");
        assert!(pays(of(3_000_000, 0), 200, 800_000, true), "the span is long");
    }
}
