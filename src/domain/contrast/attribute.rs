//! What a job has that others may not have: attributes of its fields and of the values in its arguments.

use std::fmt;

use super::paths::{ARGUMENTS, FIELDS, PathId, ValuePath};
use crate::domain::facet::Facet;
use crate::domain::filter::{Filter, Key};
use crate::domain::json::{Document, JsonHighlights, NodeId, NodeKind, quote};

/// Values that are longer are compared by their length alone, in bytes.
const MAX_VALUE: usize = 64;
/// Values of one job that take part: those that its text has first.
const MAX_NODES: u32 = 20_000;

/// What is true of a value. Where two tests hold for the same jobs, the first of this order says most.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Test {
    /// Nothing stands there.
    Absent,
    /// `null`.
    Null,
    /// A text without characters.
    Empty,
    /// White space at the beginning or the end of a text.
    Padded,
    /// This number or boolean, as it is written; or what a field has.
    Literal(String),
    /// This text.
    Text(String),
    /// A value of this kind.
    Kind(ValueKind),
    /// A text whose letters are all of this case.
    Case(LetterCase),
    /// A number of so many digits before the point; negative numbers apart.
    Digits {
        /// Whether it is below zero.
        negative: bool,
        /// Digits before the point; 0 for a number between -1 and 1.
        digits: u32,
    },
    /// A text whose length in bytes is below this power of two, and not below the one before.
    LengthBelow(u32),
    /// Something other than `null`, an empty text and an object, as a filter means it.
    HasValue,
    /// The opposite.
    NoValue,
}

/// Kinds of values that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// An object.
    Object,
    /// An array.
    Array,
}

/// The case of all letters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LetterCase {
    /// All are small.
    Lower,
    /// All are capital.
    Upper,
    /// Some of both.
    Mixed,
}

/// A value and what is true of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attribute {
    /// Where.
    pub path: ValuePath,
    /// What.
    pub test: Test,
}

impl Attribute {
    /// The filter term that selects the jobs which have it; `None` where the filter language has none.
    pub fn term(&self) -> Option<String> {
        let (first, keys) = self.path.0.split_first()?;
        let (value, is_negated) = match &self.test {
            Test::Text(value) | Test::Literal(value) => (Some(value.as_str()), false),
            // A field has no `null`.
            Test::Absent if keys.is_empty() => (None, false),
            Test::NoValue => (None, false),
            Test::HasValue => (None, true),
            Test::Padded => return self.pattern(r"/^\s|\s$/"),
            Test::Case(LetterCase::Lower) => return self.pattern(r"/^\P{Lu}*$/"),
            Test::Case(LetterCase::Upper) => return self.pattern(r"/^\P{Ll}*$/"),
            _ => return None,
        };
        let key = match keys {
            [] => match Facet::from_word(first) {
                Some(facet) => return Some(Filter::term_for(facet, value)),
                None => Key::from_word(first)?,
            },
            keys => Key::Arg(keys.to_vec()),
        };
        Filter::all().with(&key, value, is_negated).ok().map(|filter| filter.to_string())
    }

    fn pattern(&self, pattern: &str) -> Option<String> {
        let (_, keys) = self.path.0.split_first()?;
        Some(format!("{}:{pattern}", Key::Arg(keys.to_vec()).word()))
    }

    /// What says most comes first where two are true of the same jobs: fields before arguments.
    pub(super) fn telling(&self) -> (&Test, usize, &ValuePath) {
        (&self.test, self.path.0.len(), &self.path)
    }

    /// Whether this follows from the other: an object that is absent has no members.
    pub(super) fn follows_from(&self, other: &Self) -> bool {
        match (&self.test, &other.test) {
            (Test::Absent | Test::NoValue, Test::Absent | Test::Null) => other.path.is_above(&self.path),
            // Of one value, what is only derived from it.
            (Test::Kind(_), _) => self.path == other.path,
            (test, _) if test.is_derived() => self.path == other.path,
            _ => false,
        }
    }
}

impl Test {
    /// Whether it only describes a value.
    pub(super) fn is_derived(&self) -> bool {
        matches!(self, Self::Case(_) | Self::Digits { .. } | Self::LengthBelow(_))
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.test {
            Test::Absent => write!(f, "{path} is absent"),
            Test::Null => write!(f, "{path} = null"),
            Test::Empty => write!(f, "{path} is empty"),
            Test::Padded => write!(f, "{path} begins or ends with white space"),
            Test::Text(value) => write!(f, "{path} = {}", quote(value)),
            Test::Literal(value) => write!(f, "{path} = {value}"),
            Test::Kind(kind) => write!(f, "{path} is {}", kind.word()),
            Test::Case(LetterCase::Lower) => write!(f, "{path} has only small letters"),
            Test::Case(LetterCase::Upper) => write!(f, "{path} has only capital letters"),
            Test::Case(LetterCase::Mixed) => write!(f, "{path} has small and capital letters"),
            Test::Digits { negative, digits } => {
                let sign = if *negative { "negative, " } else { "" };
                match digits {
                    0 => write!(f, "{path} is {sign}a number below 1"),
                    1 => write!(f, "{path} is {sign}a number of 1 digit"),
                    digits => write!(f, "{path} is {sign}a number of {digits} digits"),
                }
            }
            Test::HasValue => write!(f, "{path} has a value"),
            Test::NoValue => write!(f, "{path} has no value"),
            Test::LengthBelow(1) => write!(f, "{path} is 1 byte long"),
            Test::LengthBelow(power) => write!(f, "{path} is {} to {} bytes long", 1 << (power - 1), (1 << power) - 1),
        }
    }
}

impl ValueKind {
    /// With its article.
    fn word(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Object => "an object",
            Self::Array => "an array",
        }
    }
}

/// A job as it is compared with others.
pub struct ComparedJob<'a> {
    /// Fields beside the arguments, by name; `None` where the job has no value.
    pub fields: &'a [(&'a str, Option<&'a str>)],
    /// The arguments, where they are JSON.
    pub arguments: Option<&'a Document>,
    /// What of the arguments must not be shown: of that only the kinds take part.
    pub marks: &'a JsonHighlights,
}

/// Takes in what a job has, a value at a time.
pub(super) trait AttributeSink {
    /// The number of a path; `None` leaves the value out, with all that is in it.
    fn path(&mut self, above: PathId, key: &str) -> Option<PathId>;

    /// The path leads to this value, among others.
    fn place(&mut self, _path: PathId, _document: &Document, _node: NodeId) {}

    /// This is true of a value there; a path of an array has several values.
    fn test(&mut self, path: PathId, test: Test);

    /// This value is there; a text, or anything else as it is written.
    fn value(&mut self, path: PathId, value: &str, is_text: bool);
}

impl ComparedJob<'_> {
    /// Hands out each path that the job has, with all that is true there.
    pub(super) fn attributes(&self, sink: &mut impl AttributeSink) {
        for (name, value) in self.fields {
            if let Some(value) = value
                && let Some(path) = sink.path(FIELDS, name)
            {
                sink.value(path, value, false);
            }
        }
        let Some(document) = self.arguments else { return };
        let mut above: Vec<(NodeId, PathId)> = Vec::new();
        let (mut node, mut secret_until) = (1, 0);
        while node < document.node_count().min(MAX_NODES) {
            while above.pop_if(|(end, _)| node >= *end).is_some() {}
            let mut path = above.last().map_or(ARGUMENTS, |(_, path)| *path);
            if self.marks.is_redacted(node) {
                secret_until = document.end(node);
            }
            if let Some(key) = document.key(node) {
                let Some(own) = sink.path(path, &key) else {
                    node = document.end(node);
                    continue;
                };
                path = own;
                above.push((document.end(node), path));
            }
            sink.place(path, document, node);
            value_tests(document, node, node < secret_until, path, sink);
            node += 1;
        }
    }
}

/// Hands out what is true of one value of the arguments.
fn value_tests(document: &Document, node: NodeId, is_secret: bool, path: PathId, sink: &mut impl AttributeSink) {
    let kind = match document.kind(node) {
        NodeKind::Null => return sink.test(path, Test::Null),
        NodeKind::Object => ValueKind::Object,
        NodeKind::Array => ValueKind::Array,
        NodeKind::String => ValueKind::Text,
        NodeKind::Number => ValueKind::Number,
        NodeKind::Bool => ValueKind::Boolean,
    };
    sink.test(path, Test::Kind(kind));
    let Some(value) = document.scalar(node) else { return };
    if !value.is_empty() {
        sink.test(path, Test::HasValue);
    }
    if is_secret {
        return;
    }
    match kind {
        ValueKind::Text if value.is_empty() => return sink.test(path, Test::Empty),
        ValueKind::Text => text_tests(&value, |test| sink.test(path, test)),
        ValueKind::Number => sink.test(path, digits(&value)),
        ValueKind::Boolean | ValueKind::Object | ValueKind::Array => {}
    }
    if value.len() <= MAX_VALUE {
        sink.value(path, &value, kind == ValueKind::Text);
    }
}

fn text_tests(value: &str, mut each: impl FnMut(Test)) {
    if value.trim().len() < value.len() {
        each(Test::Padded);
    }
    let case = match (value.chars().any(char::is_lowercase), value.chars().any(char::is_uppercase)) {
        (true, true) => Some(LetterCase::Mixed),
        (true, false) => Some(LetterCase::Lower),
        (false, true) => Some(LetterCase::Upper),
        (false, false) => None,
    };
    if let Some(case) = case {
        each(Test::Case(case));
    }
    each(Test::LengthBelow(usize::BITS - value.len().leading_zeros()));
}

/// The size of a number as it is written; one with an exponent counts by what stands before that.
fn digits(number: &str) -> Test {
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |number| (true, number));
    let whole = number.split(['.', 'e', 'E']).next().unwrap_or_default();
    let digits = u32::try_from(whole.trim_start_matches('0').len()).unwrap_or(u32::MAX);
    Test::Digits { negative, digits }
}
