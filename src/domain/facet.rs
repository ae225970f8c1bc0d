//! Facets: the dimensions by which dead jobs are counted.

use std::fmt;

use super::filter::nearest;
use super::fingerprint::Fingerprint;
use super::job::JobRow;
use super::text::{Clean, Untrusted};
use super::time::Timestamp;

/// A dimension to count by. Which of them a store offers is up to its adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Facet {
    /// Error class, as the adapter cuts it.
    Error,
    /// Error class and normalised message.
    Fingerprint,
    /// Job class, event type or worker name.
    Class,
    /// Queue.
    Queue,
    /// The reason as stored, where a layout keeps one apart from the class.
    Reason,
    /// Host or process that failed.
    Worker,
    /// Normalised state.
    State,
    /// Hour of death, in UTC.
    Hour,
}

impl Facet {
    /// Every facet, in the order of the histogram's tabs.
    pub const ALL: [Facet; 8] = [
        Facet::Error,
        Facet::Class,
        Facet::Queue,
        Facet::Reason,
        Facet::Worker,
        Facet::State,
        Facet::Hour,
        Facet::Fingerprint,
    ];

    /// The word used for it in filters, options and output.
    pub fn word(self) -> &'static str {
        match self {
            Facet::Error => "error",
            Facet::Fingerprint => "fp",
            Facet::Class => "class",
            Facet::Queue => "queue",
            Facet::Reason => "reason",
            Facet::Worker => "worker",
            Facet::State => "state",
            Facet::Hour => "hour",
        }
    }

    /// The title over its bars.
    pub fn title(self) -> &'static str {
        match self {
            Facet::Error => "error class",
            Facet::Fingerprint => "fingerprint",
            Facet::Class => "job class",
            Facet::Queue => "queue",
            Facet::Reason => "reason",
            Facet::Worker => "worker",
            Facet::State => "state",
            Facet::Hour => "hour",
        }
    }

    /// The value that a job has, `None` where it has none. Stores that count in their database tell the same values.
    pub fn value_of(self, row: &JobRow) -> Option<Untrusted> {
        match self {
            Facet::Error => row.error_class.clone(),
            Facet::Fingerprint => Some(Untrusted::new(Fingerprint::of_row(row).to_string())),
            Facet::Class => row.job_class.clone(),
            Facet::Queue => row.queue.clone(),
            Facet::Reason => row.reason.clone(),
            Facet::Worker => row.worker.clone(),
            Facet::State => Some(row.state.word().into()),
            Facet::Hour => {
                let died = row.at.and_then(Timestamp::calendar)?;
                Some(Untrusted::new(died.format("%Y-%m-%dT%H").to_string()))
            }
        }
    }

    /// What is said of a word that names none of the facets on offer.
    pub fn unknown(word: &str, offered: &[Facet]) -> String {
        let words = offered.iter().map(|f| f.word());
        let all = words.clone().collect::<Vec<_>>().join(", ");
        let asked = Clean::line(word);
        match nearest(word, words) {
            _ if word.is_empty() => format!("a facet is missing: the facets are {all}"),
            // The layout does not keep it.
            _ if Facet::from_word(word).is_some() => {
                format!("jobs cannot be counted by `{asked}` here: the facets are {all}")
            }
            Some(meant) => format!("`{asked}` is no facet: did you mean `{meant}`? The facets are {all}"),
            None => format!("`{asked}` is no facet: the facets are {all}"),
        }
    }

    /// The facet that a word names, if it names one.
    pub fn from_word(word: &str) -> Option<Facet> {
        Facet::ALL.into_iter().find(|f| f.word() == word)
    }
}

impl fmt::Display for Facet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_facet_names_what_was_typed_and_what_was_meant() {
        let told = |word| Facet::unknown(word, &[Facet::Error, Facet::Queue]);
        assert_eq!(told("qeue"), "`qeue` is no facet: did you mean `queue`? The facets are error, queue");
        assert_eq!(told("zebra"), "`zebra` is no facet: the facets are error, queue");
        assert_eq!(told("worker"), "jobs cannot be counted by `worker` here: the facets are error, queue");
        assert_eq!(told(""), "a facet is missing: the facets are error, queue");
    }
}
