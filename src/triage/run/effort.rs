//! What work of a size takes, told apart into what each piece takes and what comes on top of it whatever the size.

use std::time::Duration;

/// A line through the latest pieces of work, of which older ones count less and less: what each takes by itself (round
/// trips, a commit), and what every unit in it takes. In seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CostModel {
    weight: f64,
    units: f64,
    squares: f64,
    time: f64,
    products: f64,
    /// What a piece takes by itself: learned from pieces of different sizes, and kept while all have one size.
    own: f64,
}

impl CostModel {
    /// What is left of a piece's weight after the next one.
    const FADE: f64 = 0.8;
    /// A piece that took that many times as long as was to be expected says more about its moment than about its size.
    const FREAK: f64 = 3.0;
    /// Share of a rise in `own` that is believed with each piece; a fall is believed at once. A few slow pieces in a row make
    /// the line look flatter than it is, and the larger ones that would follow from that are slower still.
    const TRUST: f64 = 0.1;
    /// The coefficient of variation of the sizes from which on a line through them says something.
    const APART: f64 = 0.1;

    /// Takes in that a piece of so many units took `elapsed`.
    pub(super) fn add(&mut self, units: f64, elapsed: Duration) {
        let time = elapsed.as_secs_f64().max(1e-6);
        let expected = self.own + self.each() * units;
        let time = if self.weight > 0.0 { time.min(expected * Self::FREAK) } else { time };
        for sum in [&mut self.weight, &mut self.units, &mut self.squares, &mut self.time, &mut self.products] {
            *sum *= Self::FADE;
        }
        self.weight += 1.0;
        self.units += units;
        self.squares += units * units;
        self.time += time;
        self.products += units * time;
        if self.tells() {
            let slope = (self.weight * self.products - self.units * self.time) / self.spread();
            let told = ((self.time - slope.max(0.0) * self.units) / self.weight).max(0.0);
            self.own = told.min(self.own + (told - self.own) * Self::TRUST);
        }
        // It cannot be more than a piece takes.
        self.own = self.own.min(self.time / self.weight);
    }

    /// Whether sizes differ enough to tell the two apart; where they do not, what is known of it stands.
    pub(super) fn tells(&self) -> bool {
        self.spread() > (Self::APART * self.units).powi(2)
    }

    fn spread(&self) -> f64 {
        self.weight * self.squares - self.units * self.units
    }

    /// What a piece takes by itself, in seconds.
    pub(super) fn own(&self) -> f64 {
        self.own
    }

    /// What each unit takes, in seconds.
    pub(super) fn each(&self) -> f64 {
        if self.units > 0.0 { ((self.time - self.own * self.weight) / self.units).max(1e-9) } else { 1e-9 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_piece_takes_by_itself_is_told_from_what_its_units_take() {
        let mut effort = CostModel::default();
        let sizes = [100.0, 200.0, 400.0, 300.0, 350.0];
        let mut add = |own: f64, rounds: usize| {
            for units in sizes.repeat(rounds) {
                effort.add(units, Duration::from_secs_f64(own + units * 0.001));
            }
            effort
        };
        let told = add(0.6, 1);
        assert!((0.1..0.5).contains(&told.own()), "it may be a slow moment: {told:?}");
        let told = add(0.6, 10);
        assert!((told.own() - 0.6).abs() < 0.01, "{told:?}");
        assert!((told.each() - 0.001).abs() < 0.0001, "{told:?}");
        // What has become less is believed as soon as the line says so.
        let told = add(0.1, 4);
        assert!((told.own() - 0.1).abs() < 0.05, "{told:?}");
    }

    #[test]
    fn a_piece_that_took_far_longer_than_the_others_says_little() {
        let mut effort = CostModel::default();
        for units in [100.0, 200.0, 400.0, 300.0] {
            effort.add(units, Duration::from_secs_f64(units * 0.001));
        }
        effort.add(300.0, Duration::from_secs(100));
        assert!(effort.own() + 300.0 * effort.each() < 1.0, "{effort:?}");
    }
}
