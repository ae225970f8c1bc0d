//! The verbs: one short transaction for each batch, and what is kept and recorded in it.

pub(super) mod archive_table;
pub(super) mod batch;
pub(super) mod collect;
pub(super) mod dry_run;
pub(super) mod edit;
pub(super) mod external_delivery;
pub(super) mod foreign_keys;
pub(super) mod journal;
pub(super) mod refusals;
pub(super) mod related_rows;
pub(super) mod row_completeness;
pub(super) mod transaction_id;
pub(super) mod verb;
