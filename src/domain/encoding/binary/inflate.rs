//! Compressed bytes.

use std::io::Read;

use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};

use super::SIZE;

/// What was compressed, by its own first bytes; `None` where it is none of these, damaged, or bigger than is read.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<u8>> {
    match bytes {
        [0x1f, 0x8b, ..] => all(GzDecoder::new(bytes)),
        [first, second, ..] if is_zlib(*first, *second) => all(ZlibDecoder::new(bytes)),
        _ => all(DeflateDecoder::new(bytes)),
    }
}

/// A zlib header: method 8, and a number that 31 divides.
fn is_zlib(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

fn all(reader: impl Read) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // One byte more than is allowed shows that there is more.
    reader.take(SIZE as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() <= SIZE).then_some(out)
}
