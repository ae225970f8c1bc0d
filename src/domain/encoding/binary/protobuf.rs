//! Protocol Buffers without their schema: each field by its number, in the order of the wire.
//!
//! The wire does not say whether bytes are text, a message or numbers. Bytes stay bytes, to be shown as text where they are
//! text; a further step of an adapter may decode them as a message of its own.

use super::{ByteReader, DecodedValue};

/// An object of the field numbers; a number that comes several times has an array. `None` where the bytes are no message.
pub(super) fn read(bytes: &[u8]) -> Option<DecodedValue> {
    let mut input = ByteReader::new(bytes);
    let mut members: Vec<(DecodedValue, DecodedValue)> = Vec::new();
    while !input.rest.is_empty() {
        input.count()?;
        let tag = varint(&mut input)?;
        let (number, wire_type) = (tag >> 3, tag & 7);
        // Field numbers are 1 to 2^29 - 1.
        if number == 0 || number >= 1 << 29 {
            return None;
        }
        let value = match wire_type {
            0 => DecodedValue::Number(varint(&mut input)?.to_string()),
            1 => DecodedValue::Number(u64::from_le_bytes(input.array()?).to_string()),
            2 => {
                let length = usize::try_from(varint(&mut input)?).ok()?;
                DecodedValue::Bytes(input.take(length)?.to_vec())
            }
            5 => DecodedValue::Number(u32::from_le_bytes(input.array()?).to_string()),
            // Groups, which nobody writes any more, and numbers that have no meaning.
            _ => return None,
        };
        add(&mut members, number.to_string(), value);
    }
    Some(DecodedValue::Map(members))
}

fn add(members: &mut Vec<(DecodedValue, DecodedValue)>, number: String, value: DecodedValue) {
    let known = members.iter_mut().find(|(key, _)| matches!(key, DecodedValue::Number(known) if *known == number));
    match known {
        Some((_, DecodedValue::List(items))) => items.push(value),
        Some((_, first)) => *first = DecodedValue::List(vec![std::mem::replace(first, DecodedValue::Null), value]),
        None => members.push((DecodedValue::Number(number), value)),
    }
}

fn varint(input: &mut ByteReader<'_>) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = input.byte()?;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
