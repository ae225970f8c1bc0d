//! Secrets in text that has no structure: messages, headers, queries, addresses, JSON cut off in the middle.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::REDACTED;

/// A word and what joins it to its value. The word may be quoted, the quotes escaped.
static KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"[A-Za-z_][A-Za-z0-9_.\-]{1,63}(?:\\{0,4}["'])?\s{0,4}(?:=>|[=:])\s{0,4}"#).ok());

/// The value behind it: quoted, or up to the next separator.
static VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) ^ (?:
            (?i: (?:bearer|basic|digest|token) ) \s+ [^\s,;"'\\]+
          | \\+" .*? \\+"
          | "(?:[^"\\]|\\.)*"
          | '(?:[^'\\]|\\.)*'
          | [^\s,;&"'\\(){}\[\]<>]+
        )"#,
    )
    .ok()
});

/// The password of an address.
static ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"://[^\s/:@"'\\]{0,64}:(?P<secret>[^\s/@"'\\]+)@"#).ok());

/// A credential that only its scheme announces.
static SCHEME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/=\-]{16,})").ok());

/// `text` with the values of secret keys replaced, and passwords in addresses. Borrows where there are none.
pub(super) fn redact(text: &str, is_secret: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let mut hits: Vec<(usize, usize)> = Vec::new();
    if text.contains([':', '=']) {
        pairs(text, is_secret, &mut hits);
    }
    if text.contains("://") {
        bare(&ADDRESS, text, &mut hits);
    }
    bare(&SCHEME, text, &mut hits);
    if hits.is_empty() {
        return Cow::Borrowed(text);
    }
    hits.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, end) in hits {
        if end <= copied {
            continue;
        }
        out.push_str(text.get(copied..start).unwrap_or(""));
        if start >= copied {
            out.push_str(REDACTED);
        }
        copied = end;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn bare(pattern: &Option<Regex>, text: &str, hits: &mut Vec<(usize, usize)>) {
    let Some(pattern) = pattern else {
        return;
    };
    let found = pattern.captures_iter(text).filter_map(|found| found.name("secret"));
    hits.extend(found.map(|secret| (secret.start(), secret.end())));
}

/// The value of a harmless key is not skipped: it may hold a pair itself.
fn pairs(text: &str, is_secret: impl Fn(&str) -> bool, hits: &mut Vec<(usize, usize)>) {
    let (Some(key), Some(value)) = (&*KEY, &*VALUE) else {
        return;
    };
    let mut from = 0;
    while let Some(found) = key.find_at(text, from) {
        from = found.end();
        let part_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let name = found.as_str().split(|c| !part_of_key(c)).next().unwrap_or("");
        let last = name.rsplit('.').next().unwrap_or("");
        if !is_secret(last) && (last == name || !is_secret(name)) {
            continue;
        }
        if let Some(secret) = value.find(&text[from..]) {
            let (open, close) = quotes(secret.as_str());
            hits.push((from + open, from + secret.end() - close));
            from += secret.end();
        }
    }
}

/// The bytes that quotes take at both ends of `value`; they stay, so that what was JSON is JSON still.
fn quotes(value: &str) -> (usize, usize) {
    let quote = |c: char| matches!(c, '"' | '\'');
    let slashes = value.len() - value.trim_start_matches('\\').len();
    let inner = &value[slashes..];
    let quoted = inner.len() >= 2 && inner.starts_with(quote) && inner.ends_with(quote);
    if quoted { (slashes + 1, slashes + 1) } else { (0, 0) }
}
