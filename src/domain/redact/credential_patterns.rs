//! Secrets that are recognised by their own form, whatever stands before them.
//!
//! Every text is looked through for them, so there is no pattern to compile and one look at each byte: what begins one
//! is rare.

use crate::domain::bounded_regex::MatchRange;

/// Beginnings that a kind of credential has by its maker, and how few characters may follow.
const PREFIXES: [(&str, usize); 18] = [
    ("ghp_", 10),
    ("gho_", 10),
    ("ghs_", 10),
    ("ghu_", 10),
    ("ghr_", 10),
    ("github_pat_", 10),
    ("glpat-", 10),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("rk_test_", 8),
    ("whsec_", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
];

const KEY_BEGINS: &str = "-----BEGIN ";

/// Adds the credentials in `text` to `hits`.
pub(super) fn credentials(text: &str, hits: &mut Vec<MatchRange>) {
    let bytes = text.as_bytes();
    let mut next = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if at < next || !matches!(byte, b'e' | b'g' | b's' | b'r' | b'w' | b'x' | b'A' | b'$' | b'-') {
            continue;
        }
        let rest = &text[at..];
        let found = match byte {
            b'-' => private_key(rest),
            b'$' => password_hash(rest).map(|end| (0, end)),
            _ if at > 0 && bytes[at - 1].is_ascii_alphanumeric() => None,
            b'e' => web_token(rest).map(|end| (0, end)),
            b'A' => access_key(rest).map(|end| (0, end)),
            _ => prefixed(rest).map(|end| (0, end)),
        };
        if let Some((start, end)) = found {
            hits.push((at + start, at + end));
            next = at + end;
        }
    }
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// How many of the first bytes are `fitting`.
fn run(text: &str, fitting: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| fitting(*byte)).count()
}

fn prefixed(text: &str) -> Option<usize> {
    let (prefix, few) = PREFIXES.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let length = run(&text[prefix.len()..], is_base64url);
    (length >= *few).then_some(prefix.len() + length)
}

/// The id of an access key of a cloud: four letters and sixteen more.
fn access_key(text: &str) -> Option<usize> {
    (text.starts_with("AKIA") || text.starts_with("ASIA")).then_some(())?;
    let length = run(text, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let ends = text.as_bytes().get(length).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    (length == 20 && ends).then_some(length)
}

/// A JSON web token: objects in base64 joined by dots, the last the signature. Without one, where it is cut off, too.
fn web_token(text: &str) -> Option<usize> {
    text.starts_with("eyJ").then_some(())?;
    let mut end = run(text, is_base64url);
    let mut parts = 1;
    let is_object = text.get(end + 1..).is_some_and(|payload| payload.starts_with("eyJ"));
    if end < 10 {
        return None;
    }
    while text[end..].starts_with('.') && parts < 5 {
        let length = run(&text[end + 1..], is_base64url);
        // The signature may be empty, and so may a key that is not wrapped; a full stop behind it is none of its.
        if length == 0 && !text[end + 1..].starts_with('.') {
            break;
        }
        end += 1 + length;
        parts += 1;
    }
    (parts >= 3 || (parts == 2 && is_object)).then_some(end)
}

/// What a password was hashed to.
fn password_hash(text: &str) -> Option<usize> {
    ["$2a$", "$2b$", "$2y$"].iter().any(|kind| text.starts_with(kind)).then_some(())?;
    let cost = run(&text[4..], |byte| byte.is_ascii_digit());
    let hash = text[4 + cost..].strip_prefix('$')?;
    let length = run(hash, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/'));
    (cost == 2 && length >= 10).then_some(4 + cost + 1 + length)
}

/// What stands between the two lines around a private key; where the second is cut off, all of it that is within quotes.
fn private_key(text: &str) -> Option<MatchRange> {
    let kind = text.strip_prefix(KEY_BEGINS)?;
    let label = &kind[..run(kind, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ')];
    let start = KEY_BEGINS.len() + label.len();
    if !label.contains("PRIVATE KEY") || !text[start..].starts_with("-----") {
        return None;
    }
    let start = start + 5;
    let inside = &text[start..];
    let length = inside.find("-----END").unwrap_or_else(|| {
        let quoted = inside.find(['"', '\'', '<']).unwrap_or(inside.len());
        inside[..quoted].trim_end_matches('\\').len()
    });
    (length > 0).then_some((start, start + length))
}

/// The value of `--token X` in a command line, or in a list of its words, `"--token", "X"`.
///
/// `--token=X` is a pair like any other.
pub(super) fn options(text: &str, is_secret: impl Fn(&str) -> bool, hits: &mut Vec<MatchRange>) {
    for (at, _) in text.match_indices("--") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '-') {
            continue;
        }
        let name = option_name(&text[at..]);
        if name.is_empty() || !is_secret(name) {
            continue;
        }
        let from = at + 2 + name.len();
        let joined = text[from..].trim_start_matches(['\\', '"', '\'']);
        let value = joined.trim_start_matches([' ', '\t', '\n', '\r', ',']);
        let start = text.len() - value.len();
        if joined.len() == value.len() || value.starts_with(['-', '<']) {
            continue;
        }
        if let Some((inside, end)) = word(value) {
            hits.push((start + inside, start + end));
        }
    }
}

/// The name of the option that `text` begins with, if its value is what is secret and not the way to it.
pub(super) fn option_name(text: &str) -> &str {
    let name = text.strip_prefix("--").unwrap_or("");
    let name = &name[..run(name, |byte| is_base64url(byte) || byte == b'.')];
    let leads_elsewhere = ["-file", "-stdin", "-prompt", "-env", "-command", "-cmd"];
    if leads_elsewhere.iter().any(|end| name.ends_with(end)) { "" } else { name }
}

/// A word of a command line: quoted, or up to a blank.
fn word(text: &str) -> Option<MatchRange> {
    if let Some(quoted) = super::free_text::quoted(text) {
        return Some(quoted);
    }
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\')).unwrap_or(text.len());
    (end > 0).then_some((0, end))
}
