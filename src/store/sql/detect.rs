//! Which layouts a database holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dialect::speech;
use super::engine::{Dialect, Engine, EngineOptions, Row, Statement};
use super::open::ReplayDestination;
use super::row::Cells;
use super::target::Target;
use crate::adapter::{Adapter, Column, Misfit, RowSecurity, Spec, Table, fit, function, veiled};
use crate::domain::action::Action;
use crate::store::{Budget, Result};

/// A layout that was found in a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Name of the adapter that fits.
    pub adapter: String,
    /// One line for pickers: the adapter's title.
    pub title: String,
    /// The schema (or database) that the table is in.
    pub schema: String,
    /// The dead-letter table.
    pub table: String,
    /// Which of the adapter's variants it is.
    pub(super) variant: usize,
    /// Why nothing can be written safely, where that is so.
    pub(super) unsafe_to_write: Option<String>,
    /// What the role is not shown, where rows may be hidden from it.
    pub warnings: Vec<String>,
    pub(super) columns: Table,
    /// The tables that were asked for along with it.
    pub(super) seen: Arc<Seen>,
}

impl Found {
    /// The tables that were seen in its schema.
    pub(super) fn neighbours(&self) -> Option<&BTreeMap<String, Table>> {
        self.seen.catalogue.iter().find(|(schema, _)| *schema == self.schema).map(|(_, tables)| tables)
    }

    /// What the adapter says of this layout; `None` when it does not speak for this database.
    pub(super) fn spec<'a>(&self, adapter: &'a Adapter, dialect: &str) -> Option<&'a Spec> {
        adapter.variants(dialect).get(self.variant)
    }

    /// Schema and table, as `--store` takes them and pickers show them.
    pub fn label(&self) -> String {
        format!("{}.{}", self.schema, self.table)
    }
}

/// A table that has the name of a layout's but does not fit it, or a layout whose table is not there at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Name of the adapter.
    pub adapter: String,
    /// The schema looked at; `None` when no schema has the table.
    pub schema: Option<String>,
    /// Why.
    pub reasons: Vec<Misfit>,
}

impl Rejected {
    /// Why, in one line.
    pub fn why(&self) -> String {
        self.reasons.iter().map(|misfit| misfit.sentence.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// What a database holds of what the adapters know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detection {
    /// Layouts that fit; those in the default schema first.
    pub found: Vec<Found>,
    /// And those that do not, with the reasons.
    pub rejected: Vec<Rejected>,
}

/// Schemas with their tables, in the catalogue's order (the default schema first).
pub(in crate::store) type Catalogue = Vec<(String, BTreeMap<String, Table>)>;

/// What the catalogue said of some tables.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// The tables that it was asked for.
    pub(super) names: Vec<String>,
    pub(super) catalogue: Catalogue,
}

/// Connects to a database and finds every layout in it that the adapters know, in every schema that the role sees. The
/// destination of replayed jobs is looked at along with them.
///
/// # Errors
/// When the database cannot be reached, or its catalogue not be read.
pub async fn survey(
    target: &Target,
    options: &EngineOptions,
    adapters: &[Adapter],
    destination: &ReplayDestination,
    budget: &Budget,
) -> Result<(Engine, Detection)> {
    let dialect = target.dialect();
    let specs = specs(adapters, dialect);
    let mut names = names(&specs);
    // Which schema is the store's own is not known yet, and makes no difference to the names.
    names.extend(destination.table_names(""));
    let statements = catalogue_statement(dialect, &names);
    let (engine, mut results) = Engine::connect_reading(target, options, std::future::ready(statements.into_iter().collect()), budget).await?;
    let catalogue = catalogue(results.pop().unwrap_or_default())?;
    Ok((engine, matched(&specs, Seen { names, catalogue })))
}

/// Finds every layout that the adapters know, in every schema that the role sees.
///
/// # Errors
/// When the catalogue cannot be read.
pub async fn detect(engine: &Engine, adapters: &[Adapter], budget: &Budget) -> Result<Detection> {
    let specs = specs(adapters, engine.dialect());
    let names = names(&specs);
    let catalogue = read_catalogue(engine, &names, budget).await?;
    Ok(matched(&specs, Seen { names, catalogue }))
}

/// Adapters with their variants, in the order in which they are tried.
type Specs<'a> = Vec<(&'a Adapter, &'a [Spec])>;

fn specs(adapters: &[Adapter], dialect: Dialect) -> Specs<'_> {
    adapters.iter().map(|a| (a, a.variants(dialect.word()))).filter(|(_, variants)| !variants.is_empty()).collect()
}

/// The tables that tell the layouts apart.
fn names(specs: &Specs<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for spec in specs.iter().flat_map(|(_, variants)| variants.iter()) {
        names.push(spec.table.clone());
        names.extend(spec.detect.tables.keys().cloned());
        names.extend(spec.detect.functions.iter().map(|name| function(name)));
        let verbs = Action::ALL.into_iter().filter_map(|action| spec.verbs.get(action));
        names.extend(verbs.flat_map(|verb| &verb.along).map(|along| along.table.get_ref().clone()));
    }
    names.sort();
    names.dedup();
    names
}

/// The layouts that a catalogue holds.
fn matched(specs: &Specs<'_>, seen: Seen) -> Detection {
    let seen = Arc::new(seen);
    let mut detection = Detection::default();
    for (schema, tables) in &seen.catalogue {
        for (adapter, variants) in specs {
            let there = variants.iter().enumerate().filter(|(_, spec)| tables.contains_key(&spec.table));
            let mut misfits: Vec<Vec<Misfit>> = Vec::new();
            let mut found = None;
            for (variant, spec) in there {
                match fit(spec, |name| tables.get(name)) {
                    reasons if reasons.is_empty() => {
                        found = Some((variant, spec));
                        break;
                    }
                    reasons => misfits.push(reasons),
                }
            }
            match (found, misfits.into_iter().min_by_key(Vec::len)) {
                (Some((variant, spec)), _) => {
                    detection.found.push(found_as(adapter, (variant, spec), schema, tables, &seen));
                }
                (None, Some(reasons)) => {
                    let schema = Some(schema.clone());
                    detection.rejected.push(Rejected { adapter: adapter.name.clone(), schema, reasons });
                }
                (None, None) => {}
            }
        }
    }
    for (adapter, variants) in specs {
        let there = |spec: &Spec| seen.catalogue.iter().any(|(_, tables)| tables.contains_key(&spec.table));
        if let Some(spec) = variants.last().filter(|_| !variants.iter().any(there)) {
            let reasons = fit(spec, |_| None);
            detection.rejected.push(Rejected { adapter: adapter.name.clone(), schema: None, reasons });
        }
    }
    detection
}

fn found_as(
    adapter: &Adapter,
    (variant, spec): (usize, &Spec),
    schema: &str,
    tables: &BTreeMap<String, Table>,
    seen: &Arc<Seen>,
) -> Found {
    Found {
        adapter: adapter.name.clone(),
        title: spec.title.clone(),
        schema: schema.to_owned(),
        table: spec.table.clone(),
        variant,
        unsafe_to_write: std::iter::once(&spec.table)
            .chain(spec.detect.tables.keys())
            .find_map(|name| without_transactions(name, tables.get(name)?)),
        warnings: std::iter::once(&spec.table)
            .chain(spec.detect.tables.keys())
            .filter_map(|name| veiled(name, tables.get(name)?))
            .collect(),
        columns: tables.get(&spec.table).cloned().unwrap_or_default(),
        seen: Arc::clone(seen),
    }
}

/// Why a table cannot be written to: neither could two statements take effect together, nor a row be held.
pub(super) fn without_transactions(name: &str, table: &Table) -> Option<String> {
    let engine = table.without_transactions.as_ref()?;
    Some(format!(
        "{name} is a {engine} table, which has no transactions: a job could be lost between two statements, or be taken \
         by two at once; ALTER TABLE {name} ENGINE = InnoDB makes it safe"
    ))
}

/// The named tables of every schema that the role sees.
pub(in crate::store) async fn read_catalogue(engine: &Engine, names: &[String], budget: &Budget) -> Result<Catalogue> {
    match catalogue_statement(engine.dialect(), names) {
        Some(statement) => catalogue(engine.read(&[statement], budget).await?.pop().unwrap_or_default()),
        None => Ok(Vec::new()),
    }
}

/// Puts a column at its places in indexes: lines of place (from 1) and index. Behind the place stands `p` where the index is
/// the primary key, `u` where it is another one that no two rows have the same entry in; a key that is no index has no name.
fn index(table: &mut Table, column: &str, places: &str) {
    let put = |columns: &mut Vec<String>, place: usize| {
        columns.resize(columns.len().max(place), String::new());
        if let Some(slot) = columns.get_mut(place.saturating_sub(1)) {
            column.clone_into(slot);
        }
    };
    for (place, name) in places.lines().filter_map(|line| line.split_once(' ')) {
        let digits = place.trim_end_matches(['p', 'u']);
        let Ok(at) = digits.parse::<usize>() else { continue };
        if !name.is_empty() {
            put(table.indexes.entry(name.to_owned()).or_default(), at);
        }
        match &place[digits.len()..] {
            "p" => put(table.unique.entry(String::new()).or_default(), at),
            "u" => put(table.unique.entry(name.to_owned()).or_default(), at),
            _ => {}
        }
    }
}

/// What asks for the named tables; nothing where none is named.
fn catalogue_statement(dialect: Dialect, names: &[String]) -> Option<Statement> {
    (!names.is_empty()).then(|| speech(dialect).catalogue(names))
}

fn catalogue(rows: Vec<Row>) -> Result<Catalogue> {
    let mut catalogue: Catalogue = Vec::new();
    for row in rows {
        let mut cells = Cells::new(row);
        let mut text = || cells.text().map(Option::unwrap_or_default);
        let (schema, table, name, data_type) = (text()?, text()?, text()?, text()?);
        let column = Column { name, data_type, nullable: cells.int()? != Some(0), collation: cells.text()? };
        if catalogue.last().is_none_or(|(last, _)| *last != schema) {
            catalogue.push((schema, BTreeMap::new()));
        }
        if let Some((_, tables)) = catalogue.last_mut() {
            let table = tables.entry(table).or_default();
            let name = column.name.clone();
            table.columns.push(column);
            table.without_transactions = cells.text()?;
            index(table, &name, cells.text()?.as_deref().unwrap_or_default());
            table.row_security = cells.text()?.map(|role| RowSecurity { role, shows_some: false });
            if let (Some(1), Some(security)) = (cells.int()?, table.row_security.as_mut()) {
                security.shows_some = true;
            }
            table.is_partitioned = cells.int()? == Some(1);
            table.is_view = cells.int()? == Some(1);
        }
    }
    Ok(catalogue)
}
