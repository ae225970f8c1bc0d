//! Where a table stands, and what a new one is made of.

/// Where a table stands, for catalogue look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::sql) struct Place<'a> {
    pub(in crate::store::sql) schema: &'a str,
    pub(in crate::store::sql) table: &'a str,
}

/// How long a name may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::sql) enum NameLimit {
    Bytes(usize),
    Characters(usize),
    None,
}

/// What a table is made of, beside the columns that it takes over.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::sql) struct NewTable {
    pub(in crate::store::sql) instant: &'static str,
    pub(in crate::store::sql) word: &'static str,
    pub(in crate::store::sql) after: &'static str,
}
