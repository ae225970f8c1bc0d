//! The parts of a dead job that a layout can have, and where each of them stands.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Field;

/// A part of a dead job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Time of death.
    At,
    /// Time of the last change, where it is kept.
    Touched,
    /// The layout's own word for the state.
    State,
    /// Error class.
    Error,
    /// Error message.
    Message,
    /// The first 200 characters of the message, where the database has these quicker than all of it.
    MessageHead,
    /// Job class, event type or worker name.
    Class,
    /// Queue.
    Queue,
    /// Reason apart from the error class.
    Reason,
    /// Host or process that failed.
    Worker,
    /// Attempts made.
    Attempts,
    /// Attempts allowed.
    MaxAttempts,
    /// Arguments or payload.
    Arguments,
    /// Backtrace.
    Backtrace,
    /// Key by which a job is known across its deaths.
    Lineage,
}

/// The parts by the words of adapter files.
const WORDS: [(&str, Part); 15] = [
    ("at", Part::At),
    ("touched", Part::Touched),
    ("state", Part::State),
    ("error_class", Part::Error),
    ("message", Part::Message),
    ("message_head", Part::MessageHead),
    ("job_class", Part::Class),
    ("queue", Part::Queue),
    ("reason", Part::Reason),
    ("worker", Part::Worker),
    ("attempts", Part::Attempts),
    ("max_attempts", Part::MaxAttempts),
    ("arguments", Part::Arguments),
    ("backtrace", Part::Backtrace),
    ("lineage", Part::Lineage),
];

impl Part {
    /// The word of adapter files.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(_, part)| *part == self).map_or("", |(word, _)| word)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: [&str; WORDS.len()] = {
            let (mut names, mut nth) = ([""; WORDS.len()], 0);
            while nth < WORDS.len() {
                names[nth] = WORDS[nth].0;
                nth += 1;
            }
            names
        };
        let word = String::deserialize(deserializer)?;
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, part)| *part).ok_or_else(|| serde::de::Error::unknown_field(&word, &NAMES))
    }
}

/// Where each part of a dead job stands; what a layout does not have is left out. The time of death is always there.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "BTreeMap<Part, Field>")]
pub struct Fields {
    /// Time of death.
    pub at: Field,
    others: BTreeMap<Part, Field>,
}

impl TryFrom<BTreeMap<Part, Field>> for Fields {
    type Error = String;

    fn try_from(mut fields: BTreeMap<Part, Field>) -> Result<Self, String> {
        let at = fields.remove(&Part::At).ok_or("missing field `at`")?;
        Ok(Self { at, others: fields })
    }
}

impl Fields {
    /// Where a part stands.
    pub fn get(&self, part: Part) -> Option<&Field> {
        if part == Part::At { Some(&self.at) } else { self.others.get(&part) }
    }

    /// All parts that the layout has.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &Field)> {
        std::iter::once((Part::At, &self.at)).chain(self.others.iter().map(|(part, field)| (*part, field)))
    }

    /// The same with a part somewhere else.
    #[cfg(test)]
    pub(crate) fn with(mut self, part: Part, field: Field) -> Self {
        self.others.insert(part, field);
        self
    }
}
