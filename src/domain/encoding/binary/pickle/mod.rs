//! Python's pickle, as data: a class, a call and what they get are shown by name, and nothing is imported, built or called.
//!
//! A pickle is a program for a machine with a stack. It is run here on nodes of an arena, so that a list that is filled after
//! it was remembered is full wherever it is named again. What refers to itself is nested too deeply, and is not read.

mod machine;
mod nodes;
mod opcodes;

use super::{ByteReader, DecodedValue};

/// The value that the program leaves; `None` where it does not end as it should.
pub(super) fn read(bytes: &[u8]) -> Option<DecodedValue> {
    let mut machine = machine::Machine::new(ByteReader::new(bytes));
    let root = machine.run()?;
    machine.nodes.value(root)
}
