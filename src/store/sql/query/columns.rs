//! The columns of a light row, in the one order in which every statement selects them, and how they are read.

use crate::adapter::{FieldKind, Part};
use crate::db::Row;
use crate::db::cells::Cells;
use crate::domain::encoding;
use crate::domain::filter::RowSubject;
use crate::domain::job::lineage;
use crate::domain::job::{JobId, JobRow, MESSAGE_HEAD, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::compared;
use crate::store::sql::query::layout::{Expr, Layout};
use crate::store::sql::query::where_clause::Extras;
use crate::store::{Entry, Position, Result, SourceError};

/// A row as it was read: light, with its place, and with what the last word in memory needs.
pub(crate) struct Read {
    pub(crate) entry: Entry,
    pub(crate) message: Option<String>,
    pub(crate) arguments: Option<String>,
    /// Whether the row met the statement's condition; a window's last row may be there for its place only.
    pub(crate) hit: bool,
    /// Its number in the window, from 1.
    pub(crate) number: u64,
}

/// How many columns [`select`] writes.
pub(crate) const WIDTH: usize = 17;

/// Writes the light columns, followed by those that `extras` asks for (NULL for what is not asked for).
pub(crate) fn select(sql: &mut Sql, layout: &Layout, order: &Expr, extras: Extras) {
    let dialect = layout.dialect;
    let head = || message_head(layout).unwrap_or_else(|| "NULL".to_owned());
    let shown = |part: Part| if extras.record_only { "NULL".to_owned() } else { contract(layout, part) };
    let whole = |wanted: bool, part: Part| if wanted { complete_text(layout, part) } else { "NULL".to_owned() };
    let columns: [String; WIDTH] = [
        layout.key.text.clone(),
        dialect.position(&order.raw, order.kind),
        contract(layout, Part::At),
        contract(layout, Part::State),
        contract(layout, Part::Error),
        if extras.record_only { "NULL".to_owned() } else { head() },
        contract(layout, Part::Class),
        shown(Part::Queue),
        shown(Part::Worker),
        shown(Part::Reason),
        shown(Part::Attempts),
        shown(Part::MaxAttempts),
        whole(extras.message, Part::Message),
        whole(extras.arguments, Part::Arguments),
        whole(extras.lineage, Part::Lineage),
        if extras.compared { compared::backtrace(layout) } else { "NULL".to_owned() },
        if extras.compared { compared::columns(layout) } else { "NULL".to_owned() },
    ];
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            sql.push(", ");
        }
        sql.push(&format!("{column} AS c{i}"));
    }
}

/// As much of the message as a light row carries.
pub(crate) fn message_head(layout: &Layout) -> Option<String> {
    let message = layout.part(Part::MessageHead).or_else(|| layout.part(Part::Message))?;
    Some(layout.dialect.contract(&layout.dialect.head(&message.raw, MESSAGE_HEAD), FieldKind::Text))
}

/// A part as a contract column; NULL where the layout has none.
pub(crate) fn contract(layout: &Layout, part: Part) -> String {
    layout.part(part).map_or("NULL".to_owned(), |e| layout.dialect.contract(&e.raw, e.kind))
}

/// A heavy part as a contract column that keeps its bytes, also where they are no text.
pub(crate) fn complete_text(layout: &Layout, part: Part) -> String {
    layout.part(part).map_or("NULL".to_owned(), |e| layout.dialect.whole_text(&e.raw, e.kind))
}

/// Reads the columns that [`select`] wrote.
pub(crate) fn read(layout: &Layout, row: Row) -> Result<Read> {
    let mut cells = Cells::new(row);
    let id = JobId::new(cells.text()?.ok_or_else(|| SourceError::Layout("a primary key is NULL".to_owned()))?);
    let position = Position { key: cells.text()?, id: id.clone() };
    let at = cells.int()?.map(Timestamp);
    let native = match layout.part(Part::State) {
        Some(_) => cells.text()?.unwrap_or_default(),
        None => cells.text()?.or_else(|| layout.words(State::Dead).first().cloned()).unwrap_or_default(),
    };
    let row = JobRow {
        id,
        at,
        state: if layout.part(Part::State).is_some() { layout.state_of(&native) } else { State::Dead },
        native_state: Untrusted::new(native),
        error_class: cells.untrusted()?,
        message: cells.untrusted()?,
        job_class: cells.untrusted()?,
        queue: cells.untrusted()?,
        worker: cells.untrusted()?,
        reason: cells.untrusted()?,
        attempts: cells.int()?,
        max_attempts: cells.int()?,
    };
    let (message, arguments) = (cells.text()?, cells.text()?);
    let arguments = match layout.decode() {
        Some(places) => arguments.map(|text| encoding::decode(&text, places).into_owned()),
        None => arguments,
    };
    let lineage = cells.text()?.map(|lineage| lineage::stored_form(&lineage));
    let compared = compared::read(layout, cells.text()?, cells.text()?);
    Ok(Read {
        entry: Entry { row, position, lineage, arguments: None, compared },
        message,
        arguments,
        hit: cells.int().ok().flatten().is_none_or(|n| n != 0),
        number: cells.int().ok().flatten().and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
    })
}

impl Read {
    /// The row as filters read it.
    pub(crate) fn subject(&self) -> RowSubject<'_> {
        RowSubject { row: &self.entry.row, message: self.message.as_deref(), arguments: self.arguments.as_deref() }
    }
}
