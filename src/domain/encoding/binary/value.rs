//! What a decoder makes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::{CLASS, JsonWriter, VALUE};
use crate::domain::json::{Document, NodeKind, unquote};

/// The member that holds bytes that are no text, as base64.
const BYTES: &str = "__bytes";

/// A decoded value.
#[derive(Clone, Debug)]
pub enum DecodedValue {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// Text.
    Text(String),
    /// Bytes, which may be text.
    Bytes(Vec<u8>),
    /// An array.
    List(Vec<DecodedValue>),
    /// An object: keys in their order, which may be repeated.
    Map(Vec<(DecodedValue, DecodedValue)>),
    /// Something of a class, by its name, with what it was made of.
    Object(String, Box<DecodedValue>),
    /// JSON as it was written.
    Json(Document),
}

impl DecodedValue {
    /// The bytes that a further step decodes; `None` where there are none.
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            DecodedValue::Bytes(bytes) => Some(bytes),
            DecodedValue::Text(text) => Some(text.into_bytes()),
            DecodedValue::Json(document) if document.kind(0) == NodeKind::String => {
                Some(unquote(document.raw(0)).into_owned().into_bytes())
            }
            _ => None,
        }
    }

    /// The value at a dotted path: a word names a member, a number an element, or a member of that name. The first of
    /// members with the same key.
    pub fn at(&self, path: &str) -> Option<DecodedValue> {
        if let DecodedValue::Json(document) = self {
            return document.at(path).first().map(|node| of_json(document.kind(*node), document.raw(*node)));
        }
        let (word, rest) = path.split_once('.').map_or((path, None), |(word, rest)| (word, Some(rest)));
        let found = match self {
            DecodedValue::List(items) => items.get(word.parse::<usize>().ok()?)?,
            DecodedValue::Map(members) => members.iter().find(|(key, _)| key.is_word(word)).map(|(_, value)| value)?,
            DecodedValue::Object(_, inner) => return inner.at(path),
            _ => return None,
        };
        match rest {
            Some(rest) => found.at(rest),
            None => Some(found.clone()),
        }
    }

    /// An element of an array, from the start or the end; all else as it is.
    pub fn element(self, is_last: bool) -> Option<DecodedValue> {
        match self {
            DecodedValue::List(items) if is_last => items.into_iter().next_back(),
            DecodedValue::List(items) => items.into_iter().next(),
            DecodedValue::Json(document) if document.kind(0) == NodeKind::Array => {
                let node = if is_last { document.children(0).last()? } else { document.children(0).next()? };
                Some(of_json(document.kind(node), document.raw(node)))
            }
            value => Some(value),
        }
    }

    /// Text: of text and bytes themselves, of numbers their digits, of arrays and objects JSON; `None` for nothing. Bytes that
    /// are no text stay bytes.
    pub fn into_text(self) -> Option<Result<String, Vec<u8>>> {
        Some(match self {
            DecodedValue::Null => return None,
            DecodedValue::Text(text) | DecodedValue::Number(text) => Ok(text),
            DecodedValue::Bytes(bytes) => String::from_utf8(bytes).map_err(|error| error.into_bytes()),
            DecodedValue::Json(document) => match document.kind(0) {
                NodeKind::Null => return None,
                NodeKind::String => Ok(unquote(document.raw(0)).into_owned()),
                _ => Ok(document.text().to_owned()),
            },
            value => Ok(value.to_json()),
        })
    }

    /// As JSON. JSON that was read stays as it was written.
    pub fn to_json(&self) -> String {
        if let DecodedValue::Json(document) = self {
            return document.text().to_owned();
        }
        let mut writer = JsonWriter::new();
        self.write(&mut writer);
        writer.out
    }

    fn is_word(&self, word: &str) -> bool {
        match self {
            DecodedValue::Text(text) | DecodedValue::Number(text) => text == word,
            DecodedValue::Bytes(bytes) => bytes == word.as_bytes(),
            DecodedValue::Bool(is_true) => word == if *is_true { "true" } else { "false" },
            _ => false,
        }
    }

    fn write(&self, out: &mut JsonWriter) {
        match self {
            DecodedValue::Text(text) => {
                out.comma();
                out.text(text);
            }
            DecodedValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => {
                    out.comma();
                    out.text(text);
                }
                Err(_) => {
                    out.comma();
                    out.open('{');
                    out.key(BYTES);
                    out.text(&STANDARD.encode(bytes));
                    out.close('}');
                }
            },
            DecodedValue::Null => bare(out, "null"),
            DecodedValue::Bool(true) => bare(out, "true"),
            DecodedValue::Bool(false) => bare(out, "false"),
            DecodedValue::Number(digits) => {
                out.comma();
                out.number(digits);
            }
            DecodedValue::Json(document) => bare(out, document.text().trim()),
            DecodedValue::List(items) => {
                out.comma();
                out.open('[');
                items.iter().for_each(|item| item.write(out));
                out.close(']');
            }
            DecodedValue::Map(members) => {
                out.comma();
                out.open('{');
                members.iter().for_each(|(key, value)| member(out, &key.as_key(), value));
                out.close('}');
            }
            DecodedValue::Object(class, inner) => {
                out.comma();
                out.open('{');
                member(out, CLASS, &DecodedValue::Text(class.clone()));
                match inner.as_ref() {
                    DecodedValue::Null => {}
                    DecodedValue::Map(members) => {
                        members.iter().for_each(|(key, value)| member(out, &key.as_key(), value));
                    }
                    inner => member(out, VALUE, inner),
                }
                out.close('}');
            }
        }
    }

    /// As the key of a member: JSON has text for keys only.
    fn as_key(&self) -> String {
        match self {
            DecodedValue::Text(text) | DecodedValue::Number(text) => text.clone(),
            DecodedValue::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap_or_else(|_| STANDARD.encode(bytes)),
            value => value.to_json(),
        }
    }
}

/// A value of a JSON text.
fn of_json(kind: NodeKind, raw: &str) -> DecodedValue {
    match kind {
        NodeKind::Null => DecodedValue::Null,
        NodeKind::Bool => DecodedValue::Bool(raw == "true"),
        NodeKind::Number => DecodedValue::Number(raw.to_owned()),
        NodeKind::String => DecodedValue::Text(unquote(raw).into_owned()),
        // A part of valid JSON is valid.
        _ => Document::parse(raw).map_or(DecodedValue::Null, DecodedValue::Json),
    }
}

fn bare(out: &mut JsonWriter, json: &str) {
    out.comma();
    out.bare(json);
}

fn member(out: &mut JsonWriter, key: &str, value: &DecodedValue) {
    out.key(key);
    // The comma stands before the key.
    out.due = false;
    value.write(out);
}
