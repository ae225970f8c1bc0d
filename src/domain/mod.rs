//! The words of the field, pure and without IO: jobs, states, filters, facets, histograms, and the text that jobs bring.

pub mod action;
pub mod backtrace;
pub mod bounded_regex;
pub mod destination;
pub mod display_rules;
pub mod encoding;
pub mod error_text;
pub mod facet;
pub mod filter;
pub mod fingerprint;
pub mod histogram;
pub mod job;
pub mod job_record;
pub mod json;
pub mod lineage;
pub mod load_share;
pub mod log;
pub mod rate;
pub mod redact;
pub mod run_options;
pub mod secret;
pub mod text;
pub mod time;
pub mod validator;
pub mod zone;
