//! How instants and patterns are written, where dialects agree, and what types say of themselves.

use crate::domain::time::Timestamp;

/// An instant as a database without time zones writes it; beyond its calendar, the last instant that it knows.
pub(super) fn literal(at: Timestamp, first: &str, last: &str) -> String {
    use chrono::Datelike;
    match at.calendar() {
        Some(c) if (1..=9999).contains(&c.year()) => c.format("%Y-%m-%d %H:%M:%S%.6f").to_string(),
        _ if at.0 < 0 => first.to_owned(),
        _ => last.to_owned(),
    }
}

/// The digits of a second's fraction that a type names: `datetime(3)`, `timestamp(0) with time zone`.
pub(super) fn fraction(data_type: &str) -> Option<u32> {
    let (_, rest) = data_type.split_once('(')?;
    rest.split_once(')')?.0.parse().ok()
}

/// A LIKE pattern in which `!` escapes.
pub(super) fn like(parts: &[String]) -> String {
    let escaped: Vec<String> = parts
        .iter()
        .map(|part| {
            let mut out = String::with_capacity(part.len());
            for c in part.chars() {
                if matches!(c, '%' | '_' | '!') {
                    out.push('!');
                }
                out.push(c);
            }
            out
        })
        .collect();
    escaped.join("%")
}
