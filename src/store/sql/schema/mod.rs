//! What tables a database holds, which layouts they are, and what their columns hold.

pub(super) mod candidates;
pub(super) mod discovery;
pub(super) mod epoch_columns;
pub(super) mod sample_rows;
