//! Moments as they are written, and the stretch of time that each of them names.

use std::ops::Range;

use chrono::{NaiveDate, NaiveTime};

use crate::domain::time::Timestamp;

const SECOND: i64 = 1_000_000;
pub(super) const HOUR: i64 = 3_600 * SECOND;

/// What a moment names: from its first microsecond to the first one after it.
pub(super) type Stretch = Range<Timestamp>;

/// Reads a date, or a date with an hour, minute, second and fraction, in UTC unless an offset says otherwise; or bare
/// microseconds since 1970 for times that no calendar reaches.
pub(super) fn moment(text: &str) -> Option<Stretch> {
    if let Some(micros) = ["µs", "μs", "us"].iter().find_map(|unit| text.strip_suffix(unit)) {
        let at: i64 = micros.parse().ok()?;
        return (!micros.starts_with('+')).then(|| stretch(at, 1));
    }
    let (date, rest) = text.split_at_checked(10)?;
    let day = day(date)?;
    if rest.is_empty() {
        return Some(stretch(day, 24 * HOUR));
    }
    let clock = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset) = zone(clock)?;
    let (time, unit) = time_of_day(clock)?;
    Some(stretch(day.checked_add(time)?.checked_sub(offset)?, unit))
}

fn stretch(start: i64, length: i64) -> Stretch {
    Timestamp(start)..Timestamp(start.saturating_add(length))
}

fn day(text: &str) -> Option<i64> {
    let (year, rest) = text.split_at_checked(4)?;
    let (month, day) = rest.strip_prefix('-')?.split_once('-')?;
    let date = NaiveDate::from_ymd_opt(i32::try_from(digits(year)?).ok()?, two(month)?, two(day)?)?;
    Some(date.and_time(NaiveTime::MIN).and_utc().timestamp_micros())
}

/// The clock without its zone, and the zone's offset from UTC.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = text.find(['+', '-']) else { return Some((text, 0)) };
    let (hours, minutes) = text[at + 1..].split_once(':')?;
    let (hours, minutes) = (two(hours).filter(|n| *n < 24)?, two(minutes).filter(|n| *n < 60)?);
    let offset = i64::from(hours * 60 + minutes) * 60 * SECOND;
    Some((&text[..at], if text[at..].starts_with('-') { -offset } else { offset }))
}

/// The time of day and the length of what its last part names.
fn time_of_day(text: &str) -> Option<(i64, i64)> {
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let mut at = i64::from(two(parts.next()?).filter(|n| *n < 24)?) * HOUR;
    let mut unit = HOUR;
    for _ in 0..2 {
        let Some(part) = parts.next() else { break };
        unit /= 60;
        at += i64::from(two(part).filter(|n| *n < 60)?) * unit;
    }
    let Some(fraction) = fraction else { return parts.next().is_none().then_some((at, unit)) };
    if parts.next().is_some() || unit != SECOND || fraction.is_empty() {
        return None;
    }
    for digit in fraction.chars() {
        // What is finer than a microsecond is read and dropped: no row is.
        unit = (unit / 10).max(i64::from(unit > 1));
        at += i64::from(digit.to_digit(10)?) * if unit == 0 { 0 } else { unit };
        if unit == 1 {
            return fraction.bytes().all(|digit| digit.is_ascii_digit()).then_some((at, 1));
        }
    }
    Some((at, unit))
}

fn two(text: &str) -> Option<u32> {
    digits(text).filter(|_| text.len() == 2)
}

fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A moment as short as it stays exact, so that [`moment`] reads it back; its stretch may be another.
pub(super) fn text(at: Timestamp) -> String {
    const FIRST: i64 = -62_167_219_200 * SECOND; // 0000-01-01
    const LAST: i64 = 253_402_300_800 * SECOND; // 10000-01-01
    match at.calendar() {
        Some(time) if (FIRST..LAST).contains(&at.0) => {
            let fraction = match at.0.rem_euclid(SECOND) {
                0 => "",
                micros if micros % 1000 == 0 => "%.3f",
                _ => "%.6f",
            };
            time.format(&format!("%Y-%m-%dT%H:%M:%S{fraction}Z")).to_string()
        }
        _ => format!("{}µs", at.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_moment_names_the_whole_of_its_last_part() {
        let seconds = |text: &str| moment(text).map(|at| (at.start.0 / SECOND, (at.end.0 - at.start.0) / SECOND));
        assert_eq!(seconds("1970-01-02"), Some((86_400, 86_400)));
        assert_eq!(seconds("1970-01-01T03"), Some((10_800, 3_600)));
        assert_eq!(seconds("1970-01-01 03:01Z"), Some((10_860, 60)));
        assert_eq!(seconds("1970-01-01t03:01:01+02:00"), Some((3_661, 1)));
        assert_eq!(seconds("1970-01-01T03:01-01:30"), Some((16_260, 60)));
        assert_eq!(moment("1970-01-01T00:00:00.5Z"), Some(stretch(500_000, 100_000)));
        assert_eq!(moment("1970-01-01T00:00:00.1234567Z"), Some(stretch(123_456, 1)));
        assert_eq!(moment("-5µs"), Some(stretch(-5, 1)));
    }

    #[test]
    fn what_is_not_on_the_calendar_is_no_moment() {
        for text in [
            "",
            "2026",
            "2026-1-2",
            "2026-02-30",
            "2026-11-20T",
            "2026-11-20T24",
            "2026-11-20T03:60",
            "2026-11-20T3",
            "2026-11-20T03:12:09:01",
            "2026-11-20T03:12.5",
            "2026-11-20T03:12:09.",
            "2026-11-20T03:12:09.1x",
            "2026-11-20T03:12:09.1234567x",
            "2026-11-20T03+2",
            "2026-11-20T03+24:00",
            "2026-11-20Z",
            "+5us",
            "1.5us",
            "２０２６-11-20",
            "2026-11-20T03:12:60Z",
            "99999999999999999999us",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_instant_prints_as_a_moment_that_starts_there(micros: i64, small in -100_000_000_000..100_000_000_000_i64) {
            for at in [Timestamp(micros), Timestamp(small), Timestamp(small * SECOND), Timestamp(small * 1000)] {
                prop_assert_eq!(moment(&super::text(at)).map(|stretch| stretch.start), Some(at));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9]{0,4}-?[0-9]{0,2}-?[0-9]{0,2}[T ]?[0-9:.+Zµs-]{0,16}", any: String) {
            let _ = (moment(&text), moment(&any));
        }
    }
}
