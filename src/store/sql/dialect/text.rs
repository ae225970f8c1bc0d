//! Text expressions.

/// A text expression over the dead-letter table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) raw: String,
    /// Whether it is stored in the character set that the connection speaks: then its bytes are compared as they stand.
    pub(crate) is_spoken: bool,
}

impl Text {
    /// A text in a character set of its own.
    pub(crate) fn stored(raw: impl Into<String>) -> Self {
        Self { raw: raw.into(), is_spoken: false }
    }

    /// A contract column, or what is put together from some.
    pub(crate) fn spoken(raw: impl Into<String>) -> Self {
        Self { raw: raw.into(), is_spoken: true }
    }
}
