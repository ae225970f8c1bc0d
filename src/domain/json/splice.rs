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

/// The text of `original` with the values of `edited`.
///
/// # Errors
/// When an object that both have holds a key twice.
pub fn splice(original: &Document, edited: &Document) -> Result<String, SpliceError> {
    let mut splice = Splice { original, edited, out: String::with_capacity(original.text().len()) };
    let root = original.span(0);
    splice.out.push_str(&original.text()[..root.start]);
    splice.value(0, 0, 0)?;
    splice.out.push_str(&original.text()[root.end..]);
    Ok(splice.out)
}

/// Whether two scalars are the same. A number that is written otherwise is another one: some programs tell 1 from 1.0.
fn is_same(a: &Document, node: NodeId, b: &Document, other: NodeId) -> bool {
    a.raw(node) == b.raw(other)
        || (a.kind(node), b.kind(other)) == (NodeKind::String, NodeKind::String) && a.scalar(node) == b.scalar(other)
}

/// A value of the edited document, and the child of the original in whose place it stands, where there is one.
type Placed = (Option<usize>, NodeId);

struct Splice<'d> {
    original: &'d Document,
    edited: &'d Document,
    out: String,
}

impl Splice<'_> {
    fn value(&mut self, node: NodeId, other: NodeId, depth: u32) -> Result<(), SpliceError> {
        let (original, edited) = (self.original, self.edited);
        if is_same(original, node, edited, other) {
            self.out.push_str(original.raw(node));
            return Ok(());
        }
        match (original.kind(node), edited.kind(other)) {
            (NodeKind::Object, NodeKind::Object) if depth < MAX_DEPTH => self.object(node, other, depth),
            (NodeKind::Array, NodeKind::Array) if depth < MAX_DEPTH => self.array(node, other, depth),
            _ => {
                self.out.push_str(edited.raw(other));
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
            all.extend(theirs.remove(&key).map(|value| (Some(nth), value)));
        }
        let added = self
            .edited
            .children(other)
            .filter(|child| self.edited.key(*child).is_some_and(|key| !ours.contains_key(&key)));
        all.extend(added.map(|value| (None, value)));
        self.container(node, &children, &all, depth)
    }

    /// Elements are compared by their place.
    fn array(&mut self, node: NodeId, other: NodeId, depth: u32) -> Result<(), SpliceError> {
        let children: Vec<NodeId> = self.original.children(node).collect();
        let values = self.edited.children(other).enumerate();
        let all: Vec<Placed> =
            values.map(|(nth, value)| (Some(nth).filter(|nth| *nth < children.len()), value)).collect();
        self.container(node, &children, &all, depth)
    }

    fn container(&mut self, node: NodeId, children: &[NodeId], all: &[Placed], depth: u32) -> Result<(), SpliceError> {
        let (original, edited) = (self.original, self.edited);
        let (text, span) = (original.text(), original.span(node));
        if all.is_empty() && !children.is_empty() {
            self.out.push_str(&text[span.start..=span.start]);
            self.out.push_str(&text[span.end - 1..span.end]);
            return Ok(());
        }
        // What stands before each child: a bracket or a comma, and white space.
        let before = |nth: usize| {
            let end = original.span(children[nth]).start - label(original, children[nth]).len();
            let start = if nth == 0 { span.start } else { original.span(children[nth - 1]).end };
            &text[start..end]
        };
        for (nth, (place, value)) in all.iter().enumerate() {
            self.out.push_str(match place {
                _ if nth == 0 && children.is_empty() => &text[span.start..=span.start],
                _ if nth == 0 => before(0),
                Some(place) if *place > 0 => before(*place),
                _ if children.len() > 1 => before(children.len() - 1),
                _ => ",",
            });
            match place {
                Some(place) => {
                    self.out.push_str(label(original, children[*place]));
                    self.value(children[*place], *value, depth + 1)?;
                }
                None => {
                    self.out.push_str(label(edited, *value));
                    self.out.push_str(edited.raw(*value));
                }
            }
        }
        let end = children.last().map_or(span.start + 1, |&child| original.span(child).end);
        self.out.push_str(if children.is_empty() && all.is_empty() {
            &text[span.start..span.end]
        } else {
            &text[end..span.end]
        });
        Ok(())
    }
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
        splice(&Document::parse(original).expect("JSON"), &Document::parse(edited).expect("JSON"))
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
        assert_eq!(spliced("1.0", "1").as_deref(), Ok("1"), "a number that is written otherwise is another one");
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
            let again = super::splice(&Document::parse(text.clone()).expect("JSON"), &Document::parse(original.to_string()).expect("JSON"));
            prop_assert_eq!(again, Ok(text));
        }
    }
}
