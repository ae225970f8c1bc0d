//! How a database tells what time it is there, whether it takes changes, and that something has changed.

use crate::db::Statement;

/// What a database says of itself from one look to the next, and of a transaction.
pub(crate) trait ServerState: Sync {
    /// The database's clock in microseconds, as a contract column.
    fn clock(&self) -> &'static str;

    /// What the database is known by wherever it is reached, in one row; `None` where it cannot say.
    fn identity(&self) -> Option<Statement> {
        None
    }

    /// Whether the server takes changes, as a contract column that costs next to nothing: 0 where it does, 1 where somebody
    /// has closed it, 2 where it follows another one; `None` where that cannot be told.
    fn gate(&self) -> Option<&'static str> {
        None
    }

    /// A token that differs whenever transactions may have changed anything, as a contract column; `None` where there is none.
    /// `is_first` says that nothing of a table is read before: a token may be no part of what is read, and only older.
    fn change_token(&self, _is_first: bool) -> Option<&'static str> {
        None
    }

    /// The same token in a later statement of the transaction in which it was asked for.
    fn change_token_again(&self, is_first: bool) -> Option<&'static str> {
        self.change_token(is_first)
    }

    /// Whether a transaction moves the token before others see what it wrote.
    fn is_token_early(&self) -> bool {
        false
    }

    /// The oldest transaction in flight and the next one to begin, as a change token tells them.
    fn token_span(&self, _token: &str) -> Option<(u64, u64)> {
        None
    }

    /// The connection that a change token is of, where it says nothing to others.
    fn token_connection<'a>(&self, _token: &'a str) -> Option<&'a str> {
        None
    }

    /// The transaction at hand, as a contract column by which its end can be told later; `None` where it cannot.
    fn transaction(&self) -> Option<&'static str> {
        None
    }

    /// How such a transaction ended, in one row: `committed`, `aborted`, anything else where that is not known.
    fn tx_status(&self, _transaction: &str) -> Option<Statement> {
        None
    }
}
