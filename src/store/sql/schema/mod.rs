//! What tables a database holds, which layouts they are, and what their columns hold.

pub(super) mod archive_name;
pub(super) mod candidates;
pub(super) mod destination;
pub(super) mod discovery;
pub(super) mod epoch_columns;
pub(super) mod sample_rows;
