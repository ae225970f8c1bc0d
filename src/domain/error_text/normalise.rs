//! Taking out of messages what differs from one death to the next.

use std::sync::LazyLock;

use regex::Regex;

/// What is replaced, the first alternative that fits at a place winning, and what it is replaced by.
const PLACEHOLDERS: &[(&str, &str, &str)] = &[
    ("url", r#"\b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s"'<>`)\]},]+"#, "<url>"),
    ("email", r"\b[A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+\b", "<email>"),
    ("uuid", r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b", "<uuid>"),
    (
        "time",
        r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z\b|UTC\b|[+\-]\d{2}:?\d{2}\b))?)?|\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b",
        "<time>",
    ),
    ("ip", r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", "<ip>"),
    ("hex", r"\b0x[0-9A-Fa-f]+\b", "<hex>"),
    (
        "dur",
        r"\b\d+(?:\.\d+)?(?: ?(?:ns|us|µs|ms|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?)|s|m|h|d)\b|\b(?:\d+[dhms]){2,}\b",
        "<dur>",
    ),
    ("str", "\"(?:[^\"\\\\\n]|\\\\.)*(?:\"|$)|`[^`'\n]*(?:[`']|$)", "<str>"),
    ("number", r"\b\d+(?:[.,_]\d+)*\b", "<n>"),
    // An apostrophe behind letters belongs to the word and opens no quotation.
    ("word", r"[0-9A-Za-z]+(?:'[a-z]{1,2}\b|')?", ""),
    ("quoted", r"'[^'\n]*'", "<str>"),
    ("space", r"\s+", " "),
];

static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let alternatives: Vec<String> =
        PLACEHOLDERS.iter().map(|(name, pattern, _)| format!("(?P<{name}>{pattern})")).collect();
    Regex::new(&alternatives.join("|")).ok()
});

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
    for found in pattern.captures_iter(message) {
        let Some(whole) = found.get(0) else { continue };
        out.push_str(&message[copied..whole.start()]);
        let hit = PLACEHOLDERS.iter().find(|(name, ..)| found.name(name).is_some());
        match hit {
            Some((_, _, "")) | None => out.push_str(&word(whole.as_str())),
            Some((_, _, placeholder)) => out.push_str(placeholder),
        }
        copied = whole.end();
    }
    out.push_str(&message[copied..]);
    out.trim().to_owned()
}

/// A word without its accidents: numbers go, ids go, a word that is merely numbered keeps its name.
fn word(word: &str) -> String {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return word.to_owned();
    }
    if word.bytes().all(|b| !b.is_ascii_alphabetic()) {
        return "<n>".to_owned();
    }
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.bytes().all(|b| b.is_ascii_alphabetic()) && digits < 6 {
        return format!("{name}<n>");
    }
    if word.len() >= 6 { "<id>".to_owned() } else { word.to_owned() }
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
