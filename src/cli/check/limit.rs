//! The thresholds of `check` as they are written: `total:1000`, `queue:billing:0`, `error:Stripe::*:50/5m`; `queue=billing:0`
//! is the same.

use std::fmt;
use std::time::Duration;

use crate::cli::args::facet;
use crate::domain::facet::Facet;
use crate::domain::filter::Pattern;
use crate::domain::time::{AGES, exact_span, parse_span_up_to};

/// Whose jobs a threshold is for.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdScope {
    /// All that are counted together.
    Total,
    /// Each value of a facet that a pattern matches, for itself.
    Each(Facet, String),
}

/// The most dead jobs that may be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Max {
    /// Whose.
    pub scope: ThresholdScope,
    /// At the most.
    pub jobs: u64,
}

/// The most jobs that may have died within a time.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxGrowth {
    /// Whose.
    pub scope: ThresholdScope,
    /// At the most.
    pub jobs: u64,
    /// Within this time before the check.
    pub within: Duration,
}

impl ThresholdScope {
    /// What the operator wrote in front of the number.
    fn parse(text: &str) -> Result<ThresholdScope, String> {
        if text == "total" {
            return Ok(ThresholdScope::Total);
        }
        let wrong = || format!("`{text}` is neither `total` nor FACET:VALUE, such as queue:billing");
        // As filters write it, or with `=`: whichever comes first, as a value may hold the other.
        let (word, value) = text.split_once([':', '=']).ok_or_else(wrong)?;
        Ok(ThresholdScope::Each(facet(word)?, value.to_owned()))
    }

    /// Whether a value of the facet is meant; an empty text stands for jobs that have none.
    pub fn means(&self, value: Option<&str>) -> bool {
        match self {
            ThresholdScope::Total => true,
            ThresholdScope::Each(_, value_pattern) => {
                pattern(value_pattern).matcher().is_match(value.unwrap_or_default())
            }
        }
    }
}

impl fmt::Display for ThresholdScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThresholdScope::Total => f.write_str("total"),
            ThresholdScope::Each(facet, value) => write!(f, "{facet}={value}"),
        }
    }
}

impl fmt::Display for Max {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scope, self.jobs)
    }
}

impl fmt::Display for MaxGrowth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.scope, self.jobs, exact_span(self.within))
    }
}

/// `*` stands for any characters, as in filters.
fn pattern(text: &str) -> Pattern {
    if text.contains('*') {
        return Pattern::Glob(text.split('*').map(str::to_owned).collect());
    }
    Pattern::Equals(text.to_owned())
}

fn number(text: &str) -> Result<u64, String> {
    text.replace(['_', ','], "").parse().map_err(|_| format!("`{text}` is no number of jobs"))
}

/// Reads `total:1000` or `queue:billing:0`; the number stands behind the last colon.
pub fn max(text: &str) -> Result<Max, String> {
    let (scope, jobs) = text.rsplit_once(':').ok_or("write total:N or FACET:VALUE:N, such as queue:billing:0")?;
    Ok(Max { scope: ThresholdScope::parse(scope)?, jobs: number(jobs)? })
}

/// Reads `200/5m`, which is for all together, or `queue:billing:20/5m`.
pub fn max_growth(text: &str) -> Result<MaxGrowth, String> {
    let (front, span) = text.rsplit_once('/').ok_or("write N/SPAN or FACET:VALUE:N/SPAN, such as 200/5m")?;
    let within = parse_span_up_to(span, AGES)?;
    let (scope, jobs) = match front.rsplit_once(':') {
        Some((scope, jobs)) => (ThresholdScope::parse(scope)?, jobs),
        None => (ThresholdScope::Total, front),
    };
    Ok(MaxGrowth { scope, jobs: number(jobs)?, within })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_they_print() {
        for text in ["total:1000", "queue=billing:0", "error=Stripe::CardError:5", "error=*:50", "queue=:3"] {
            assert_eq!(max(text).expect(text).to_string(), text);
        }
        assert_eq!(max_growth("200/5m").expect("growth").to_string(), "total:200/5m");
        assert_eq!(
            max_growth("error=A::B:2/1h").expect("growth").scope,
            ThresholdScope::Each(Facet::Error, "A::B".into())
        );
    }

    #[test]
    fn threshold_as_a_filter_term_reads_like_one_with_equals() {
        for (text, same) in [
            ("queue:billing:0", "queue=billing:0"),
            ("error:Stripe::CardError:5", "error=Stripe::CardError:5"),
            ("queue:a=b:1", "queue=a=b:1"),
            ("queue=a:b:1", "queue=a:b:1"),
            ("queue::3", "queue=:3"),
        ] {
            assert_eq!(max(text).expect(text).to_string(), same);
        }
        assert_eq!(max_growth("queue:a:2/1h"), max_growth("queue=a:2/1h"));
    }

    #[test]
    fn what_is_no_threshold_is_told_apart() {
        for (text, word) in
            [("1000", "total:N"), ("queu=a:1", "facets are"), ("queue:1", "neither"), ("total:x", "`x`")]
        {
            let told = max(text).expect_err(text);
            assert!(told.contains(word), "{text}: {told}");
        }
        for text in ["200", "200/", "200/0s", "x/5m"] {
            assert!(max_growth(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pattern_means_each_value_that_it_matches() {
        let scope = max("error=Stripe::*:0").expect("a threshold").scope;
        assert!(scope.means(Some("Stripe::CardError")) && !scope.means(Some("Net::ReadTimeout")) && !scope.means(None));
        assert!(max("queue=:0").expect("a threshold").scope.means(None));
    }
}
