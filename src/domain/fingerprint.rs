//! Fingerprints: which deaths are of the same sort, finer than the error class.

use std::fmt;
use std::str::FromStr;

use super::error_text::normalise;
use super::job::{JobRow, MESSAGE_HEAD};
use super::text::{Untrusted, head};

/// A hash of an error's class and normalised message.
///
/// It is FNV-1a of 64 bits over the bytes of the class, a zero byte, and the bytes of the normalised message, so it is
/// the same on every machine and in every version: it can be kept in a ledger, a filter or a link. Of the message only
/// the first line counts, and of that what a light row carries, so that list and detail agree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The fingerprint of an error; a missing class or message counts as empty.
    pub fn of(class: Option<&str>, message: Option<&str>) -> Self {
        let message = head(message.unwrap_or(""), MESSAGE_HEAD);
        let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        let hash = fnv1a(OFFSET, class.unwrap_or("").as_bytes());
        Self(fnv1a(fnv1a(hash, &[0]), normalise(line).as_bytes()))
    }

    /// The fingerprint of a job's error.
    pub fn of_row(row: &JobRow) -> Self {
        Self::of(row.error_class.as_ref().map(Untrusted::exact), row.message.as_ref().map(Untrusted::exact))
    }

    /// The first eight digits: enough to tell the sorts of one incident apart.
    pub fn short(self) -> String {
        format!("{:08x}", self.0 >> 32)
    }

    /// Whether the hexadecimal form starts with `prefix`, whatever its case. An empty prefix matches nothing.
    pub fn matches_prefix(self, prefix: &str) -> bool {
        !prefix.is_empty() && self.to_string().starts_with(&prefix.to_ascii_lowercase())
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Reads sixteen hexadecimal digits.
impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a fingerprint: sixteen hexadecimal digits");
        if text.len() != 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| wrong())
    }
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// Eight hexadecimal digits that stand for a text; the same wherever and whenever they are computed.
pub fn short_hash(text: &str) -> String {
    let hash = fnv1a(OFFSET, text.as_bytes());
    format!("{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a_and_stays_so() {
        assert_eq!(fnv1a(OFFSET, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(OFFSET, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(OFFSET, b"foobar"), 0x8594_4171_f739_67e8);
        let by_hand = fnv1a(OFFSET, b"KeyError\0key not found: <n>");
        assert_eq!(Fingerprint::of(Some("KeyError"), Some("key not found: 42")), Fingerprint(by_hand));
    }

    #[test]
    fn deaths_that_differ_in_accidents_share_it_and_others_do_not() {
        let of = |message| Fingerprint::of(Some("E"), Some(message));
        assert_eq!(of("order 1 took 5s"), of("order 22 took 7m"));
        assert_ne!(of("order 1 took 5s"), of("order 1 is late"));
        assert_ne!(of("x"), Fingerprint::of(Some("F"), Some("x")));
        assert_eq!(Fingerprint::of(None, None), Fingerprint::of(Some(""), Some("")));
    }

    #[test]
    fn the_head_of_a_message_gives_the_same_as_the_whole() {
        let long = format!("bad value \"{}\" and more\nline 2", "x".repeat(900));
        let whole = Fingerprint::of(Some("E"), Some(&long));
        assert_eq!(Fingerprint::of(Some("E"), Some(head(&long, MESSAGE_HEAD))), whole);
    }

    #[test]
    fn it_prints_reads_back_and_is_found_by_a_prefix() {
        let fp = Fingerprint(0x1f3a_0000_0000_0001);
        assert_eq!((fp.to_string().as_str(), fp.short().as_str()), ("1f3a000000000001", "1f3a0000"));
        assert_eq!(fp.to_string().parse(), Ok(fp));
        assert!(fp.matches_prefix("1F3a") && !fp.matches_prefix("1f3b") && !fp.matches_prefix(""));
        assert!("+f3a000000000001".parse::<Fingerprint>().is_err());
    }
}
