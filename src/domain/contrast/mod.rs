//! What do these jobs have in common, and others do not? The values of arguments and fields that tell chosen jobs from a
//! baseline, in the manner of the DIFF operator (Abuzaid et al., VLDB 2019): by support and risk ratio, first single attributes,
//! then pairs that say more than each of the two.
//!
//! Nothing here says that an attribute is the cause of anything.

mod attribute;
mod sample;
mod score;

#[cfg(test)]
mod tests;

pub use attribute::{Attribute, ComparedJob, LetterCase, Test, ValueKind, ValuePath};
pub use score::Counts;

use sample::{Candidate, Sample, Side};

/// Least share of the chosen jobs that have what is said of them.
const LEAST_SUPPORT: f64 = 0.01;
/// Least number of them: what one or two jobs share is no more than chance.
const LEAST_JOBS: u64 = 3;
/// Least risk ratio.
const LEAST_RATIO: f64 = 1.5;
/// How likely it may be that anything at all is said where the two sides do not differ.
const CHANCE: f64 = 1e-4;
/// Attributes that are paired with one another.
const PAIRED: usize = 32;
/// How much better a pair has to tell the sides apart than each of the two, and what is derived from a value than what it is.
const GAIN: f64 = 1.1;

/// An attribute, or a pair of them, that tells the chosen jobs from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// One or two.
    pub attributes: Vec<Attribute>,
    /// Jobs that have all of them.
    pub counts: Counts,
    score: f64,
}

/// Compares chosen jobs with others, both of which are added one at a time.
#[derive(Debug, Default)]
pub struct Contrast(Sample);

impl Contrast {
    /// Adds one of the chosen jobs. They come before the others.
    pub fn add_chosen(&mut self, job: &ComparedJob<'_>) {
        self.0.add(Side::Chosen, job);
    }

    /// Adds one of the others.
    pub fn add_other(&mut self, job: &ComparedJob<'_>) {
        self.0.add(Side::Other, job);
    }

    /// How many jobs were added.
    pub fn jobs(&self) -> Counts {
        self.0.all()
    }

    /// At most `most` differences, the clearest first; none where what differs may well be chance.
    pub fn differences(&self, most: usize) -> Vec<Difference> {
        let all = self.0.all();
        let least = ((all.chosen as f64 * LEAST_SUPPORT).ceil() as u64).max(LEAST_JOBS);
        let candidates = self.0.candidates(least);
        let tried = candidates.len() as f64;
        let mut singles: Vec<(Candidate, f64)> = candidates
            .into_iter()
            .map(|candidate| {
                let score = candidate.counts.log_likelihood(all);
                let score = if candidate.attribute.test.is_derived() { score / GAIN } else { score };
                (candidate, score)
            })
            .filter(|(_, score)| *score > 0.0)
            .collect();
        // Of equals, what says most.
        singles.sort_by(|(a, first), (b, second)| {
            let by_test = || (&a.attribute.test, &a.attribute.path).cmp(&(&b.attribute.test, &b.attribute.path));
            second.total_cmp(first).then_with(by_test)
        });
        let mut told: Vec<(Candidate, f64)> = Vec::new();
        for (candidate, score) in singles {
            if !told.iter().any(|(better, _)| candidate.attribute.follows_from(&better.attribute)) {
                told.push((candidate, score));
            }
        }
        let mut differences = self.pairs(&told, tried, all);
        let clear = |score: f64, counts: Counts, tried: f64| {
            score > least_score(tried) && counts.risk_ratio(all) >= LEAST_RATIO
        };
        differences.retain(|pair| clear(pair.score, pair.counts, tried * tried / 2.0));
        let singles = told.into_iter().filter(|(single, score)| clear(*score, single.counts, tried));
        differences.extend(singles.map(|(single, score)| Difference {
            attributes: vec![single.attribute],
            counts: single.counts,
            score,
        }));
        differences.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.attributes.cmp(&b.attributes)));
        differences.truncate(most);
        differences
    }

    /// The pairs that tell the sides apart better than each of the two.
    fn pairs(&self, singles: &[(Candidate, f64)], tried: f64, all: Counts) -> Vec<Difference> {
        let paired: Vec<Candidate> = singles.iter().take(PAIRED).map(|(single, _)| single.clone()).collect();
        let mut pairs = Vec::new();
        for ((first, second), counts) in self.0.pairs(&paired) {
            let score = counts.log_likelihood(all);
            let best = singles[first].1.max(singles[second].1);
            if score > best * GAIN && score > best + least_score(tried) {
                let mut attributes = [first, second].map(|nth| paired[nth].attribute.clone()).to_vec();
                attributes.sort();
                pairs.push(Difference { attributes, counts, score });
            }
        }
        pairs
    }
}

/// The logarithm of the likelihood ratio that chance alone exceeds once in `1 / CHANCE` times, if so many are tried. Twice the
/// logarithm is distributed as chi-squared with one degree of freedom, whose tail is below `exp(-x / 2)`.
fn least_score(tried: f64) -> f64 {
    (tried.max(1.0) / CHANCE).ln()
}
