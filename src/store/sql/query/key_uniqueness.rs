//! Whether two rows can have the same key: then a statement that names the one takes the other along.

use super::layout::Layout;
use crate::adapter::Table;

/// Why a job is left alone whose key another row has too.
pub(crate) const NOT_UNIQUE: &str =
    "its key is not unique: other rows have the same one, and would be acted on along with it";

/// Why it is not certain that no two rows have the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Nothing keeps them from it.
    Open(String),
    /// The database cannot tell.
    Untold(String),
}

/// What speaks against a layout's key, as the catalogue has its table.
pub(crate) fn doubt(layout: &Layout, table: &Table) -> Option<Doubt> {
    let name = &layout.spec.table;
    let scope = layout.key.scope.as_ref().and_then(|scope| scope.column.as_deref());
    let Some(key) = layout.key.expr.column.as_deref() else {
        let why = format!("the key is no column of {name}: whether it is unique cannot be told");
        return Some(Doubt::Untold(with_rest(&why)));
    };
    let columns: Vec<&str> = scope.into_iter().chain([key]).collect();
    let key = columns.join(", ");
    match table.is_unique(&columns) {
        Some(true) => None,
        Some(false) => Some(Doubt::Open(format!(
            "no primary key and no unique index of {name} covers {key}: two jobs can have the same key, and those that do \
             are left alone; name a key that is unique, or as its `scope` the column that it is unique within"
        ))),
        None if table.is_view => {
            let why = format!("{name} is a view, which has no indexes: whether {key} is unique there cannot be told");
            Some(Doubt::Untold(with_rest(&why)))
        }
        None => {
            let why = format!("{name} is partitioned, and no index over all of it says whether {key} is unique");
            Some(Doubt::Untold(with_rest(&why)))
        }
    }
}

fn with_rest(why: &str) -> String {
    format!("{why}; jobs that have their key in common are left alone")
}
