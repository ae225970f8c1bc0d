//! Whether what is kept of rows is all of them: a row that is put back without a part of it is a loss that nobody sees.
//!
//! Columns are looked at again in each batch that keeps rows, while its transaction holds them and nobody can alter their
//! table. What can be told when a store is opened disables its verbs.

use crate::adapter::{Column, Keep, Needs, Object, Right, Route, Table, Verb};
use crate::db::cells::Cells;
use crate::db::{Row, Statement, Tx};
use crate::domain::action::Action;
use crate::store::found::Found;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::{Form, catalogue::foreign_keys::foreign_key_catalogue};
use crate::store::sql::query::layout::Layout;
use crate::store::{Budget, Outdated, Result, SourceError};

/// What a verb keeps of each row.
pub(crate) fn keep_of(verb: &Verb) -> &Keep {
    static WHOLE: Keep = Keep::Whole(true);
    if verb.archive { &WHOLE } else { &verb.keep }
}

/// Checks that what is kept of a row is all of it.
#[derive(Clone, Copy)]
pub(crate) struct RowCompleteness<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> RowCompleteness<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    /// Stops a batch where the tables whose rows it keeps are no longer as they were when the store was opened.
    pub(crate) async fn check_kept(self, tx: &mut Tx<'_>, action: Action) -> Result<()> {
        match self.shapes_kept(action) {
            Some(statement) => self.check_shapes(action, tx.fetch(statement).await?),
            None => Ok(()),
        }
    }

    /// The same, once a batch was refused that may have been refused for that. Nothing is wrong where it cannot be told.
    pub(crate) async fn check_kept_now(self, action: Action, budget: &Budget) -> Result<()> {
        let Some(statement) = self.shapes_kept(action) else { return Ok(()) };
        let rows = self.context.engine.read(&[statement], budget).await.unwrap_or_default().pop().unwrap_or_default();
        // A table without columns is not there, and opening it anew mends nothing.
        if rows.is_empty() { Ok(()) } else { self.check_shapes(action, rows) }
    }

    /// Asks what the tables are whose rows an action keeps; `None` where it keeps none.
    pub(crate) fn shapes_kept(self, action: Action) -> Option<Statement> {
        let verb = self.context.layout.spec.verbs.get(action).filter(|verb| !keep_of(verb).is_nothing())?;
        let along = verb.along.iter().map(|along| along.table.get_ref().clone());
        let tables: Vec<String> = std::iter::once(self.context.layout.spec.table.clone()).chain(along).collect();
        Some(foreign_key_catalogue(self.context.engine.kind()).shapes(&self.context.layout.schema, &tables))
    }

    /// What is wrong with what they are.
    pub(crate) fn check_shapes(self, action: Action, rows: Vec<Row>) -> Result<()> {
        let Some(verb) = self.context.layout.spec.verbs.get(action) else { return Ok(()) };
        let (own, whole) = (&self.context.layout.spec.table, Keep::Whole(true));
        let mut known = vec![(own, keep_of(verb), self.context.layout.columns.as_slice(), Vec::new())];
        known.extend(verb.along.iter().map(|along| {
            let table = along.table.get_ref();
            (table, &whole, self.context.along.get(table).map_or(&[][..], Vec::as_slice), Vec::new())
        }));
        for row in rows {
            let mut cells = Cells::new(row);
            let mut text = || cells.text().map(Option::unwrap_or_default);
            let (table, name, data_type) = (text()?, text()?, text()?);
            if cells.int()? == Some(1) {
                return Err(SourceError::Input(inherited(&table, &[])));
            }
            if let Some((.., now)) = known.iter_mut().find(|(of, ..)| **of == table) {
                now.push((name, data_type));
            }
        }
        for (table, keep, then, now) in &known {
            let changed = changed(keep, then, now);
            if !changed.is_empty() {
                let table = format!("{}.{table}", self.context.layout.schema);
                return Err(SourceError::Outdated(Outdated {
                    table,
                    columns: changed.into_iter().map(str::to_owned).collect(),
                }));
            }
        }
        Ok(())
    }
}

/// The columns among those that are kept that came, went, or have another type.
fn changed<'a>(keep: &Keep, then: &'a [Column], now: &'a [(String, String)]) -> Vec<&'a str> {
    let is =
        |column: &Column, (name, data_type): &(String, String)| column.name == *name && column.data_type == *data_type;
    let others =
        then.iter().filter(|column| !now.iter().any(|other| is(column, other))).map(|column| column.name.as_str());
    let mut names: Vec<&str> = others.collect();
    let come = now.iter().filter(|other| !then.iter().any(|column| is(column, other))).map(|(name, _)| name.as_str());
    names.extend(come);
    names.retain(|name| keep.holds(name));
    names.sort_unstable();
    names.dedup();
    names
}

/// Why a verb cannot be used: what it would delete and keep is less than what is there.
pub(crate) fn partial(layout: &Layout, found: &Found, way: Route, action: Action) -> Option<String> {
    let verb = layout.spec.verbs.get(action)?;
    let beside = |name: &str| found.neighbours().and_then(|tables| tables.get(name));
    let put_back = verb.along.iter().filter(|along| !along.stays).map(|along| along.table.get_ref().as_str());
    let moved: Vec<(&str, &Table)> = put_back.filter_map(|name| Some((name, beside(name)?))).collect();
    let own = (found.table.as_str(), &found.columns);
    let tables = std::iter::once((own.0, own.1, keep_of(verb))).chain(kept_related(verb, found));
    if let Some(reason) = tables.into_iter().find_map(|(name, table, keep)| inexact(layout, name, table, keep)) {
        return Some(reason);
    }
    let heirs = |(name, table): (&str, &Table)| {
        table.heirs.as_ref().filter(|heirs| !heirs.is_empty()).map(|heirs| inherited(name, heirs))
    };
    let whole =
        |(name, table): (&str, &Table)| if table.is_view { Some(seen_through(name)) } else { heirs((name, table)) };
    let moves = || {
        let needs = Needs::of(&layout.spec);
        let mut rights = needs.act(action, way).unwrap_or_default();
        rights.extend(needs.perhaps(action, way));
        rights.iter().any(|(on, right, _)| *on == Object::Own && matches!(right, Right::Delete | Right::Insert))
    };
    heirs(own).or_else(|| whole(own).filter(|_| moves())).or_else(|| moved.into_iter().find_map(whole))
}

/// The tables whose rows are kept whole beside those of the jobs.
fn kept_related<'a>(verb: &'a Verb, found: &'a Found) -> impl Iterator<Item = (&'a str, &'a Table, &'a Keep)> {
    static WHOLE: Keep = Keep::Whole(true);
    let tables = found.neighbours();
    verb.along.iter().filter_map(move |along| {
        let name = along.table.get_ref().as_str();
        Some((name, tables?.get(name)?, &WHOLE))
    })
}

/// Why rows of a table are not kept: one of the columns has a type whose values could not be put back as they were.
fn inexact(layout: &Layout, name: &str, table: &Table, keep: &Keep) -> Option<String> {
    let lost = |column: &&Column| keep.holds(&column.name) && layout.dialect.snapshot_value(column).1 == Form::Lossy;
    let column = table.columns.iter().find(lost)?;
    Some(format!(
        "{name}.{} is {}, a type whose values cannot be kept and put back exactly: an undo would lose them",
        column.name, column.data_type
    ))
}

/// Why nothing is done with a table that others inherit from.
fn inherited(name: &str, heirs: &[String]) -> String {
    let of = if heirs.is_empty() { String::new() } else { format!(" ({})", heirs.join(", ")) };
    format!(
        "tables inherit from {name}{of}: what is done with its rows reaches theirs too, which could only be put back into {name}, \
         without the columns that they have beside its own"
    )
}

/// Why no row is deleted through a view.
fn seen_through(name: &str) -> String {
    format!(
        "{name} is a view, or stands elsewhere: what it does not show of a row would go with it, and could not be put back; \
         an adapter for the table itself can do it (`dlq-tui adapters init --table TABLE`)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_kept_has_to_be_as_it_was() {
        let column = |name: &str, data_type: &str| Column {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            nullable: true,
            collation: None,
            times: None,
        };
        let now = |columns: &[(&str, &str)]| -> Vec<(String, String)> {
            columns.iter().map(|(name, data_type)| ((*name).to_owned(), (*data_type).to_owned())).collect()
        };
        let then = [column("id", "bigint"), column("queue", "text")];
        let (whole, some) = (Keep::Whole(true), Keep::Columns(vec!["queue".to_owned()]));
        let same = now(&[("queue", "text"), ("id", "bigint")]);
        assert!(changed(&whole, &then, &same).is_empty());
        let other = now(&[("id", "integer"), ("queue", "text"), ("sla", "text")]);
        assert_eq!(changed(&whole, &then, &other), ["id", "sla"]);
        assert!(changed(&some, &then, &other).is_empty());
        assert_eq!(changed(&some, &then, &other[..1]), ["queue"]);
    }
}
