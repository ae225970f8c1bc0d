//! Payloads in binary form, made readable without building or running anything that they name.
//!
//! Whatever a step makes is data: text, numbers, bytes, arrays and objects. Every step is bounded in size and depth, and a
//! text that does not end where it should is not read at all.

mod inflate;
mod msgpack;
mod pickle;
mod protobuf;
#[cfg(test)]
mod tests;
mod value;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde::Deserialize;

use super::DEPTH;
use crate::domain::json::Document;
pub use value::DecodedValue;

/// Bytes of a payload that is decoded at most, before and after each step.
const SIZE: usize = 4 << 20;
/// Values that one step makes at most.
const VALUES: usize = 1 << 18;

/// Steps, each of which decodes what the one before made.
pub type Chain = Vec<DecodeStep>;

/// One step of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecodeStep {
    /// JSON. Its numbers keep their digits.
    Json,
    /// Base64, with or without padding and line breaks, of either alphabet.
    Base64,
    /// What zlib, gzip or raw deflate compressed.
    Zlib,
    /// MessagePack.
    Msgpack,
    /// Protocol Buffers without their schema: an object of the field numbers.
    Protobuf,
    /// Python's pickle. Classes and calls are shown by name and are not built.
    Pickle,
    /// UTF-8 text.
    Text,
}

/// Decodes bytes step by step; `None` where a step cannot read what it is given.
pub fn decode(bytes: &[u8], chain: &[DecodeStep]) -> Option<DecodedValue> {
    let mut value = DecodedValue::Bytes(bytes.to_vec());
    for step in chain {
        let bytes = value.into_bytes()?;
        if bytes.len() > SIZE {
            return None;
        }
        value = match step {
            DecodeStep::Json => DecodedValue::Json(Document::parse(String::from_utf8(bytes).ok()?).ok()?),
            DecodeStep::Base64 => DecodedValue::Bytes(base64(&bytes)?),
            DecodeStep::Zlib => DecodedValue::Bytes(inflate::read(&bytes)?),
            DecodeStep::Msgpack => msgpack::read(&bytes)?,
            DecodeStep::Protobuf => protobuf::read(&bytes)?,
            DecodeStep::Pickle => pickle::read(&bytes)?,
            DecodeStep::Text => DecodedValue::Text(String::from_utf8(bytes).ok()?),
        };
    }
    Some(value)
}

/// The first chain that can be read.
pub fn decode_first(bytes: &[u8], chains: &[Chain]) -> Option<DecodedValue> {
    chains.iter().find_map(|chain| decode(bytes, chain))
}

fn base64(bytes: &[u8]) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|engine| engine.decode(&bytes).ok())
}

/// What a reader may still read: bytes at hand, values and levels that it may make.
struct ByteReader<'a> {
    rest: &'a [u8],
    values: usize,
}

impl<'a> ByteReader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, values: VALUES }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Up to and without a line break, which is passed over.
    fn line(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == b'\n')?;
        let line = self.take(end)?;
        self.byte().map(|_| line)
    }

    /// Counts a value that is made.
    fn count(&mut self) -> Option<()> {
        self.values = self.values.checked_sub(1)?;
        Some(())
    }
}
