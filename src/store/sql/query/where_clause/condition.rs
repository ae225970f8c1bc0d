//! A condition on a row: its state, its key, the value of a part, its age.

use crate::adapter::{FieldKind, Part};
use crate::domain::filter::{Key, Pattern, Test, TimeBound};
use crate::domain::job::State;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::TextExpression;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::{Expr, Layout, part_of_key};

/// Microseconds that two readings of the same instant may be apart.
const FINER: i64 = 1_000;

/// Writes conditions on the rows of a layout.
#[derive(Clone, Copy)]
pub(crate) struct Condition<'a> {
    pub(super) layout: &'a Layout,
    /// Whether the table of dead jobs is taken to hold little else.
    pub(super) mostly_dead: bool,
}

impl<'a> Condition<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        Self { layout, mostly_dead: true }
    }

    /// Writes whether a row passes a test of a key, but for the time of death.
    pub(super) fn test(&self, sql: &mut Sql, key: &Key, test: &Test) {
        match (key, test) {
            (_, Test::State(state)) => self.state(sql, *state),
            (Key::Id, Test::Text(pattern)) => self.id(sql, pattern),
            (Key::Word, Test::Text(pattern)) => {
                let parts = [Part::Error, Part::Class, Part::Message];
                let there: Vec<&Expr> = parts.into_iter().filter_map(|p| self.layout.part(p)).collect();
                sql.push("(").join(&there, " OR ", |sql, expr| self.text(sql, expr, pattern));
                sql.push(if there.is_empty() { "1 = 0)" } else { ")" });
            }
            (key, test) => match part_of_key(key).and_then(|p| self.expr(p)) {
                Some(expr) => self.value(sql, expr, test),
                // A part that the layout does not have is missing from every row.
                None => {
                    let missing = matches!(test, Test::Text(p) if p.is_none());
                    let state = *key == Key::Native && test_holds_for_constant(self.layout, test);
                    sql.push(if missing && *key != Key::Native || state { "1 = 1" } else { "1 = 0" });
                }
            },
        }
    }

    fn expr(&self, part: Part) -> Option<&Expr> {
        match part {
            // Without a column for it, nothing has touched the row since it died.
            Part::Touched => self.layout.part(Part::Touched).or(self.layout.part(Part::At)),
            part => self.layout.part(part),
        }
    }

    /// Writes whether the value of an expression passes a test.
    pub(super) fn value(&self, sql: &mut Sql, expr: &Expr, test: &Test) {
        let dialect = self.layout.dialect;
        match test {
            Test::Text(pattern) => self.text(sql, expr, pattern),
            Test::Number { min, max } => {
                sql.push(&format!("({} IS NOT NULL", expr.raw));
                for (op, bound) in [(">=", min), ("<=", max)] {
                    if let Some(n) = bound {
                        sql.push(&format!(" AND {} {op} ", expr.raw)).push_int(*n);
                    }
                }
                sql.push(")");
            }
            Test::Time { from, to } => {
                sql.push(&format!("({} IS NOT NULL", expr.raw));
                if let Some(TimeBound::At(at)) = from {
                    sql.push(" AND ");
                    dialect.at_or_after(sql, &expr.raw, expr.kind, *at);
                }
                if let Some(TimeBound::At(at)) = to {
                    sql.push(" AND ");
                    dialect.earlier(sql, &expr.raw, expr.kind, *at);
                }
                sql.push(")");
            }
            Test::State(_) | Test::Decimal { .. } => {
                sql.push("1 = 1");
            }
        }
    }

    fn text(&self, sql: &mut Sql, expr: &Expr, pattern: &Pattern) {
        let dialect = self.layout.dialect;
        let text = as_text(self.layout, expr);
        match pattern {
            p if p.is_none() => match expr.kind {
                FieldKind::Text | FieldKind::Uuid | FieldKind::Json | FieldKind::Lines => {
                    sql.push(&dialect.missing(&text.raw));
                }
                // Numbers and times are missing or there: none of them is empty.
                _ => {
                    sql.push(&format!("{} IS NULL", text.raw));
                }
            },
            Pattern::Equals(word) => dialect.one_of(sql, &text, std::slice::from_ref(word)),
            Pattern::Glob(parts) => dialect.glob(sql, &text, parts),
            Pattern::Contains(piece) => dialect.contains_ascii_fold(sql, &text, std::slice::from_ref(piece)),
            Pattern::Regex(_) => {
                sql.push("1 = 1");
            }
        }
    }

    fn id(&self, sql: &mut Sql, pattern: &Pattern) {
        let key = &self.layout.key.expr;
        match pattern {
            Pattern::Equals(id) if self.layout.holds(id) => {
                let ids = std::slice::from_ref(id);
                sql.push("(");
                self.layout.keys_in(sql, ids);
                if key.kind == FieldKind::Text {
                    // A collation takes other keys for this one, with which an index still finds it.
                    sql.push(" AND ");
                    self.layout.dialect.one_of(sql, &self.layout.id_text(), ids);
                }
                sql.push(")");
            }
            Pattern::Equals(_) => {
                sql.push("1 = 0");
            }
            pattern => {
                let TextExpression { raw, is_spoken } = self.layout.id_text();
                self.text(sql, &Expr { raw, kind: FieldKind::Text, is_spoken, ..key.clone() }, pattern);
            }
        }
    }

    /// Writes whether a row is in a state.
    pub(crate) fn state(&self, sql: &mut Sql, state: State) {
        let Some(expr) = self.layout.part(Part::State) else {
            sql.push(if state == State::Dead { "1 = 1" } else { "1 = 0" });
            return;
        };
        if let Some(condition) = self.layout.condition(state) {
            sql.push(condition);
            return;
        }
        let words = self.layout.words(state);
        if state != State::Retrying {
            match words {
                [] => sql.push("1 = 0"),
                words => {
                    let dialect = self.layout.dialect;
                    let one_of = |sql: &mut Sql| dialect.one_of(sql, &expr.text(), words);
                    match state == State::Dead && self.mostly_dead {
                        true => dialect.likely(sql, &one_of),
                        false => one_of(sql),
                    }
                    sql
                }
            };
            return;
        }
        // A word that nobody knows, or none, is no state to act on: it counts as retrying.
        let others: Vec<String> = State::ALL
            .into_iter()
            .filter(|s| *s != State::Retrying)
            .flat_map(|s| self.layout.words(s).iter().cloned())
            .collect();
        sql.push("(");
        self.layout.dialect.one_of(sql, &expr.text(), &others);
        sql.push(") IS NOT TRUE");
    }

    /// Writes whether a row is in a state by the layout's own word for it.
    pub(crate) fn native(&self, sql: &mut Sql, word: &str) {
        let Some(expr) = self.layout.part(Part::State) else {
            sql.push("1 = 1");
            return;
        };
        match word {
            "" => drop(sql.push(&self.layout.dialect.missing(&expr.raw))),
            word => self.layout.dialect.one_of(sql, &expr.text(), &[word.to_owned()]),
        }
    }

    /// Whether a job died and was last changed before an instant; one without such times has no age that counts.
    pub(crate) fn untouched(&self, sql: &mut Sql, since: Timestamp) {
        let parts = [Part::At, Part::Touched].into_iter().filter_map(|p| self.layout.part(p));
        let parts: Vec<&Expr> = parts.collect();
        let before = Test::Time { from: None, to: Some(TimeBound::At(since)) };
        sql.join(&parts, " AND ", |sql, expr| self.value(sql, expr, &before));
    }

    /// Writes whether a job died at an instant at the latest, or has no such time.
    pub(crate) fn died_by(&self, sql: &mut Sql, at: Timestamp) {
        let Some(expr) = self.layout.part(Part::At) else {
            sql.push("1 = 1");
            return;
        };
        // The instant was read in microseconds; the column may be finer.
        let later = Timestamp(at.0.saturating_add(FINER));
        sql.push("(");
        self.layout.dialect.at_or_after(sql, &expr.raw, expr.kind, later);
        sql.push(") IS NOT TRUE");
    }
}

fn test_holds_for_constant(layout: &Layout, test: &Test) -> bool {
    let word = layout.words(State::Dead).first().map_or("", String::as_str);
    matches!(test, Test::Text(p) if !p.is_none() && p.matcher().is_match(word))
}

pub(super) fn as_text(layout: &Layout, expr: &Expr) -> TextExpression {
    match expr.kind {
        FieldKind::Text => expr.text(),
        // Written as it stands, like any other text.
        FieldKind::Json | FieldKind::Lines if expr.is_spoken => expr.text(),
        kind @ (FieldKind::Uuid | FieldKind::Json | FieldKind::Lines) => {
            TextExpression::spoken(layout.dialect.contract(&expr.raw, kind))
        }
        // A number, which beside a text would be compared as one.
        kind => TextExpression::stored(layout.dialect.contract(&expr.raw, kind)),
    }
}
