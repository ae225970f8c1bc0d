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

/// What databases say of a row that breaks a constraint: `Key (email, token)=(a, b) already exists`.
static CONSTRAINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?s)\((?P<names>[^()=]{1,400})\)=\((?P<secret>.*?)\)(?: already | is | conflicts |[.,;\r\n]|$)").ok()
});

/// The same elsewhere: `Duplicate entry 'x' for key 'users.index_users_on_token'`.
static DUPLICATE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)Duplicate entry '(?P<secret>.*?)' for key '(?P<names>[^']{1,400})'").ok());

/// A whole row, whose values have no names.
static ROW: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)Failing row contains \((?P<secret>.*?)\)(?:[.,;\r\n]|$)").ok());

/// `text` with the values of secret keys replaced, and passwords in addresses. Borrows where there are none.
pub(super) fn redact(text: &str, is_secret: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let mut hits: Vec<(usize, usize)> = Vec::new();
    if text.contains([':', '=']) {
        pairs(text, &is_secret, &mut hits);
    }
    if text.contains(")=(") {
        named(&CONSTRAINT, text, &is_secret, &mut hits);
    }
    if text.contains("Duplicate entry") {
        named(&DUPLICATE, text, &is_secret, &mut hits);
    }
    if text.contains("Failing row") {
        bare(&ROW, text, &mut hits);
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

/// Values whose columns, or the index over them, are named beside them; an index is named after its columns.
fn named(pattern: &Option<Regex>, text: &str, is_secret: impl Fn(&str) -> bool, hits: &mut Vec<(usize, usize)>) {
    let secret_name = |name: &str| {
        let words: Vec<&str> = name.split('_').collect();
        let from = |start: usize| (start + 1..=words.len()).map(move |end| (start, end));
        (0..words.len()).flat_map(from).any(|(start, end)| is_secret(&words[start..end].join("_")))
    };
    let part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    for found in pattern.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (Some(names), Some(secret)) = (found.name("names"), found.name("secret")) else { continue };
        if names.as_str().split(|c| !part_of_name(c)).any(secret_name) {
            hits.push((secret.start(), secret.end()));
        }
    }
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
