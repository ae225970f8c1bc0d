//! How well an attribute tells the chosen jobs from the others.

/// How many jobs of each side have an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of the chosen jobs.
    pub chosen: u64,
    /// Of the others.
    pub others: u64,
}

impl Counts {
    /// The share of the chosen that have it, from 0 to 1.
    pub fn share_of_chosen(self, all: Counts) -> f64 {
        share(self.chosen, all.chosen)
    }

    /// The share of the others that have it, from 0 to 1.
    pub fn share_of_others(self, all: Counts) -> f64 {
        share(self.others, all.others)
    }

    /// The share of the chosen among the jobs that have it, over their share among those that have it not: the risk ratio of the
    /// DIFF operator (Abuzaid et al., VLDB 2019). Infinite where all of the chosen have it.
    pub fn risk_ratio(self, all: Counts) -> f64 {
        let with = share(self.chosen, self.chosen + self.others);
        let (chosen, others) = (all.chosen - self.chosen, all.others - self.others);
        let without = share(chosen, chosen + others);
        if without == 0.0 { f64::INFINITY } else { with / without }
    }

    /// The logarithm of the likelihood ratio (Dunning 1993): how much less likely the counts are if the attribute says nothing of
    /// the side. Zero where more of the others have it.
    pub fn log_likelihood(self, all: Counts) -> f64 {
        if self.share_of_chosen(all) <= self.share_of_others(all) {
            return 0.0;
        }
        let total = (all.chosen + all.others) as f64;
        let having = (self.chosen + self.others) as f64;
        let cell = |seen: u64, row: f64, column: u64| match seen {
            0 => 0.0,
            seen => seen as f64 * (seen as f64 * total / (row * column as f64)).ln(),
        };
        cell(self.chosen, having, all.chosen)
            + cell(self.others, having, all.others)
            + cell(all.chosen - self.chosen, total - having, all.chosen)
            + cell(all.others - self.others, total - having, all.others)
    }
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
