//! The time of death as conditions ask for it.
//!
//! Layouts often keep it in one column, which an index orders, and fall back on others where that is NULL: a job that was
//! made dead by hand has no `discarded_at`. Conditions name the column, so that its index serves, and ask rows without a value
//! there for what stands in for it.

use crate::adapter::Part;
use crate::domain::job::State;
use crate::store::SortKey;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::{Expr, Layout};

/// The rows that a condition is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All of them.
    All,
    /// Those of which it is known that they have what dead jobs are ordered by.
    Timed,
    /// Those of which it is known that they do not.
    Untimed,
}

impl Rows {
    /// What is known of rows that have no place in an order, or of those that have one.
    pub(crate) fn of(order: SortKey, null: bool) -> Self {
        match (order, null) {
            (SortKey::Time, true) => Self::Untimed,
            (SortKey::Time, false) => Self::Timed,
            (SortKey::Attempts, _) => Self::All,
        }
    }
}

/// The time of death in a layout.
#[derive(Clone, Copy)]
pub(crate) struct Death<'a> {
    /// What each row says.
    pub(crate) at: &'a Expr,
    /// What dead jobs are ordered by, where it is the time of death of every row that has it.
    pub(crate) indexed: Option<&'a Expr>,
    /// Whether rows may do without `indexed` and have a time of death all the same.
    pub(crate) falls_back: bool,
}

impl<'a> Death<'a> {
    /// Writes a condition on the time of death, which never holds for NULL.
    pub(crate) fn write(self, sql: &mut Sql, rows: Rows, condition: &dyn Fn(&mut Sql, &Expr)) {
        match (self.indexed, rows) {
            (Some(indexed), Rows::All) if self.falls_back => {
                sql.push("((");
                condition(sql, indexed);
                sql.push(&format!(") OR ({} IS NULL AND ", indexed.raw));
                condition(sql, self.at);
                sql.push("))");
            }
            _ => condition(sql, self.expr(rows)),
        }
    }

    /// The one expression that says it of these rows.
    pub(crate) fn expr(self, rows: Rows) -> &'a Expr {
        let indexed = self.indexed.filter(|_| !self.falls_back || rows == Rows::Timed);
        indexed.unwrap_or(self.at)
    }
}

impl Layout {
    /// The time of death, of dead jobs alone or of others too.
    pub(crate) fn death(&self, dead: bool) -> Option<Death<'_>> {
        let at = self.part(Part::At)?;
        let order = self.order(SortKey::Time, dead).filter(|order| order.kind == at.kind);
        let begins = |order: &&Expr| {
            order.raw == at.raw || dead && order.column.as_deref().is_some_and(|column| begins_with(&at.raw, column))
        };
        let indexed = order.filter(begins);
        let falls_back = indexed.is_some_and(|order| order.raw != at.raw && order.nullable && !self.dead_have(order));
        Some(Death { at, indexed, falls_back })
    }

    /// Whether the condition of dead jobs says that they have a value there.
    fn dead_have(&self, order: &Expr) -> bool {
        let (Some(column), Some(condition)) = (order.column.as_deref(), self.condition(State::Dead)) else {
            return false;
        };
        let condition = condition.to_ascii_lowercase();
        let wanted = format!("t.{} is not null", column.to_ascii_lowercase());
        let parts =
            condition.split(" and ").map(|part| part.trim_matches(|c: char| c.is_whitespace() || "()".contains(c)));
        !condition.contains(" or ") && !condition.contains("not (") && parts.into_iter().any(|part| part == wanted)
    }
}

/// Whether an expression is `COALESCE` of a column of `t` and others behind it.
fn begins_with(raw: &str, column: &str) -> bool {
    let plain: String = raw.chars().filter(|c| !c.is_whitespace() && !"\"`".contains(*c)).collect();
    let plain = plain.trim_start_matches('(').to_ascii_lowercase();
    let first = ["coalesce(", "ifnull("].into_iter().find_map(|call| plain.strip_prefix(call));
    first.and_then(|rest| rest.split_once(',')).is_some_and(|(first, rest)| {
        // What follows the call would reckon with it.
        first == format!("t.{}", column.to_ascii_lowercase()) && closes_last(rest)
    })
}

/// Whether the parenthesis that was opened before a text is closed at its end, but for others that enclose it all.
fn closes_last(rest: &str) -> bool {
    let mut open = 1;
    for (at, c) in rest.char_indices() {
        open += i32::from(c == '(') - i32::from(c == ')');
        if open == 0 {
            return rest[at..].chars().all(|c| c == ')');
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_coalesce_is_led_by_its_first_column() {
        for (raw, is_led) in [
            ("(COALESCE(t.died, t.born))", true),
            ("(ifnull( t.\"died\" , now()))", true),
            ("(COALESCE(t.born, t.died))", false),
            ("(COALESCE(t.died, t.born) - interval '1 day')", false),
            ("(GREATEST(t.died, t.born))", false),
            ("(CASE WHEN t.died IS NULL THEN t.born ELSE t.died END)", false),
            ("(COALESCE(t.died_of, t.born))", false),
        ] {
            assert_eq!(begins_with(raw, "died"), is_led, "{raw}");
        }
    }
}
