//! Numbers that look random and are the same for the same seed, on every machine.

/// The SplitMix64 generator: eight bytes of state, good enough for believable data.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that always starts the same way for `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // The product's high half: unbiased enough without a division.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number from 0 up to, not including, 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of several; `None` of none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len() as u64) as usize)
    }
}

/// Choices that come up in proportion to their weights.
#[derive(Clone, Debug)]
pub struct Weighted {
    /// Running sums of the weights.
    sums: Vec<u64>,
}

impl Weighted {
    /// One choice for each weight; a weight of 0 never comes up.
    pub fn new(weights: impl IntoIterator<Item = u64>) -> Self {
        let mut total = 0;
        Self {
            sums: weights
                .into_iter()
                .map(|w| {
                    total += w;
                    total
                })
                .collect(),
        }
    }

    /// The index of a choice; `None` when no weight is above 0.
    pub fn draw(&self, random: &mut Random) -> Option<usize> {
        let total = *self.sums.last().filter(|t| **t > 0)?;
        let at = random.below(total);
        Some(self.sums.partition_point(|sum| *sum <= at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_up_in_proportion_to_their_weights() {
        let mut random = Random::new(7);
        let weighted = Weighted::new([0, 1, 3]);
        let mut seen = [0u32; 3];
        for _ in 0..40_000 {
            seen[weighted.draw(&mut random).expect("weights")] += 1;
        }
        assert_eq!(seen[0], 0);
        assert!((9_000..11_000).contains(&seen[1]), "{seen:?}");
        assert!(Weighted::new([0]).draw(&mut random).is_none());
    }
}
