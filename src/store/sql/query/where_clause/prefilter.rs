//! What the last word in memory is spared: a condition that lets every match through, by the pieces that each holds.

use super::condition::as_text;
use crate::adapter::{FieldKind, Part};
use crate::domain::encoding;
use crate::domain::filter::{Key, Pattern, Test};
use crate::store::sql::dialect::TextExpression;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::{Layout, part_of_key};

/// Pieces that a match's text holds, all of them.
pub(super) struct Pieces {
    pieces: Vec<String>,
    fold: bool,
    /// Each stands behind the one before.
    ordered: bool,
    /// The name and the value of a member of the arguments that a match has.
    member: Option<(String, String)>,
}

/// Writes what every match has, by which the database passes over most of the others.
#[derive(Clone, Copy)]
pub(super) struct Prefilter<'a> {
    pub(super) layout: &'a Layout,
}

impl Prefilter<'_> {
    /// The pieces that every match of a test holds in what is stored; `None` where nothing can be promised.
    pub(super) fn required(&self, key: &Key, test: &Test) -> Option<Pieces> {
        let pattern = match test {
            Test::Text(p) if !p.is_none() => Some(p),
            Test::Decimal { .. } => None,
            _ => return None,
        };
        let mut pieces = Vec::new();
        if let Key::Arg(path) = key {
            for step in path.iter().filter(|s| s.parse::<usize>().is_err()) {
                pieces.extend(Pattern::Equals(step.clone()).required_in_json());
            }
            pieces.extend(pattern.into_iter().flat_map(|p| p.required_in_json()));
        } else {
            pieces.extend(pattern.into_iter().flat_map(|p| p.required_ascii()));
        }
        if matches!(key, Key::Arg(_)) && self.layout.decode().is_some() {
            // Marks may have been escaped in what is stored, and some words are not there at all.
            let runs = pieces.iter().flat_map(|p| p.split(|c: char| !c.is_ascii_alphanumeric()));
            pieces = runs.filter(|run| !run.is_empty() && encoding::survives(run)).map(str::to_owned).collect();
        }
        let fold = pattern.is_some_and(|p| !p.case_sensitive());
        // JSON writes a key before what stands under it; other encodings refer back to what they have written.
        let ordered = self.layout.decode().is_none();
        let member = match (key, pattern) {
            // What is a number may be a place in an array.
            (Key::Arg(path), Some(Pattern::Equals(value))) if ordered => {
                path.last().filter(|name| name.parse::<usize>().is_err()).map(|name| (name.clone(), value.clone()))
            }
            _ => None,
        };
        (!pieces.is_empty() && *key != Key::Fingerprint).then_some(Pieces { pieces, fold, ordered, member })
    }

    /// Writes that a row may match: that it holds the pieces of one alternative.
    pub(super) fn superset(&self, sql: &mut Sql, key: &Key, alternatives: &[Pieces]) {
        let parts = match key {
            Key::Word => vec![Part::Error, Part::Class, Part::Message],
            Key::Arg(_) => vec![Part::Arguments],
            key => part_of_key(key).into_iter().collect(),
        };
        let texts: Vec<TextExpression> = match key {
            Key::Id => vec![self.layout.id_text()],
            _ => parts.into_iter().filter_map(|p| self.layout.part(p)).map(|e| as_text(self.layout, e)).collect(),
        };
        if texts.is_empty() {
            sql.push("1 = 0");
            return;
        }
        sql.push("(").join(alternatives, " OR ", |sql, pieces| {
            let member = pieces.member.as_ref();
            // First, as the planner keeps to the order of what it holds for equally dear: to write a document out as text takes
            // longer than to look into it.
            if let Some(member) = member.and_then(|(name, value)| self.has_member(sql, (name, value))) {
                sql.push(&format!("({member}) AND "));
            }
            self.push_contains(sql, &texts, pieces);
        });
        sql.push(")");
    }

    /// Writes that one of the texts holds the pieces.
    fn push_contains(&self, sql: &mut Sql, texts: &[TextExpression], pieces: &Pieces) {
        sql.push("(").join(texts, " OR ", |sql, text| {
            let at_once = if pieces.ordered { pieces.pieces.len() } else { 1 };
            let runs: Vec<&[String]> = pieces.pieces.chunks(at_once).collect();
            sql.push("(").join(&runs, " AND ", |sql, run| match pieces.fold {
                true => self.layout.dialect.contains_ascii_fold(sql, text, run),
                false => self.layout.dialect.contains(sql, text, run),
            });
            sql.push(")");
        });
        sql.push(")");
    }

    /// A condition that the arguments meet with such a value in such a member, where the database can be asked so.
    fn has_member(&self, sql: &mut Sql, member: (&str, &str)) -> Option<String> {
        let expr = self.layout.part(Part::Arguments).filter(|expr| expr.kind == FieldKind::Json)?;
        let found = self.layout.columns.iter().find(|found| Some(&found.name) == expr.column.as_ref())?;
        self.layout.dialect.has_member(sql, (&expr.raw, &found.data_type), member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Column, Field, Spec, Table, built_in};
    use crate::db::DatabaseKind;
    use crate::domain::encoding::Encoding;
    use crate::domain::filter::Filter;
    use crate::domain::time::Timestamp;
    use crate::store::sql::dialect::dialect;
    use crate::store::sql::query::where_clause::WhereClause;

    #[test]
    fn only_a_binary_column_is_asked_for_a_member_and_only_for_one_that_is_named_whole() {
        let adapters = built_in();
        let adapter = adapters.iter().find(|adapter| adapter.name == "dead_letter_jobs").unwrap();
        let spec = adapter.spec("postgres").unwrap();
        let asks = |spec: &Spec, data_type: &str, text: &str| {
            let column = Column {
                name: "arguments".to_owned(),
                data_type: data_type.to_owned(),
                nullable: false,
                collation: None,
                times: None,
            };
            let table = Table { columns: vec![column], ..Table::default() };
            let layout = Layout::new(dialect(DatabaseKind::Postgres), adapter, spec, "public", &table);
            let mut sql = Sql::new(layout.dialect);
            WhereClause::new(&layout, &Filter::parse(text).unwrap(), Timestamp(0)).push(&mut sql);
            sql.done().sql.contains("@?")
        };
        for (data_type, text, member) in [
            ("jsonb", "args.user.id:42", true),
            ("jsonb", "args.user.id:42 args.user.id:43", true),
            ("json", "args.user.id:42", false),
            ("text", "args.user.id:42", false),
            ("jsonb", "args.user.id:4*", false),
            ("jsonb", "args.ids.0:42", false),
            ("jsonb", "args.user.name:é", false),
            ("jsonb", "args:42", false),
        ] {
            assert_eq!(asks(spec, data_type, text), member, "{data_type} {text}");
        }
        for other in [
            |field: &mut Field| field.kind = FieldKind::Text,
            |field: &mut Field| drop(field.column.take()),
            |field: &mut Field| _ = field.decode.insert(String::new(), Encoding::Php),
        ] {
            let mut spec = spec.clone();
            let mut field = spec.fields.get(Part::Arguments).expect("arguments").clone();
            other(&mut field);
            spec.fields = spec.fields.with(Part::Arguments, field);
            assert!(!asks(&spec, "jsonb", "args.user.id:42"), "{:?}", spec.fields.get(Part::Arguments));
        }
    }
}
