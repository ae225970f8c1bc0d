//! What can be completed at the cursor. Keys come from the table; values with their counts come from elsewhere.

use std::ops::Range;

use super::key::{KEYS, KeyInfo, ValueKind};
use super::lex::{self, Body, RawTerm, TermForm};
use super::{Key, LAST_RUN, quote};
use crate::domain::job::State;
use crate::domain::outcome::OutcomeKind;

/// What stands at the cursor, and which part of the text a candidate replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// In characters.
    pub span: Range<usize>,
    /// What fits there.
    pub context: CompletionContext,
}

/// What fits at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionContext {
    /// A key, or the start of a free word; what is typed of it so far. See [`keys`].
    Key(String),
    /// A value of a key; what is typed of it so far, unescaped. See [`Completion::value_text`].
    Value {
        /// Whose values to offer.
        key: Key,
        /// The row of the table by which the key is spelled, which tells `hour` from `since`.
        info: &'static KeyInfo,
        /// The value up to the cursor.
        prefix: String,
    },
    /// Nothing known: inside a quoted free word or a regular expression.
    Nothing,
}

/// What can be completed in `text` at `cursor`, which counts characters.
pub fn complete(text: &str, cursor: usize) -> Completion {
    let at = text.char_indices().nth(cursor).map_or(text.len(), |(at, _)| at);
    let raw = lex::terms(text).into_iter().find(|raw| raw.span.start <= at && at <= raw.span.end);
    let (span, context) = raw.map_or((at..at, CompletionContext::Key(String::new())), |raw| within(text, at, &raw));
    let chars = |to: usize| text[..to].chars().count();
    Completion { span: chars(span.start)..chars(span.end), context }
}

fn within(text: &str, at: usize, raw: &RawTerm) -> (Range<usize>, CompletionContext) {
    match &raw.key {
        // Before a minus sign nothing of the term has begun.
        _ if raw.negated && at == raw.span.start => (at..at, CompletionContext::Key(String::new())),
        Some(key) if at <= key.end => (key.start..key.end + 1, CompletionContext::Key(text[key.start..at].to_owned())),
        Some(key) => {
            let context = match (Key::from_word(&text[key.clone()]), KeyInfo::from_word(&text[key.clone()])) {
                (Some(key), Some(info)) => typed(text, at, &raw.body)
                    .map_or(CompletionContext::Nothing, |prefix| CompletionContext::Value { key, info, prefix }),
                _ => CompletionContext::Nothing,
            };
            (raw.body.span.clone(), context)
        }
        None if raw.body.form == TermForm::Bare => {
            (raw.body.span.clone(), CompletionContext::Key(text[raw.body.span.start..at].to_owned()))
        }
        None => (raw.body.span.clone(), CompletionContext::Nothing),
    }
}

/// The value up to the cursor, unescaped; none where no completion can help.
fn typed(text: &str, at: usize, body: &Body) -> Option<String> {
    match body.form {
        TermForm::Bare => Some(text[body.span.start..at].to_owned()),
        TermForm::Quoted { .. } if at <= body.inner.start => Some(String::new()),
        // A cursor in the middle of an escape has typed what stands before it.
        TermForm::Quoted { .. } => {
            let typed = body.inner.start..at.min(body.inner.end);
            let parts = quote::unquote(text, typed.clone())
                .or_else(|fault| quote::unquote(text, typed.start..fault.span.start));
            parts.ok().map(|parts| parts.join("*"))
        }
        TermForm::Regex { .. } => None,
    }
}

impl Completion {
    /// The text and the cursor after `candidate` has taken the place of what was typed.
    pub fn apply(&self, text: &str, candidate: &str) -> (String, usize) {
        let before = text.chars().take(self.span.start);
        let after = text.chars().skip(self.span.end);
        (before.chain(candidate.chars()).chain(after).collect(), self.span.start + candidate.chars().count())
    }

    /// A value as the filter must write it here, so that exactly this value is meant; none outside of values.
    pub fn value_text(&self, value: &str) -> Option<String> {
        match &self.context {
            CompletionContext::Value { info, .. } => Some(quote::value(value, info.kind)),
            _ => None,
        }
    }

    /// Candidates that are the same for every source: states, outcomes, and `last` of runs. Elsewhere empty.
    pub fn fixed_values(&self) -> Vec<&'static str> {
        match &self.context {
            CompletionContext::Value { info, prefix, .. } => {
                let words = match info.kind {
                    ValueKind::State => State::ALL.map(State::word).to_vec(),
                    ValueKind::Outcome => OutcomeKind::ALL.map(OutcomeKind::word).to_vec(),
                    ValueKind::Run => vec![LAST_RUN],
                    _ => Vec::new(),
                };
                words.into_iter().filter(|word| word.starts_with(prefix.as_str())).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The keys that `prefix` begins, by their word or an alias, in the order of help.
pub fn keys(prefix: &str) -> Vec<&'static KeyInfo> {
    let by_word = KEYS.iter().filter(|info| info.word.starts_with(prefix));
    let by_alias = KEYS
        .iter()
        .filter(|info| !info.word.starts_with(prefix) && info.aliases.iter().any(|alias| alias.starts_with(prefix)));
    by_word.chain(by_alias).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Completes at the `|` in the text; the replaced part and the context.
    fn at(marked: &str) -> (String, CompletionContext) {
        let cursor = marked.chars().position(|c| c == '|').unwrap();
        let text = marked.replacen('|', "", 1);
        let completion = complete(&text, cursor);
        let replaced = text.chars().skip(completion.span.start).take(completion.span.len()).collect();
        (replaced, completion.context)
    }

    fn value(marked: &str) -> Option<(String, Key, String)> {
        match at(marked) {
            (replaced, CompletionContext::Value { key, prefix, .. }) => Some((replaced, key, prefix)),
            _ => None,
        }
    }

    #[test]
    fn between_terms_and_in_a_word_a_key_fits() {
        assert_eq!(at("|"), (String::new(), CompletionContext::Key(String::new())));
        assert_eq!(at("error:x | queue:y"), (String::new(), CompletionContext::Key(String::new())));
        assert_eq!(at("é -er|"), ("er".into(), CompletionContext::Key("er".into())));
        assert_eq!(at("er|or:Net"), ("eror:".into(), CompletionContext::Key("er".into())));
        assert_eq!(at("|-error:x"), (String::new(), CompletionContext::Key(String::new())));
    }

    #[test]
    fn after_the_colon_a_value_fits_and_replaces_the_whole_one() {
        assert_eq!(value("-error:Net|Foo x"), Some(("NetFoo".into(), Key::Error, "Net".into())));
        assert_eq!(value("error:|"), Some((String::new(), Key::Error, String::new())));
        assert_eq!(value(r#"msg:"say \"h|i" x"#), Some((r#""say \"hi""#.into(), Key::Message, "say \"h".into())));
        assert_eq!(value("queue:\"a b|"), Some(("\"a b".into(), Key::Queue, "a b".into())));
        assert_eq!(
            value("args.user.id:4|"),
            Some(("4".into(), Key::Arg(vec!["user".into(), "id".into()]), "4".into()))
        );
        assert_eq!(value("queue:|\"a b\""), Some(("\"a b\"".into(), Key::Queue, String::new())));
    }

    #[test]
    fn nothing_fits_in_a_regular_expression_a_quoted_word_or_an_unknown_key() {
        for marked in ["error:/Ne|t/", "\"card de|clined\"", "eror:x|"] {
            assert_eq!(at(marked).1, CompletionContext::Nothing, "{marked}");
        }
    }

    #[test]
    fn a_candidate_takes_the_place_of_what_was_typed() {
        let completion = complete("é queue:lo x", 10);
        let candidate = completion.value_text("low prio").unwrap();
        assert_eq!(completion.apply("é queue:lo x", &candidate), ("é queue:\"low prio\" x".into(), 18));
        assert_eq!(complete("state:re", 8).fixed_values(), ["retrying", "resolved"]);
        assert_eq!(complete("outcome:d", 9).fixed_values(), ["died"]);
        assert_eq!(complete("run:", 4).fixed_values(), ["last"]);
    }

    #[test]
    fn keys_are_found_by_word_first_and_by_alias_then() {
        let words = |prefix| keys(prefix).iter().map(|info| info.word).collect::<Vec<_>>();
        assert_eq!(words("re"), ["reason", "replayed"]);
        assert_eq!(words("fi"), ["fp"]);
        assert_eq!(words(""), KEYS.iter().map(|info| info.word).collect::<Vec<_>>());
        assert!(words("zz").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_and_no_cursor_make_it_panic(text in "([a-z:\"/\\\\. *é-]|args[.]|error:){0,12}", cursor in 0_usize..40) {
            let completion = complete(&text, cursor);
            let (applied, at) = completion.apply(&text, "ß");
            prop_assert!(at <= applied.chars().count());
        }
    }
}
