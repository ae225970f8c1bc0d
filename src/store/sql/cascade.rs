//! Rows of other tables that the database deletes or changes by itself, as the rows go that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use super::SqlStore;
use super::dialect::ties::ties;
use super::engine::Row;
use super::row::Cells;
use crate::adapter::{Needs, Object, Right};
use crate::domain::action::Action;
use crate::store::{Budget, Result};

/// A table, with its schema.
type Place = (String, String);

/// A foreign key by which rows follow those that they refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tie {
    rows: Place,
    of: Place,
    rule: String,
}

/// Rows that follow: of a table, by what they follow beside the jobs themselves, and how.
type Followers = BTreeMap<String, BTreeSet<String>>;

impl SqlStore {
    /// What an action does to rows that nobody named, where it keeps rows or keeps none of them.
    pub(super) async fn look_for_consequences(
        &self,
        action: Action,
        keeps: bool,
        budget: &Budget,
    ) -> Result<Vec<String>> {
        let needs = Needs::of(&self.layout.spec, self.engine.dialect().word());
        let shapes = self.shapes_kept(action).filter(|_| keeps);
        let (is_kept, gone) = (shapes.is_some(), self.deleted_from(&needs, action));
        let followers = (!gone.is_empty()).then(|| ties(self.engine.dialect()).followers());
        let statements: Vec<_> = shapes.into_iter().chain(followers).collect();
        if statements.is_empty() {
            return Ok(Vec::new());
        }
        let mut results = self.engine.read(&statements, budget).await?.into_iter();
        if is_kept {
            self.check_shapes(action, results.next().unwrap_or_default())?;
        }
        let ties = results.next().unwrap_or_default().into_iter().map(tie).collect::<Result<Vec<Tie>>>()?;
        Ok(sentences(&self.following(&needs, action, &gone, &ties), action, is_kept))
    }

    /// The tables that an action's own statements delete rows from; none where they leave the dead-letter table's alone.
    fn deleted_from(&self, needs: &Needs<'_>, action: Action) -> Vec<Place> {
        let way = self.destination.kind();
        let Some(mut rights) = self.layout.spec.verbs.get(action).and_then(|_| needs.act(action, way)) else {
            return Vec::new();
        };
        rights.extend(needs.perhaps(action, way));
        let deleted = rights.iter().filter(|(_, right, _)| *right == Right::Delete);
        let table = |object: &Object| match object {
            Object::Own => Some(self.layout.spec.table.clone()),
            Object::Beside(table) => Some(table.clone()),
            Object::Target | Object::Function(_) => None,
        };
        let tables: Vec<String> = deleted.filter_map(|(object, ..)| table(object)).collect();
        match tables.contains(&self.layout.spec.table) {
            true => tables.into_iter().map(|table| (self.layout.schema.clone(), table)).collect(),
            false => Vec::new(),
        }
    }

    /// What follows the rows of the tables that an action deletes from, by what happens to it.
    fn following(
        &self,
        needs: &Needs<'_>,
        action: Action,
        gone: &[Place],
        ties: &[Tie],
    ) -> BTreeMap<String, Followers> {
        let spec = &self.layout.spec;
        let own = (self.layout.schema.clone(), spec.table.clone());
        // What an adapter keeps along is kept, and of the tables that it speaks of beside its own its author knows.
        let along = spec.verbs.get(action).into_iter().flat_map(|verb| &verb.along).map(|along| along.table.get_ref());
        let along: BTreeSet<&String> = along.collect();
        let spoken = needs.tables();
        let is_told = |tie: &Tie| {
            let (table, from_own) = (&tie.rows.1, tie.of == own);
            let is_known = spoken.contains(table) || spec.detect.tables.contains_key(table);
            let is_ours = gone.contains(&tie.rows) || along.contains(table) || is_known && !from_own;
            // Other jobs that refer to these are in nobody's plan.
            from_own && tie.rows == own || !(is_ours && tie.rows.0 == own.0)
        };
        let mut told: BTreeMap<String, Followers> = BTreeMap::new();
        let mut seen: BTreeSet<&Place> = gone.iter().collect();
        let mut next: Vec<&Place> = gone.iter().filter(|place| **place != own).collect();
        next.push(&own);
        while let Some(place) = next.pop() {
            for tie in ties.iter().filter(|tie| tie.of == *place) {
                if is_told(tie) {
                    let by = if gone.contains(place) { String::new() } else { label(place) };
                    told.entry(tie.rule.clone()).or_default().entry(label(&tie.rows)).or_default().insert(by);
                }
                if tie.rule == "CASCADE" && seen.insert(&tie.rows) {
                    next.push(&tie.rows);
                }
            }
        }
        told
    }
}

fn label((schema, table): &Place) -> String {
    format!("{schema}.{table}")
}

fn tie(row: Row) -> Result<Tie> {
    let mut cells = Cells::new(row);
    let mut text = || cells.text().map(Option::unwrap_or_default);
    Ok(Tie { rows: (text()?, text()?), of: (text()?, text()?), rule: text()? })
}

/// What happens, a sentence for each way of it.
fn sentences(told: &BTreeMap<String, Followers>, action: Action, is_kept: bool) -> Vec<String> {
    let sentence = |(rule, tables): (&String, &Followers)| {
        let name = |(table, by): (&String, &BTreeSet<String>)| match by.iter().find(|by| !by.is_empty()) {
            Some(by) if !by_itself(tables, table) => format!("{table} (by way of {by})"),
            _ => table.clone(),
        };
        let names: Vec<String> = tables.iter().map(name).collect();
        let (what, back) = match rule.as_str() {
            "CASCADE" => ("are deleted along with them by the database", "does not bring them back"),
            "SET NULL" => ("are made by the database to refer to nothing", "does not change them back"),
            _ => ("are made by the database to refer to their default", "does not change them back"),
        };
        let after = match action {
            Action::Archive => ", and are not archived".to_owned(),
            _ if is_kept => format!(", and an undo {back}"),
            _ => String::new(),
        };
        format!("rows of {} that refer to these jobs {what} (ON DELETE {rule}){after}", names.join(", "))
    };
    told.iter().map(sentence).collect()
}

/// Whether rows of a table refer to the jobs themselves.
fn by_itself(tables: &Followers, table: &str) -> bool {
    tables.get(table).is_some_and(|by| by.contains(""))
}
