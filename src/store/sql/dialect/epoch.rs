//! Instants that are kept as whole seconds, milliseconds or microseconds since 1970. A column of such may hold any number: one beyond
//! every calendar is no instant, and must not be reckoned with, as databases refuse a whole statement for it.

use crate::adapter::FieldKind;
use crate::domain::time::Timestamp;

/// The first and the last second: what the narrowest of the calendars goes back to, and what microseconds can count.
const SECONDS: (i64, i64) = (-210_866_803_200, 9_223_372_036_854);

/// Microseconds of the unit of a kind.
pub(super) fn unit(kind: FieldKind) -> i64 {
    match kind {
        FieldKind::EpochUs => 1,
        FieldKind::EpochMs => 1_000,
        _ => 1_000_000,
    }
}

/// An instant in a column's unit; `round_up` gives the first whole unit that is not earlier.
pub(super) fn epoch(kind: FieldKind, at: Timestamp, round_up: bool) -> i64 {
    at.0.div_euclid(unit(kind)) + i64::from(round_up && at.0.rem_euclid(unit(kind)) != 0)
}

/// The first and the last number of a kind that is an instant.
pub(super) fn ends(kind: FieldKind) -> (i64, i64) {
    let units = 1_000_000 / unit(kind);
    (SECONDS.0 * units, SECONDS.1 * units)
}

/// `then` for a value that is an instant, and NULL for any other.
pub(super) fn countable(raw: &str, kind: FieldKind, then: &str) -> String {
    let (first, last) = ends(kind);
    format!("CASE WHEN {raw} BETWEEN {first} AND {last} THEN {then} END")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_instant_in_any_unit_is_still_a_number_of_microseconds() {
        for kind in [FieldKind::EpochS, FieldKind::EpochMs, FieldKind::EpochUs] {
            let (first, last) = ends(kind);
            assert!(first.checked_mul(unit(kind)).is_some() && last.checked_mul(unit(kind)).is_some(), "{kind:?}");
            assert_eq!(epoch(kind, Timestamp(-1), true), if kind == FieldKind::EpochUs { -1 } else { 0 });
            assert_eq!(epoch(kind, Timestamp(-1), false), -1);
        }
    }
}
