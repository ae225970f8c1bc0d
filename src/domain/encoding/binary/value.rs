//! What a decoder makes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::{CLASS, JsonWriter, VALUE};
use crate::domain::json::{Document, NodeKind, unquote};

/// The member that holds bytes that are no text, as base64.
const BYTES: &str = "__bytes";

/// A decoded value.
#[derive(Clone, Debug)]
pub enum Value {
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
    List(Vec<Value>),
    /// An object: keys in their order, which may be repeated.
    Map(Vec<(Value, Value)>),
    /// Something of a class, by its name, with what it was made of.
    Object(String, Box<Value>),
    /// JSON as it was written.
    Json(Document),
}

impl Value {
    /// The bytes that a further step decodes; `None` where there are none.
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Text(text) => Some(text.into_bytes()),
            Value::Json(document) if document.kind(0) == NodeKind::String => {
                Some(unquote(document.raw(0)).into_owned().into_bytes())
            }
            _ => None,
        }
    }

    /// The value at a dotted path: a word names a member, a number an element, or a member of that name. The first of
    /// members with the same key.
    pub fn at(&self, path: &str) -> Option<Value> {
        if let Value::Json(document) = self {
            return document.at(path).first().map(|node| of_json(document.kind(*node), document.raw(*node)));
        }
        let (word, rest) = path.split_once('.').map_or((path, None), |(word, rest)| (word, Some(rest)));
        let found = match self {
            Value::List(items) => items.get(word.parse::<usize>().ok()?)?,
            Value::Map(members) => members.iter().find(|(key, _)| key.is_word(word)).map(|(_, value)| value)?,
            Value::Object(_, inner) => return inner.at(path),
            _ => return None,
        };
        match rest {
            Some(rest) => found.at(rest),
            None => Some(found.clone()),
        }
    }

    /// An element of an array, from the start or the end; all else as it is.
    pub fn element(self, is_last: bool) -> Option<Value> {
        match self {
            Value::List(items) if is_last => items.into_iter().next_back(),
            Value::List(items) => items.into_iter().next(),
            Value::Json(document) if document.kind(0) == NodeKind::Array => {
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
            Value::Null => return None,
            Value::Text(text) | Value::Number(text) => Ok(text),
            Value::Bytes(bytes) => String::from_utf8(bytes).map_err(|error| error.into_bytes()),
            Value::Json(document) => match document.kind(0) {
                NodeKind::Null => return None,
                NodeKind::String => Ok(unquote(document.raw(0)).into_owned()),
                _ => Ok(document.text().to_owned()),
            },
            value => Ok(value.to_json()),
        })
    }

    /// As JSON. JSON that was read stays as it was written.
    pub fn to_json(&self) -> String {
        if let Value::Json(document) = self {
            return document.text().to_owned();
        }
        let mut writer = JsonWriter::new();
        self.write(&mut writer);
        writer.out
    }

    fn is_word(&self, word: &str) -> bool {
        match self {
            Value::Text(text) | Value::Number(text) => text == word,
            Value::Bytes(bytes) => bytes == word.as_bytes(),
            Value::Bool(is_true) => word == if *is_true { "true" } else { "false" },
            _ => false,
        }
    }

    fn write(&self, out: &mut JsonWriter) {
        match self {
            Value::Text(text) => {
                out.comma();
                out.text(text);
            }
            Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
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
            Value::Null => bare(out, "null"),
            Value::Bool(true) => bare(out, "true"),
            Value::Bool(false) => bare(out, "false"),
            Value::Number(digits) => {
                out.comma();
                out.number(digits);
            }
            Value::Json(document) => bare(out, document.text().trim()),
            Value::List(items) => {
                out.comma();
                out.open('[');
                items.iter().for_each(|item| item.write(out));
                out.close(']');
            }
            Value::Map(members) => {
                out.comma();
                out.open('{');
                members.iter().for_each(|(key, value)| member(out, &key.as_key(), value));
                out.close('}');
            }
            Value::Object(class, inner) => {
                out.comma();
                out.open('{');
                member(out, CLASS, &Value::Text(class.clone()));
                match inner.as_ref() {
                    Value::Null => {}
                    Value::Map(members) => {
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
            Value::Text(text) | Value::Number(text) => text.clone(),
            Value::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap_or_else(|_| STANDARD.encode(bytes)),
            value => value.to_json(),
        }
    }
}

/// A value of a JSON text.
fn of_json(kind: NodeKind, raw: &str) -> Value {
    match kind {
        NodeKind::Null => Value::Null,
        NodeKind::Bool => Value::Bool(raw == "true"),
        NodeKind::Number => Value::Number(raw.to_owned()),
        NodeKind::String => Value::Text(unquote(raw).into_owned()),
        // A part of valid JSON is valid.
        _ => Document::parse(raw).map_or(Value::Null, Value::Json),
    }
}

fn bare(out: &mut JsonWriter, json: &str) {
    out.comma();
    out.bare(json);
}

fn member(out: &mut JsonWriter, key: &str, value: &Value) {
    out.key(key);
    // The comma stands before the key.
    out.due = false;
    value.write(out);
}
