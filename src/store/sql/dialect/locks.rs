//! What those who write are kept from by others who do.

/// What a transaction that writes locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locks {
    /// All of the database.
    All,
    /// The rows that it finds.
    Found,
    /// The rows that it reads on its way to those, for a moment or longer: where it goes by an index of theirs, the same.
    Read,
}
