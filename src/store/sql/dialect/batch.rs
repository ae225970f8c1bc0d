//! The jobs of a batch as statements take them: a row source with a row for each.

use super::epoch::epoch;
use super::literal;
use crate::adapter::FieldKind;
use crate::domain::time::Timestamp;

/// One job of a batch as statements see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BatchRow {
    pub(crate) id: String,
    /// What the key is unique within, where that is not the table.
    pub(crate) scope: String,
    pub(crate) new_id: String,
    pub(crate) message: Option<String>,
    /// When the replayed job may run; of each job its own.
    pub(crate) run_after: Option<Timestamp>,
    /// In an undo: what was kept of the row.
    pub(crate) kept: Option<String>,
    /// In an undo: the key of the live row. In a repair: the key of the row of another table that is written.
    pub(crate) live: Option<String>,
}

/// Which columns a batch has as a row source beside `id`: what the statement does not name is not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchColumns {
    pub(crate) new_id: bool,
    pub(crate) message: bool,
    pub(crate) scope: bool,
    pub(crate) run_after: bool,
    /// How the column that takes `run_after` counts time, where it does.
    pub(crate) due: Option<FieldKind>,
    pub(crate) kept: bool,
    /// With the kind of that table's key.
    pub(crate) live: Option<FieldKind>,
}

/// A batch as one bound value, for databases without arrays: `[id, new id, message, run after, kept, live, scope]`.
pub(super) fn batch_json(rows: &[BatchRow], columns: BatchColumns) -> String {
    let row = |r: &BatchRow| {
        let at = r.run_after.filter(|_| columns.run_after);
        let at = at.map(|at| match columns.due {
            Some(kind) => serde_json::Value::from(epoch(kind, at, false)),
            None => literal(at, "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999").into(),
        });
        let (new_id, message) = (columns.new_id.then_some(&r.new_id), r.message.as_ref().filter(|_| columns.message));
        let kept = r.kept.as_ref().filter(|_| columns.kept);
        // Texts and nulls can always be written.
        serde_json::to_string(&(&r.id, new_id, message, at, kept, &r.live, &r.scope)).unwrap_or_default()
    };
    let mut list = String::from("[");
    for (nth, r) in rows.iter().enumerate() {
        list.push_str(if nth > 0 { "," } else { "" });
        list.push_str(&row(r));
    }
    list.push(']');
    list
}
