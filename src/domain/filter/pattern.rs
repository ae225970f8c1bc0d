//! Patterns at work: compiled once, applied to many values; and what of a pattern an index or a LIKE can look for.

use regex::{Regex, RegexBuilder};

use super::Pattern;

/// Compiled size at which a regular expression is refused, in bytes.
const REGEX_LIMIT: usize = 1 << 20;

/// Compiles a regular expression within the limits.
pub(super) fn regex(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).size_limit(REGEX_LIMIT).dfa_size_limit(REGEX_LIMIT).build()
}

/// A pattern made ready for many values.
#[derive(Clone, Debug)]
pub struct Matcher(PatternKind);

#[derive(Clone, Debug)]
enum PatternKind {
    Equals(String),
    Glob(Vec<String>),
    Regex(Regex),
    /// Folded already.
    Contains(String),
    Never,
}

impl Matcher {
    /// Whether a value matches. A missing value is the caller's to judge.
    pub fn is_match(&self, value: &str) -> bool {
        match &self.0 {
            PatternKind::Equals(text) => value == text,
            PatternKind::Glob(parts) => glob(parts, value),
            PatternKind::Regex(regex) => regex.is_match(value),
            PatternKind::Contains(folded) => fold(value).contains(folded.as_str()),
            PatternKind::Never => false,
        }
    }
}

impl Pattern {
    /// Makes the pattern ready for many values. A regular expression that the parser would refuse matches nothing.
    pub fn matcher(&self) -> Matcher {
        Matcher(match self {
            Pattern::Equals(text) => PatternKind::Equals(text.clone()),
            Pattern::Glob(parts) => PatternKind::Glob(parts.clone()),
            Pattern::Regex(source) => regex(source).map_or(PatternKind::Never, PatternKind::Regex),
            Pattern::Contains(text) => PatternKind::Contains(fold(text)),
        })
    }

    /// Whether this is the test for jobs that have no value (NULL or empty).
    pub fn is_none(&self) -> bool {
        matches!(self, Pattern::Equals(text) if text.is_empty())
    }

    /// Whether case matters; decides between a LIKE that respects it and one that does not.
    pub fn case_sensitive(&self) -> bool {
        !matches!(self, Pattern::Contains(_))
    }

    /// Pieces of printable ASCII that every matching value contains (for `Contains`, in whatever ASCII case).
    ///
    /// A prefilter that looks for all of them finds every match and perhaps more. Empty where nothing can be promised.
    pub fn required_ascii(&self) -> Vec<String> {
        self.required(|c| c == ' ' || c.is_ascii_graphic())
    }

    /// Pieces that the raw JSON text must contain for a string or number inside it to match (for `Contains`, in
    /// whatever ASCII case): the pieces of [`Pattern::required_ascii`] cut at everything that JSON may escape.
    ///
    /// Relies on writers not escaping letters, digits and `_-.@: ` without need; no common one does.
    pub fn required_in_json(&self) -> Vec<String> {
        self.required(|c| c.is_ascii_alphanumeric() || "_-.@: ".contains(c))
    }

    fn required(&self, keep: impl Fn(char) -> bool) -> Vec<String> {
        let literals = match self {
            Pattern::Equals(text) | Pattern::Contains(text) => vec![text.clone()],
            Pattern::Glob(parts) => parts.clone(),
            Pattern::Regex(source) => regex_literals(source),
        };
        let pieces = literals.iter().flat_map(|literal| literal.split(|c| !keep(c)));
        pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
    }
}

/// Literals that every match of a regular expression contains. Reads from the left and stops at the first thing that
/// would take a real parser: groups, classes, counted repetition, named classes, alternatives.
fn regex_literals(source: &str) -> Vec<String> {
    if source.contains('|') {
        return Vec::new();
    }
    let mut pieces = vec![String::new()];
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        let last = pieces.len() - 1;
        match c {
            '.' | '^' | '$' => pieces.push(String::new()),
            // `+` too: another repetition may follow it, and `a+*` needs no `a`.
            '*' | '?' | '+' | '{' => {
                pieces[last].pop();
                pieces.push(String::new());
                if c == '{' {
                    break;
                }
            }
            '(' | '[' => break,
            '\\' => match chars.next() {
                Some(c) if c.is_ascii_punctuation() && !"<>".contains(c) => pieces[last].push(c),
                Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => pieces.push(String::new()),
                _ => break,
            },
            c => pieces[last].push(c),
        }
    }
    pieces
}

/// Whether `value` is the parts with any characters between them: the first at its start, the last at its end.
fn glob(parts: &[String], value: &str) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| value == only);
    };
    let Some(mut rest) = value.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str())) else {
        return false;
    };
    for part in middle {
        match rest.find(part.as_str()) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Folds case by Unicode's simple mappings, one character to one, so that σ, ς and Σ are the same. ASCII letters fold
/// among themselves only: the Kelvin sign is no `k`, so that a search for ASCII text finds it in an ASCII way.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(fold_char).collect()
}

fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let upper = single(c.to_uppercase()).unwrap_or(c);
    let folded = single(upper.to_lowercase()).unwrap_or(upper);
    if folded.is_ascii() { c } else { folded }
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn glob_of(text: &str) -> Matcher {
        Pattern::Glob(text.split('*').map(str::to_owned).collect()).matcher()
    }

    #[test]
    fn a_glob_anchors_its_ends_and_does_not_overlap_them() {
        for (pattern, yes, no) in [
            ("Net::*", "Net::ReadTimeout", "My Net::X"),
            ("*Timeout", "ReadTimeout", "TimeoutError"),
            ("aba*aba", "abaaba", "aba"),
            ("a*b*c", "a-b-b-c", "a-c-b"),
            ("*b*", "abc", "ac"),
            ("*", "", "\u{0}no such"),
        ] {
            assert!(glob_of(pattern).is_match(yes), "{pattern} {yes}");
            assert!(pattern == "*" || !glob_of(pattern).is_match(no), "{pattern} {no}");
        }
    }

    #[test]
    fn containing_ignores_case_in_every_script_and_keeps_ascii_apart() {
        let contains = |needle: &str, value: &str| Pattern::Contains(needle.into()).matcher().is_match(value);
        assert!(contains("CARD declined", "your card DECLINED today"));
        assert!(contains("ΟΔΟΣ", "η οδος"));
        assert!(contains("straße", "STRAßE"));
        assert!(contains("ПЛАТЁЖ", "платёж не прошёл"));
        assert!(!contains("k", "\u{212a}"));
        assert!(!contains("s", "\u{17f}"));
        assert!(contains("İ", "xİ"));
    }

    #[test]
    fn required_pieces_are_cut_at_everything_else() {
        let pieces = |pattern: Pattern| pattern.required_ascii().join("|");
        assert_eq!(pieces(Pattern::Equals("a é b".into())), "a | b");
        assert_eq!(pieces(Pattern::Glob(vec!["Net::".into(), "x".into()])), "Net::|x");
        assert_eq!(pieces(Pattern::Equals(String::new())), "");
        assert_eq!(Pattern::Contains("say \"hi\"\n42".into()).required_in_json(), ["say ", "hi", "42"]);
        for (source, expected) in [
            ("timed? out", "time| out"),
            ("^card\\.declined$", "card.declined"),
            ("ab+c*d", "a|d"),
            ("a|b", ""),
            ("(?i)abc", ""),
            ("abc(d)?", "abc"),
            ("user \\d+ gone", "user | gone"),
            ("abc{0}", "ab"),
            ("abc\\x41", "abc"),
        ] {
            assert_eq!(pieces(Pattern::Regex(source.into())), expected, "{source}");
        }
    }

    #[test]
    fn a_regular_expression_that_cannot_be_compiled_matches_nothing() {
        assert!(!Pattern::Regex("(".into()).matcher().is_match("("));
        assert!(regex(&"\\pL".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn a_glob_is_its_regular_expression(parts in prop::collection::vec("[ab]{0,2}", 2..5), value in "[ab]{0,8}") {
            let source = format!("(?s)^(?:{})$", parts.join(".*"));
            let expected = Regex::new(&source).unwrap().is_match(&value);
            prop_assert_eq!(Pattern::Glob(parts).matcher().is_match(&value), expected);
        }

        #[test]
        fn every_match_of_a_regular_expression_contains_the_required_pieces(
            source in "([ab.]|[ab][?*+]{1,2}|[ab]\\{0,2\\}|\\(b\\)|\\\\d|\\\\\\.|\\^|[$]|\\[ab\\]){1,6}",
            value in "[ab1.]{0,10}",
        ) {
            let pattern = Pattern::Regex(source);
            if pattern.matcher().is_match(&value) {
                // Each behind the one before: databases are asked for them in this order.
                let mut rest = value.as_str();
                for piece in pattern.required_ascii() {
                    let found = rest.split_once(piece.as_str());
                    prop_assert!(found.is_some(), "{:?} without {:?} in {:?}", value, piece, rest);
                    rest = found.map_or("", |(_, behind)| behind);
                }
            }
        }

        #[test]
        fn every_value_that_contains_text_contains_its_required_pieces(needle in "\\PC{1,4}", value in "\\PC{0,20}") {
            let pattern = Pattern::Contains(needle.clone());
            for value in [value.clone(), format!("{value}{}", needle.to_uppercase())] {
                if pattern.matcher().is_match(&value) {
                    for piece in pattern.required_ascii() {
                        let lower = value.to_ascii_lowercase();
                        prop_assert!(lower.contains(&piece.to_ascii_lowercase()), "{:?} without {:?}", value, piece);
                    }
                }
            }
        }
    }
}
