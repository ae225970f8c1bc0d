//! The cells of a row, read one after the other as what the caller expects.

use super::{Row, Value};
use crate::domain::source_error::{Result, SourceError};
use crate::domain::text::Untrusted;

/// The cells of a row, taken from the left.
pub(crate) struct Cells(std::vec::IntoIter<Value>);

impl Cells {
    pub(crate) fn new(row: Row) -> Self {
        Self(row.0.into_iter())
    }

    /// Whether there is no further cell.
    pub(crate) fn is_end(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    fn next(&mut self) -> Result<Value> {
        self.0.next().ok_or_else(|| SourceError::Layout("a statement returned too few columns".to_owned()))
    }

    /// Text; a number is written out, because some databases type values and not columns.
    pub(crate) fn text(&mut self) -> Result<Option<String>> {
        Ok(match self.next()? {
            Value::Null => None,
            Value::Text(text) => Some(text),
            Value::Odd(bytes) => Some(Value::shown(bytes)),
            Value::Int(n) => Some(n.to_string()),
        })
    }

    /// Text exactly as it is stored; `Err` with its bytes where they are no UTF-8.
    pub(crate) fn stored(&mut self) -> Result<std::result::Result<Option<String>, Vec<u8>>> {
        Ok(match self.next()? {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            Value::Int(n) => Ok(Some(n.to_string())),
            Value::Odd(bytes) => Err(bytes),
        })
    }

    pub(crate) fn untrusted(&mut self) -> Result<Option<Untrusted>> {
        Ok(self.text()?.map(Untrusted::new))
    }

    /// A whole number; text that is one counts, other text is none.
    pub(crate) fn int(&mut self) -> Result<Option<i64>> {
        Ok(match self.next()? {
            Value::Null => None,
            Value::Int(n) => Some(n),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Odd(_) => None,
        })
    }

    /// A whole number on an axis, on which the largest stands for all that are larger.
    pub(crate) fn place(&mut self) -> Result<Option<i64>> {
        Ok(match self.next()? {
            Value::Int(n) => Some(n),
            Value::Text(text) => on_axis(text.trim()),
            Value::Null | Value::Odd(_) => None,
        })
    }

    /// A count.
    pub(crate) fn count(&mut self) -> Result<u64> {
        Ok(self.int()?.and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }
}

/// A written whole number on an axis, on which the largest stands for all that are larger.
pub(crate) fn on_axis(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| text.parse::<u64>().ok().map(|_| i64::MAX))
}
