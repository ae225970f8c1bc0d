//! What an expression or an editor changed in the arguments of one job: the text to write, and the change in words that may be
//! shown.

use std::fmt::Write as _;

use super::Evaluation;
use crate::domain::error_text::normalise;
use crate::domain::json::{
    Cut, Document, JsonHighlights, NodeId, NodeKind, PathStep, REDACTED, SpliceError, ValueChange, quote, splice,
};
use crate::domain::redact::Redactor;
use crate::domain::text::Untrusted;

/// Characters of a value that are shown of a job among many.
const MAX_VALUE: usize = 60;
/// Characters of a value that are shown of a job by itself.
const MAX_VALUE_ALONE: usize = 2_000;
/// Characters from which on a secret is searched for within other values: a number of a card has so many on its back.
const MIN_SECRET: usize = 3;
/// Characters of a path that are shown.
const MAX_PATH: usize = 200;

/// Arguments after an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum RepairedArguments {
    /// As they were.
    Unchanged,
    /// Other ones.
    Changed {
        /// The text to write: the bytes outside of the changes are those of the original.
        text: String,
        /// What changed, in the order of the text.
        changes: Vec<ArgumentChange>,
    },
    /// None: the expression failed, in words that group jobs with the same failure and hold no value of a job.
    Failed(Untrusted),
}

/// A change as it may be shown: what is masked elsewhere is masked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArgumentChange {
    /// The path as the expression language writes it. Of a job among many, positions in arrays are left out: `.items[].sku`.
    pub path: Untrusted,
    /// What was there; `None` where nothing was.
    pub before: Option<ShownValue>,
    /// What is to be there; `None` where it is removed.
    pub after: Option<ShownValue>,
}

impl ArgumentChange {
    /// In words, fit for a screen.
    pub fn describe(&self) -> String {
        let json = |value: &ShownValue| value.json.line().to_string();
        let path = self.path.line();
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{path} {} -> {}", json(before), json(after)),
            (None, Some(after)) => format!("{path} added {}", json(after)),
            (Some(before), None) => format!("{path} removed {}", json(before)),
            (None, None) => path.to_string(),
        }
    }
}

/// A value as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShownValue {
    /// What it is.
    pub kind: NodeKind,
    /// Its JSON, cut off where it is long.
    pub json: Untrusted,
}

/// What became of `original`.
pub fn repaired(original: &str, evaluation: Evaluation, redactor: &Redactor) -> RepairedArguments {
    match evaluation {
        Evaluation::Unchanged => RepairedArguments::Unchanged,
        Evaluation::Failed(why) => failed(original, &why, redactor),
        Evaluation::Changed { before, after } => changed(original, before, after, redactor)
            .unwrap_or_else(|why| RepairedArguments::Failed(Untrusted::new(why))),
    }
}

fn changed(original: &str, before: String, after: String, redactor: &Redactor) -> Result<RepairedArguments, String> {
    let (text, changes) = spliced(original, before, after, redactor, Detail::OfMany)?;
    Ok(if changes.is_empty() { RepairedArguments::Unchanged } else { RepairedArguments::Changed { text, changes } })
}

/// The text to write, and what changed, of arguments that became `after` in an editor.
///
/// # Errors
/// When a key stands twice in one object.
pub(super) fn edited(
    original: &str,
    after: String,
    redactor: &Redactor,
) -> Result<(String, Vec<ArgumentChange>), String> {
    spliced(original, original.to_owned(), after, redactor, Detail::Alone)
}

/// How much is shown of a change.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    /// So much that jobs with the same change look the same.
    OfMany,
    /// All of it.
    Alone,
}

fn spliced(
    original: &str,
    before: String,
    after: String,
    redactor: &Redactor,
    detail: Detail,
) -> Result<(String, Vec<ArgumentChange>), String> {
    let original = Document::parse(original).map_err(|e| e.to_string())?;
    // The language has values that JSON has not: infinite numbers, and bytes.
    let baseline =
        Document::parse(before).map_err(|_| "the arguments hold what the language cannot write".to_owned())?;
    let edited = Document::parse(after).map_err(|_| "the value is not JSON".to_owned())?;
    let spliced = splice(&original, &baseline, &edited)
        .map_err(|SpliceError::RepeatedKey(_)| "a key stands twice in one object".to_owned())?;
    if spliced.changes.is_empty() {
        return Ok((spliced.text, Vec::new()));
    }
    let (original, edited) = (Masked::new(&original, redactor), Masked::new(&edited, redactor));
    let secrets = original.secrets();
    let changes = spliced.changes.iter().map(|change| shown(change, &original, &edited, &secrets, detail)).collect();
    Ok((spliced.text, changes))
}

fn shown(
    change: &ValueChange,
    original: &Masked<'_>,
    edited: &Masked<'_>,
    secrets: &[String],
    detail: Detail,
) -> ArgumentChange {
    let (document, node) = match (change.after, change.before) {
        (Some(node), _) => (edited, node),
        (None, node) => (original, node.unwrap_or_default()),
    };
    ArgumentChange {
        path: Untrusted::new(shortened(&path(document.document, node, detail), MAX_PATH)),
        before: change.before.map(|node| original.shown(node, &[], detail)),
        // A secret may have been copied to where nothing is masked.
        after: change.after.map(|node| edited.shown(node, secrets, detail)),
    }
}

/// A document and what is masked in it.
struct Masked<'d> {
    document: &'d Document,
    marks: JsonHighlights,
}

impl<'d> Masked<'d> {
    fn new(document: &'d Document, redactor: &Redactor) -> Self {
        let mut marks = JsonHighlights::default();
        redactor.mark(document, &mut marks);
        Self { document, marks }
    }

    /// The texts of all values that are masked as a whole.
    fn secrets(&self) -> Vec<String> {
        let masked = self.marks.cuts().filter(|(_, cut)| **cut == Cut::Redacted).map(|(node, _)| node);
        let inside = masked.flat_map(|node| node..self.document.end(node));
        inside.filter_map(|node| self.document.scalar(node)).map(|text| text.into_owned()).collect()
    }

    fn shown(&self, node: NodeId, secrets: &[String], detail: Detail) -> ShownValue {
        let most = if detail == Detail::Alone { MAX_VALUE_ALONE } else { MAX_VALUE };
        let mut above = std::iter::successors(Some(node), |&inner| self.document.parent(inner));
        let text = || self.document.scalar(node).unwrap_or_else(|| self.document.raw(node).into());
        let json =
            if above.any(|node| self.marks.at(node) == Some(&Cut::Redacted)) || holds(&text(), secrets, MIN_SECRET) {
                quote(REDACTED)
            } else {
                let inside = node..self.document.end(node);
                let cuts = self.marks.cuts().filter(|(node, _)| inside.contains(node));
                let cuts: Vec<_> = cuts.filter_map(|(node, cut)| Some((node, cut.redacted_json()?))).collect();
                self.masked_json(node, &cuts)
            };
        ShownValue { kind: self.document.kind(node), json: Untrusted::new(shortened(&json, most)) }
    }

    /// The JSON of a value with the cuts in it.
    fn masked_json(&self, node: NodeId, cuts: &[(NodeId, &str)]) -> String {
        let (text, span) = (self.document.text(), self.document.span(node));
        let (mut out, mut copied) = (String::new(), span.start);
        for (cut, json) in cuts {
            let masked = self.document.span(*cut);
            out.push_str(text.get(copied..masked.start).unwrap_or_default());
            out.push_str(json);
            copied = masked.end;
        }
        out.push_str(text.get(copied..span.end).unwrap_or_default());
        out
    }
}

fn shortened(text: &str, most: usize) -> String {
    let is_long = text.chars().nth(most).is_some();
    text.chars().take(most).chain(is_long.then_some('…')).collect()
}

/// Whether the text holds one of the secrets. Of one below the length, such as `1`, only the whole text counts.
fn holds(text: &str, secrets: &[String], length: usize) -> bool {
    let is_in = |secret: &&String| secret.chars().count() >= length && text.contains(secret.as_str());
    secrets.iter().filter(|secret| !secret.is_empty()).any(|secret| text == secret || is_in(&secret))
}

/// The path as the expression language writes it.
fn path(document: &Document, node: NodeId, detail: Detail) -> String {
    let mut path = String::new();
    for step in document.steps(node) {
        match step {
            PathStep::Key(key, _) if is_identifier(&key) => _ = write!(path, ".{key}"),
            PathStep::Key(key, _) => _ = write!(path, ".{}", quote(&key)),
            PathStep::Index(nth) => {
                let nth = if detail == Detail::Alone { nth.to_string() } else { String::new() };
                _ = write!(path, "{}[{nth}]", if path.is_empty() { "." } else { "" });
            }
        }
    }
    if path.is_empty() { ".".to_owned() } else { path }
}

fn is_identifier(key: &str) -> bool {
    !key.starts_with(|c: char| c.is_ascii_digit())
        && !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn failed(original: &str, why: &str, redactor: &Redactor) -> RepairedArguments {
    let document = Document::parse(original).ok();
    let secrets = document.as_ref().map(|document| Masked::new(document, redactor).secrets()).unwrap_or_default();
    let words = match holds(why, &secrets, 1) {
        true => "the error holds a masked value".to_owned(),
        false => normalise(&redactor.prose(why)),
    };
    RepairedArguments::Failed(Untrusted::new(words))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Expression;
    use super::*;

    fn repair(code: &str, original: &str) -> RepairedArguments {
        let evaluation = Expression::parse(code).expect("an expression").evaluate(original, 1 << 20);
        repaired(original, evaluation, &Redactor::default())
    }

    /// Each change as `path before -> after`.
    fn lines(code: &str, original: &str) -> Vec<String> {
        let RepairedArguments::Changed { changes, .. } = repair(code, original) else { panic!("{code}") };
        let json = |value: Option<ShownValue>| value.map_or("-".to_owned(), |value| value.json.into_exact());
        let line = |change: ArgumentChange| {
            format!("{} {} -> {}", change.path.exact(), json(change.before), json(change.after))
        };
        changes.into_iter().map(line).collect()
    }

    fn text(code: &str, original: &str) -> String {
        match repair(code, original) {
            RepairedArguments::Changed { text, .. } => text,
            other => panic!("{code}: {other:?}"),
        }
    }

    #[test]
    fn bytes_outside_of_a_change_stay() {
        let original = "{ \"id\" : 12345678901234567890123,\n \"zero\": -0, \"exact\": 1.10,\t\"name\": \"caf\\u00e9\",\n \"items\": [ {\"sku\":null}, {\"sku\" : \"b\"} ]\n}\n";
        assert_eq!(text(".items[].sku //= \"a\"", original), original.replace("null", "\"a\""));
        assert_eq!(
            text("del(.items[0])", original),
            original.replace(" {\"sku\":null}, {\"sku\" : \"b\"}", " {\"sku\" : \"b\"}")
        );
        assert_eq!(
            text(".new = .exact", original),
            original.replace(" ]\n}", " ],\t\"new\":1.10\n}").replace(",\t\"new\"", ",\n \"new\"")
        );
        assert_eq!(
            repair("{zero, id, name, items, exact}", original),
            RepairedArguments::Unchanged,
            "order is no change"
        );
    }

    #[test]
    fn changes_are_told_by_path_without_positions() {
        let original = r#"{"items":[{"sku":null},{"sku":"b"}],"old":1,"odd key":2,"9":3}"#;
        assert_eq!(
            lines(".items[].sku |= \"x\"", original),
            [".items[].sku null -> \"x\"", ".items[].sku \"b\" -> \"x\""]
        );
        assert_eq!(lines("del(.old) | .n = [1]", original), [".old 1 -> -", ".n - -> [1]"]);
        assert_eq!(lines(".\"odd key\" = 1 | .\"9\" = 1", original), [".\"odd key\" 2 -> 1", ".\"9\" 3 -> 1"]);
        assert_eq!(lines("1", "2"), [". 2 -> 1"]);
        assert_eq!(lines(".[0] = 1", "[2]"), [".[] 2 -> 1"]);
        let long = lines(".old = \"x\" * 100", original);
        assert_eq!(long, [format!(".old 1 -> \"{}…", "x".repeat(59))]);
        let long = lines(".[\"k\" * 300] = 1", "{}");
        assert_eq!(long, [format!(".{}… - -> 1", "k".repeat(199))]);
    }

    #[test]
    fn what_is_masked_is_neither_shown_nor_lost() {
        let original =
            r#"{"password":"hunter2","card":{"token":"tk_live_1"},"url":"postgres://ops:hunter3@db/x","n":1}"#;
        assert_eq!(lines(".password = \"other1\"", original), [r#".password "[redacted]" -> "[redacted]""#]);
        for code in [
            ".note = .password",
            ".note = \"see \\(.card.token)\"",
            ".note = {a: .password}",
            ".card = [.card]",
            ".note = .url",
            "del(.card)",
            "del(.url)",
            ". = [.]",
        ] {
            let told = lines(code, original).concat();
            for secret in ["hunter2", "tk_live_1", "hunter3"] {
                assert!(!told.contains(secret), "{code}: {told}");
            }
        }
        let short = r#"{"cvv":"123","pin":"a","n":"b"}"#;
        assert_eq!(lines(".n = \"no \\(.cvv)\"", short), [r#".n "b" -> "[redacted]""#]);
        assert_eq!(lines(".n = \"a\"", short), [r#".n "b" -> "[redacted]""#]);
        assert_eq!(lines(".n = \"cat\"", short), [r#".n "b" -> "cat""#]);
        assert_eq!(text(".n = 2", original), original.replace(":1}", ":2}"));
    }

    #[test]
    fn failures_hold_no_value_of_a_job() {
        let failure = |code: &str, original: &str| match repair(code, original) {
            RepairedArguments::Failed(why) => why.into_exact(),
            other => panic!("{code}: {other:?}"),
        };
        assert_eq!(failure(".a + 1", r#"{"a":"x"}"#), failure(".a + 1", r#"{"a":"y z"}"#));
        assert!(failure(".a + 1", r#"{"a":"x"}"#).starts_with("cannot calculate <str> + <n>"));
        assert_eq!(failure("error(\"no plan\")", "1"), "no plan");
        assert_eq!(
            failure("error(\"no \\(.password)\")", r#"{"password":"hunter2"}"#),
            "the error holds a masked value"
        );
        assert_eq!(failure("error(\"no \\(.pin)\")", r#"{"pin":"q"}"#), "the error holds a masked value");
        assert_eq!(failure("error(\"no\")", r#"{"pin":"","a":1}"#), "no");
        assert_eq!(failure(".a = 1/0", r#"{"a":1}"#), "the value is not JSON");
        assert_eq!(failure(".b = 1", r#"{"a":1,"a":2}"#), "a key stands twice in one object");
    }

    /// JSON with numbers beyond every machine's, odd spacing and escapes, and no key twice.
    fn document() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("-0".to_owned()),
            "-?[1-9][0-9]{0,30}(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
            "\"([a-zé💣]|\\\\u00[0-7][0-9a-f]|\\\\n|\\\\/|\\\\\\\\)*\"",
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let space = "[ \\t\\n]{0,2}";
            let items = prop::collection::vec((space, inner, space), 0..5);
            (items, any::<bool>(), space).prop_map(|(items, is_object, space)| {
                let item = |(nth, (before, value, after)): (usize, &(String, String, String))| match is_object {
                    true => format!("{before}\"k{nth}\"{after}:{before}{value}{after}"),
                    false => format!("{before}{value}{after}"),
                };
                let items: Vec<String> = items.iter().enumerate().map(item).collect();
                let inside = if items.is_empty() { space } else { items.join(",") };
                if is_object { format!("{{{inside}}}") } else { format!("[{inside}]") }
            })
        })
    }

    proptest! {
        #[test]
        fn an_identity_changes_no_byte(original in document()) {
            prop_assert_eq!(repair(".", &original), RepairedArguments::Unchanged);
            // Also where something else was changed: the added member is all that differs.
            let wrapped = format!("{{ \"kept\": {original} , \"n\":0}}");
            prop_assert_eq!(text(".n = 1", &wrapped), format!("{{ \"kept\": {original} , \"n\":1}}"));
        }

        #[test]
        fn a_value_that_is_set_changes_its_bytes_alone(original in document(), nth in any::<prop::sample::Index>()) {
            let document = Document::parse(original.clone()).expect("JSON");
            let node = NodeId::try_from(nth.index(document.node_count() as usize)).expect("a node");
            let steps: Vec<String> = document.steps(node).into_iter().map(|step| match step {
                PathStep::Key(key, _) => quote(&key),
                PathStep::Index(nth) => nth.to_string(),
            }).collect();
            let code = format!("setpath([{}]; \"new\")", steps.join(","));
            let span = document.span(node);
            let expected = format!("{}\"new\"{}", &original[..span.start], &original[span.end..]);
            if document.raw(node) != "\"new\"" {
                prop_assert_eq!(text(&code, &original), expected, "{}", code);
            }
        }
    }
}
