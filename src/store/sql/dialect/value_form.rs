//! What kept values are, and how the database writes them.

/// How the database writes the value of a column that is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text from which it reads the same value.
    Text,
    /// The same, or [`INEXACT`] in place of a value that would be another one when it is read back.
    Checked,
    /// In no way from which every value comes back as it was: rows with such a column are not kept.
    Lossy,
    /// As bytes in hexadecimal.
    Hex,
    /// Led by a letter for the value's own type: `t` text and `b` bytes in hexadecimal, `i` a whole number; a real is
    /// itself.
    Tagged,
}

/// Stands in place of a value that could not be put back as it is; no JSON is written so.
pub const INEXACT: &str = "x";

/// What a kept value is, where columns do not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSort {
    Text,
    /// Text that is no UTF-8, in hexadecimal.
    OddText,
    /// Bytes in hexadecimal.
    Bytes,
    Int,
    Real,
}
