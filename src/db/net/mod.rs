//! Where connections lead to, and what their errors say about it.

pub(super) mod address;
pub(super) mod peer;
pub(super) mod tls_errors;
