//! A filter as a statement's condition: exact where the database can judge as the filter language does, and for the
//! rest a condition that lets every match through, with the last word in memory.
//!
//! `replayed:` is for the ledger to judge and is passed over here.

mod ages;
mod prefilter;

use prefilter::Pieces;

use crate::adapter::FieldKind;
use crate::domain::filter::{Clause, CompiledFilter, Filter, Key, Pattern, Test, TimeBound};
use crate::domain::job::State;
use crate::domain::time::Timestamp;
use crate::store::SortKey;
use crate::store::sql::dialect::TextExpression;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::{Expr, Layout, Part, part_of_key};
use crate::store::sql::query::time_of_death::{Death, Rows};

/// Which columns are read beside the light ones: the heavy ones that the last word in memory needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    pub(crate) message: bool,
    pub(crate) arguments: bool,
    /// By what the job is known across its deaths.
    pub(crate) lineage: bool,
    /// Of the light ones only what the frozen record keeps: the others cost more than finding the row.
    pub(crate) record_only: bool,
}

/// A filter made ready for one layout.
pub(crate) struct WhereClause<'a> {
    layout: &'a Layout,
    exact: Vec<Clause>,
    loose: Vec<Clause>,
    dead_only: bool,
    /// Whether the table of dead jobs is taken to hold little else.
    mostly_dead: bool,
    /// What remains to be judged in memory; `None` when the condition says it all.
    pub(crate) rest: Option<CompiledFilter>,
    /// What that needs.
    pub(crate) extras: Extras,
}

impl<'a> WhereClause<'a> {
    /// Splits a filter between the database and us. Times that are still relative count from `now`: a bound that was
    /// dropped would select more than was meant.
    pub(crate) fn new(layout: &'a Layout, filter: &Filter, now: Timestamp) -> Self {
        let filter = &filter.resolve(now);
        let clauses = filter.clauses().iter().filter(|c| c.key != Key::Replayed);
        let (exact, loose): (Vec<Clause>, Vec<Clause>) = clauses.cloned().partition(|c| is_exact(layout, c));
        let names_states = |c: &Clause| matches!(c.key, Key::State | Key::Native) || names_jobs(c);
        let mut extras = Extras::default();
        for clause in &loose {
            match &clause.key {
                Key::Message | Key::Word => extras.message = true,
                Key::Arg(_) => extras.arguments = true,
                _ => {}
            }
        }
        let rest = (!loose.is_empty()).then(|| filter.compile_only(now, |c| loose.contains(c)));
        let dead_only = !filter.clauses().iter().any(names_states);
        Self { layout, exact, loose, dead_only, mostly_dead: true, rest, extras }
    }

    /// A judge of everything, whatever its state.
    pub(crate) fn everything(layout: &'a Layout) -> Self {
        let (exact, loose) = (Vec::new(), Vec::new());
        Self { layout, exact, loose, dead_only: false, mostly_dead: true, rest: None, extras: Extras::default() }
    }

    /// The same, of a table that may hold few dead jobs among others.
    pub(crate) fn of_few_dead(&self) -> Self {
        let (exact, loose, rest) = (self.exact.clone(), self.loose.clone(), self.rest.clone());
        Self { exact, loose, rest, mostly_dead: false, ..*self }
    }

    /// Whether only dead jobs can match.
    pub(crate) fn only_dead(&self) -> bool {
        self.dead_only || self.exact.iter().any(is_dead)
    }

    /// Whether the primary key decides: then no scan is ever long.
    pub(crate) fn by_key(&self) -> bool {
        self.exact.iter().any(names_jobs)
    }

    /// Whether the database reads what a job brought along, for which there is no index as a rule.
    pub(crate) fn reads_payload(&self) -> bool {
        self.exact.iter().any(is_of_payload)
    }

    /// Whether it reads nothing else, but for the state.
    pub(crate) fn reads_payload_only(&self) -> bool {
        self.exact.iter().all(|clause| is_of_payload(clause) || clause.key == Key::State)
    }

    /// Whether anything is asked of the time of death.
    pub(crate) fn asks_time(&self) -> bool {
        self.times().next().is_some()
    }

    /// Whether windows from the newest job on come to an end before the oldest.
    pub(crate) fn has_span(&self) -> bool {
        has_span(self.layout, &self.exact)
    }

    /// Whether rows that pass lie among others in an order, so that finding one costs all that lie between.
    pub(crate) fn lies_apart(&self, order: SortKey) -> bool {
        let is_in_order = |clause: &Clause| is_dead(clause) || (order == SortKey::Time && is_of_death(clause));
        !self.by_key() && !self.exact.iter().all(is_in_order)
    }

    /// Writes the condition.
    pub(crate) fn push(&self, sql: &mut Sql) {
        self.push_for(sql, Rows::All);
    }

    /// The same, for some rows only.
    pub(crate) fn push_for(&self, sql: &mut Sql, rows: Rows) {
        sql.push("(");
        self.roughly(sql, rows);
        let asks_state = self.dead_only && self.layout.part(Part::State).is_some();
        // To tell the state exactly costs some databases as much as what is asked beside it, which few rows may meet.
        let is_told_last = asks_state && self.asks_more() && self.may_be_dead(sql);
        if asks_state && !is_told_last {
            self.state(sql, State::Dead);
        }
        let mut first = !asks_state;
        for clause in &self.exact {
            and(sql, &mut first);
            self.clause(sql, clause, rows);
        }
        for clause in self.loose.iter().filter(|c| !c.negated) {
            let pieces: Option<Vec<Pieces>> = clause.any.iter().map(|t| self.required(&clause.key, t)).collect();
            if let Some(alternatives) = pieces {
                and(sql, &mut first);
                self.superset(sql, &clause.key, &alternatives);
            }
        }
        if let Some(expr) = self.layout.part(Part::State).filter(|_| is_told_last) {
            sql.push(" AND ");
            self.layout.dialect.is_one_of(sql, &expr.text(), self.layout.words(State::Dead));
        }
        if first {
            sql.push("1 = 1");
        }
        sql.push(")");
    }

    /// Whether anything is asked beside the state.
    fn asks_more(&self) -> bool {
        !self.exact.is_empty() || self.loose.iter().any(|clause| !clause.negated)
    }

    /// Writes that a row may be dead, where that costs less than to tell; whether it wrote anything.
    fn may_be_dead(&self, sql: &mut Sql) -> bool {
        let is_of_words = self.layout.condition(State::Dead).is_none();
        let expr = self.layout.part(Part::State).filter(|_| is_of_words && !self.layout.words(State::Dead).is_empty());
        expr.is_some_and(|expr| self.layout.dialect.may_be_one_of(sql, &expr.text(), self.layout.words(State::Dead)))
    }

    /// Writes when a job must have died that passes, each condition before an AND: what died at other times need not be looked
    /// at. Nothing where that is told by another table.
    pub(crate) fn span(&self, sql: &mut Sql, rows: Rows) {
        // No index leads to such times of rows without a place in the order: a window would read all of them.
        let is_unserved = rows == Rows::Untimed && self.death().is_some_and(|death| death.falls_back);
        if !self.layout.join.is_empty() || is_unserved {
            return;
        }
        self.roughly(sql, rows);
        for clause in self.times() {
            self.clause(sql, clause, rows);
            sql.push(" AND ");
        }
    }

    /// Writes when a job must have died, as well as it can be told at little cost, each condition before an AND. It stands before
    /// what is exact: between what an index finds and where the span begins may lie a million rows, and every condition that
    /// they pass costs its time.
    fn roughly(&self, sql: &mut Sql, rows: Rows) {
        let Some(death) = self.death().filter(|death| !death.falls_back || rows == Rows::Timed) else { return };
        let expr = death.expr(rows);
        for (from, to) in self.time_ranges() {
            self.layout.dialect.roughly(sql, &expr.raw, expr.kind, from, to);
        }
    }

    /// The times from which and until which a job must have died that passes, of each clause that names one span.
    pub(crate) fn time_ranges(&self) -> impl Iterator<Item = (Option<Timestamp>, Option<Timestamp>)> {
        let at = |bound: &Option<TimeBound>| match bound {
            Some(TimeBound::At(at)) => Some(*at),
            _ => None,
        };
        self.times().filter_map(move |clause| match clause.any.as_slice() {
            [Test::Time { from, to }] => Some((at(from), at(to))),
            _ => None,
        })
    }

    /// What is asked of the time of death.
    fn times(&self) -> impl Iterator<Item = &Clause> {
        self.exact.iter().filter(|clause| is_of_death(clause))
    }

    /// The time of death of the jobs that can match.
    fn death(&self) -> Option<Death<'_>> {
        self.layout.death(self.only_dead())
    }

    fn clause(&self, sql: &mut Sql, clause: &Clause, rows: Rows) {
        sql.push("(").join(&clause.any, " OR ", |sql, test| match (&clause.key, test, self.death()) {
            (Key::At, Test::Time { .. }, Some(death)) => {
                death.write(sql, rows, &|sql, expr| self.value(sql, expr, test));
            }
            _ => self.test(sql, &clause.key, test),
        });
        sql.push(if clause.negated { ") IS NOT TRUE" } else { ")" });
    }

    fn test(&self, sql: &mut Sql, key: &Key, test: &Test) {
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

    fn value(&self, sql: &mut Sql, expr: &Expr, test: &Test) {
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
        let key = &self.layout.key;
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
}

/// Whether a clause lets through what is dead, and nothing else.
fn is_dead(clause: &Clause) -> bool {
    clause.key == Key::State && !clause.negated && clause.any == [Test::State(State::Dead)]
}

/// Whether a clause asks when a job died.
fn is_of_death(clause: &Clause) -> bool {
    clause.key == Key::At && !clause.negated
}

/// Whether windows from the newest job on come to an end before the oldest, as a filter begins at a time.
pub(crate) fn has_span(layout: &Layout, clauses: &[Clause]) -> bool {
    let begins = |clause: &Clause| matches!(clause.any.as_slice(), [Test::Time { from: Some(_), .. }]);
    layout.join.is_empty() && clauses.iter().any(|clause| is_of_death(clause) && begins(clause))
}

/// Whether the database reads for it what a job brought along.
fn is_of_payload(clause: &Clause) -> bool {
    matches!(clause.key, Key::Message | Key::Word | Key::Arg(_))
}

/// Whether a clause names jobs, each by its key: whatever state they are in, they are meant. What keys look like, or which
/// they are not, names none.
fn names_jobs(clause: &Clause) -> bool {
    let is_key = |test: &Test| matches!(test, Test::Text(Pattern::Equals(_)));
    clause.key == Key::Id && !clause.negated && clause.any.iter().all(is_key)
}

/// Whether every database judges a clause as the filter language does.
fn is_exact(layout: &Layout, clause: &Clause) -> bool {
    match &clause.key {
        Key::Fingerprint => false,
        // What is looked at is what we made of it; whether there is anything, the database knows.
        Key::Arg(_) if layout.decode().is_some() => {
            clause.key == Key::Arg(Vec::new()) && clause.any.iter().all(|t| matches!(t, Test::Text(p) if p.is_none()))
        }
        Key::Arg(path) if !path.is_empty() => false,
        _ => clause.any.iter().all(|test| match test {
            Test::Text(Pattern::Regex(_)) | Test::Decimal { .. } => false,
            Test::Text(Pattern::Contains(piece)) => piece.is_ascii(),
            _ => true,
        }),
    }
}

fn test_holds_for_constant(layout: &Layout, test: &Test) -> bool {
    let word = layout.words(State::Dead).first().map_or("", String::as_str);
    matches!(test, Test::Text(p) if !p.is_none() && p.matcher().is_match(word))
}

fn as_text(layout: &Layout, expr: &Expr) -> TextExpression {
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

fn and(sql: &mut Sql, first: &mut bool) {
    if !std::mem::take(first) {
        sql.push(" AND ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Table, built_in};
    use crate::db::DatabaseKind;
    use crate::store::sql::dialect::dialect;

    #[test]
    fn only_a_term_for_states_or_a_job_named_by_its_key_reaches_jobs_that_are_not_dead() {
        let adapters = built_in();
        let adapter = adapters.first().unwrap_or_else(|| panic!("no adapter"));
        let spec = adapter.spec("postgres").unwrap_or_else(|| panic!("no layout"));
        let layout = Layout::new(dialect(DatabaseKind::Postgres), adapter, spec, "public", &Table::default());
        for (text, is_dead_only) in [
            ("", true),
            ("-id:1", true),
            ("-id:1 -id:2", true),
            ("id:1*", true),
            ("id:/^1/", true),
            ("id:1 id:2*", true),
            ("id:1", false),
            ("id:1 id:2 -id:3", false),
            ("-id:1 state:retrying", false),
            ("-state:ignored", false),
            ("-native:x", false),
        ] {
            let filter = Filter::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(WhereClause::new(&layout, &filter, Timestamp(0)).only_dead(), is_dead_only, "{text}");
        }
    }
}
