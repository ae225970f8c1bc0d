//! How a payload is read by a human, driven by rules that an adapter states.

/// The rules of one layout. The default shows JSON as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notation {}
