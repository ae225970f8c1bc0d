//! Taking out of messages what differs from one death to the next.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// What is replaced; the first alternative that fits at a place wins. What a match is follows from its text, which
/// is many times faster than asking the expression which alternative it was.
const ALTERNATIVES: &[&str] = &[
    // addresses of pages and of people
    r#"\b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s"'<>`)\]},]+"#,
    r"\b[A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+\b",
    // uuids
    r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b",
    // dates and times
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z\b|UTC\b|[+\-]\d{2}:?\d{2}\b))?)?",
    r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b",
    // hosts by number
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b",
    r"\b0x[0-9A-Fa-f]+\b",
    // spans of time
    r"\b\d+(?:\.\d+)? (?:ns|us|µs|ms|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?)\b",
    r"\b\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|secs?|mins?|hours?|days?)\b|\b(?:\d+[dhms]){2,}\b",
    // quoted text; cut off, it goes to the end
    "\"(?:[^\"\\\\\n]|\\\\.)*(?:\"|$)|`[^`'\n]*(?:[`']|$)",
    // numbers, then words; an apostrophe behind letters belongs to the word and opens no quotation
    r"\b\d+(?:[.,_]\d+)*\b",
    r"[0-9A-Za-z]+(?:'[a-z]{1,2}\b|')?",
    r"'[^'\n]*'",
    r"\s+",
];

static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&ALTERNATIVES.join("|")).ok());

/// `message` with numbers, ids, addresses, times, spans and quoted text replaced by placeholders, and space runs by one
/// space.
///
/// Two messages that differ only in these become the same text. It is meant for grouping and is not shown as a message.
/// Fingerprints are made of it, so a change here changes them all.
pub fn normalise(message: &str) -> String {
    let Some(pattern) = &*PATTERN else {
        return message.to_owned();
    };
    let mut out = String::with_capacity(message.len());
    let mut copied = 0;
    for found in pattern.find_iter(message) {
        out.push_str(&message[copied..found.start()]);
        out.push_str(&placeholder(found.as_str()));
        copied = found.end();
    }
    out.push_str(&message[copied..]);
    out.trim().to_owned()
}

/// What stands for a match.
fn placeholder(found: &str) -> Cow<'_, str> {
    let only = |allowed: &str| found.chars().all(|c| c.is_ascii_digit() || allowed.contains(c));
    let fixed = match found.as_bytes() {
        [b'"' | b'`' | b'\'', ..] => "<str>",
        [b'0', b'x', _, ..] => "<hex>",
        _ if found.starts_with(char::is_whitespace) => " ",
        _ if found.contains("://") => "<url>",
        _ if found.contains('@') => "<email>",
        _ if found.len() == 36 && found.matches('-').count() == 4 => "<uuid>",
        _ if found.contains('-') || (found.contains(':') && !found.contains('.')) => "<time>",
        _ if found.matches(':').count() == 2 => "<time>",
        _ if only(".:") && found.matches('.').count() == 3 => "<ip>",
        _ if only(".,_") => "<n>",
        _ if is_span(found) => "<dur>",
        _ => return word(found),
    };
    Cow::Borrowed(fixed)
}

/// A number with a unit of time, or several.
fn is_span(found: &str) -> bool {
    let unit = found.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let short = ["ns", "us", "µs", "ms", "s", "m", "h", "d"].contains(&unit);
    let long = unit.starts_with(' ') || ["sec", "min", "hour", "day"].contains(&unit.trim_end_matches('s'));
    let several = found.ends_with(['d', 'h', 'm', 's']) && unit.contains(|c: char| c.is_ascii_digit());
    let units_only = found.chars().all(|c| c.is_ascii_digit() || "dhms".contains(c));
    unit.len() < found.len() && (short || long || (several && units_only))
}

/// A word without its accidents: numbers go, ids go, a word that is merely numbered keeps its name.
fn word(word: &str) -> Cow<'_, str> {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return Cow::Borrowed(word);
    }
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.bytes().all(|b| b.is_ascii_alphabetic()) && digits < 6 {
        return Cow::Owned(format!("{name}<n>"));
    }
    Cow::Borrowed(if word.len() >= 6 { "<id>" } else { word })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_two_deaths_is_replaced() {
        for (message, normal) in [
            ("execution expired after 5s (acct=42)", "execution expired after <dur> (acct=<n>)"),
            ("Couldn't find User with 'id'=42", "Couldn't find User with <str>=<n>"),
            ("bad row 17: \"name\" is blank", "bad row <n>: <str> is blank"),
            ("undefined method `email' for nil", "undefined method <str> for nil"),
            ("job 2b5cf30c-5a6b-462c-9c6c-3580df173e44 at 0x00007f9c", "job <uuid> at <hex>"),
            ("to a.b+c@shop.example.com from 10.0.0.5:5432", "to <email> from <ip>"),
            ("GET https://api.example.com/v1/x?id=3 took 1.5 seconds", "GET <url> took <dur>"),
            ("since 2026-01-02T03:04:05.123Z, 2026-01-02 03:04:05 UTC, 2026-01-02", "since <time>, <time>, <time>"),
            ("No such customer: cus_9sK2jdA; order-123", "No such customer: cus_<id>; order-<n>"),
            ("worker3 in utf8, 1,234.50 EUR", "worker<n> in utf<n>, <n> EUR"),
            ("the customers' data isn't\n  there", "the customers' data isn't there"),
            ("cut in \"the midd", "cut in <str>"),
            ("1h30m, 250ms, 12:00:01,5 and 3 days", "<dur>, <dur>, <time> and <dur>"),
            ("", ""),
        ] {
            assert_eq!(normalise(message), normal);
        }
    }

    #[test]
    fn different_errors_stay_different() {
        assert_ne!(normalise("card declined"), normalise("card expired"));
    }
}
