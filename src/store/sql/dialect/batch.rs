//! The jobs of a batch, as statements have them for a row source.

use crate::adapter::Kind;
use crate::domain::time::Timestamp;

/// One job of a batch as statements see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::store::sql) struct BatchRow {
    pub(in crate::store::sql) id: String,
    /// What the key is unique within, where that is not the table.
    pub(in crate::store::sql) scope: String,
    pub(in crate::store::sql) new_id: String,
    pub(in crate::store::sql) message: Option<String>,
    /// When the replayed job may run; of each job its own.
    pub(in crate::store::sql) run_after: Option<Timestamp>,
    /// In an undo: what was kept of the row.
    pub(in crate::store::sql) kept: Option<String>,
    /// In an undo: the key of the live row.
    pub(in crate::store::sql) live: Option<String>,
}

/// Which columns a batch has as a row source beside `id`: what the statement does not name is not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store::sql) struct BatchColumns {
    pub(in crate::store::sql) new_id: bool,
    pub(in crate::store::sql) message: bool,
    pub(in crate::store::sql) scope: bool,
    pub(in crate::store::sql) run_after: bool,
    pub(in crate::store::sql) kept: bool,
    /// With the kind of the live table's key.
    pub(in crate::store::sql) live: Option<Kind>,
}
