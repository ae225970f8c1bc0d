//! Instants in PostgreSQL's text, and how far its calendar is trusted.

use crate::adapter::FieldKind;
use crate::db::Bind;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{epoch, literal};

/// What no instant reaches whose microseconds are to fit a whole number: the calendar here goes on for some years, and then
/// there is infinity.
pub const BEYOND: &str = "'294247-01-01'";

/// An instant with its zone: the session's is UTC, but a literal should not depend on it.
pub fn text(at: Timestamp) -> String {
    let text = literal(at, "-infinity", "infinity");
    if text.ends_with("infinity") { text } else { text + "+00" }
}

/// The instant that the server printed of a column, to the microsecond; `None` where it is none, or would be printed otherwise.
pub fn read(text: &str) -> Option<Timestamp> {
    let bare = text.strip_suffix("+00").unwrap_or(text);
    let at = chrono::NaiveDateTime::parse_from_str(bare, "%Y-%m-%d %H:%M:%S%.f").ok()?;
    let at = Timestamp(at.and_utc().timestamp_micros());
    let printed = literal(at, "-infinity", "infinity");
    // Zeros at the end of a fraction are left out, and the point with them.
    let shortest = printed.trim_end_matches('0').trim_end_matches('.');
    (bare == shortest).then_some(at)
}

/// An instant in what `kind` is compared with.
pub fn bound(sql: &mut Sql, kind: FieldKind, at: Timestamp, round_up: bool) -> String {
    match kind {
        FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
            let place = sql.bind(Bind::Int(Some(epoch::epoch(kind, at, round_up))));
            format!("{place}::bigint")
        }
        FieldKind::Instant => format!("({} AT TIME ZONE 'UTC')", utc(sql, at)),
        _ => utc(sql, at),
    }
}

/// An instant without its zone, reckoned and not read: the planner does that once, where it would have the text read again for
/// every row.
fn utc(sql: &mut Sql, at: Timestamp) -> String {
    match literal(at, "-infinity", "infinity") {
        text if text.ends_with("infinity") => format!("timestamp '{text}'"),
        _ => {
            let seconds = sql.bind(Bind::Int(Some(at.0.div_euclid(1_000_000))));
            let micros = sql.bind(Bind::Int(Some(at.0.rem_euclid(1_000_000))));
            format!(
                "(timestamp '1970-01-01' + interval '1 second' * {seconds}::bigint + interval '1 microsecond' * {micros}::bigint)"
            )
        }
    }
}

/// Whether a time is an instant.
pub fn countable(raw: &str) -> String {
    format!("{raw} > '-infinity' AND {raw} < {BEYOND}")
}

/// The ends of what an instant can be.
pub fn ends(kind: FieldKind) -> (String, String) {
    match kind {
        FieldKind::Utc | FieldKind::Instant => ("> '-infinity'".to_owned(), format!("< {BEYOND}")),
        kind => {
            let (first, last) = epoch::ends(kind);
            (format!(">= {first}"), format!("<= {last}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_prints_is_read_exactly_or_not_at_all() {
        for (text, micros) in [
            ("1970-01-01 00:00:00", 0),
            ("1970-01-01 00:00:10", 10_000_000),
            ("1969-12-31 23:59:59.999999", -1),
            ("2026-11-20 03:04:00.1205", 1_795_143_840_120_500),
            ("2026-11-20 03:04:00+00", 1_795_143_840_000_000),
            ("0001-01-01 00:00:00", -62_135_596_800_000_000),
            ("9999-12-31 23:59:59.999999", 253_402_300_799_999_999),
        ] {
            assert_eq!(read(text), Some(Timestamp(micros)), "{text}");
        }
        for text in [
            "infinity",
            "-infinity",
            "0044-03-15 12:00:00 BC",
            "0044-03-15 12:00:00+00 BC",
            "2026-11-20 03:04:60",
            "12026-11-20 03:04:00",
            "2026-11-20 03:04:00+01",
            "2026-11-20 05:34:00+02:30",
            "2026-11-20 03:04:00.1234567",
            "20/11/2026 03:04:00",
            "2026-11-20",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
