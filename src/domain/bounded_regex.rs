//! Patterns of our own, which know characters beyond ASCII by their bytes only.
//!
//! A class such as `[^"]` over all characters is compiled from a table of them, which for a dozen patterns takes more of a
//! start than everything else; over bytes it is nothing. Text is none the worse for it: what a pattern names is ASCII, whose
//! bytes are never part of another character, and a class that excludes some of it takes the others whole.

use regex::bytes::{Captures, Regex};

/// White space beyond ASCII, as its bytes.
const SPACE: &str = r"(?:\s|\xC2[\x85\xA0]|\xE1\x9A\x80|\xE2\x80[\x80-\x8A\xA8\xA9\xAF]|\xE2\x81\x9F|\xE3\x80\x80)";

/// The first byte of a part of a text, and the one behind it.
pub type MatchRange = (usize, usize);

/// A compiled pattern.
#[derive(Debug)]
pub struct BoundedRegex(Regex);

impl BoundedRegex {
    /// Compiles a pattern; `None` where it is none. In it `<space>` stands for white space of any script, while `\s`, `\w`,
    /// `\b` and letters of any case are those of ASCII. Beyond it there are only whole classes, such as `[^"]`, `.` and
    /// `[\x80-\xFF]`, and none of them may be repeated a set number of times, which would end within a character.
    pub fn new(pattern: &str) -> Option<Self> {
        Regex::new(&format!("(?-u){}", pattern.replace("<space>", SPACE))).ok().map(Self)
    }

    /// Whether it is found anywhere.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }

    /// Where it is found from a place on.
    pub fn find_at(&self, text: &str, from: usize) -> Option<MatchRange> {
        self.0.find_at(text.as_bytes(), from).map(|found| (found.start(), found.end()))
    }

    /// The first match.
    pub fn first<'t>(&self, text: &'t str) -> Option<RegexMatch<'t>> {
        self.first_from(text, 0)
    }

    /// The first match from a place on.
    pub fn first_from<'t>(&self, text: &'t str, from: usize) -> Option<RegexMatch<'t>> {
        self.0.captures_at(text.as_bytes(), from).map(|groups| RegexMatch { text, groups })
    }

    /// All matches, none of which overlap.
    pub fn all<'p, 't: 'p>(&'p self, text: &'t str) -> impl Iterator<Item = RegexMatch<'t>> + 'p {
        self.0.captures_iter(text.as_bytes()).map(move |groups| RegexMatch { text, groups })
    }
}

/// A match with its groups.
#[derive(Debug)]
pub struct RegexMatch<'t> {
    text: &'t str,
    groups: Captures<'t>,
}

impl<'t> RegexMatch<'t> {
    /// Where all of it lies.
    pub fn span(&self) -> MatchRange {
        self.groups.get(0).map_or((0, 0), |whole| (whole.start(), whole.end()))
    }

    /// Where a group lies that took part.
    pub fn span_of(&self, group: &str) -> Option<MatchRange> {
        self.groups.name(group).map(|found| (found.start(), found.end()))
    }

    /// The text of a group that took part.
    pub fn get(&self, group: &str) -> Option<&'t str> {
        self.span_of(group).and_then(|(start, end)| self.text.get(start..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beyond_ascii_are_taken_whole_by_what_takes_everything_else() {
        let pattern = BoundedRegex::new(r#"(?P<key>[a-z]+)=(?P<value>[^\s"]+)"#).unwrap();
        let of = |text| pattern.first(text).and_then(|found| found.get("value").map(str::to_owned));
        assert_eq!(of("a=ñandú\u{1F468}\u{200D}\u{1F469} x").as_deref(), Some("ñandú\u{1F468}\u{200D}\u{1F469}"));
        assert_eq!(of("é=x"), None, "a letter of another script is none");
    }

    #[test]
    fn space_is_that_of_every_script() {
        let pattern = BoundedRegex::new("^<space>$").unwrap();
        let of_all = ('\0'..=char::MAX).filter(|c| pattern.is_in(c.encode_utf8(&mut [0; 4])));
        assert!(of_all.eq(('\0'..=char::MAX).filter(|c| c.is_whitespace())));
    }
}
