//! Counting by value within one window of rows that are read in order.

use crate::adapter::FieldKind;
use crate::db::cells::Cells;
use crate::db::{Row, Statement};
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::WindowShape;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::group_by::{Grouping, Tally};
use crate::store::sql::query::layout::Expr;
use crate::store::sql::read::scan::{Scan, Segment, segments};
use crate::store::sql::read::scan_sql::ScanSql;
use crate::store::{Cursor, Position, Result};

/// What a window counted.
pub(crate) struct WindowCounts {
    pub(crate) values: Vec<(Option<String>, Tally)>,
    pub(crate) looked_at: u64,
    pub(crate) last: Option<Position>,
}

impl Scan<'_> {
    /// Counts by value in the next window forward, of `most` rows at the most.
    pub(crate) async fn window_counts(
        &self,
        cursor: &Cursor,
        grouping: &Grouping<'_>,
        most: usize,
    ) -> Result<WindowCounts> {
        let order = self.sql.order()?;
        let nullable = order.nullable && !self.sql.layout.is_key(order);
        let segments = segments(cursor, true, nullable);
        let mut sum = WindowCounts { values: Vec::new(), looked_at: 0, last: None };
        for segment in &segments {
            let statement = |size| self.sql.counting_statement(order, segment, size, grouping);
            let (rows, _) = self.read_chunk(grouping.most_rows().min(most), statement).await?;
            let counts = read_window(grouping, rows)?;
            sum.values.extend(counts.values);
            sum.looked_at += counts.looked_at;
            sum.last = counts.last;
            if sum.last.is_some() {
                break;
            }
        }
        Ok(sum)
    }
}

impl ScanSql<'_> {
    fn counting_statement(&self, order: &Expr, segment: &Segment, size: usize, grouping: &Grouping<'_>) -> Statement {
        let key = self.layout.key.expr.column.as_deref().unwrap_or_default();
        let shape = WindowShape {
            table: &self.layout.tables.table,
            key: &self.layout.dialect.quote(key),
            by: &self.by(order, segment.null),
            descending: self.sort.descending,
            rows: size,
        };
        let position = self.layout.dialect.position(&order.raw, order.kind);
        let within = &mut |sql: &mut Sql| self.in_window(sql, order, segment, true);
        window_statement(self, grouping, &shape, &position, within)
    }
}

/// Counts by value in one window, with the place of its last row in whichever group that is.
fn window_statement(
    scan: &ScanSql<'_>,
    grouping: &Grouping<'_>,
    shape: &WindowShape<'_>,
    position: &str,
    within: &mut dyn FnMut(&mut Sql),
) -> Statement {
    let dialect = scan.layout.dialect;
    let (at, kind) = grouping.at();
    let edge = |column: &str| format!("max(CASE WHEN rn = {} THEN {column} END)", shape.rows);
    let bound = |end: &str| dialect.contract(&format!("{end}(CASE WHEN hit = 1 THEN a END)"), kind);
    let mut sql = Sql::new(dialect);
    sql.push(&format!(
        "SELECT {}, CAST(sum(hit) AS {}), {}, {}, max(rn), {}, {} FROM (SELECT {} AS v, {at} AS a, {} AS k, {} AS i, rn",
        dialect.contract("v", FieldKind::Text),
        dialect.whole_type(),
        bound("min"),
        bound("max"),
        edge("k"),
        edge("i"),
        grouping.value(),
        position,
        scan.layout.key.text,
    ));
    scan.push_hit(&mut sql);
    sql.push(" FROM ");
    dialect.window(&mut sql, shape, within);
    sql.push(&scan.layout.tables.join);
    sql.push(&format!(") AS x GROUP BY {}", dialect.group_key("v")));
    sql.done()
}

/// Reads what [`window_statement`] counted; the place is there only when the window was full.
fn read_window(grouping: &Grouping<'_>, rows: Vec<Row>) -> Result<WindowCounts> {
    let mut out = WindowCounts { values: Vec::new(), looked_at: 0, last: None };
    for row in rows {
        let mut cells = Cells::new(row);
        let (value, example) = grouping.bar_value(cells.text()?);
        let (n, first, last) = (cells.count()?, cells.int()?.map(Timestamp), cells.int()?.map(Timestamp));
        let tally = Tally { n, first, last, example };
        out.looked_at = out.looked_at.max(cells.count()?);
        let (key, id) = (cells.text()?, cells.text()?);
        if let Some(id) = id {
            out.last = Some(Position { key, id: JobId::new(id) });
        }
        if tally.n > 0 {
            out.values.push((value, tally));
        }
    }
    Ok(out)
}
