//! Secrets: values whose `Debug` and `Display` never show them, in panics and logs too.

pub use secrecy::{ExposeSecret, SecretString};
