//! The arguments of one job as an editor shows them, and what came of them there.
//!
//! What is masked elsewhere is a mask in the editor too, with a number: `[redacted 1]`. A mask that stands where it stood is
//! the original value again. One that was moved, doubled or changed in part is refused, since a secret would go where nothing
//! masks it, or be lost.

use std::sync::Arc;

use thiserror::Error;

use super::ArgumentChange;
use super::change::edited;
use crate::domain::json::{Cut, Document, JsonHighlights, NodeId, PathStep, REDACTED, TokenKind, View, quote};
use crate::domain::redact::Redactor;
use crate::domain::text::Clean;

/// Containers within one another, at the most: deeper arguments are compared as a whole only.
const MAX_DEPTH: u32 = 256;
/// Bytes of a text from an editor, at the most: as much as an expression may return.
const MAX_BYTES: usize = 16 << 20;

/// The arguments of one job, for an editor.
#[derive(Clone, Debug)]
pub struct EditableArguments {
    original: Document,
    text: String,
    masks: Vec<Mask>,
    /// What every mask begins with, and nothing else in the arguments holds.
    marker: String,
    redactor: Arc<Redactor>,
}

/// A value that the editor does not show.
#[derive(Clone, Debug)]
struct Mask {
    node: NodeId,
    /// What the editor shows instead: the text of a string.
    shown: String,
}

/// Arguments as they were edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedArguments {
    /// The arguments as they were read, exactly.
    pub original: String,
    /// The text to write: the bytes outside of the changes are those of the original.
    pub text: String,
    /// What changed, with positions in arrays, in the order of the text; empty where nothing did.
    pub changes: Vec<ArgumentChange>,
}

/// What is wrong with a text from an editor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {sentence}")]
pub struct EditError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub sentence: String,
}

impl EditableArguments {
    /// Arguments as they are stored, with the values masked that `redactor` masks.
    ///
    /// # Errors
    /// When they are not JSON, or too deep to be compared.
    pub fn new(arguments: &str, redactor: Arc<Redactor>) -> Result<Self, String> {
        let original = Document::parse(arguments).map_err(|_| "the arguments are not JSON".to_owned())?;
        if (0..original.node_count()).any(|node| original.is_leaf(node) && original.depth(node) > MAX_DEPTH) {
            return Err(format!("the arguments have more than {MAX_DEPTH} levels"));
        }
        let marker = marker(&original);
        let mut found = JsonHighlights::default();
        redactor.mark(&original, &mut found);
        let (mut marks, mut masks) = (JsonHighlights::default(), Vec::new());
        for (node, cut) in found.cuts() {
            let mask = format!("{marker}{}]", masks.len() + 1);
            let shown = match cut {
                Cut::Masked(json) => masked_in_part(json, &mask),
                _ => mask,
            };
            marks.cut(node, Cut::Shown(quote(&shown).into(), TokenKind::String));
            masks.push(Mask { node, shown });
        }
        let text = pretty(&original, marks);
        Ok(Self { original, text, masks, marker, redactor })
    }

    /// The text for the editor.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many values are masked in it.
    pub fn masked(&self) -> usize {
        self.masks.len()
    }

    /// What the operator made of it.
    ///
    /// # Errors
    /// Says where the text is not JSON, or which mask was changed.
    pub fn edited(&self, typed: &str) -> Result<EditedArguments, EditError> {
        if typed.len() > MAX_BYTES {
            return Err(error_at(typed, 0, format!("arguments of more than {} MiB are not taken", MAX_BYTES >> 20)));
        }
        let document = Document::parse(typed)
            .map_err(|error| error_at(typed, error.at, format!("this is not JSON: {}", error.reason)))?;
        let text = document.replace(&self.unmasked(&document)?);
        let original = self.original.text();
        let (text, changes) =
            edited(original, text, &self.redactor).map_err(|sentence| error_at(typed, 0, sentence))?;
        Ok(EditedArguments { original: original.to_owned(), text, changes })
    }

    /// The values behind the masks that stand in a document.
    fn unmasked(&self, document: &Document) -> Result<Vec<(NodeId, &str)>, EditError> {
        let mut used = vec![false; self.masks.len()];
        let mut values = Vec::new();
        if self.masks.is_empty() {
            return Ok(values);
        }
        for node in 0..document.node_count() {
            let fault = |sentence| Err(error_at(document.text(), document.span(node).start, sentence));
            if document.key(node).is_some_and(|key| key.contains(&self.marker)) {
                return fault("a mask stands in a key: masks stay where they were".to_owned());
            }
            let Some(text) = document.scalar(node).filter(|text| text.contains(&self.marker)) else { continue };
            let Some((nth, mask)) = self.masks.iter().enumerate().find(|(_, mask)| mask.shown == text) else {
                let sentence = "this mask was changed in part: leave it as it was, or write a whole new value";
                return fault(sentence.to_owned());
            };
            let shown = Clean::line(&mask.shown);
            if std::mem::replace(&mut used[nth], true) {
                return fault(format!("the mask {shown} stands twice: masks stay where they were"));
            }
            if place(document, node) != place(&self.original, mask.node) {
                let path = self.original.path(mask.node);
                return fault(format!("the mask {shown} was moved: it belongs to {}", Clean::line(&path)));
            }
            values.push((node, self.original.raw(mask.node)));
        }
        Ok(values)
    }
}

/// The path to a value, without positions in arrays: elements before it may come and go.
fn place(document: &Document, node: NodeId) -> Vec<PathStep> {
    let keys = |step| match step {
        PathStep::Index(_) => PathStep::Index(0),
        key @ PathStep::Key(..) => key,
    };
    document.steps(node).into_iter().map(keys).collect()
}

/// What masks begin with: `[redacted `, or the like where the arguments hold that.
fn marker(document: &Document) -> String {
    let word = REDACTED.trim_end_matches(']');
    let holds = |marker: &str| {
        let is_in = |node| {
            let key = document.key(node).is_some_and(|key| key.contains(marker));
            key || document.scalar(node).is_some_and(|text| text.contains(marker))
        };
        (0..document.node_count()).any(is_in)
    };
    let first = format!("{word} ");
    let others = (2_u32..).map(|n| format!("{word}-{n} "));
    std::iter::once(first).chain(others).find(|marker| !holds(marker)).unwrap_or_default()
}

/// A string in which some is masked, with the number of the mask.
fn masked_in_part(json: &str, mask: &str) -> String {
    let text = crate::domain::json::unquote(json);
    match text.contains(REDACTED) {
        true => text.replace(REDACTED, mask),
        false => mask.to_owned(),
    }
}

/// A document a value a line, exact in all else, with some values replaced.
fn pretty(document: &Document, marks: JsonHighlights) -> String {
    let mut view = View::new(document.clone(), marks);
    view.set_cap(usize::MAX);
    let mut text = String::with_capacity(document.text().len());
    for line in view.lines(0..view.total_lines()) {
        text.extend(std::iter::repeat_n("  ", line.indent as usize));
        text.extend(line.tokens.iter().map(|token| token.exact()));
        text.push('\n');
    }
    text
}

fn error_at(text: &str, at: usize, sentence: String) -> EditError {
    let before = text.get(..at.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    EditError { line, column, sentence }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn editable(arguments: &str) -> EditableArguments {
        EditableArguments::new(arguments, Arc::default()).expect("JSON")
    }

    fn changes(edited: &EditedArguments) -> Vec<String> {
        edited.changes.iter().map(ArgumentChange::describe).collect()
    }

    const SECRETS: &str = r#"{"user":{"password" : "pw-1","note":"Authorization: Bearer abcdef0123456789abcdef"},
        "list":[{"id":1,"token":"t-1"},{"id":2,"token":"t-2"}],"amount":12345678901234567890.10}"#;

    #[test]
    fn an_editor_shows_a_value_a_line_and_masks_with_numbers() {
        let editable = editable(SECRETS);
        let text = editable.text();
        assert!(text.starts_with("{\n  \"user\": {\n    \"password\": \"[redacted 1]\",\n"), "{text}");
        assert!(text.contains("\"token\": \"[redacted 4]\"") && text.contains("\"amount\": 12345678901234567890.10\n"));
        assert!(!["pw-1", "abcdef0123", "t-1", "t-2"].iter().any(|secret| text.contains(secret)), "{text}");
        assert_eq!(editable.masked(), 4);
        Document::parse(text).expect("JSON");
    }

    #[test]
    fn what_was_not_touched_is_written_as_it_was_masks_too() {
        let editable = editable(SECRETS);
        let same = editable.edited(editable.text()).expect("fine");
        assert_eq!((same.text.as_str(), same.changes.as_slice()), (SECRETS, &[][..]));
        let squeezed = editable.text().replace("\n  ", " ");
        assert_eq!(editable.edited(&squeezed).expect("fine").text, SECRETS, "white space is no change");
        let typed = editable.text().replace("\"id\": 2", "\"id\": \"zwei\"").replace("0.10", "0.1");
        let edited = editable.edited(&typed).expect("fine");
        assert_eq!(edited.text, SECRETS.replace("\"id\":2", "\"id\":\"zwei\"").replace("0.10", "0.1"));
        let told = [".list[1].id 2 -> \"zwei\"", ".amount 12345678901234567890.10 -> 12345678901234567890.1"];
        assert_eq!(changes(&edited), told);
    }

    #[test]
    fn a_masked_value_can_be_replaced_or_removed_but_not_seen() {
        let editable = editable(SECRETS);
        let edited = editable.edited(&editable.text().replace("[redacted 1]", "pw-2")).expect("fine");
        assert_eq!(edited.text, SECRETS.replace("pw-1", "pw-2"));
        assert_eq!(changes(&edited), [".user.password \"[redacted]\" -> \"[redacted]\""]);
        // An element that is removed takes the masks behind it along.
        let start = editable.text().find("    {\n      \"id\": 1").expect("the element");
        let end = editable.text().find("    {\n      \"id\": 2").expect("the next");
        let mut fewer = editable.text().to_owned();
        fewer.replace_range(start..end, "");
        let edited = editable.edited(&fewer).expect("fine");
        assert!(edited.text.contains(r#""list":[{"id":2,"token":"t-2"}]"#), "{}", edited.text);
    }

    #[test]
    fn a_mask_that_was_moved_doubled_or_changed_in_part_is_refused() {
        let editable = editable(SECRETS);
        let text = editable.text();
        let refused = |typed: String| editable.edited(&typed).expect_err("refused").to_string();
        let in_part = refused(text.replace("[redacted 1]", "[redacted 1]x"));
        assert!(in_part.starts_with("line 3, column 17: this mask was changed in part"), "{in_part}");
        assert!(refused(text.replace("[redacted 1]", "[redacted 9]")).contains("changed in part"));
        let moved = refused(
            text.replace("[redacted 1]", "").replace("\"amount\": 1", "\"amount\": \"[redacted 1]\", \"b\": 1"),
        );
        assert!(moved.contains("the mask [redacted 1] was moved: it belongs to user.password"), "{moved}");
        let twice = refused(text.replace("[redacted 4]", "[redacted 3]"));
        assert!(twice.contains("the mask [redacted 3] stands twice"), "{twice}");
        let key = refused(text.replace("\"amount\"", "\"[redacted 1]\""));
        assert!(key.contains("a mask stands in a key"), "{key}");
    }

    #[test]
    fn a_text_that_is_none_is_refused_with_its_place() {
        let editable = editable(r#"{"a":1,"b":2}"#);
        let error = editable.edited("{\n  \"ä\": 1,\n  \"b\" 2\n}\n").expect_err("no colon");
        assert_eq!((error.line, error.column), (3, 7));
        assert!(error.to_string().starts_with("line 3, column 7: this is not JSON: "), "{error}");
        assert!(editable.edited("").is_err());
        let twice = editable.edited(r#"{"a":1,"a":2,"b":2}"#).expect_err("a key twice");
        assert!(twice.sentence.contains("twice"), "{twice}");
        assert!(EditableArguments::new("no JSON", Arc::default()).is_err());
        assert!(EditableArguments::new(&format!("{}1{}", "[".repeat(300), "]".repeat(300)), Arc::default()).is_err());
    }

    #[test]
    fn where_nothing_is_masked_any_text_can_be_written() {
        let edited = editable("[1]").edited("[1,\"[redacted 1]\"]").expect("fine");
        assert_eq!(edited.text, "[1,\"[redacted 1]\"]");
    }

    #[test]
    fn arguments_that_hold_the_text_of_a_mask_get_another_one() {
        let editable = editable(r#"{"note":"[redacted 1]","password":"x"}"#);
        assert!(editable.text().contains(r#""password": "[redacted-2 1]""#), "{}", editable.text());
        let edited = editable.edited(&editable.text().replace("[redacted 1]", "[redacted 1]!")).expect("fine");
        assert_eq!(edited.text, r#"{"note":"[redacted 1]!","password":"x"}"#);
    }

    proptest! {
        #[test]
        fn a_text_that_comes_back_unchanged_is_the_original(
            keys in proptest::collection::vec("[a-z]{1,8}|password|token", 1..6),
            values in proptest::collection::vec("[a-z \\\\\"é\u{1f600}-]{0,12}", 6),
        ) {
            let members: Vec<String> = keys.iter().zip(&values).enumerate()
                .map(|(n, (key, value))| format!("{} :  [{{{}:{n}.{n}0, \"\\u00e9\":{}}} ]", quote(&format!("{key}{n}")), quote(key), quote(value)))
                .collect();
            let original = format!(" {{ {} }}\n", members.join(" ,"));
            let editable = editable(&original);
            let edited = editable.edited(editable.text()).expect("fine");
            prop_assert_eq!(edited.text, original);
            prop_assert!(edited.changes.is_empty());
        }
    }
}
