//! The time zone in which the console shows times. What is stored, written and compared stays in UTC.

use std::fmt;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Deserializer};

use crate::domain::time::Timestamp;

/// A time zone by its name in the IANA database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone(Tz);

impl Zone {
    /// The zone where nothing else is asked for.
    pub const UTC: Self = Self(Tz::UTC);

    /// The zone of a name: `UTC`, `Europe/Berlin`.
    ///
    /// # Errors
    /// A sentence, where the database has no such zone.
    pub fn parse(name: &str) -> Result<Self, String> {
        let same = |zone: &&Tz| zone.name().eq_ignore_ascii_case(name);
        let known = chrono_tz::TZ_VARIANTS.iter().find(same);
        let wrong =
            || format!("no time zone is called {name:?}; names are those of the IANA database, as \"Europe/Berlin\"");
        known.map(|zone| Self(*zone)).ok_or_else(wrong)
    }

    /// The calendar form of an instant here, where the calendar reaches that far.
    pub fn calendar(self, at: Timestamp) -> Option<DateTime<Tz>> {
        at.calendar().map(|at: DateTime<Utc>| at.with_timezone(&self.0))
    }

    /// What clocks here are said to show at an instant: `UTC`, `CEST`, `+0545`.
    pub fn short_name(self, at: Timestamp) -> String {
        self.calendar(at).map_or_else(String::new, |at| at.format("%Z").to_string())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_has_its_own_days_and_says_what_its_clocks_show() {
        let at = |text: &str| Timestamp(text.parse::<DateTime<Utc>>().expect("a time").timestamp_micros());
        let berlin = Zone::parse("europe/berlin").expect("a zone");
        assert_eq!(berlin.to_string(), "Europe/Berlin");
        let (winter, summer) = (at("2026-11-20T23:30:00Z"), at("2026-07-01T12:00:00Z"));
        let shown = |at| berlin.calendar(at).expect("a calendar").format("%m-%d %H:%M").to_string();
        assert_eq!((shown(winter), shown(summer)), ("11-21 00:30".into(), "07-01 14:00".into()));
        assert_eq!([winter, summer].map(|at| berlin.short_name(at)), ["CET", "CEST"]);
        assert_eq!(Zone::UTC.short_name(winter), "UTC");
        assert_eq!(Zone::parse("Asia/Kathmandu").expect("a zone").short_name(winter), "+0545");
    }

    #[test]
    fn a_name_that_no_zone_has_is_said_to_be_none() {
        let wrong = Zone::parse("Berlin").expect_err("no zone");
        assert!(wrong.contains("\"Berlin\"") && wrong.contains("Europe/Berlin"), "{wrong}");
    }
}
