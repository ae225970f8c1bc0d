//! The message that a destination takes: an adapter's JSON template, filled from one dead job.

use crate::adapter::{FieldKind, MessageSpec};
use crate::db::cells::Cells;
use crate::domain::json::{Checked, Document, NodeId, Template};
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::{Expr, Layout};
use crate::store::sql::query::template::{Fill, push};
use crate::store::{Result, SourceError};

/// A template with the expressions of its values.
pub(crate) struct Recipe {
    make: Make,
    names: Vec<String>,
    values: Vec<Expr>,
}

/// How a message comes about.
enum Make {
    /// A template is filled.
    Template(Template),
    /// The stored JSON, the one value, stays as it is but for these: a path, and the JSON that stands there from now on.
    Edit(Vec<(String, String)>),
}

/// Values that every template may name, besides its own.
const GIVEN: [&str; 4] = ["id", "new_id", "run", "now"];

impl Recipe {
    /// Reads an adapter's template.
    ///
    /// # Errors
    /// When it is not JSON with every place filled, or names a value that is not there.
    pub(crate) fn new(layout: &Layout, message: &MessageSpec) -> Result<Self> {
        if let Some(edit) = &message.edit {
            let set = message.set.iter().map(|(path, value)| (path.clone(), value.get_ref().clone())).collect();
            return Ok(Self { make: Make::Edit(set), names: Vec::new(), values: vec![layout.expr(edit)] });
        }
        let text = message.template.as_ref().map_or("", |t| t.get_ref().trim());
        let template = Template::parse(text).map_err(|e| SourceError::Layout(format!("{}: {e}", layout.adapter)))?;
        let known = |name: &str| GIVEN.contains(&name) || message.values.contains_key(name);
        if let Some(unknown) = template.names().find(|n| !known(n)) {
            return Err(SourceError::Layout(format!("{}: the message has no value {unknown}", layout.adapter)));
        }
        let names = message.values.keys().cloned().collect();
        let values = message.values.values().map(|f| layout.expr(f)).collect();
        Ok(Self { make: Make::Template(template), names, values })
    }

    /// Pushes the values as contract columns, in order, each behind a comma.
    pub(crate) fn push_columns(&self, sql: &mut Sql, layout: &Layout, fill: &Fill<'_>) {
        for expr in &self.values {
            sql.push(", ");
            push_expr(sql, layout, expr, fill);
        }
    }

    /// Fills the template from the cells of [`Recipe::push_columns`]. The result is one line.
    ///
    /// # Errors
    /// Why this job has no message: a stored value is not JSON, or no text.
    pub(crate) fn render(&self, cells: &mut Cells, given: &Given<'_>) -> Result<std::result::Result<String, String>> {
        let template = match &self.make {
            Make::Template(template) => template,
            Make::Edit(set) => {
                let Ok(text) = cells.stored()? else { return Ok(Err(odd("payload"))) };
                return Ok(edited(text.unwrap_or_default(), set));
            }
        };
        let mut values: Vec<(&str, Checked)> = Vec::with_capacity(self.names.len() + GIVEN.len());
        for (name, expr) in self.names.iter().zip(&self.values) {
            let Ok(text) = cells.stored()? else { return Ok(Err(odd(name))) };
            values.push((name, as_json(expr.kind, text)));
        }
        // Behind the template's own, which come first where they have the same name.
        let own = [given.id, given.new_id, given.run, given.now];
        values.extend(GIVEN.into_iter().zip(own.map(Checked::text)));
        let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        Ok(template.render(value).map(one_line).map_err(|e| e.to_string()))
    }
}

/// Why a job has no message of which a stored value is no text: JSON is, and what stood there instead of its bytes would be
/// another value.
fn odd(name: &str) -> String {
    format!("the stored {name} is not UTF-8, and would be replayed as something else")
}

/// Stored JSON with the values at some dotted paths replaced; everything else stays byte for byte.
fn edited(text: String, set: &[(String, String)]) -> std::result::Result<String, String> {
    let document = Document::parse(text).map_err(|e| format!("the stored payload is no JSON: {e}"))?;
    let mut values: Vec<(NodeId, &str)> = Vec::new();
    for (path, value) in set {
        values.extend(document.at(path).into_iter().map(|node| (node, value.as_str())));
    }
    values.sort_unstable();
    Ok(document.replace(&values))
}

/// Pushes an expression of an adapter as a contract column, its placeholders filled in.
pub(crate) fn push_expr(sql: &mut Sql, layout: &Layout, expr: &Expr, fill: &Fill<'_>) {
    let column = layout.dialect.whole_text(&expr.raw, expr.kind);
    match expr.column {
        // A column may have any name: what stands in braces there is no placeholder.
        Some(_) => drop(sql.push(&column)),
        None => push(sql, &column, fill),
    }
}

/// What a job's message knows besides the job.
pub(crate) struct Given<'a> {
    pub(crate) id: &'a str,
    pub(crate) new_id: &'a str,
    pub(crate) run: &'a str,
    pub(crate) now: &'a str,
}

/// A stored value as JSON text; JSON that was encoded twice is decoded, numbers stay as they were written.
fn as_json(kind: FieldKind, text: Option<String>) -> Checked {
    match (kind, text) {
        (_, None) => Checked::null(),
        (FieldKind::Json, Some(text)) => Checked::json(text),
        (
            FieldKind::Int | FieldKind::Natural | FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs,
            Some(text),
        ) => Checked::verbatim(text),
        (_, Some(text)) => Checked::text(&text),
    }
}

/// JSON on one line: outside strings a line break means nothing, inside them there is none.
fn one_line(json: String) -> String {
    match json.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        true => json.replace(['\n', '\r'], " "),
        false => json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Row, Value};

    #[test]
    fn a_stored_value_that_is_no_text_makes_no_message() {
        let template = Template::parse(r#"{"arguments":{arguments}}"#).expect("a template");
        let expr = Expr { raw: String::new(), kind: FieldKind::Json, column: None, nullable: true, is_spoken: false };
        let whole = Recipe { make: Make::Template(template), names: vec!["arguments".to_owned()], values: vec![expr] };
        let edited = Recipe { make: Make::Edit(Vec::new()), names: Vec::new(), values: Vec::new() };
        let given = Given { id: "1", new_id: "2", run: "r", now: "" };
        let render =
            |recipe: &Recipe, cell: Value| recipe.render(&mut Cells::new(Row(vec![cell])), &given).expect("cells");
        for recipe in [&whole, &edited] {
            let why = render(recipe, Value::Odd(b"[\"caf\xe9\"]".to_vec())).expect_err("no message");
            assert!(why.contains("is not UTF-8"), "{why}");
            let text = render(recipe, Value::Text("[\"caf⟨xE9⟩\"]".to_owned())).expect("a message");
            assert!(text.contains("⟨xE9⟩"), "{text}");
        }
    }

    #[test]
    fn an_edit_leaves_everything_else_as_it_was_written_and_adds_nothing() {
        let set = |pairs: &[(&str, &str)]| pairs.iter().map(|(p, v)| ((*p).to_owned(), (*v).to_owned())).collect();
        let set: Vec<(String, String)> =
            set(&[("retryUntil", "null"), ("data.tries", "0"), ("list.1", "2"), ("no.such", "1")]);
        let text = r#"{ "retryUntil":17.50, "n":1e400,"data":{"tries": 3,"x":"\u0000"},"list":[0,1], "retryUntil": 5}"#;
        let out = edited(text.to_owned(), &set);
        let wanted =
            r#"{ "retryUntil":null, "n":1e400,"data":{"tries": 0,"x":"\u0000"},"list":[0,2], "retryUntil": null}"#;
        assert_eq!(out.as_deref(), Ok(wanted));
        assert!(edited("a:1:{}".to_owned(), &set).is_err());
    }
}
