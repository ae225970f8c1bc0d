//! The words of the field, pure and without IO: jobs, states, filters, facets, histograms, and the text that jobs bring.

pub mod action;
pub mod backtrace;
pub mod bounded_regex;
pub mod budget;
pub mod contrast;
pub mod display_rules;
pub mod encoding;
pub mod error_text;
pub mod facet;
pub mod filter;
pub mod fingerprint;
pub mod histogram;
pub mod job;
pub mod json;
pub mod load_share;
pub mod log;
pub mod mark;
pub mod outcome;
pub mod redact;
pub mod repair;
pub mod rollout;
pub mod run_options;
pub mod secret;
pub mod source_error;
pub mod text;
pub mod time;
