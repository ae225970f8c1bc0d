//! Where a table stands, and what a new one is made of.

/// Where a table stands, for catalogue look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) schema: &'a str,
    pub(crate) table: &'a str,
}

/// How long a name may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameLimit {
    Bytes(usize),
    Characters(usize),
    None,
}

/// What a table is made of, beside the columns that it takes over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTable {
    pub(crate) instant: &'static str,
    pub(crate) word: &'static str,
    pub(crate) after: &'static str,
}
