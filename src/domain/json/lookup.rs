//! Values by path, for filters.

use std::borrow::Cow;

use super::document::{Document, NodeId, NodeKind};
use super::parse::is_valid;
use super::string::unquote;

/// A value that a path led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Strings unescaped, the others exactly as written.
    pub text: String,
    /// What it is; never a container.
    pub kind: NodeKind,
}

/// How often a text may have been encoded again and is still decoded.
const ENCODINGS: usize = 3;

/// The JSON inside a JSON string that holds an object or an array, decoded as often as it was encoded; any other text
/// as it is.
pub fn decode_double(text: &str) -> Cow<'_, str> {
    let mut decoded = Cow::Borrowed(text);
    if !text.trim_ascii_start().starts_with('"') {
        return decoded;
    }
    for _ in 0..ENCODINGS {
        let trimmed = decoded.trim_ascii();
        if !trimmed.starts_with('"') || !is_valid(trimmed) {
            break;
        }
        decoded = Cow::Owned(unquote(trimmed).into_owned());
    }
    let inner = decoded.trim_ascii_start();
    if inner.starts_with(['{', '[']) && is_valid(inner) { decoded } else { Cow::Borrowed(text) }
}

/// The scalars at `path` in the JSON text `text`, which may be encoded twice.
///
/// Elements of arrays are searched without being named; a number names one element. At the end of the path an array
/// stands for its elements, and an object for nothing. A repeated key leads to each of its values. Text that is not
/// JSON holds no values.
pub fn lookup(text: &str, path: &[String]) -> Vec<Scalar> {
    let decoded = decode_double(text);
    let Ok(doc) = Document::parse(decoded.into_owned()) else {
        return Vec::new();
    };
    scalar_nodes(&doc, path)
        .into_iter()
        .filter_map(|node| Some(Scalar { text: doc.scalar(node)?.into_owned(), kind: doc.kind(node) }))
        .collect()
}

/// The same in a document, as its nodes; nodes of objects stand for nothing.
pub fn scalar_nodes(doc: &Document, path: &[String]) -> Vec<NodeId> {
    let found = path.iter().fold(vec![0], |nodes, step| follow(doc, nodes, step));
    elements(doc, found)
}

fn follow(doc: &Document, nodes: Vec<NodeId>, step: &str) -> Vec<NodeId> {
    let index: Option<usize> = step.parse().ok();
    let mut out = Vec::new();
    for node in nodes {
        if let (Some(nth), NodeKind::Array) = (index, doc.kind(node)) {
            out.extend(doc.children(node).nth(nth));
            continue;
        }
        for holder in elements(doc, vec![node]) {
            out.extend(doc.members(holder, step));
        }
    }
    out
}

/// Arrays replaced by what they hold, arrays in them too.
fn elements(doc: &Document, nodes: Vec<NodeId>) -> Vec<NodeId> {
    let mut out = Vec::new();
    for node in nodes {
        let (mut next, end) = (node, doc.end(node));
        while next < end {
            if doc.kind(next) == NodeKind::Array {
                next += 1;
            } else {
                out.push(next);
                next = doc.end(next);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::string::quote;
    use super::*;

    fn at(text: &str, path: &str) -> Vec<String> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        lookup(text, &path).into_iter().map(|s| s.text).collect()
    }

    #[test]
    fn elements_are_searched_without_being_named_and_can_be_named() {
        let text = r#"[{"user":{"id":42}},[[{"user":{"id":"x\n"}}]],{"user":[{"id":1.50},{"id":null}]}]"#;
        assert_eq!(at(text, "user.id"), ["42", "x\n", "1.50", "null"]);
        assert_eq!(at(text, "2.user.0.id"), ["1.50"]);
        assert_eq!(at(text, "9.user"), [""; 0]);
    }

    #[test]
    fn an_array_at_the_end_stands_for_its_elements_and_an_object_for_nothing() {
        assert_eq!(at(r#"{"ids":[1,[2,{"a":3}]]}"#, "ids"), ["1", "2"]);
        assert_eq!(at(r#"{"a":{"b":1}}"#, "a"), [""; 0]);
        assert_eq!(at(r#"{"0":"member"}"#, "0"), ["member"]);
    }

    #[test]
    fn a_repeated_key_leads_to_each_of_its_values() {
        assert_eq!(at(r#"{"a":1,"a":2}"#, "a"), ["1", "2"]);
    }

    #[test]
    fn a_payload_encoded_twice_is_decoded_and_other_strings_are_not() {
        let text = r#"{"id":7}"#;
        let (twice, thrice) = (quote(text), quote(&quote(text)));
        assert_eq!((at(&twice, "id"), at(&thrice, "id")), (vec!["7".to_owned()], vec!["7".to_owned()]));
        assert_eq!(decode_double(&twice), text);
        for same in ["\"plain\"", "\"{broken\"", "\"12\"", "{\"a\":\"{}\"}", "not json", ""] {
            assert!(matches!(decode_double(same), Cow::Borrowed(t) if t == same), "{same}");
        }
    }

    #[test]
    fn kinds_tell_a_number_from_a_string_of_digits() {
        let kinds: Vec<NodeKind> = lookup(r#"{"a":["1",1,true,null]}"#, &["a".into()]).iter().map(|s| s.kind).collect();
        assert_eq!(kinds, [NodeKind::String, NodeKind::Number, NodeKind::Bool, NodeKind::Null]);
    }

    #[test]
    fn ten_thousand_levels_are_looked_through() {
        let deep = format!("{}{{\"a\":1}}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(at(&deep, "a"), ["1"]);
    }
}
