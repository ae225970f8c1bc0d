//! The text of statements: a layout's expressions, filters as conditions, groups and templates. Nothing here asks the
//! database.

pub(super) mod buckets;
pub(super) mod columns;
pub(super) mod compared;
pub(super) mod group_by;
pub(super) mod key_uniqueness;
pub(super) mod layout;
pub(super) mod lookup_parts;
pub(super) mod message;
pub(super) mod row_snapshot;
pub(super) mod snapshot_members;
pub(super) mod template;
pub(super) mod time_of_death;
pub(super) mod where_clause;
