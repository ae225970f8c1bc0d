//! What stands in a WHERE.

use crate::adapter::FieldKind;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{TextExpression, WindowShape};

/// How a database asks for rows.
pub(crate) trait Conditions: Sync {
    /// `raw >= instant`.
    fn at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp);

    /// `raw < instant`.
    fn earlier(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp);

    /// Whether `raw >= instant` does not hold: it is earlier, or there is none.
    fn not_at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        sql.push("(");
        self.at_or_after(sql, raw, kind, at);
        sql.push(") IS NOT TRUE");
    }

    /// Writes conditions that cost little, each before an AND: they hold for every time that [`Conditions::at_or_after`] and
    /// [`Conditions::earlier`] let through, and for some beyond. None where telling exactly costs as little.
    fn roughly(&self, _sql: &mut Sql, _raw: &str, _kind: FieldKind, _from: Option<Timestamp>, _to: Option<Timestamp>) {}

    /// Whether a text expression is one of these words, exactly, as an index can serve it.
    fn one_of(&self, sql: &mut Sql, text: &TextExpression, words: &[String]);

    /// Writes that a text expression may be one of these words, as an index can serve it, where to tell exactly costs more than
    /// that; whether it wrote anything.
    fn may_be_one_of(&self, _sql: &mut Sql, _text: &TextExpression, _words: &[String]) -> bool {
        false
    }

    /// The same condition as [`Conditions::one_of`], for rows that meet [`Conditions::may_be_one_of`] already.
    fn is_one_of(&self, sql: &mut Sql, text: &TextExpression, words: &[String]) {
        self.one_of(sql, text, words);
    }

    /// Writes a condition that most rows meet, so that no index is taken for it alone.
    fn likely(&self, sql: &mut Sql, condition: &dyn Fn(&mut Sql)) {
        condition(sql);
    }

    /// Whether a text expression is NULL or empty.
    fn missing(&self, raw: &str) -> String {
        format!("({raw} IS NULL OR {raw} = '')")
    }

    /// Whether the primary key is one of these.
    fn keys_in(&self, sql: &mut Sql, raw: &str, kind: FieldKind, ids: &[String]);

    /// Whether two columns, the latter the key, are one of these pairs.
    fn pairs_in(&self, sql: &mut Sql, scope: &str, (key, kind): (&str, FieldKind), pairs: &[(String, String)]) {
        sql.push("(").join(pairs, " OR ", |sql, (within, id)| {
            sql.push("(");
            self.one_of(sql, &TextExpression::stored(scope), std::slice::from_ref(within));
            sql.push(" AND ");
            self.keys_in(sql, key, kind, std::slice::from_ref(id));
            sql.push(")");
        });
        sql.push(if pairs.is_empty() { "1 = 0)" } else { ")" });
    }

    /// Whether a text expression is made of the parts with anything between them, exactly.
    fn glob(&self, sql: &mut Sql, text: &TextExpression, parts: &[String]);

    /// Whether a text expression contains pieces, exactly: each behind the one before, where that can be asked at once.
    fn contains(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]);

    /// The same of ASCII pieces, whatever the case of ASCII letters.
    fn contains_ascii_fold(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]);

    /// A condition that every column of JSON meets with such a value in such a member; `None` where it cannot be asked.
    fn has_member(&self, _sql: &mut Sql, _column: (&str, &str), _member: (&str, &str)) -> Option<String> {
        None
    }

    /// Whether `(key, id)` lies beyond a place, in either direction; `key` is absent where the primary key orders.
    fn beyond(&self, sql: &mut Sql, key: Option<(&str, String)>, id: (&str, String), descending: bool) {
        let op = if descending { "<" } else { ">" };
        match key {
            None => sql.push(&format!("{} {op} {}", id.0, id.1)),
            Some(key) => sql.push(&format!("({}, {}) {op} ({}, {})", key.0, id.0, key.1, id.1)),
        };
    }

    /// Whether `beyond` names the key's placeholder twice.
    fn beyond_repeats_key(&self) -> bool {
        false
    }

    /// A window of rows, `n` in order, as a row source `t` with the column `rn` counting them.
    ///
    /// `order` orders them, `within` writes the condition under which rows count.
    fn window(&self, sql: &mut Sql, shape: &WindowShape<'_>, within: &mut dyn FnMut(&mut Sql));
}
