//! Rows of other tables that the database deletes or changes by itself, as the rows go that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapter::{Needs, Object, Right};
use crate::db::cells::Cells;
use crate::db::{Row, Statement};
use crate::domain::action::{Action, RowEffect};
use crate::store::diagnose::REFUSING;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::catalogue::foreign_keys::foreign_key_catalogue;
use crate::store::sql::write::row_completeness::RowCompleteness;
use crate::store::{Budget, Following, Result, SourceError};

/// A table, with its schema.
type ReferencePlace = (String, String);

/// A foreign key by which rows follow those that they refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ForeignKey {
    rows: ReferencePlace,
    of: ReferencePlace,
    rule: String,
}

impl ForeignKey {
    /// Whether rows keep those from being deleted that they refer to, and do not follow them.
    fn refuses(&self) -> bool {
        self.rule == REFUSING
    }
}

/// Rows that follow: of a table, by what they follow beside the jobs themselves, and how.
type Followers = BTreeMap<String, BTreeSet<String>>;

/// Finds the rows of other tables that go with a job.
#[derive(Clone, Copy)]
pub(crate) struct ForeignKeys<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> ForeignKeys<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    /// What an action does to rows that nobody named, where it keeps rows or keeps none of them.
    pub(crate) async fn consequences(self, action: Action, keeps: bool, budget: &Budget) -> Result<Vec<String>> {
        let needs = Needs::of(&self.context.layout.spec);
        let shapes = RowCompleteness::new(self.context).shapes_kept(action).filter(|_| keeps);
        let (is_kept, gone) = (shapes.is_some(), self.deleted_from(&needs, action));
        let followers = (!gone.is_empty()).then(|| foreign_key_catalogue(self.context.engine.kind()).followers(false));
        let statements: Vec<_> = shapes.into_iter().chain(followers).collect();
        if statements.is_empty() {
            return Ok(Vec::new());
        }
        let mut results = self.context.engine.read(&statements, budget).await?.into_iter();
        if is_kept {
            RowCompleteness::new(self.context).check_shapes(action, results.next().unwrap_or_default())?;
        }
        let mut ties = read(results.next().unwrap_or_default())?;
        if !gone.is_empty() {
            ties.extend(
                self.keys_in_other_databases(budget)
                    .await?
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|tie| !tie.refuses()),
            );
        }
        Ok(sentences(&self.following(&needs, action, &gone, &ties), action, is_kept))
    }

    /// What becomes of rows of other tables that refer to jobs, as these are deleted by any verb.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub(crate) async fn followers(self, budget: &Budget) -> Result<Following> {
        let needs = Needs::of(&self.context.layout.spec);
        let tells = foreign_key_catalogue(self.context.engine.kind());
        let seen = tells.seen_elsewhere();
        let mut ties = read(self.context.engine.read(&[tells.followers(true)], budget).await?.concat())?;
        let elsewhere = self.keys_in_other_databases(budget).await?;
        let mut out = Following { all: elsewhere.is_some(), ..Following::default() };
        match (elsewhere, seen) {
            (Some(elsewhere), _) => ties.extend(elsewhere),
            (None, Some(way)) => ties.extend(self.keys_if_allowed(way, budget).await?.unwrap_or_default()),
            (None, None) => {}
        }
        for action in Action::ALL {
            let gone = self.deleted_from(&needs, action);
            if gone.is_empty() {
                continue;
            }
            out.deletes = true;
            for (rule, tables) in self.following(&needs, action, &gone, &ties) {
                out.tables.entry(rule).or_default().extend(tables.into_keys());
            }
        }
        Ok(out)
    }

    /// The ties of all other databases of the server; `None` where the role is not shown them.
    async fn keys_in_other_databases(self, budget: &Budget) -> Result<Option<Vec<ForeignKey>>> {
        let ways = foreign_key_catalogue(self.context.engine.kind()).elsewhere();
        if ways.is_empty() {
            return Ok(Some(Vec::new()));
        }
        for way in ways {
            if let Some(ties) = self.keys_if_allowed(way, budget).await? {
                return Ok(Some(ties));
            }
        }
        Ok(None)
    }

    async fn keys_if_allowed(self, way: Statement, budget: &Budget) -> Result<Option<Vec<ForeignKey>>> {
        match self.context.engine.read(&[way], budget).await {
            Ok(results) => read(results.concat()).map(Some),
            Err(
                SourceError::Denied(_)
                | SourceError::Refused { .. }
                | SourceError::Unfit { .. }
                | SourceError::Timeout(_)
                | SourceError::Interrupted,
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The tables that an action's own statements delete rows from; none where they leave the dead-letter table's alone.
    fn deleted_from(self, needs: &Needs<'_>, action: Action) -> Vec<ReferencePlace> {
        let way = self.context.destination.kind();
        let Some(mut rights) = self.context.layout.spec.verbs.get(action).and_then(|_| needs.act(action, way)) else {
            return Vec::new();
        };
        rights.extend(needs.perhaps(action, way));
        let deleted = rights.iter().filter(|(_, right, _)| *right == Right::Delete);
        let table = |object: &Object| match object {
            Object::Own => Some(self.context.layout.spec.table.clone()),
            Object::Beside(table) => Some(table.clone()),
            Object::Target | Object::Function(_) => None,
        };
        let tables: Vec<String> = deleted.filter_map(|(object, ..)| table(object)).collect();
        match tables.contains(&self.context.layout.spec.table) {
            true => tables.into_iter().map(|table| (self.context.layout.schema.clone(), table)).collect(),
            false => Vec::new(),
        }
    }

    /// What follows the rows of the tables that an action deletes from, by what happens to it.
    fn following(
        self,
        needs: &Needs<'_>,
        action: Action,
        gone: &[ReferencePlace],
        ties: &[ForeignKey],
    ) -> BTreeMap<String, Followers> {
        let spec = &self.context.layout.spec;
        let own = (self.context.layout.schema.clone(), spec.table.clone());
        // What an adapter keeps along is kept, and of the tables that it speaks of beside its own its author knows.
        let along = spec.verbs.get(action).into_iter().flat_map(|verb| &verb.along).map(|along| along.table.get_ref());
        let along: BTreeSet<&String> = along.collect();
        let spoken = needs.tables();
        let is_told = |tie: &ForeignKey| {
            let (table, from_own) = (&tie.rows.1, tie.of == own);
            let is_known = spoken.contains(table) || spec.detect.tables.contains_key(table);
            let is_ours = gone.contains(&tie.rows) || along.contains(table) || is_known && !from_own;
            // Other jobs that refer to these are in nobody's plan.
            from_own && tie.rows == own || !(is_ours && tie.rows.0 == own.0)
        };
        let mut told: BTreeMap<String, Followers> = BTreeMap::new();
        let mut seen: BTreeSet<&ReferencePlace> = gone.iter().collect();
        let mut next: Vec<&ReferencePlace> = gone.iter().filter(|place| **place != own).collect();
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

fn label((schema, table): &ReferencePlace) -> String {
    format!("{schema}.{table}")
}

fn read(rows: Vec<Row>) -> Result<Vec<ForeignKey>> {
    rows.into_iter().map(tie).collect()
}

fn tie(row: Row) -> Result<ForeignKey> {
    let mut cells = Cells::new(row);
    let mut text = || cells.text().map(Option::unwrap_or_default);
    Ok(ForeignKey { rows: (text()?, text()?), of: (text()?, text()?), rule: text()? })
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
        let after = match action.profile().rows {
            RowEffect::Moved => ", and are not archived".to_owned(),
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
