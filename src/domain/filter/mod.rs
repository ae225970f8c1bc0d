//! The filter language: one grammar for the console and the command line.
//!
//! Terms combine by AND, a repeated key is OR, `-` negates. A filter prints back as it was written (white space apart),
//! and a parsed filter that is printed and parsed again is the same filter.
//!
//! ```ebnf
//! filter   = { space } [ term { space { space } term } ] { space } ;
//! term     = [ "-" ] ( key ":" value | text ) ;
//! key      = name | "args" { "." segment } ;          (* the names are the table in `key.rs` *)
//! segment  = plain { plain } | quoted ;               (* plain: no space, no '.', ':' or '"' *)
//! value    = text | compare | range ;
//! text     = regex | quoted | bare ;
//! bare     = nonspace { nonspace } ;                  (* holds no '"'; no escapes; "*" stands for anything *)
//! quoted   = '"' { char | escape } '"' ;              (* "*" stands for anything here too *)
//! escape   = "\" ( '"' | "\" | "*" | "n" | "r" | "t" | "u{" hex { hex } "}" ) ;
//! regex    = "/" char { char } "/" ;                  (* a slash inside is written "\/" *)
//! compare  = ( ">=" | ">" | "<=" | "<" ) ( number | moment | span ) ;
//! range    = [ end ] ".." [ end ] ;                   (* end: number, moment, span or mark *)
//! mark     = "@" name ;                               (* letters, digits, '.', '-', '_' and '/' *)
//! moment   = date [ "T" hh [ ":" mm [ ":" ss [ "." fraction ] ] ] [ "Z" | offset ] ] | integer "µs" ;
//! span     = integer unit { integer unit } ;          (* unit: s, m, h, d or w *)
//! ```
//!
//! - **Text** (`error`, `class`, `queue`, `reason`, `worker`, `native`, `id`, `args.PATH`): the whole value, case counts;
//!   with a star a glob that is anchored at both ends. `/…/` is found anywhere, case counts unless it says `(?i)`.
//! - **Searched text** (`msg`, `args` without a path, free words): contained anywhere, whatever the case. With a star:
//!   the pieces are contained in that order, and case counts, as in every glob.
//! - **None**: `key:""` selects jobs that have no value (NULL or empty). Any other test fails on a missing value, so its
//!   negation holds: `-queue:low` selects jobs without a queue too.
//! - **Numbers** (`attempts`, `replayed`) are whole; `5..10` includes both ends. `args.PATH` compares exact decimals of
//!   any size, and values that are no numbers fail.
//! - **Runs** (`run`) are named by their id, or `last`; `outcome` is one word of a list and narrows `run`.
//! - **Times** are UTC unless they say otherwise. A bound is the start of what it names: `since:2026-11-20` includes
//!   that day, `until:2026-11-20` and `at:…..2026-11-20` stop before it; `at:2026-11-20` is the whole day. `@NAME` is the
//!   moment of a mark.
//! - **OR** joins terms of one key that are not negated; `since` and `until` are keys of their own here, `at` and `hour`
//!   are one. A repetition that lets every number pass (`attempts:>=5 attempts:<10`) is an error: a range was meant.
//!   Each negated term is a clause of its own, and so is each free word: `card declined` needs both.
//! - **Free words** may hold colons where no key could be meant: `Net::ReadTimeout`, `https://host`, `job.rb:12`. What
//!   looks like a key and is none is an error, so that a slip never widens or narrows a filter unseen.
//! - A bare `AND`, `OR` or `NOT` is an error, because a reader of other languages would not have meant the word.

mod build;
mod complete;
mod datetime;
mod decimal;
mod error;
mod eval;
mod key;
mod lex;
mod parse;
mod pattern;
mod quote;
mod row_subject;
#[cfg(test)]
mod tests;
mod time_range;
mod value;

use std::fmt;
use std::time::Duration;

pub use complete::{Completion, CompletionContext, complete, keys};
pub use error::ParseError;
pub(in crate::domain) use error::nearest;
pub use eval::{CompiledFilter, Subject};
pub use key::{KEYS, KeyInfo, ValueKind, reference};
pub use pattern::Matcher;
pub use row_subject::RowSubject;
pub use time_range::instant;

use super::job::State;
use super::mark::MarkName;
use super::time::Timestamp;

/// The word of `run:` for the last replay.
pub const LAST_RUN: &str = "last";

/// What a term tests.
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
    /// A run of the ledger that has acted on the job or tried.
    Run,
    /// Where the job has got to since that run replayed it.
    Outcome,
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TimeBound {
    /// That long before the filter is resolved.
    Ago(Duration),
    /// An instant.
    At(Timestamp),
    /// The moment of a mark, which only the ledger knows: see [`Filter::with_marks`].
    Mark(MarkName),
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

/// Tests of one key of which any may hold; or, when negated, a single test that must not hold. A free word is alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// What is tested.
    pub key: Key,
    /// Whether the one test must fail instead.
    pub negated: bool,
    /// The alternatives; never empty, and exactly one when negated.
    pub any: Vec<Test>,
}

impl Clause {
    /// Whether it says which states are meant. Without such a clause a filter is for dead jobs.
    pub fn names_states(&self) -> bool {
        matches!(self.key, Key::State | Key::Native) || self.names_jobs()
    }

    /// Whether it names jobs, each by its key: whatever state they are in, they are meant. What keys look like, or which they
    /// are not, names none.
    pub fn names_jobs(&self) -> bool {
        let is_key = |test: &Test| matches!(test, Test::Text(Pattern::Equals(_)));
        self.key == Key::Id && !self.negated && self.any.iter().all(is_key)
    }
}

/// One term as it was written, with what it means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Term {
    /// The row of the key table by which it was spelled; tells `since` from `at`.
    info: &'static KeyInfo,
    key: Key,
    negated: bool,
    test: Test,
    text: String,
}

/// A parsed filter: clauses that must all hold, and the text they came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Filter {
    terms: Vec<Term>,
    clauses: Vec<Clause>,
}

impl Filter {
    /// The filter that every job passes.
    pub fn all() -> Self {
        Self::default()
    }

    /// Reads a filter; blank text is the filter that every job passes.
    ///
    /// # Errors
    /// Points at the first place that cannot be read and says what was expected there.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::filter(text).map_err(|fault| fault.within(text))
    }

    /// The clauses, each of which must hold; repeated keys are already joined.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// Whether a job in this state can pass, as far as the terms for states say.
    pub fn reaches(&self, state: State) -> bool {
        let lets_in = |clause: &Clause| clause.any.contains(&Test::State(state)) != clause.negated;
        self.clauses.iter().filter(|clause| clause.key == Key::State).all(lets_in)
    }

    /// Whether every job passes.
    pub fn is_all(&self) -> bool {
        self.clauses.is_empty()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(&term.text)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Filter {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Filter::parse(text)
    }
}
