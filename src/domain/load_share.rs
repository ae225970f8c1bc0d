//! A share of the database's time.

use std::fmt;
use std::time::Duration;

/// How much of each second of one connection's database time may be taken, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadShare(u32);

const WHOLE: f64 = 1e6;

impl LoadShare {
    /// One part in fifty.
    pub const DEFAULT: LoadShare = LoadShare(20_000);

    /// Reads a percentage, `2%` or `0.5%`.
    ///
    /// # Errors
    /// A sentence, where it is none, or not above 0 and at most 100.
    pub fn parse(text: &str) -> Result<Self, String> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        match percent {
            // Less than a millionth would be nothing.
            Some(percent) if (0.0001..=100.0).contains(&percent) => Ok(Self((percent / 100.0 * WHOLE).round() as u32)),
            _ => Err(format!("`{text}` is no percentage above 0% and up to 100%")),
        }
    }

    /// How long after work that cost this much the next may follow.
    pub fn rest_after(self, cost: Duration) -> Duration {
        Duration::try_from_secs_f64(cost.as_secs_f64() * WHOLE / f64::from(self.0)).unwrap_or(Duration::MAX)
    }
}

impl fmt::Display for LoadShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / WHOLE * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_that_something_can_be_done_with() {
        let parsed = |text| LoadShare::parse(text).map(|share| share.to_string());
        assert_eq!(parsed("2%"), Ok("2%".to_owned()));
        assert_eq!(parsed(" 0.5 %"), Ok("0.5%".to_owned()));
        for wrong in ["", "2", "0%", "-1%", "101%", "NaN%", "inf%", "two%"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rest_is_in_proportion_to_what_was_taken() {
        assert_eq!(LoadShare::DEFAULT.rest_after(Duration::from_millis(10)), Duration::from_millis(500));
        assert_eq!(LoadShare(1_000_000).rest_after(Duration::from_millis(10)), Duration::from_millis(10));
        assert_eq!(LoadShare(1).rest_after(Duration::MAX), Duration::MAX);
    }
}
