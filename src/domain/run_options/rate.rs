//! How fast the jobs of a run are put back: what the operator asked for.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::time::exact_span;

/// The operator's wishes for the speed of a run; kept with the run, so that it goes on as it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pacing {
    /// Jobs of a batch at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Jobs a second at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Seconds over which the replayed jobs are spread: in when they may run where the layout knows such a time,
    /// otherwise in when they are put back.
    #[serde(skip_serializing_if = "Option::is_none", rename = "spread_s")]
    pub spread: Option<u64>,
}

impl Pacing {
    /// Whether nothing was asked for.
    pub fn is_free(&self) -> bool {
        *self == Pacing::default()
    }

    /// The time over which jobs are spread.
    pub fn spread(&self) -> Option<Duration> {
        self.spread.map(Duration::from_secs).filter(|span| !span.is_zero())
    }
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut wishes = Vec::new();
        let jobs = |rate: f64| if (rate - 1.0).abs() < f64::EPSILON { "job" } else { "jobs" };
        wishes.extend(self.rate.map(|rate| format!("at most {rate} {} a second", jobs(rate))));
        wishes.extend(self.spread().map(|span| format!("spread over {}", exact_span(span))));
        wishes.extend(self.batch.map(|batch| format!("at most {batch} in a batch")));
        f.write_str(&wishes.join(", "))
    }
}

/// One job a day: what is slower was a slip of the keyboard, and never comes to its end.
const SLOWEST: f64 = 1.0 / 86_400.0;

/// Reads `200/s`, `12000/m` or `200`, which is a second's.
///
/// # Errors
/// Says what a rate looks like when `text` is none, or is slower than anybody means.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no rate: write 200/s, 12000/m or 3600/h");
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let rate = number.trim().replace(['_', ','], "").parse::<f64>().map_err(|_| wrong())? / seconds;
    match rate {
        rate if !rate.is_finite() || rate <= 0.0 => Err(wrong()),
        rate if rate < SLOWEST => Err(format!("`{text}` is too slow: write at least one job a day, 0.042/h")),
        rate => Ok(rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_by_the_second_the_minute_and_the_hour() {
        assert_eq!(parse_rate("200/s"), Ok(200.0));
        assert_eq!(parse_rate("200"), Ok(200.0));
        assert_eq!(parse_rate("12_000/m"), Ok(200.0));
        assert_eq!(parse_rate("1800/h"), Ok(0.5));
        for bad in ["", "0", "-1/s", "x/s", "5/d", "inf", "NaN/s"] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
        assert!(parse_rate("0.042/h").is_ok());
        assert!(parse_rate("0.0000001/s").is_err_and(|said| said.contains("too slow")));
    }

    #[test]
    fn wishes_are_told_in_words_and_survive_being_kept() {
        let all = Pacing { batch: Some(50), rate: Some(200.0), spread: Some(1_800) };
        assert_eq!(all.to_string(), "at most 200 jobs a second, spread over 30m, at most 50 in a batch");
        let one = Pacing { rate: Some(1.0), ..Pacing::default() };
        assert_eq!(one.to_string(), "at most 1 job a second");
        let kept = serde_json::to_string(&all).expect("JSON");
        assert_eq!(serde_json::from_str::<Pacing>(&kept).expect("a pacing"), all);
        assert_eq!(serde_json::to_string(&Pacing::default()).expect("JSON"), "{}");
        assert!(Pacing::default().is_free() && !all.is_free());
    }
}
