//! Secrets in text that has no structure: messages, headers, queries, addresses, JSON cut off in the middle.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::REDACTED;

/// A word and its value. `key` may be quoted, the quotes escaped; `value` is quoted, or goes to the next separator.
static PAIR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?P<key>[A-Za-z_][A-Za-z0-9_.\-]{1,63})
        (?: \\*["'] )? \s{0,4} (?: => | [=:] ) \s{0,4}
        (?P<value>
            (?i: (?:bearer|basic|digest|token) ) \s+ [^\s,;"'\\]+
          | \\+" .*? \\+"
          | "(?:[^"\\]|\\.)*"
          | '(?:[^'\\]|\\.)*'
          | [^\s,;&"'\\(){}\[\]<>]+
        )"#,
    )
    .ok()
});

/// A credential that no key announces: an address with a password, or a scheme with what follows it.
static BARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        (?P<lead> \b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@"'\\]{0,64}: ) (?P<secret> [^\s/@"'\\]+ ) @
      | (?P<scheme> \b(?i:bearer|basic)\s+ ) (?P<code> [A-Za-z0-9._~+/=\-]{16,} )"#,
    )
    .ok()
});

/// `text` with the values of secret keys replaced, and passwords in addresses. Borrows where there are none.
pub(super) fn redact(text: &str, is_secret: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let mut hits: Vec<(usize, usize)> = Vec::new();
    if text.contains([':', '=']) {
        pairs(text, is_secret, &mut hits);
    }
    if let Some(bare) = &*BARE {
        let found = bare.captures_iter(text).filter_map(|c| c.name("secret").or(c.name("code")));
        hits.extend(found.map(|m| (m.start(), m.end())));
    }
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

fn pairs(text: &str, is_secret: impl Fn(&str) -> bool, hits: &mut Vec<(usize, usize)>) {
    let Some(pair) = &*PAIR else {
        return;
    };
    let mut from = 0;
    while let Some(found) = pair.captures_at(text, from) {
        let (Some(key), Some(value)) = (found.name("key"), found.name("value")) else {
            return;
        };
        let last = key.as_str().rsplit('.').next().unwrap_or("");
        if is_secret(key.as_str()) || is_secret(last) {
            let (open, close) = quotes(value.as_str());
            hits.push((value.start() + open, value.end() - close));
            from = value.end();
        } else {
            // The value of a harmless key may hold a pair itself.
            from = value.start();
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
