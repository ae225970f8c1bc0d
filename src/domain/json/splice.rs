//! Edits that leave the rest as it is: the text of one document with the values of another.
//!
//! An editor or an expression hands back a whole document, in a notation of its own. What it did not change keeps its bytes:
//! white space, the spelling of numbers and strings, the order of keys.

use std::borrow::Cow;
use std::collections::HashMap;

use thiserror::Error;

use super::{Document, NodeId, NodeKind};

/// Containers within one another that are compared; deeper ones are replaced whole.
const MAX_DEPTH: u32 = 256;

/// Why a document cannot be edited in place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpliceError {
    /// An object holds a key twice: which of the two was meant cannot be said.
    #[error("the key {0} stands twice in one object, and only one of the two would stay")]
    RepeatedKey(String),
}

/// A value that differs: in the original, in the edited document, or in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueChange {
    /// The value in the original; `None` where one was added.
    pub before: Option<NodeId>,
    /// The value in the edited document; `None` where one was removed.
    pub after: Option<NodeId>,
}

/// A document with the values of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spliced {
    /// The text.
    pub text: String,
    /// What differs, in the order of the text; empty where nothing does.
    pub changes: Vec<ValueChange>,
}

/// The text of `original` with the values of `edited`.
///
/// `baseline` is the original as the editor writes it without a change: what the editor spells in its own way is no change.
///
/// # Errors
/// When an object that both have holds a key twice.
pub fn splice(original: &Document, baseline: &Document, edited: &Document) -> Result<Spliced, SpliceError> {
    if original.node_count() != baseline.node_count() {
        let repeated = (0..original.node_count()).find_map(|node| members(original, node).err());
        return Err(repeated.unwrap_or_else(|| SpliceError::RepeatedKey(String::new())));
    }
    let spliced = Spliced { text: String::with_capacity(original.text().len()), changes: Vec::new() };
    let mut splice = Splice { original, baseline, edited, spliced };
    let root = original.span(0);
    splice.push(&original.text()[..root.start]);
    splice.value(0, 0, 0)?;
    splice.push(&original.text()[root.end..]);
    Ok(splice.spliced)
}

/// Whether two values are the same. A number that is written otherwise is another one: some programs tell 1 from 1.0.
fn is_same(a: &Document, node: NodeId, b: &Document, other: NodeId) -> bool {
    a.raw(node) == b.raw(other)
        || (a.kind(node), b.kind(other)) == (NodeKind::String, NodeKind::String) && a.scalar(node) == b.scalar(other)
}

/// A child of a container as it will be.
enum Placed {
    /// A child of the original, by its place, with the value that it will have.
    Old(usize, NodeId),
    /// A value that was added.
    New(NodeId),
}

struct Splice<'d> {
    original: &'d Document,
    /// The nodes are those of the original, spelled as the edited document spells them.
    baseline: &'d Document,
    edited: &'d Document,
    spliced: Spliced,
}

impl Splice<'_> {
    fn push(&mut self, text: &str) {
        self.spliced.text.push_str(text);
    }

    fn change(&mut self, before: Option<NodeId>, after: Option<NodeId>) {
        self.spliced.changes.push(ValueChange { before, after });
    }

    fn value(&mut self, node: NodeId, other: NodeId, depth: u32) -> Result<(), SpliceError> {
        let (original, edited) = (self.original, self.edited);
        if is_same(self.baseline, node, edited, other) {
            self.push(original.raw(node));
            return Ok(());
        }
        match (original.kind(node), edited.kind(other)) {
            (NodeKind::Object, NodeKind::Object) if depth < MAX_DEPTH => self.object(node, other, depth),
            (NodeKind::Array, NodeKind::Array) if depth < MAX_DEPTH => self.array(node, other, depth),
            _ => {
                self.change(Some(node), Some(other));
                self.push(edited.raw(other));
                Ok(())
            }
        }
    }

    /// Members stay where they are, without those that are gone; new ones follow.
    fn object(&mut self, node: NodeId, other: NodeId, depth: u32) -> Result<(), SpliceError> {
        let (ours, mut theirs) = (members(self.original, node)?, members(self.edited, other)?);
        let children: Vec<NodeId> = self.original.children(node).collect();
        let mut all: Vec<Placed> = Vec::new();
        for (nth, child) in children.iter().enumerate() {
            let key = self.original.key(*child).unwrap_or_default();
            all.extend(theirs.remove(&key).map(|value| Placed::Old(nth, value)));
        }
        let added = self
            .edited
            .children(other)
            .filter(|child| self.edited.key(*child).is_some_and(|key| !ours.contains_key(&key)));
        all.extend(added.map(Placed::New));
        self.container(node, &children, &all, depth)
    }

    /// Where elements were only removed or only added, the others are found again by what they are; else by their place.
    fn array(&mut self, node: NodeId, other: NodeId, depth: u32) -> Result<(), SpliceError> {
        let children: Vec<NodeId> = self.original.children(node).collect();
        let values: Vec<NodeId> = self.edited.children(other).collect();
        let same = |nth: &usize, value: &NodeId| is_same(self.baseline, children[*nth], self.edited, *value);
        let places: Vec<usize> = (0..children.len()).collect();
        let all = if let Some(found) = subsequence(&values, &places, |value, nth| same(nth, value)) {
            values.iter().zip(found).map(|(value, nth)| Placed::Old(nth, *value)).collect()
        } else if let Some(found) = subsequence(&places, &values, same) {
            let mut kept = found.into_iter().enumerate().peekable();
            let place = |(at, value)| match kept.next_if(|(_, found)| *found == at) {
                Some((nth, _)) => Placed::Old(nth, value),
                None => Placed::New(value),
            };
            values.iter().copied().enumerate().map(place).collect()
        } else {
            let place = |(nth, value)| if nth < children.len() { Placed::Old(nth, value) } else { Placed::New(value) };
            values.iter().copied().enumerate().map(place).collect::<Vec<_>>()
        };
        self.container(node, &children, &all, depth)
    }

    fn container(&mut self, node: NodeId, children: &[NodeId], all: &[Placed], depth: u32) -> Result<(), SpliceError> {
        let (original, edited) = (self.original, self.edited);
        let (text, span) = (original.text(), original.span(node));
        // What stands before each child: a bracket or a comma, and white space.
        let before = |nth: usize| {
            let end = original.span(children[nth]).start - label(original, children[nth]).len();
            let start = if nth == 0 { span.start } else { original.span(children[nth - 1]).end };
            &text[start..end]
        };
        let last_old = all.iter().rposition(|placed| matches!(placed, Placed::Old(..)));
        let mut next = 0;
        for (nth, placed) in all.iter().enumerate() {
            let place = match placed {
                Placed::Old(place, _) => Some(*place),
                Placed::New(_) => None,
            };
            self.push(match place {
                _ if nth == 0 && children.is_empty() => &text[span.start..=span.start],
                _ if nth == 0 => before(0),
                Some(place) if place > 0 => before(place),
                _ if children.len() < 2 => ",",
                Some(_) => before(1),
                None => before(children.len() - 1),
            });
            match placed {
                Placed::Old(place, value) => {
                    self.removed(&children[next..*place]);
                    next = place + 1;
                    self.push(label(original, children[*place]));
                    self.value(children[*place], *value, depth + 1)?;
                }
                Placed::New(value) => {
                    if last_old.is_none_or(|last| last < nth) {
                        self.removed(&children[std::mem::replace(&mut next, children.len())..]);
                    }
                    self.change(None, Some(*value));
                    self.push(label(edited, *value));
                    self.push(edited.raw(*value));
                }
            }
        }
        self.removed(&children[next..]);
        let end = children.last().map_or(span.start + 1, |&child| original.span(child).end);
        match all.is_empty() {
            true if children.is_empty() => self.push(&text[span.start..span.end]),
            true => {
                self.push(&text[span.start..=span.start]);
                self.push(&text[span.end - 1..span.end]);
            }
            false => self.push(&text[end..span.end]),
        }
        Ok(())
    }

    fn removed(&mut self, children: &[NodeId]) {
        for child in children {
            self.change(Some(*child), None);
        }
    }
}

/// Where each of `few` is found among `many`, in their order; `None` where one is not.
fn subsequence<A, B>(few: &[A], many: &[B], is_same: impl Fn(&A, &B) -> bool) -> Option<Vec<usize>> {
    let mut rest = many.iter().enumerate();
    few.iter().map(|one| rest.find(|(_, other)| is_same(one, other)).map(|(at, _)| at)).collect()
}

/// The members of an object by their keys.
fn members(document: &Document, node: NodeId) -> Result<HashMap<Cow<'_, str>, NodeId>, SpliceError> {
    let mut members = HashMap::new();
    for child in document.children(node) {
        let key = document.key(child).unwrap_or_default();
        if members.insert(key.clone(), child).is_some() {
            return Err(SpliceError::RepeatedKey(key.into_owned()));
        }
    }
    Ok(members)
}

/// A member's key with its colon and the space around that; nothing for an element.
fn label(document: &Document, node: NodeId) -> &str {
    let Some(key) = document.raw_key(node) else { return "" };
    let start = document.span(node).start;
    let before = &document.text()[..start];
    let colon = before.trim_end().trim_end_matches(':').trim_end();
    &document.text()[colon.len() - key.len()..start]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spliced(original: &str, edited: &str) -> Result<String, SpliceError> {
        let original = Document::parse(original).expect("JSON");
        splice(&original, &original, &Document::parse(edited).expect("JSON")).map(|spliced| spliced.text)
    }

    /// What differs, as `before -> after`.
    fn changes(original: &str, edited: &str) -> Vec<String> {
        let (original, edited) = (Document::parse(original).expect("JSON"), Document::parse(edited).expect("JSON"));
        let changes = splice(&original, &original, &edited).expect("no key twice").changes;
        let text = |document: &Document, node: Option<NodeId>| node.map_or("", |node| document.raw(node)).to_owned();
        let line = |change: ValueChange| {
            format!("{} -> {}", text(&original, change.before), text(&edited, change.after)).trim().to_owned()
        };
        changes.into_iter().map(line).collect()
    }

    #[test]
    fn what_was_not_changed_keeps_its_bytes() {
        let original = "{ \"amount\" : 1.10,\n  \"id\": 12345678901234567890123,\n  \"name\": \"caf\\u00e9\", \"tags\":[1 , 2] }\n";
        for (edited, expected) in [
            (r#"{"tags":[1,2],"name":"café","amount":1.10,"id":12345678901234567890123}"#, original.to_owned()),
            (
                r#"{"amount":1.10,"id":12345678901234567890123,"name":null,"tags":[1,2]}"#,
                original.replace("\"caf\\u00e9\"", "null"),
            ),
            (
                r#"{"amount":2,"id":12345678901234567890123,"name":"café","tags":[1,2,3]}"#,
                original.replace("1.10", "2").replace("1 , 2", "1 , 2 , 3"),
            ),
            (
                r#"{"id":12345678901234567890123,"name":"café","tags":[2],"new":{"a":1}}"#,
                "{ \"id\": 12345678901234567890123,\n  \"name\": \"caf\\u00e9\", \"tags\":[2], \"new\":{\"a\":1} }\n"
                    .to_owned(),
            ),
            ("{}", "{}\n".to_owned()),
            ("[1]", "[1]\n".to_owned()),
        ] {
            assert_eq!(spliced(original, edited).as_deref(), Ok(expected.as_str()), "{edited}");
        }
        assert_eq!(spliced("{ }", "{}").as_deref(), Ok("{ }"));
        assert_eq!(spliced("{ }", r#"{"a":1}"#).as_deref(), Ok(r#"{"a":1 }"#));
        assert_eq!(spliced("[]", "[1,2]").as_deref(), Ok("[1,2]"));
        assert_eq!(spliced("[ 1, 2,3 ]", "[2,3]").as_deref(), Ok("[ 2,3 ]"));
        assert_eq!(spliced("[ 1, 2,3 ]", "[0,1,2,3]").as_deref(), Ok("[ 0, 1, 2,3 ]"));
        assert_eq!(spliced("1.0", "1").as_deref(), Ok("1"), "a number that is written otherwise is another one");
    }

    #[test]
    fn what_differs_is_told_in_the_order_of_the_text() {
        for (original, edited, expected) in [
            (
                r#"{"a":1,"b":[1,{"c":2}],"d":3}"#,
                r#"{"a":1,"b":[1,{"c":"x"}],"e":4}"#,
                vec!["2 -> \"x\"", "3 ->", "-> 4"],
            ),
            ("[1,2,3,4]", "[2,4]", vec!["1 ->", "3 ->"]),
            ("[1,2]", "[0,1,2,3]", vec!["-> 0", "-> 3"]),
            ("[1,2,3]", "[1,5]", vec!["2 -> 5", "3 ->"]),
            (r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#, vec![r#"{"b":1} -> [1]"#]),
            ("[]", "[1]", vec!["-> 1"]),
            ("[1]", "[]", vec!["1 ->"]),
            ("[1, 2]", "[1,2]", vec![]),
        ] {
            assert_eq!(changes(original, edited), expected, "{original} {edited}");
        }
    }

    #[test]
    fn what_an_editor_spells_in_its_own_way_stays() {
        let original = r#"{ "big": -0, "n": 1e2, "list": [-0, 1, -0] }"#;
        let edit = |edited: &str| {
            let baseline = Document::parse(r#"{"big":0,"n":100,"list":[0,1,0]}"#).expect("JSON");
            let (original, edited) = (Document::parse(original).expect("JSON"), Document::parse(edited).expect("JSON"));
            splice(&original, &baseline, &edited).expect("no key twice").text
        };
        assert_eq!(edit(r#"{"big":0,"n":100,"list":[0,1,0]}"#), original);
        assert_eq!(edit(r#"{"big":0,"n":101,"list":[1,0]}"#), r#"{ "big": -0, "n": 101, "list": [1, -0] }"#);
        let merged = Document::parse(r#"{"a":1}"#).expect("JSON");
        let twice = Document::parse(r#"{"a":0,"a":1}"#).expect("JSON");
        assert_eq!(splice(&twice, &merged, &merged), Err(SpliceError::RepeatedKey("a".to_owned())));
    }

    #[test]
    fn an_object_with_a_key_twice_is_refused() {
        let twice = SpliceError::RepeatedKey("a".to_owned());
        assert_eq!(spliced(r#"{"a":1,"a":2,"b":1}"#, r#"{"a":2,"b":2}"#), Err(twice.clone()));
        assert_eq!(spliced(r#"{"a":1}"#, r#"{"a":1,"\u0061":2}"#), Err(twice));
        // Not where nothing was to be changed.
        let same = r#"{"b":{"a":1,"a":2}}"#;
        assert_eq!(spliced(same, same).as_deref(), Ok(same));
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c\"\\\\é]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_values_are_those_of_the_edit(original in json(), edited in json(), is_pretty in any::<bool>()) {
            let text = if is_pretty { serde_json::to_string_pretty(&original) } else { serde_json::to_string(&original) };
            let text = text.expect("JSON");
            let spliced = spliced(&text, &edited.to_string()).expect("no key twice");
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&spliced).expect("JSON"), edited);
            let original = original.to_string();
            prop_assert_eq!(changes(&text, &original), Vec::<String>::new());
            prop_assert_eq!(super::tests::spliced(&text, &original), Ok(text));
        }
    }
}
