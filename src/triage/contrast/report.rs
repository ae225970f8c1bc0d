//! What a comparison says, ready to be shown: secrets masked.

use super::{Baseline, ContrastReport};
use crate::domain::contrast::{Attribute, Counts, Difference};
use crate::domain::histogram::{grouped, jobs};
use crate::domain::redact::Redactor;
use crate::domain::text::Clean;

/// A comparison as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Which jobs were compared with which.
    pub headline: String,
    /// How many were read.
    pub jobs: Counts,
    /// Whether there are more jobs than were read.
    pub is_sample: bool,
    /// The differences, the clearest first.
    pub lines: Vec<DifferenceLine>,
}

/// A difference as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferenceLine {
    /// In words; two where a pair says more than each of them.
    pub attributes: Vec<String>,
    /// What the same jobs have.
    pub also: Vec<String>,
    /// The filter terms that select the jobs; `None` where the filter language has none, or they have a secret in them.
    pub filter: Option<String>,
    /// Jobs that have it.
    pub counts: Counts,
}

impl DifferenceLine {
    /// What the jobs have, in one line.
    pub fn words(&self) -> String {
        let also = if self.also.is_empty() { String::new() } else { format!("  (+{} alike)", self.also.len()) };
        format!("{}{also}", self.attributes.join(" and "))
    }

    fn of(difference: &Difference, redactor: &Redactor) -> Self {
        let masked = |text: &str| redactor.text(text).into_owned();
        let words = |all: &[Attribute]| all.iter().map(|attribute| masked(&attribute.to_string())).collect();
        let filter = difference.terms().filter(|terms| masked(terms) == *terms);
        let (attributes, also) = (words(&difference.attributes), words(&difference.also));
        Self { attributes, also, filter, counts: difference.counts }
    }
}

impl ContrastReport {
    /// The comparison with what looks like a secret masked.
    pub fn shown(&self, redactor: &Redactor) -> Comparison {
        Comparison {
            headline: self.headline(redactor),
            jobs: self.jobs,
            is_sample: self.is_sample,
            lines: self.differences.iter().map(|difference| DifferenceLine::of(difference, redactor)).collect(),
        }
    }

    fn headline(&self, redactor: &Redactor) -> String {
        let about = if self.is_sample { "~ the newest " } else { "" };
        let others = grouped(self.jobs.others);
        let baseline = match &self.baseline {
            Baseline::SameClasses(classes) => format!("other dead jobs of {}", named(classes, redactor)),
            Baseline::LiveOrSucceeded(classes) => format!("live or succeeded jobs of {}", named(classes, redactor)),
            Baseline::AllOthers => "other dead jobs".to_owned(),
            Baseline::Named(filter) => format!("jobs of {}", redactor.text(&filter.to_string())),
        };
        format!("{about}{}, compared with {about}{others} {baseline}", jobs(self.jobs.chosen))
    }
}

fn named(classes: &[String], redactor: &Redactor) -> String {
    match classes {
        [class] => Clean::line(&redactor.text(class)).to_string(),
        classes => format!("the same {} classes", classes.len()),
    }
}
