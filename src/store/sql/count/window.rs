//! Counting by value within one window of rows that are read in order.

use crate::adapter::FieldKind;
use crate::db::{Row, Statement};
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::WindowShape;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::Cells;
use crate::store::sql::query::group_by::{Grouping, Tally};
use crate::store::sql::read::scan::Scan;
use crate::store::{Position, Result};

/// What a window counted.
pub(crate) struct WindowCounts {
    pub(crate) values: Vec<(Option<String>, Tally)>,
    pub(crate) looked_at: u64,
    pub(crate) last: Option<Position>,
}

/// Counts by value in one window, with the place of its last row in whichever group that is.
pub(crate) fn window_statement(
    scan: &Scan<'_>,
    grouping: &Grouping<'_>,
    shape: &WindowShape<'_>,
    position: &str,
    within: &mut dyn FnMut(&mut Sql),
) -> Statement {
    let speech = scan.layout.speech;
    let (at, kind) = grouping.at();
    let edge = |column: &str| format!("max(CASE WHEN rn = {} THEN {column} END)", shape.rows);
    let bound = |end: &str| speech.contract(&format!("{end}(CASE WHEN hit = 1 THEN a END)"), kind);
    let mut sql = Sql::new(speech);
    sql.push(&format!(
        "SELECT {}, CAST(sum(hit) AS {}), {}, {}, max(rn), {}, {} FROM (SELECT {} AS v, {at} AS a, {} AS k, {} AS i, rn",
        speech.contract("v", FieldKind::Text),
        speech.whole_type(),
        bound("min"),
        bound("max"),
        edge("k"),
        edge("i"),
        grouping.value(),
        position,
        scan.layout.key_text,
    ));
    scan.push_hit(&mut sql);
    sql.push(" FROM ");
    speech.window(&mut sql, shape, within);
    sql.push(&scan.layout.join);
    sql.push(&format!(") AS x GROUP BY {}", speech.told_apart("v")));
    sql.done()
}

/// Reads what [`window_statement`] counted; the place is there only when the window was full.
pub(crate) fn read_window(grouping: &Grouping<'_>, rows: Vec<Row>) -> Result<WindowCounts> {
    let mut out = WindowCounts { values: Vec::new(), looked_at: 0, last: None };
    for row in rows {
        let mut cells = Cells::new(row);
        let (value, example) = grouping.told(cells.text()?);
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
