//! Instants and spans as databases hand them over: microseconds, beyond any calendar type's range if they must be.

pub mod zone;

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};

/// An instant in UTC, in microseconds since 1970-01-01T00:00:00Z; negative before.
///
/// A plain number and not a calendar type, because rows carry years that calendar types refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The clock's present instant. Only the runtime and commands call this; everything else is handed the time.
    pub fn now() -> Self {
        Self(Utc::now().timestamp_micros())
    }

    /// This instant moved back by `span`, stopping at the ends of the range.
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }

    /// This instant moved on by `span`, stopping at the ends of the range.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }

    /// How long ago this instant was at `now`; zero where it lies ahead.
    pub fn age(self, now: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(now.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// The calendar form, where the calendar reaches that far.
    pub fn calendar(self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_micros(self.0)
    }

    /// `2026-11-20 03:12:09Z`, or the bare microseconds where no calendar reaches.
    pub fn to_second(self) -> String {
        self.render("%Y-%m-%d %H:%M:%SZ")
    }

    /// RFC 3339 with microseconds, for machine-readable output.
    pub fn to_rfc3339(self) -> String {
        self.render("%Y-%m-%dT%H:%M:%S%.6fZ")
    }

    /// RFC 3339 with milliseconds, for the log.
    pub fn to_millisecond(self) -> String {
        self.render("%Y-%m-%dT%H:%M:%S%.3fZ")
    }

    fn render(self, format: &str) -> String {
        match self.calendar() {
            Some(at) => at.format(format).to_string(),
            None => format!("{}µs", self.0),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_second())
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// A span in at most two units, as short as a column allows: `9s`, `4m`, `2h05m`, `3d`, `5w`.
pub fn short_span(span: Duration) -> String {
    let s = span.as_secs();
    match s {
        0..=59 => format!("{s}s"),
        60..=3_599 => format!("{}m", s / 60),
        3_600..=86_399 => format!("{}h{:02}m", s / 3_600, s % 3_600 / 60),
        86_400..=1_209_599 => format!("{}d", s / 86_400),
        _ => format!("{}w", s / 604_800),
    }
}

/// A span to the second as [`parse_span`] reads it: `90s`, `1h30m15s`, `7d`.
pub fn exact_span(span: Duration) -> String {
    const UNITS: [(u64, char); 5] = [(604_800, 'w'), (86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];
    let mut left = span.as_secs();
    // One unit that fits is what people write: 90s, and not 1m30s.
    if let Some((length, unit)) = UNITS.iter().find(|(length, _)| left >= *length && left.is_multiple_of(*length))
        && left / length < 100
    {
        return format!("{}{unit}", left / length);
    }
    let mut text = String::new();
    for (length, unit) in UNITS {
        if left >= length {
            text.push_str(&format!("{}{unit}", left / length));
            left %= length;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Reads `90s`, `15m`, `2h`, `7d`, `2w` or a sum of them such as `1h30m`.
///
/// # Errors
/// Says what a span looks like when `text` is not one or does not fit.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a span of time: write 90s, 15m, 2h, 7d or 1h30m");
    let mut total: u64 = 0;
    let mut digits = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit = match c {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return Err(wrong()),
        };
        let n: u64 = digits.parse().map_err(|_| wrong())?;
        digits.clear();
        total = n.checked_mul(unit).and_then(|add| total.checked_add(add)).ok_or_else(wrong)?;
    }
    if text.is_empty() || !digits.is_empty() {
        return Err(wrong());
    }
    Ok(Duration::from_secs(total))
}

/// The longest that anything here waits, or a job is made to wait: what is longer was a slip of the keyboard.
const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// The longest time ago that anything is asked about.
pub const AGES: Duration = Duration::from_secs(1_000 * 365 * 86_400);

/// Reads a span that is longer than nothing and no longer than `longest`.
///
/// # Errors
/// As [`parse_span`]; also when it is nothing, or longer.
pub fn parse_span_up_to(text: &str, longest: Duration) -> Result<Duration, String> {
    match parse_span(text)? {
        span if span.is_zero() => Err("a span of time must be longer than nothing".to_owned()),
        span if span > longest => {
            let days = longest.as_secs() / 86_400;
            Err(format!("`{text}` is too long: write at most {days}d"))
        }
        span => Ok(span),
    }
}

/// Reads how long something waits, or a job is made to wait.
///
/// # Errors
/// As [`parse_span_up_to`] a year.
pub fn parse_wait(text: &str) -> Result<Duration, String> {
    parse_span_up_to(text, YEAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_spans_are_read_back_as_they_were() {
        for text in ["0s", "1s", "90s", "5m", "90m", "2h", "7d", "1w", "1h30m15s", "3w2d"] {
            let span = parse_span(text).expect(text);
            assert_eq!(parse_span(&exact_span(span)), Ok(span), "{text}");
        }
        assert_eq!(exact_span(Duration::from_secs(90)), "90s");
        assert_eq!(exact_span(Duration::from_secs(3_600)), "1h");
    }

    #[test]
    fn spans_read_back_what_they_mean() {
        assert_eq!(parse_span("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse_span("2w"), Ok(Duration::from_secs(1_209_600)));
        for bad in ["", "5", "h", "2y", "-1h", "99999999999999999999s", "9999999999999999w"] {
            assert!(parse_span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_that_nobody_means_are_refused() {
        assert_eq!(parse_span_up_to("365d", YEAR), Ok(YEAR));
        assert_eq!(parse_span_up_to("30m", YEAR), Ok(Duration::from_secs(1_800)));
        for (bad, said) in [("0s", "longer than nothing"), ("99999999999d", "at most 365d"), ("53w", "at most 365d")] {
            let error = parse_span_up_to(bad, YEAR).unwrap_err();
            assert!(error.contains(said), "{bad}: {error}");
        }
    }

    #[test]
    fn instants_outside_every_calendar_still_print() {
        assert_eq!(Timestamp(i64::MAX).to_second(), "9223372036854775807µs");
        assert_eq!(Timestamp(0).to_second(), "1970-01-01 00:00:00Z");
        assert_eq!(Timestamp(-1).to_rfc3339(), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn an_age_is_never_negative() {
        assert_eq!(Timestamp(5).age(Timestamp(3)), Duration::ZERO);
        assert_eq!(short_span(Timestamp(0).age(Timestamp(7_500_000_000))), "2h05m");
    }
}
