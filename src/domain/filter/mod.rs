//! The filter language: one grammar for the console and the command line.
//!
//! Terms combine by AND, a repeated key is OR, `-` negates. A filter prints back as it was written, and a parsed
//! filter that is printed and parsed again is the same filter.

use std::fmt;
use std::time::Duration;

use super::job::State;
use super::time::Timestamp;

/// What a term looks at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Error class.
    Error,
    /// Job class.
    Class,
    /// Queue.
    Queue,
    /// Reason, where a layout keeps one.
    Reason,
    /// Host or process that failed.
    Worker,
    /// Error message.
    Message,
    /// Normalised state.
    State,
    /// The framework's own word for the state.
    Native,
    /// Fingerprint, by a prefix of its hexadecimal form.
    Fingerprint,
    /// Primary key.
    Id,
    /// Attempts made.
    Attempts,
    /// How often the ledger knows the job to have been replayed.
    Replayed,
    /// Time of death (`since:`, `until:`, `at:` and `hour:` are all spellings of it).
    At,
    /// Time since the row was last touched.
    Idle,
    /// A value inside the arguments, by path; array elements are searched without being named.
    Arg(Vec<String>),
    /// A bare word: error class, job class or message contain it.
    Word,
}

/// A test of text. Equality, globs and regular expressions are case-sensitive; `Contains` is not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// The whole value. The empty string stands for jobs that have no value.
    Equals(String),
    /// `*` stands for any characters; `parts` are the literal pieces between the stars, the first and last anchored.
    Glob(Vec<String>),
    /// A regular expression in the syntax of the `regex` crate, found anywhere.
    Regex(String),
    /// The value contains this, whatever the case.
    Contains(String),
}

/// One end of a range of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeBound {
    /// That long before the filter is resolved.
    Ago(Duration),
    /// An instant.
    At(Timestamp),
}

/// One alternative of a clause.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Of text.
    Text(Pattern),
    /// Of the state.
    State(State),
    /// Of a whole number, both ends included, an absent end open.
    Number {
        /// Least value that passes.
        min: Option<i64>,
        /// Greatest value that passes.
        max: Option<i64>,
    },
    /// Of an exact decimal inside the arguments, an absent end open.
    Decimal {
        /// Lower end as written, and whether it passes itself.
        min: Option<(String, bool)>,
        /// Upper end as written, and whether it passes itself.
        max: Option<(String, bool)>,
    },
    /// Of a time: `from` included, `to` excluded, an absent end open.
    Time {
        /// Earliest instant that passes.
        from: Option<TimeBound>,
        /// First instant that no longer passes.
        to: Option<TimeBound>,
    },
}

/// Tests of one key of which any may hold; or, when negated, a single test that must not hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// What is looked at.
    pub key: Key,
    /// Whether the one test must fail instead.
    pub negated: bool,
    /// The alternatives; never empty, and exactly one when negated.
    pub any: Vec<Test>,
}

/// A parsed filter: clauses that must all hold, and the text they came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Filter {
    text: String,
    clauses: Vec<Clause>,
}

impl Filter {
    /// The filter that every job passes.
    pub fn all() -> Self {
        Self::default()
    }

    /// The clauses, each of which must hold; repeated keys are already joined.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// Whether every job passes.
    pub fn is_all(&self) -> bool {
        self.clauses.is_empty()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
