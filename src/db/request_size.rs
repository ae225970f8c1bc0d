//! How much can be sent at once.

use crate::db::connection::Facts;
use crate::db::{Statement, driver::bind};
use crate::domain::source_error::{Result, SourceError};

/// Bytes of values that are sent with one statement where nothing else limits them.
const MAX_BYTES_AT_ONCE: usize = 8 << 20;
/// PostgreSQL closes the connection on a longer message.
const POSTGRES_MESSAGE_BYTES: usize = 0x3fff_ffff - 4_096;

impl Facts {
    /// Bytes of values to send with one statement. Less than the server takes, because the statement's own text is sent too.
    pub(crate) fn max_request_bytes(&self) -> usize {
        let packet = self.packet.unwrap_or(u64::MAX);
        usize::try_from(packet - packet / 4).unwrap_or(usize::MAX).min(MAX_BYTES_AT_ONCE)
    }
}

/// Refuses what PostgreSQL would answer by hanging up, which would look like a lost connection.
pub(super) fn fits_postgres(statement: &Statement) -> Result<()> {
    let bytes = statement.sql.len() + bind::bytes_of_values(statement);
    if bytes <= POSTGRES_MESSAGE_BYTES {
        return Ok(());
    }
    let message = format!("{bytes} bytes at once, and PostgreSQL takes {POSTGRES_MESSAGE_BYTES}");
    Err(SourceError::Refused { message, code: None })
}
