//! MessagePack.

use super::{ByteReader, DEPTH, DecodedValue};

/// One value that all of the bytes are.
pub(super) fn read(bytes: &[u8]) -> Option<DecodedValue> {
    let mut input = ByteReader::new(bytes);
    let value = one(&mut input, 0)?;
    input.rest.is_empty().then_some(value)
}

fn one(input: &mut ByteReader<'_>, depth: usize) -> Option<DecodedValue> {
    if depth > DEPTH {
        return None;
    }
    input.count()?;
    let signed = |number: i64| Some(DecodedValue::Number(number.to_string()));
    let unsigned = |number: u64| Some(DecodedValue::Number(number.to_string()));
    let marker = input.byte()?;
    let low = |mask: u8| usize::from(marker & mask);
    match marker {
        0x00..=0x7f => unsigned(u64::from(marker)),
        0x80..=0x8f => map(input, low(0x0f), depth),
        0x90..=0x9f => list(input, low(0x0f), depth),
        0xa0..=0xbf => text(input, low(0x1f)),
        0xc0 => Some(DecodedValue::Null),
        0xc2 | 0xc3 => Some(DecodedValue::Bool(marker == 0xc3)),
        0xc4..=0xc6 => {
            let length = length(input, marker - 0xc4)?;
            input.take(length).map(|bytes| DecodedValue::Bytes(bytes.to_vec()))
        }
        0xc7..=0xc9 => {
            let length = length(input, marker - 0xc7)?;
            extension(input, length)
        }
        0xca => number(f64::from(f32::from_be_bytes(input.array()?))),
        0xcb => number(f64::from_be_bytes(input.array()?)),
        0xcc => unsigned(u64::from(input.byte()?)),
        0xcd => unsigned(u64::from(u16::from_be_bytes(input.array()?))),
        0xce => unsigned(u64::from(u32::from_be_bytes(input.array()?))),
        0xcf => unsigned(u64::from_be_bytes(input.array()?)),
        0xd0 => signed(i64::from(i8::from_be_bytes(input.array()?))),
        0xd1 => signed(i64::from(i16::from_be_bytes(input.array()?))),
        0xd2 => signed(i64::from(i32::from_be_bytes(input.array()?))),
        0xd3 => signed(i64::from_be_bytes(input.array()?)),
        0xd4..=0xd8 => extension(input, 1 << (marker - 0xd4)),
        0xd9..=0xdb => {
            let length = length(input, marker - 0xd9)?;
            text(input, length)
        }
        0xdc | 0xdd => {
            let length = length(input, marker - 0xdc + 1)?;
            list(input, length, depth)
        }
        0xde | 0xdf => {
            let length = length(input, marker - 0xde + 1)?;
            map(input, length, depth)
        }
        0xe0..=0xff => signed(i64::from(i8::from_be_bytes([marker]))),
        // Nobody ever writes it.
        0xc1 => None,
    }
}

/// A length of 1, 2 or 4 bytes.
fn length(input: &mut ByteReader<'_>, power: u8) -> Option<usize> {
    match power {
        0 => input.byte().map(usize::from),
        1 => input.array().map(|bytes| usize::from(u16::from_be_bytes(bytes))),
        _ => input.array().and_then(|bytes| usize::try_from(u32::from_be_bytes(bytes)).ok()),
    }
}

/// Writers of before 2013 have text for bytes, too.
fn text(input: &mut ByteReader<'_>, length: usize) -> Option<DecodedValue> {
    let bytes = input.take(length)?.to_vec();
    Some(String::from_utf8(bytes).map_or_else(|error| DecodedValue::Bytes(error.into_bytes()), DecodedValue::Text))
}

fn list(input: &mut ByteReader<'_>, length: usize, depth: usize) -> Option<DecodedValue> {
    // An element has a byte at least, and no room is made for those that are only announced.
    (length <= input.rest.len()).then_some(())?;
    (0..length).map(|_| one(input, depth + 1)).collect::<Option<_>>().map(DecodedValue::List)
}

fn map(input: &mut ByteReader<'_>, length: usize, depth: usize) -> Option<DecodedValue> {
    (length <= input.rest.len() / 2).then_some(())?;
    let members = (0..length).map(|_| Some((one(input, depth + 1)?, one(input, depth + 1)?)));
    members.collect::<Option<_>>().map(DecodedValue::Map)
}

/// A type of the application's own, by its number.
fn extension(input: &mut ByteReader<'_>, length: usize) -> Option<DecodedValue> {
    let number = i8::from_be_bytes(input.array()?);
    let bytes = input.take(length)?.to_vec();
    Some(DecodedValue::Object(format!("extension {number}"), Box::new(DecodedValue::Bytes(bytes))))
}

/// JSON has no word for what is no number.
fn number(float: f64) -> Option<DecodedValue> {
    Some(if float.is_finite() {
        DecodedValue::Number(format!("{float:?}"))
    } else {
        DecodedValue::Text(float.to_string())
    })
}
