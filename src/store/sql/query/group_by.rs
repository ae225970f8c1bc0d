//! Statements that count by a facet.

use crate::adapter::{FieldKind, Part};
use crate::db::cells::Cells;
use crate::db::{Row, Statement};
use crate::domain::facet::Facet;
use crate::domain::fingerprint::Fingerprint;
use crate::domain::job::State;
use crate::domain::text::{Untrusted, head};
use crate::domain::time::Timestamp;
use crate::store::Result;
use crate::store::sql::dialect::TextExpression;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::{contract, message_head};
use crate::store::sql::query::layout::{Expr, Layout, part_of_facet};
use crate::store::sql::query::where_clause::WhereClause;

/// Texts of class and message that are read at a time.
const MOST_TOLD: usize = 20_000;
/// Characters of an example.
const EXAMPLE: usize = 160;

/// What is counted for one value (and, where asked for, in one slot).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) n: u64,
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
    /// The message of one of them, where the value needs it.
    pub(crate) example: Option<Untrusted>,
}

impl Tally {
    /// Whether the times of all of them are known, and all of them before `end` where there is one.
    pub(crate) fn is_timed(&self, end: Option<Timestamp>) -> bool {
        self.first.is_some() && self.last.is_some_and(|last| end.is_none_or(|end| last < end))
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.n = self.n.saturating_add(other.n);
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = [self.last, other.last].into_iter().flatten().max();
        if self.example.is_none() {
            self.example.clone_from(&other.example);
        }
    }
}

/// One row of a count.
pub(crate) struct Counted {
    pub(crate) value: Option<String>,
    pub(crate) slot: Option<i64>,
    pub(crate) tally: Tally,
}

/// A facet that the database can count by.
pub(crate) struct Grouping<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) facet: Facet,
}

impl Grouping<'_> {
    /// The facet's expression, told apart exactly.
    pub(crate) fn value(&self) -> String {
        let dialect = self.layout.dialect;
        let at = self.layout.part(Part::At);
        match (self.facet, at) {
            (Facet::Hour, Some(at)) => dialect.hour(&at.raw, at.kind),
            (Facet::Fingerprint, _) => {
                let of = |part: Option<String>| part.map_or("''".to_owned(), |text| format!("COALESCE({text}, '')"));
                let class = of(self.layout.part(Part::Error).map(|_| contract(self.layout, Part::Error)));
                let message = of(message_head(self.layout));
                dialect.group(&TextExpression::spoken(dialect.concat(&[&class, &format!("'{BETWEEN}'"), &message])))
            }
            (facet, _) => match part_of_facet(facet).and_then(|p| self.layout.part(p)) {
                Some(expr) if expr.kind == FieldKind::Text => dialect.group(&expr.text()),
                Some(expr) => dialect.contract(&expr.raw, expr.kind),
                None => "NULL".to_owned(),
            },
        }
    }

    /// Counts by value; `slot`, where given, writes a whole-number expression to count by as well, and `within` writes a
    /// further condition.
    pub(crate) fn statement(
        &self,
        judge: &WhereClause<'_>,
        slot: Option<&(dyn Fn(&mut Sql) + Sync)>,
        within: impl FnOnce(&mut Sql),
    ) -> Statement {
        self.statement_over(&self.layout.tables.from, judge, slot, within)
    }

    /// The same over another row source, `t` with what is joined to it.
    pub(crate) fn statement_over(
        &self,
        from: &str,
        judge: &WhereClause<'_>,
        slot: Option<&(dyn Fn(&mut Sql) + Sync)>,
        within: impl FnOnce(&mut Sql),
    ) -> Statement {
        let (at, kind) = self.at();
        // What is no time would be the first of all, or the last, and hide those that are.
        let time = format!("CASE WHEN {} THEN {at} END", self.layout.dialect.is_countable(&at, kind));
        self.counting(from, judge, &time, slot, within)
    }

    /// The same, by value alone and quicker, where every row has a time that can be told. Where one has none, it shows as a
    /// value without a first or without a last time; see [`Tally::is_timed`].
    pub(crate) fn statement_of_timed(&self, judge: &WhereClause<'_>, within: impl FnOnce(&mut Sql)) -> Statement {
        self.timed_over(&self.layout.tables.from, judge, within)
    }

    /// The same over another row source, `t` with what is joined to it.
    pub(crate) fn timed_over(&self, from: &str, judge: &WhereClause<'_>, within: impl FnOnce(&mut Sql)) -> Statement {
        self.counting(from, judge, &self.at().0, None, within)
    }

    fn counting(
        &self,
        from: &str,
        judge: &WhereClause<'_>,
        time: &str,
        slot: Option<&(dyn Fn(&mut Sql) + Sync)>,
        within: impl FnOnce(&mut Sql),
    ) -> Statement {
        let (dialect, kind) = (self.layout.dialect, self.at().1);
        let mut sql = Sql::new(dialect);
        let slot_out = if slot.is_some() { "s" } else { "NULL" };
        let (min, max) = (dialect.contract("min(a)", kind), dialect.contract("max(a)", kind));
        sql.push(&format!(
            "SELECT {}, {slot_out}, count(*), {min}, {max} FROM (SELECT {} AS v, {time} AS a",
            dialect.contract("v", FieldKind::Text),
            self.value(),
        ));
        if let Some(slot) = slot {
            sql.push(", ");
            slot(&mut sql);
            sql.push(" AS s");
        }
        sql.push(&format!(" FROM {from} WHERE "));
        judge.push(&mut sql);
        within(&mut sql);
        sql.push(&format!(") AS x GROUP BY {}", dialect.group_key("v")));
        if slot.is_some() {
            sql.push(", s");
        }
        sql.done()
    }

    /// The instant of death.
    pub(crate) fn at(&self) -> (String, FieldKind) {
        self.layout.part(Part::At).map_or(("NULL".to_owned(), FieldKind::EpochMs), |e: &Expr| (e.raw.clone(), e.kind))
    }

    /// Rows of a window at the most: where values are told apart here, each row may bring one of its own.
    pub(crate) fn most_rows(&self) -> usize {
        if self.facet == Facet::Fingerprint { MOST_TOLD } else { usize::MAX }
    }

    /// Reads the rows of [`Grouping::statement`].
    pub(crate) fn read(&self, rows: Vec<Row>) -> Result<Vec<Counted>> {
        rows.into_iter()
            .map(|row| {
                let mut cells = Cells::new(row);
                let (value, example) = self.bar_value(cells.text()?);
                Ok(Counted {
                    value,
                    slot: cells.int()?,
                    tally: Tally {
                        n: cells.count()?,
                        first: cells.int()?.map(Timestamp),
                        last: cells.int()?.map(Timestamp),
                        example,
                    },
                })
            })
            .collect()
    }

    /// The value as a bar shows it, with an example where it needs one: what a fingerprint is made of becomes it, so that
    /// several values of the database's may be one.
    pub(crate) fn bar_value(&self, value: Option<String>) -> (Option<String>, Option<Untrusted>) {
        if self.facet != Facet::Fingerprint {
            return (self.word(value), None);
        }
        let value = value.unwrap_or_default();
        let (class, message) = value.split_once(BETWEEN).unwrap_or(("", &value));
        (Some(Fingerprint::of(Some(class), Some(message)).to_string()), example(message))
    }

    fn word(&self, value: Option<String>) -> Option<String> {
        match (self.facet, self.layout.part(Part::State)) {
            (Facet::State, Some(_)) => {
                Some(self.layout.state_of(value.as_deref().unwrap_or_default()).word().to_owned())
            }
            (Facet::State, None) => Some(State::Dead.word().to_owned()),
            _ => value,
        }
    }
}

/// What stands between class and message where both are counted by; no class has it.
const BETWEEN: char = '\u{1}';

/// A message as an example shows it.
pub(crate) fn example(message: &str) -> Option<Untrusted> {
    let line = message.lines().find(|line| !line.trim().is_empty())?;
    Some(Untrusted::from(head(line.trim(), EXAMPLE)))
}

/// A value as the contract carries it.
pub(crate) fn untrusted(value: &Option<String>) -> Option<Untrusted> {
    value.as_deref().map(Untrusted::from)
}
