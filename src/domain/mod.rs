//! The words of the field, pure and without IO: jobs, states, filters, facets, histograms, and the text that jobs bring.

pub mod action;
pub mod backtrace;
pub mod destination;
pub mod encoding;
pub mod error_text;
pub mod facet;
pub mod filter;
pub mod fingerprint;
pub mod histogram;
pub mod job;
pub mod json;
pub mod lineage;
pub mod log;
pub mod notation;
pub mod options;
pub mod pacing;
pub mod pattern;
pub mod record;
pub mod redact;
pub mod secret;
pub mod share;
pub mod text;
pub mod time;
pub mod validator;
pub mod zone;
