//! What do these jobs have in common, and others do not? The values of arguments and fields that tell chosen jobs from a
//! baseline, in the manner of the DIFF operator (Abuzaid et al., VLDB 2019): by support and risk ratio, first single attributes,
//! then pairs that say more than each of the two.
//!
//! Nothing here says that an attribute is the cause of anything.

mod attribute;
mod full_pass;
mod paths;
mod sample;
mod score;
mod values;

#[cfg(test)]
mod tests;

pub use attribute::{Attribute, ComparedJob, LetterCase, Test, ValueKind};
pub use full_pass::FullPass;
pub use paths::ValuePath;
pub use score::Counts;
pub use values::ValueCounts;

use std::collections::{HashMap, HashSet};

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
/// How much better what is derived from a value has to tell the sides apart than what the value is.
const GAIN: f64 = 1.1;
/// The share of the chosen with one of the two that a pair has to keep.
const PAIR_KEEPS: f64 = 0.8;
/// The share of the others with one of the two that it may leave.
const PAIR_LEAVES: f64 = 0.5;

/// An attribute, or a pair of them, that tells the chosen jobs from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// One or two.
    pub attributes: Vec<Attribute>,
    /// What the same jobs of the sample have, and no other.
    pub also: Vec<Attribute>,
    /// Jobs that have all of them.
    pub counts: Counts,
    score: f64,
}

/// Compares chosen jobs with others, both of which are added one at a time.
#[derive(Debug, Default)]
pub struct Contrast {
    sample: Sample,
    /// What the jobs were chosen by, which is no news.
    chosen_by: Vec<ValuePath>,
}

impl Contrast {
    /// A comparison of jobs that were chosen by what stands at these paths.
    pub fn chosen_by(paths: Vec<ValuePath>) -> Self {
        Self { chosen_by: paths, ..Self::default() }
    }

    /// Adds one of the chosen jobs. They come before the others.
    pub fn add_chosen(&mut self, job: &ComparedJob<'_>) {
        self.sample.add(Side::Chosen, job);
    }

    /// Adds one of the others.
    pub fn add_other(&mut self, job: &ComparedJob<'_>) {
        self.sample.add(Side::Other, job);
    }

    /// How many jobs were added.
    pub fn jobs(&self) -> Counts {
        self.sample.all()
    }

    /// At most `most` differences, the clearest first; none where what differs may well be chance.
    pub fn differences(&self, most: usize) -> Vec<Difference> {
        let all = self.sample.all();
        let least = ((all.chosen as f64 * LEAST_SUPPORT).ceil() as u64).max(LEAST_JOBS);
        let mut candidates = self.sample.candidates(least);
        candidates.retain(|candidate| !self.chosen_by.contains(&candidate.attribute.path));
        // What the same jobs have is one chance, however many words there are for it.
        let tried = candidates.iter().map(|candidate| candidate.seen.jobs).collect::<HashSet<_>>().len() as f64;
        let singles = self.singles(candidates);
        let mut differences: Vec<Difference> = singles.iter().map(|single| single.difference.clone()).collect();
        differences.retain(|single| single.is_clear(tried, all));
        let pairs = self.pairs(&singles, tried);
        differences.extend(pairs.into_iter().filter(|pair| pair.is_clear(tried * tried / 2.0, all)));
        sort(&mut differences);
        differences.truncate(most);
        differences
    }

    /// What more of the chosen have, the clearest first; of what the same jobs have, what says most, with the others.
    fn singles(&self, candidates: Vec<Candidate>) -> Vec<Single> {
        let all = self.sample.all();
        let mut scored: Vec<(Candidate, f64)> = candidates
            .into_iter()
            .map(|candidate| {
                let score = score(std::slice::from_ref(&candidate.attribute), candidate.seen.counts, all);
                (candidate, score)
            })
            .filter(|(_, score)| *score > 0.0)
            .collect();
        scored.sort_by(|(a, first), (b, second)| {
            second.total_cmp(first).then_with(|| a.attribute.telling().cmp(&b.attribute.telling()))
        });
        let mut singles: Vec<Single> = Vec::new();
        let mut of_jobs: HashMap<u64, usize> = HashMap::new();
        for (candidate, score) in scored {
            let attribute = &candidate.attribute;
            if singles.iter().any(|better| attribute.follows_from(&better.candidate.attribute)) {
                continue;
            }
            match of_jobs.get(&candidate.seen.jobs) {
                Some(same) => singles[*same].difference.also.push(candidate.attribute),
                None => {
                    of_jobs.insert(candidate.seen.jobs, singles.len());
                    let attributes = vec![attribute.clone()];
                    let difference = Difference { attributes, also: Vec::new(), counts: candidate.seen.counts, score };
                    singles.push(Single { candidate, difference });
                }
            }
        }
        singles
    }

    /// The pairs that say more than each of the two: kept by nearly all of the chosen that have either, by half of the others, and
    /// not by chance.
    fn pairs(&self, singles: &[Single], tried: f64) -> Vec<Difference> {
        let all = self.sample.all();
        let paired = &singles[..singles.len().min(PAIRED)];
        let candidates: Vec<Candidate> = paired.iter().map(|single| single.candidate.clone()).collect();
        let mut pairs = Vec::new();
        let mut known: HashSet<u64> = candidates.iter().map(|candidate| candidate.seen.jobs).collect();
        let mut found = self.sample.pairs(&candidates);
        found.sort_by_key(|(places, _)| *places);
        for ((first, second), seen) in found {
            let (counts, parts) = (seen.counts, [first, second].map(|nth| candidates[nth].seen.counts));
            let (score, best) =
                (counts.log_likelihood(all), singles[first].difference.score.max(singles[second].difference.score));
            let adds = parts.iter().all(|part| {
                counts.share_of_chosen(all) >= part.share_of_chosen(all) * PAIR_KEEPS
                    && counts.share_of_others(all) <= part.share_of_others(all) * PAIR_LEAVES
            });
            if adds && score > best + least_score(tried) && known.insert(seen.jobs) {
                let mut attributes = [first, second].map(|nth| candidates[nth].attribute.clone()).to_vec();
                attributes.sort();
                pairs.push(Difference { attributes, also: Vec::new(), counts, score });
            }
        }
        pairs
    }
}

/// One attribute as it is told.
struct Single {
    candidate: Candidate,
    difference: Difference,
}

impl Difference {
    /// The filter terms that select its jobs; `None` where the filter language has none. Where it has none for what is said of a
    /// value, it may have one for what the same jobs have there.
    pub fn terms(&self) -> Option<String> {
        let alike = |attribute: &Attribute| {
            let also = self.also.iter().filter(|also| self.attributes.len() == 1 && also.path == attribute.path);
            also.filter_map(Attribute::term).next()
        };
        let terms = self.attributes.iter().map(|attribute| attribute.term().or_else(|| alike(attribute)));
        Some(terms.collect::<Option<Vec<String>>>()?.join(" "))
    }

    /// Whether it is no chance, where so many were tried.
    fn is_clear(&self, tried: f64, all: Counts) -> bool {
        self.score > least_score(tried) && self.counts.risk_ratio(all) >= LEAST_RATIO
    }
}

/// Differences by what their counts say of all jobs.
fn ranked(mut differences: Vec<Difference>, all: Counts) -> Vec<Difference> {
    for difference in &mut differences {
        difference.score = score(&difference.attributes, difference.counts, all);
    }
    sort(&mut differences);
    differences
}

/// How well attributes tell the sides apart; less for one that is only derived from a value.
fn score(attributes: &[Attribute], counts: Counts, all: Counts) -> f64 {
    let score = counts.log_likelihood(all);
    match attributes {
        [single] if single.test.is_derived() => score / GAIN,
        _ => score,
    }
}

fn sort(differences: &mut [Difference]) {
    differences.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.attributes.cmp(&b.attributes)));
}

/// The logarithm of the likelihood ratio that chance alone exceeds once in `1 / CHANCE` times, if so many are tried. Twice the
/// logarithm is distributed as chi-squared with one degree of freedom, whose tail is below `exp(-x / 2)`.
fn least_score(tried: f64) -> f64 {
    (tried.max(1.0) / CHANCE).ln()
}
