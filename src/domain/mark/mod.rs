//! Marks: named moments, such as deploys, that deaths are compared with.

pub mod comparison;

use std::fmt;

use thiserror::Error;

use super::filter::nearest;
use super::text::Clean;
use super::time::Timestamp;

/// What leads the name of a mark in a filter: `since:@v2.3.1`.
pub const SIGN: char = '@';
/// Longest name, in characters.
const LONGEST: usize = 100;
/// Names that the sentence for an unknown one lists.
const LISTED: usize = 5;

/// The name of a mark. Letters, digits, `.`, `-`, `_` and `/`, so that it needs no quotes in a filter or a shell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MarkName(String);

/// Why a text is no name of a mark.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{}` cannot be the name of a mark: use letters, digits, `.`, `-`, `_` and `/`, as in v2.3.1 or deploy/2026-11-29 (at most {LONGEST})",
    Clean::line(.0)
)]
pub struct MarkNameError(String);

impl MarkName {
    /// Reads a name: of at most 100 characters, beginning with a letter or digit, ending with no `.` or `/`, without `..`,
    /// which filters read as a range.
    ///
    /// # Errors
    /// When the text is no such name.
    pub fn parse(text: &str) -> Result<Self, MarkNameError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        let fits = text.len() <= LONGEST
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !text.ends_with(['.', '/'])
            && !text.contains("..")
            && text.chars().all(is_part);
        if fits { Ok(Self(text.to_owned())) } else { Err(MarkNameError(text.chars().take(LONGEST).collect())) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MarkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A named moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMoment {
    /// The name.
    pub name: MarkName,
    /// The moment.
    pub at: Timestamp,
}

/// A filter or a command names a mark that the source does not have.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no mark `{name}`: {hint}")]
pub struct UnknownMark {
    name: MarkName,
    hint: String,
}

impl UnknownMark {
    /// Of this name, where the source has these, the latest first.
    pub fn new<'a>(name: &MarkName, known: impl Iterator<Item = &'a MarkName> + Clone) -> Self {
        let names = || known.clone().map(MarkName::as_str);
        let hint = match (nearest(name.as_str(), names()), names().count()) {
            (_, 0) => format!("none was set yet; `dlq-tui mark {name}` sets it"),
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, n) => {
                let listed: Vec<&str> = names().take(LISTED).collect();
                let rest = if n > LISTED { format!(" and {} more", n - LISTED) } else { String::new() };
                format!("there are {}{rest}", listed.join(", "))
            }
        };
        Self { name: name.clone(), hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> MarkName {
        MarkName::parse(text).expect("a name")
    }

    #[test]
    fn a_name_is_like_a_tag() {
        for good in ["v2.3.1", "deploy/2026-11-29", "a", "7", "release_9-rc.1"] {
            assert_eq!(name(good).as_str(), good);
        }
        let long = "x".repeat(101);
        for bad in ["", "-v1", ".a", "a..b", "a/", "a.", "a b", "a@b", "a:b", "ä", "a*", long.as_str()] {
            assert!(MarkName::parse(bad).is_err(), "{bad}");
        }
        let told = MarkName::parse("a\u{1b}[31m").expect_err("none").to_string();
        assert!(!told.contains('\u{1b}'), "{told}");
    }

    #[test]
    fn an_unknown_mark_names_those_that_are_near_or_the_latest() {
        let known = ["v2.3.1", "v2.3.0", "migration"].map(name);
        let told = |text: &str, n: usize| UnknownMark::new(&name(text), known[..n].iter()).to_string();
        assert_eq!(told("v2.3.l", 3), "there is no mark `v2.3.l`: did you mean `v2.3.1`?");
        assert_eq!(told("zebra", 3), "there is no mark `zebra`: there are v2.3.1, v2.3.0, migration");
        assert_eq!(told("v9", 0), "there is no mark `v9`: none was set yet; `dlq-tui mark v9` sets it");
    }
}
