//! What jobs there are: lists, counts, and one job in full.

pub(crate) mod contrast;
pub(crate) mod detail_text;
pub(crate) mod edit_arguments;
pub(crate) mod job_json;
pub(crate) mod list;
pub(crate) mod mark_comparison;
pub(crate) mod no_match;
pub(crate) mod repair;
pub(crate) mod rows;
pub(crate) mod show;
pub(crate) mod stats;
