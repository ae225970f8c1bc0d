//! A filter as a statement's condition: exact where the database can judge as the filter language does, and for the
//! rest a condition that lets every match through, with the last word in memory.
//!
//! `replayed:`, `run:` and `outcome:` are for the ledger to judge and are passed over here.

mod condition;
mod prefilter;

pub(crate) use condition::Condition;
use prefilter::{Pieces, Prefilter};

use crate::adapter::Part;
use crate::domain::filter::{Clause, CompiledFilter, Filter, Key, Pattern, Test, TimeBound};
use crate::domain::job::State;
use crate::domain::time::Timestamp;
use crate::store::SortKey;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::time_of_death::{Death, Rows};

/// Which columns are read beside the light ones: the heavy ones that the last word in memory needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    pub(crate) message: bool,
    pub(crate) arguments: bool,
    /// Where the job failed, and the columns that nothing else shows.
    pub(crate) compared: bool,
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
    condition: Condition<'a>,
    /// What remains to be judged in memory; `None` when the condition says it all.
    pub(crate) rest: Option<CompiledFilter>,
    /// What that needs.
    pub(crate) extras: Extras,
}

impl<'a> WhereClause<'a> {
    /// Splits a filter between the database and us. Times that are still relative count from `now`: a bound that was
    /// dropped would select more than was meant.
    pub(crate) fn new(layout: &'a Layout, filter: &Filter, now: Timestamp) -> Self {
        debug_assert!(!filter.names_marks(), "whoever knows the ledger has to resolve marks");
        let filter = &filter.resolve(now);
        let clauses = filter.clauses().iter().filter(|c| !c.key.is_of_ledger());
        let (exact, loose): (Vec<Clause>, Vec<Clause>) = clauses.cloned().partition(|c| is_exact(layout, c));
        let mut extras = Extras::default();
        for clause in &loose {
            match &clause.key {
                Key::Message | Key::Word => extras.message = true,
                Key::Arg(_) => extras.arguments = true,
                _ => {}
            }
        }
        let rest = (!loose.is_empty()).then(|| filter.compile_only(now, |c| loose.contains(c)));
        let dead_only = !filter.clauses().iter().any(Clause::names_states);
        Self { layout, exact, loose, dead_only, condition: Condition::new(layout), rest, extras }
    }

    /// A judge of everything, whatever its state.
    pub(crate) fn everything(layout: &'a Layout) -> Self {
        Self { dead_only: false, ..Self::new(layout, &Filter::all(), Timestamp(0)) }
    }

    /// The same, of a table that may hold few dead jobs among others.
    pub(crate) fn of_few_dead(&self) -> Self {
        let (exact, loose, rest) = (self.exact.clone(), self.loose.clone(), self.rest.clone());
        let condition = Condition { mostly_dead: false, ..self.condition };
        Self { exact, loose, rest, condition, ..*self }
    }

    /// Whether only dead jobs can match.
    pub(crate) fn only_dead(&self) -> bool {
        self.dead_only || self.exact.iter().any(is_dead)
    }

    /// Whether the primary key decides: then no scan is ever long.
    pub(crate) fn by_key(&self) -> bool {
        self.exact.iter().any(Clause::names_jobs)
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
            self.condition.state(sql, State::Dead);
        }
        let mut first = !asks_state;
        for clause in &self.exact {
            and(sql, &mut first);
            self.clause(sql, clause, rows);
        }
        let prefilter = Prefilter { layout: self.layout };
        for clause in self.loose.iter().filter(|c| !c.negated) {
            let pieces: Option<Vec<Pieces>> = clause.any.iter().map(|t| prefilter.required(&clause.key, t)).collect();
            if let Some(alternatives) = pieces {
                and(sql, &mut first);
                prefilter.superset(sql, &clause.key, &alternatives);
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
        if !self.layout.tables.join.is_empty() || is_unserved {
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
                death.write(sql, rows, &|sql, expr| self.condition.value(sql, expr, test));
            }
            _ => self.condition.test(sql, &clause.key, test),
        });
        sql.push(if clause.negated { ") IS NOT TRUE" } else { ")" });
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
    layout.tables.join.is_empty() && clauses.iter().any(|clause| is_of_death(clause) && begins(clause))
}

/// Whether the database reads for it what a job brought along.
fn is_of_payload(clause: &Clause) -> bool {
    matches!(clause.key, Key::Message | Key::Word | Key::Arg(_))
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
