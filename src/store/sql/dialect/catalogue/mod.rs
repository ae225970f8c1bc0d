//! What databases say of their own tables: statements over the catalogue and the statistics.

pub(crate) mod bloat;
pub(crate) mod foreign_keys;
pub(super) mod index_columns;
pub(crate) mod privileges;
pub(crate) mod table_names;
pub(crate) mod table_stats;
pub(super) mod tables;
