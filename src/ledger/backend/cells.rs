//! The columns of a row, taken one after the other.

use crate::db::{Row, Value};
use crate::ledger::error::{LedgerError, Result};

/// A row whose columns are taken from the left.
pub(in crate::ledger) struct RowCells(std::vec::IntoIter<Value>);

impl RowCells {
    /// The columns of a row.
    pub(in crate::ledger) fn of(row: Row) -> Self {
        Self(row.0.into_iter())
    }

    /// The next column as text.
    pub(in crate::ledger) fn maybe_text(&mut self) -> Result<Option<String>> {
        Ok(match self.next()? {
            Value::Null => None,
            Value::Text(text) => Some(text),
            Value::Odd(bytes) => Some(Value::shown(bytes)),
            Value::Int(n) => Some(n.to_string()),
        })
    }

    /// The next column as text that cannot be NULL.
    pub(in crate::ledger) fn text(&mut self) -> Result<String> {
        self.maybe_text()?.ok_or_else(odd)
    }

    /// The next column as a number.
    pub(in crate::ledger) fn maybe_int(&mut self) -> Result<Option<i64>> {
        match self.next()? {
            Value::Null => Ok(None),
            Value::Int(n) => Ok(Some(n)),
            Value::Text(text) => text.parse().map(Some).map_err(|_| odd()),
            Value::Odd(_) => Err(odd()),
        }
    }

    /// The next column as a number that cannot be NULL.
    pub(in crate::ledger) fn int(&mut self) -> Result<i64> {
        self.maybe_int()?.ok_or_else(odd)
    }

    /// The next column as how many.
    pub(in crate::ledger) fn count(&mut self) -> Result<u64> {
        Ok(u64::try_from(self.int()?).unwrap_or_default())
    }

    fn next(&mut self) -> Result<Value> {
        self.0.next().ok_or_else(odd)
    }
}

fn odd() -> LedgerError {
    LedgerError::Refused("a row of the record is not as this version writes it".into())
}
