//! Instants in PostgreSQL's text, and how far its calendar is trusted.

use crate::adapter::Kind;
use crate::domain::time::Timestamp;
use crate::store::sql::build::Sql;
use crate::store::sql::dialect::{epoch, literal};
use crate::store::sql::engine::Bind;

/// What no instant reaches whose microseconds are to fit a whole number: the calendar here goes on for some years, and then
/// there is infinity.
pub const BEYOND: &str = "'294247-01-01'";

/// An instant with its zone: the session's is UTC, but a literal should not depend on it.
pub fn text(at: Timestamp) -> String {
    let text = literal(at, "-infinity", "infinity");
    if text.ends_with("infinity") { text } else { text + "+00" }
}

/// An instant in what `kind` is compared with.
pub fn bound(sql: &mut Sql, kind: Kind, at: Timestamp, round_up: bool) -> String {
    match kind {
        Kind::EpochS | Kind::EpochMs => {
            let place = sql.bind(Bind::Int(Some(epoch::epoch(kind, at, round_up))));
            format!("{place}::bigint")
        }
        Kind::Instant => format!("({} AT TIME ZONE 'UTC')", utc(sql, at)),
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
pub fn ends(kind: Kind) -> (String, String) {
    match kind {
        Kind::Utc | Kind::Instant => ("> '-infinity'".to_owned(), format!("< {BEYOND}")),
        kind => {
            let (first, last) = epoch::ends(kind);
            (format!(">= {first}"), format!("<= {last}"))
        }
    }
}
