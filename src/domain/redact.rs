//! Masking of what must not be seen over somebody's shoulder.

/// Which paths are masked. To be written.
#[derive(Clone, Debug, Default)]
pub struct Redaction {}
