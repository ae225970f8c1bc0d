//! Which layouts a database holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::adapter::{Adapter, Column, Lacks, Misfit, RowSecurity, Spec, Table, fit, function, veiled};
use crate::db::cells::Cells;
use crate::db::target::Target;
use crate::db::{DatabaseKind, Engine, EngineOptions, Row, Statement};
use crate::store::found::{CatalogueTables, Found, Rejected, Seen};
use crate::store::open_options::ReplayDestination;
use crate::store::sql::dialect::catalogue::foreign_keys::foreign_key_catalogue;
use crate::store::sql::dialect::{IndexPlace, Place, Unique, catalogue::privileges, dialect};
use crate::store::sql::schema::archive_name::archive_table_name;
use crate::store::sql::schema::epoch_columns;
use crate::store::{Budget, Result, SourceError};

/// What a database holds of what the adapters know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detection {
    /// Layouts that fit; those in the default schema first.
    pub found: Vec<Found>,
    /// And those that do not, with the reasons.
    pub rejected: Vec<Rejected>,
}

/// Connects to a database and finds every layout in it that the adapters know, in every schema that the role sees. The
/// adapters may be read while the connection is made. The destination of replayed jobs is looked at along with them.
///
/// # Errors
/// When the database cannot be reached, or its catalogue not be read.
pub async fn survey<A: AsRef<[Adapter]>>(
    target: &Target,
    options: &EngineOptions,
    adapters: impl Future<Output = A>,
    destination: &ReplayDestination,
    budget: &Budget,
) -> Result<(Engine, A, Detection)> {
    let db_kind = target.sql_kind()?;
    let mut known = None;
    let statements = async {
        let adapters = adapters.await;
        let mut names = names(adapters.as_ref(), db_kind);
        // Which schema is the store's own is not known yet, and makes no difference to the names.
        names.extend(destination.table_names(""));
        let statements = catalogue_statement(db_kind, &names).into_iter().collect();
        known = Some((adapters, names));
        statements
    };
    let (engine, mut results) = Engine::connect_reading(target, options, statements, budget).await?;
    let (adapters, names) = known.ok_or_else(|| SourceError::Layout("no adapter could be read".into()))?;
    let mut catalogue = catalogue(&engine, results.pop().unwrap_or_default())?;
    let specs = specs(adapters.as_ref(), db_kind, &catalogue);
    let functions = functions(&specs, &catalogue);
    complete(&engine, &mut catalogue, &functions, budget).await?;
    epoch_columns::detect_epochs(&engine, specs.iter().copied(), &mut catalogue, budget).await?;
    let detection = matched(&specs, Seen { names, catalogue });
    Ok((engine, adapters, detection))
}

/// Finds every layout that the adapters know, in every schema that the role sees.
///
/// # Errors
/// When the catalogue cannot be read.
pub async fn detect(engine: &Engine, adapters: &[Adapter], budget: &Budget) -> Result<Detection> {
    let names = names(adapters, engine.kind());
    let mut catalogue = read_catalogue(engine, &names, budget).await?;
    let specs = specs(adapters, engine.kind(), &catalogue);
    let functions = functions(&specs, &catalogue);
    complete(engine, &mut catalogue, &functions, budget).await?;
    epoch_columns::detect_epochs(engine, specs.iter().copied(), &mut catalogue, budget).await?;
    Ok(matched(&specs, Seen { names, catalogue }))
}

/// Adapters with their variants, in the order in which they are tried.
type Specs<'a> = Vec<(&'a Adapter, &'a [Spec])>;

/// Those that may have a layout here. The others are not even read.
fn specs<'a>(adapters: &'a [Adapter], db_kind: DatabaseKind, catalogue: &CatalogueTables) -> Specs<'a> {
    let is_there = |adapter: &&Adapter| {
        let mut names = catalogue.iter().flat_map(|(_, tables)| tables.keys());
        names.any(|name| adapter.tables().contains(name))
    };
    let spoken = adapters.iter().filter(is_there).map(|a| (a, a.variants(db_kind.word())));
    spoken.filter(|(_, variants)| !variants.is_empty()).collect()
}

/// The tables that tell the layouts apart, and those that their jobs are archived in.
fn names(adapters: &[Adapter], db_kind: DatabaseKind) -> Vec<String> {
    let limit = dialect(db_kind).name_limit();
    let archives = adapters.iter().flat_map(Adapter::tables).map(|table| archive_table_name(table, limit));
    let names = adapters.iter().flat_map(|a| a.tables().union(a.other_tables())).cloned();
    names.chain(archives).collect::<BTreeSet<String>>().into_iter().collect()
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
                    let (adapter, schema) = (adapter.name.clone(), schema.clone());
                    detection.rejected.push(Rejected { adapter, schema, reasons });
                }
                (None, None) => {}
            }
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
    let untold_times = spec.unwritable(|name| tables.get(name));
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
            .chain(untold_times.as_ref().map(|why| format!("nothing is replayed from here: {why}")))
            .collect(),
        untold_times,
        columns: tables.get(&spec.table).cloned().unwrap_or_default(),
        seen: Arc::clone(seen),
    }
}

/// Why a table cannot be written to: neither could two statements take effect together, nor a row be held.
pub(crate) fn without_transactions(name: &str, table: &Table) -> Option<String> {
    let engine = table.without_transactions.as_ref()?;
    if engine == "VIEW" {
        return Some(format!(
            "{name} is a view, and the server does not tell whether the tables behind it have transactions; without them a job \
             could be lost between two statements"
        ));
    }
    let article = if engine.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" };
    Some(format!(
        "{name} is {article} {engine} table, which has no transactions: a job could be lost between two statements, or be taken \
         by two at once; ALTER TABLE {name} ENGINE = InnoDB makes it safe"
    ))
}

/// The functions that tell layouts apart whose tables are there.
fn functions(specs: &Specs<'_>, catalogue: &CatalogueTables) -> Vec<String> {
    let is_there = |spec: &&Spec| catalogue.iter().any(|(_, tables)| tables.contains_key(&spec.table));
    let specs = specs.iter().flat_map(|(_, variants)| variants.iter()).filter(is_there);
    let names: BTreeSet<&String> = specs.flat_map(|spec| &spec.detect.functions).collect();
    names.into_iter().cloned().collect()
}

/// The named tables of every schema that the role sees.
pub(in crate::store) async fn read_catalogue(
    engine: &Engine,
    names: &[String],
    budget: &Budget,
) -> Result<CatalogueTables> {
    match catalogue_statement(engine.kind(), names) {
        Some(statement) => catalogue(engine, engine.read(&[statement], budget).await?.pop().unwrap_or_default()),
        None => Ok(Vec::new()),
    }
}

/// Adds what is asked for only where there may be any of it: functions, the policies of tables with row-level security, and
/// tables that inherit.
async fn complete(engine: &Engine, catalogue: &mut CatalogueTables, names: &[String], budget: &Budget) -> Result<()> {
    let dialect = dialect(engine.kind());
    let named = |is: &dyn Fn(&Table) -> bool| -> Vec<String> {
        let tables = catalogue.iter().flat_map(|(_, tables)| tables);
        tables.filter(|(_, table)| is(table)).map(|(name, _)| name.clone()).collect()
    };
    let (veiled, parents) = (named(&|table| table.row_security.is_some()), named(&|table| table.heirs.is_some()));
    let asked = |names: &[String], statement: &dyn Fn(&[String]) -> Option<Statement>| {
        (!names.is_empty()).then(|| statement(names)).flatten()
    };
    let policies = asked(&veiled, &|names| dialect.policies(names));
    let functions = asked(names, &|names| dialect.functions(names));
    let heirs = asked(&parents, &|names| foreign_key_catalogue(engine.kind()).heirs(names));
    let is_asked = [policies.is_some(), functions.is_some(), heirs.is_some()];
    let statements: Vec<Statement> = policies.into_iter().chain(functions).chain(heirs).collect();
    if statements.is_empty() {
        return Ok(());
    }
    let mut results = engine.read(&statements, budget).await?.into_iter();
    let [policies, functions, heirs] =
        is_asked.map(|asked| if asked { results.next() } else { None }.unwrap_or_default());
    for row in policies {
        let mut cells = Cells::new(row);
        let (schema, table) = (cells.text()?.unwrap_or_default(), cells.text()?.unwrap_or_default());
        if let Some(security) = tables_of(catalogue, schema).get_mut(&table).and_then(|t| t.row_security.as_mut()) {
            security.shows_some = true;
        }
    }
    for row in heirs {
        let mut cells = Cells::new(row);
        let (schema, table) = (cells.text()?.unwrap_or_default(), cells.text()?.unwrap_or_default());
        if let Some(heirs) = tables_of(catalogue, schema).get_mut(&table).and_then(|t| t.heirs.as_mut()) {
            heirs.extend(cells.text()?);
        }
    }
    for row in functions {
        let mut cells = Cells::new(row);
        let (schema, name) = (cells.text()?.unwrap_or_default(), cells.text()?.unwrap_or_default());
        let lacks = Lacks { execute: cells.int()? == Some(0), ..Lacks::default() };
        tables_of(catalogue, schema).insert(function(&name), Table { lacks, ..Table::default() });
    }
    Ok(())
}

/// Puts a column where it stands in indexes; a key that is no index has no name.
fn index(table: &mut Table, column: &str, places: Vec<IndexPlace>) {
    let put = |columns: &mut Vec<String>, at: usize| {
        columns.resize(columns.len().max(at + 1), String::new());
        if let Some(slot) = columns.get_mut(at) {
            column.clone_into(slot);
        }
    };
    for IndexPlace { index, at, unique } in places {
        if !index.is_empty() {
            put(table.indexes.entry(index.clone()).or_default(), at);
        }
        match unique {
            Unique::Primary => put(table.unique.entry(String::new()).or_default(), at),
            Unique::Yes => put(table.unique.entry(index).or_default(), at),
            Unique::No => {}
        }
    }
}

/// What asks for the named tables; nothing where none is named.
fn catalogue_statement(db_kind: DatabaseKind, names: &[String]) -> Option<Statement> {
    (!names.is_empty()).then(|| dialect(db_kind).catalogue(names))
}

/// The tables of a schema.
fn tables_of(catalogue: &mut CatalogueTables, schema: String) -> &mut BTreeMap<String, Table> {
    let at = catalogue.iter().position(|(name, _)| *name == schema).unwrap_or_else(|| {
        catalogue.push((schema, BTreeMap::new()));
        catalogue.len() - 1
    });
    &mut catalogue[at].1
}

fn catalogue(engine: &Engine, rows: Vec<Row>) -> Result<CatalogueTables> {
    let dialect = dialect(engine.kind());
    let mut catalogue: CatalogueTables = Vec::new();
    for row in rows {
        let mut cells = Cells::new(row);
        let mut text = || cells.text().map(Option::unwrap_or_default);
        let (schema, table, name, data_type) = (text()?, text()?, text()?, text()?);
        let column =
            Column { name, data_type, nullable: cells.int()? != Some(0), collation: cells.text()?, times: None };
        let table = tables_of(&mut catalogue, schema).entry(table).or_default();
        table.without_transactions = cells.text()?;
        index(table, &column.name, dialect.places(cells.text()?.as_deref().unwrap_or_default()));
        table.row_security = cells.text()?.map(|role| RowSecurity { role, shows_some: false });
        let kind = cells.int()?;
        table.is_partitioned = kind == Some(1);
        table.heirs = (kind == Some(2)).then(Vec::new);
        let place = cells.int()?;
        table.is_view = matches!(place, Some(1 | 2));
        table.is_elsewhere = matches!(place, Some(2 | 3));
        privileges::add(table, &column.name, cells.text()?.as_deref().unwrap_or_default());
        table.columns.push(column);
    }
    if let Some(grants) = &engine.facts().grants {
        for (schema, tables) in &mut catalogue {
            for (name, table) in tables {
                privileges::add_by_grants(table, grants, Place { schema, table: name });
            }
        }
    }
    catalogue.sort_by(|(a, _), (b, _)| {
        let comes_first = |schema: &str| dialect.schema_first() == Some(schema);
        comes_first(b).cmp(&comes_first(a)).then_with(|| a.cmp(b))
    });
    Ok(catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_engine_has_the_article_that_its_name_takes() {
        for (engine, expected) in
            [("Aria", "t is an Aria table"), ("ARCHIVE", "an ARCHIVE"), ("MyISAM", "t is a MyISAM")]
        {
            let table = Table { without_transactions: Some(engine.into()), ..Table::default() };
            let why = without_transactions("t", &table).expect("a reason");
            assert!(why.contains(expected), "{why}");
        }
    }
}
