//! Times measured several times over.

use std::time::Duration;

/// The same thing measured again and again.
#[derive(Clone, Debug, Default)]
pub struct Sample(Vec<Duration>);

impl Sample {
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The time that `share` of the measurements did not exceed; zero where there is none.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let at = (last as f64 * share).ceil() as usize;
        sorted.get(at.min(last)).copied().unwrap_or_default()
    }

    /// The first measurement; zero where there is none.
    pub fn first(&self) -> Duration {
        self.0.first().copied().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    pub fn longest(&self) -> Duration {
        self.0.iter().max().copied().unwrap_or_default()
    }

    /// Median, 99th part of a hundred, and the longest.
    pub fn quantiles(&self) -> String {
        format!("{} / {} / {}", told(self.median()), told(self.quantile(0.99)), told(self.longest()))
    }

    /// The median, with the range in which all measurements lie: a reader must see how noisy the machine was.
    pub fn told(&self) -> String {
        match self.len() {
            0 => "–".to_owned(),
            1 => told(self.median()),
            _ => format!("{} ({}–{})", told(self.median()), told(self.quantile(0.0)), told(self.longest())),
        }
    }
}

impl FromIterator<Duration> for Sample {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

/// A time with three digits that count.
pub fn told(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1_000.0;
    match ms {
        ..0.995 => format!("{ms:.2} ms"),
        ..9.95 => format!("{ms:.1} ms"),
        ..1_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1_000.0),
    }
}

/// How many times `base` a time is.
pub fn ratio(time: Duration, base: Duration) -> String {
    times(time.as_secs_f64(), base.as_secs_f64())
}

/// How many times `base` a figure is, in words that need no second thought.
pub fn times(figure: f64, base: f64) -> String {
    if base <= 0.0 || figure <= 0.0 {
        return "–".to_owned();
    }
    match figure / base {
        share @ 0.1.. => format!("{share:.2}x"),
        share => format!("1/{:.0}", 1.0 / share),
    }
}

/// The middle one of some figures; zero where there is none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
