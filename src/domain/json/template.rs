//! JSON text with places to fill, for building documents without a value type in between.

use std::borrow::Cow;

use thiserror::Error;

use super::parse::{JsonError, is_valid};
use super::{Document, decode_double, quote};

/// Why a template cannot be used or filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// With every place filled it would not be JSON.
    #[error("the template is {0}")]
    Malformed(JsonError),
    /// Nothing is known by that name.
    #[error("nothing is known by the name `{0}`")]
    Unknown(String),
    /// What was given for that name is not JSON.
    #[error("the value of `{0}` is not JSON")]
    NotJson(String),
}

/// A value for a place, checked once whether it is JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked(Option<String>);

impl Checked {
    /// JSON as it was stored: decoded where it was encoded twice, numbers as they were written.
    pub fn json(text: String) -> Self {
        if text.starts_with(['{', '[']) {
            return Self(is_valid(&text).then_some(text));
        }
        Self::verbatim(decode_double(&text).into_owned())
    }

    /// JSON as it stands.
    pub fn verbatim(text: String) -> Self {
        Self(is_valid(&text).then_some(text))
    }

    /// Text.
    pub fn text(text: &str) -> Self {
        Self(Some(quote(text)))
    }

    /// `null`.
    pub fn null() -> Self {
        Self(Some("null".to_owned()))
    }
}

/// A JSON text in which `{name}` stands for a value: `{"id": {id}, "args": {arguments}}`.
///
/// A name is made of letters, digits, `_` and `.`, and starts with a letter or `_`; in JSON no brace is followed by one,
/// so there is nothing to escape. Inside strings, braces are braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// What stands before each name, and the name.
    places: Vec<(String, String)>,
    rest: String,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// [`TemplateError::Malformed`] when it could not become JSON; the offset counts each place as `null`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut places = Vec::new();
        let (mut literal, mut in_string, mut at) = (String::new(), false, 0);
        while let Some(c) = text[at..].chars().next() {
            if let (false, Some(name)) = (in_string, place(&text[at..])) {
                at += name.len() + 2;
                places.push((std::mem::take(&mut literal), name.to_owned()));
                continue;
            }
            literal.push(c);
            at += c.len_utf8();
            match c {
                '"' => in_string = !in_string,
                '\\' if in_string => {
                    let escaped = text[at..].chars().next();
                    literal.extend(escaped);
                    at += escaped.map_or(0, char::len_utf8);
                }
                _ => {}
            }
        }
        let template = Self { places, rest: literal };
        Document::parse(template.fill(|_| Cow::Borrowed("null"))).map_err(TemplateError::Malformed)?;
        Ok(template)
    }

    /// The names of the places, in order; a name may come more than once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|(_, name)| name.as_str())
    }

    /// Fills each place with the JSON text that `value` gives for its name, byte for byte.
    ///
    /// # Errors
    /// [`TemplateError::Unknown`] where `value` gives nothing, [`TemplateError::NotJson`] where what it gives is none.
    pub fn render<'a>(&self, value: impl Fn(&str) -> Option<&'a Checked>) -> Result<String, TemplateError> {
        let mut values = Vec::with_capacity(self.places.len());
        for (_, name) in &self.places {
            match value(name) {
                Some(Checked(Some(json))) => values.push(json),
                Some(Checked(None)) => return Err(TemplateError::NotJson(name.clone())),
                None => return Err(TemplateError::Unknown(name.clone())),
            }
        }
        let places = self.places.iter().zip(values);
        let room: usize = places.clone().map(|((before, _), json)| before.len() + json.len()).sum();
        let mut out = String::with_capacity(room + self.rest.len());
        for ((before, _), json) in places {
            out.push_str(before);
            out.push_str(json);
        }
        out.push_str(&self.rest);
        Ok(out)
    }

    fn fill<'a>(&self, value: impl Fn(&str) -> Cow<'a, str>) -> String {
        let filled: String = self.places.iter().map(|(before, name)| format!("{before}{}", value(name))).collect();
        filled + &self.rest
    }
}

/// The name of the place at the start of `text`, if there is one.
fn place(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.split_once('}')?.0;
    let first = name.chars().next()?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    ((first.is_ascii_alphabetic() || first == '_') && name.chars().all(fits)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_byte_for_byte() {
        let template = Template::parse(r#"{"id": {id}, "n":{n},"s":"{id} \"{n}","e":{}}"#).expect("well formed");
        assert_eq!(template.names().collect::<Vec<_>>(), ["id", "n"]);
        let (id, n) = (Checked::text("a\"b"), Checked::verbatim("12345678901234567890.10".to_owned()));
        let out = template.render(|name| match name {
            "id" => Some(&id),
            "n" => Some(&n),
            _ => None,
        });
        assert_eq!(out.as_deref(), Ok(r#"{"id": "a\"b", "n":12345678901234567890.10,"s":"{id} \"{n}","e":{}}"#));
    }

    #[test]
    fn a_template_that_cannot_become_json_is_refused_before_use() {
        for bad in ["{\"a\" {b}}", "{{a}: 1}", "{a} {b}", "", "{\"a\": {b}", "{\"a\": {1b}}"] {
            assert!(matches!(Template::parse(bad), Err(TemplateError::Malformed(_))), "{bad}");
        }
    }

    #[test]
    fn a_value_that_is_missing_or_not_json_is_named() {
        let template = Template::parse("[{a.b}]").expect("well formed");
        assert_eq!(template.render(|_| None), Err(TemplateError::Unknown("a.b".into())));
        let (list, cut) = (Checked::verbatim("1, 2".to_owned()), Checked::json("[1".to_owned()));
        assert_eq!(template.render(|_| Some(&list)), Err(TemplateError::NotJson("a.b".into())));
        assert_eq!(template.render(|_| Some(&cut)), Err(TemplateError::NotJson("a.b".into())));
        let twice = Checked::json(r#""[1,2.50]""#.to_owned());
        assert_eq!(template.render(|_| Some(&twice)).as_deref(), Ok("[[1,2.50]]"));
    }
}
