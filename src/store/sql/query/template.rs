//! Statements of adapter files, filled in.

use std::time::Duration;

use crate::adapter::{FieldKind, Part, Piece, pieces};
use crate::db::{Bind, Statement};
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{BatchColumns, BatchRow};
use crate::store::sql::query::columns::contract;
use crate::store::sql::query::layout::Layout;

/// How far the clock of a worker, which says when a job died, may be behind the database's.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(60);

/// What a statement's placeholders stand for.
#[derive(Clone, Copy)]
pub(crate) struct Fill<'a> {
    pub(crate) layout: &'a Layout,
    /// The live table, quoted, with its schema.
    pub(crate) target: Option<&'a str>,
    pub(crate) ids: &'a [String],
    pub(crate) batch: &'a [BatchRow],
    pub(crate) run: &'a str,
    pub(crate) run_after: Option<Timestamp>,
    pub(crate) to_queue: Option<&'a str>,
    pub(crate) once: bool,
    /// In an undo: the run that is undone, and the kind of the live table's key.
    pub(crate) undone: &'a str,
    pub(crate) live: Option<FieldKind>,
}

impl<'a> Fill<'a> {
    /// Nothing but the names of a layout.
    pub(crate) fn names_only(layout: &'a Layout, target: Option<&'a str>) -> Self {
        Self {
            layout,
            target,
            ids: &[],
            batch: &[],
            run: "",
            run_after: None,
            to_queue: None,
            once: false,
            undone: "",
            live: None,
        }
    }
}

/// Whether a statement gives each job an instant of its own at which it may run.
pub(crate) fn own_instants(text: &str) -> bool {
    text.contains("b.run_after")
}

/// A statement with its placeholders filled in.
pub(crate) fn expand(text: &str, fill: &Fill<'_>) -> Statement {
    let mut sql = Sql::new(fill.layout.dialect);
    push(&mut sql, text, fill);
    sql.done()
}

/// The present instant as the column for the last change has its times.
fn touched(layout: &Layout) -> String {
    let dialect = layout.dialect;
    match layout.part(Part::Touched).map(|expr| expr.kind) {
        Some(kind) if kind.is_epoch() => dialect.now_epoch(kind),
        Some(FieldKind::Utc) => dialect.now_utc().to_owned(),
        _ => dialect.now().to_owned(),
    }
}

/// Writes whether a row died since the first job of the batch was replayed.
fn died_since_replay(sql: &mut Sql, fill: &Fill<'_>) {
    let replayed_at = fill.batch.iter().filter_map(|row| row.run_after).min();
    match (fill.layout.part(Part::At), replayed_at) {
        (Some(at), Some(replayed_at)) => {
            fill.layout.dialect.at_or_after(sql, &at.raw, at.kind, replayed_at.before(MAX_CLOCK_SKEW));
        }
        _ => drop(sql.push("1 = 0")),
    }
}

/// Pushes text with its placeholders filled in.
pub(crate) fn push(sql: &mut Sql, text: &str, fill: &Fill<'_>) {
    let (layout, dialect) = (fill.layout, fill.layout.dialect);
    for piece in pieces(text) {
        match piece {
            Piece::Sql(text) => drop(sql.push(text)),
            Piece::Hole("table") => drop(sql.push(&layout.tables.table)),
            Piece::Hole("from") => drop(sql.push(&layout.tables.from)),
            Piece::Hole("schema") => drop(sql.push(&dialect.quote(&layout.schema))),
            Piece::Hole("target") => drop(sql.push(fill.target.unwrap_or("NULL"))),
            Piece::Hole("key") => drop(sql.push(&layout.key.text)),
            Piece::Hole("error_class") => drop(sql.push(&contract(layout, Part::Error))),
            Piece::Hole("ids") => layout.keys_in(sql, fill.ids),
            Piece::Hole("batch") => {
                let columns = BatchColumns {
                    new_id: text.contains("new_id"),
                    message: text.contains("message"),
                    scope: layout.key.scope.is_some() && text.contains("b.scope"),
                    run_after: own_instants(text),
                    due: layout.due,
                    kept: text.contains("b.kept"),
                    live: fill.live.filter(|_| text.contains("b.live")),
                };
                dialect.batch(
                    sql,
                    &layout.apart(fill.batch),
                    layout.key.expr.kind,
                    layout.key.collation.as_deref(),
                    columns,
                );
            }
            Piece::Hole("now") => drop(sql.push(dialect.now())),
            Piece::Hole("touched") => drop(sql.push(&touched(layout))),
            Piece::Hole("now_utc") => drop(sql.push(dialect.now_utc())),
            Piece::Hole(hole @ ("run" | "undone")) => {
                let place = sql.text(if hole == "run" { fill.run } else { fill.undone });
                sql.push(&dialect.cast(&place, FieldKind::Text));
            }
            Piece::Hole("to_queue") => {
                let place = sql.bind(Bind::Text(fill.to_queue.map(str::to_owned)));
                sql.push(&dialect.cast(&place, FieldKind::Text));
            }
            Piece::Hole("died_since_replay") => died_since_replay(&mut *sql, fill),
            Piece::Hole("once") => drop(sql.push(if fill.once { "1 = 1" } else { "1 = 0" })),
            Piece::Hole(hole) => {
                // `run_after` and `run_after_utc`: the file was validated, there are no others.
                let instant = match layout.due {
                    Some(kind) => dialect.epoch_or_now(sql, fill.run_after, kind),
                    None => dialect.instant_or_now(sql, fill.run_after, hole == "run_after"),
                };
                sql.push(&instant);
            }
        }
    }
}
