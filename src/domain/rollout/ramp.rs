//! The steps by which the rate of a run grows.

/// Jobs a second of the first step, where no rate was given.
const FIRST_RATE: f64 = 10.0;
/// Steps from the first rate to the one that was given.
const DOUBLINGS: i32 = 5;
/// The rate above which a run without one is not held back.
const FREE_ABOVE: f64 = 10_000.0;

/// A rate that doubles from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Jobs a second now; `None` is as fast as the database lets it.
    rate: Option<f64>,
    /// The rate that it grows to; `None` where that was not said.
    peak: Option<f64>,
}

impl Ramp {
    /// The first step towards `peak` jobs a second.
    pub fn new(peak: Option<f64>) -> Self {
        let first = peak.map_or(FIRST_RATE, |peak| (peak / 2f64.powi(DOUBLINGS)).max(peak.min(1.0)));
        Self { rate: Some(first), peak }
    }

    /// Jobs a second of this step.
    pub fn rate(self) -> Option<f64> {
        self.rate
    }

    /// Goes on to the next step.
    pub fn advance(&mut self) {
        let Some(rate) = self.rate else { return };
        let next = rate * 2.0;
        self.rate = match self.peak {
            Some(peak) => Some(next.min(peak)),
            None => (next <= FREE_ABOVE).then_some(next),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(peak: Option<f64>) -> Vec<Option<f64>> {
        let mut ramp = Ramp::new(peak);
        let mut steps = vec![ramp.rate()];
        for _ in 0..20 {
            ramp.advance();
            if steps.last() != Some(&ramp.rate()) {
                steps.push(ramp.rate());
            }
        }
        steps
    }

    #[test]
    fn the_rate_doubles_up_to_the_one_that_was_given() {
        assert_eq!(steps(Some(320.0)), [10.0, 20.0, 40.0, 80.0, 160.0, 320.0].map(Some));
        assert_eq!(steps(Some(3.0)), [1.0, 2.0, 3.0].map(Some));
        assert_eq!(steps(Some(0.5)), [Some(0.5)]);
        let free = steps(None);
        assert_eq!((free[0], free[1], free[10]), (Some(10.0), Some(20.0), None));
    }

    proptest! {
        #[test]
        fn no_step_is_above_the_peak_and_the_last_one_is_the_peak(peak in 0.001f64..1e6) {
            let steps = steps(Some(peak));
            prop_assert!(steps.iter().all(|rate| rate.is_some_and(|rate| rate > 0.0 && rate <= peak)));
            prop_assert_eq!(steps.last().copied(), Some(Some(peak)));
        }
    }
}
