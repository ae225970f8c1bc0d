//! What the last word in memory is spared: a condition that lets every match through, by the pieces that each holds.

use super::{Judge, as_text};
use crate::domain::encoding;
use crate::domain::filter::{Key, Pattern, Test};
use crate::store::sql::build::Sql;
use crate::store::sql::layout::{Part, part_of_key};

/// Pieces that a match's text holds, all of them.
pub(super) struct Pieces {
    pieces: Vec<String>,
    fold: bool,
    /// Each stands behind the one before.
    ordered: bool,
}

impl Judge<'_> {
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
        (!pieces.is_empty() && *key != Key::Fingerprint).then_some(Pieces { pieces, fold, ordered })
    }

    /// Writes that a row may match: that it holds the pieces of one alternative.
    pub(super) fn superset(&self, sql: &mut Sql, key: &Key, alternatives: &[Pieces]) {
        let parts = match key {
            Key::Word => vec![Part::Error, Part::Class, Part::Message],
            Key::Arg(_) => vec![Part::Arguments],
            key => part_of_key(key).into_iter().collect(),
        };
        let texts: Vec<String> = match key {
            Key::Id => vec![self.layout.key_text.clone()],
            _ => parts.into_iter().filter_map(|p| self.layout.part(p)).map(|e| as_text(self.layout, e)).collect(),
        };
        if texts.is_empty() {
            sql.push("1 = 0");
            return;
        }
        sql.push("(").join(alternatives, " OR ", |sql, pieces| {
            sql.push("(").join(&texts, " OR ", |sql, text| {
                let at_once = if pieces.ordered { pieces.pieces.len() } else { 1 };
                let runs: Vec<&[String]> = pieces.pieces.chunks(at_once).collect();
                sql.push("(").join(&runs, " AND ", |sql, run| match pieces.fold {
                    true => self.layout.speech.contains_ascii_fold(sql, text, run),
                    false => self.layout.speech.contains(sql, text, run),
                });
                sql.push(")");
            });
            sql.push(")");
        });
        sql.push(")");
    }
}
