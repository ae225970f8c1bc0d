//! Looking at columns that may count times since 1970: what the values are, before anything is read or written by them.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapter::{Adapter, Column, Family, FieldKind, Right, Spec, Table, Times};
use crate::db::cells::Cells;
use crate::db::{Engine, Statement};
use crate::store::found::CatalogueTables;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{Dialect, dialect};
use crate::store::{Budget, Result, SourceError};

/// Values that are looked at.
const VALUES: usize = 200;
/// Rows among which they are looked for, where a column without any is taken for what its type says.
const ROWS: usize = 1_000;

/// Looks at the columns of all tables that these layouts know as times or counts of time.
pub(crate) async fn detect_epochs<'a>(
    engine: &Engine,
    specs: impl Iterator<Item = (&'a Adapter, &'a [Spec])>,
    catalogue: &mut CatalogueTables,
    budget: &Budget,
) -> Result<()> {
    let mut wanted: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut times: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for spec in specs.flat_map(|(_, variants)| variants) {
        for table in std::iter::once(&spec.table).chain(spec.detect.tables.keys()) {
            wanted.extend(spec.epochs_of(table).map(|column| (table.as_str(), column)));
            times.entry(table).or_default().extend(spec.times_of(table));
        }
    }
    let dialect = dialect(engine.kind());
    for (schema, tables) in catalogue {
        for (name, columns) in &times {
            if let Some(table) = tables.get_mut(*name) {
                mark_texts(dialect, table, columns);
            }
        }
        for (name, column) in &wanted {
            if let Some(table) = tables.get_mut(*name) {
                read_column_ranges(engine, schema, (name, table), column, budget).await?;
            }
        }
    }
    Ok(())
}

/// Looks at one column of a table.
pub(crate) async fn read_column_ranges(
    engine: &Engine,
    schema: &str,
    (name, table): (&str, &mut Table),
    column: &str,
    budget: &Budget,
) -> Result<()> {
    let dialect = dialect(engine.kind());
    let may_read = !table.lacks(Right::Select, &BTreeSet::from([column.to_owned()]));
    let Some(column) = table.columns.iter_mut().find(|c| c.name == column) else { return Ok(()) };
    if column.times.is_some() || !is_open(dialect, column) || !may_read {
        return Ok(());
    }
    let statement = values(dialect, &format!("{}.{}", dialect.quote(schema), dialect.quote(name)), column);
    let rows = match engine.read(&[statement], budget).await {
        Ok(mut results) => results.pop().unwrap_or_default(),
        Err(error @ (SourceError::Cancelled | SourceError::Unreachable(_))) => return Err(error),
        // What could not be looked at is not known.
        Err(_) => return Ok(()),
    };
    let values: Vec<String> =
        rows.into_iter().filter_map(|row| Cells::new(row).text().transpose()).collect::<Result<_>>()?;
    column.times = Some(Times::of(column, values.iter().map(String::as_str)));
    Ok(())
}

/// Whether the type leaves open what the values of a column are.
fn is_open(dialect: &dyn Dialect, column: &Column) -> bool {
    matches!(Family::of(&column.data_type), Family::Number | Family::Text) || !dialect.holds_its_type()
}

/// Marks the times that stand in columns of text which the database would not compare with a time.
fn mark_texts(dialect: &dyn Dialect, table: &mut Table, times: &BTreeSet<&str>) {
    let is_text = |column: &&mut Column| Family::of(&column.data_type) == Family::Text;
    let texts = table.columns.iter_mut().filter(|column| times.contains(column.name.as_str())).filter(is_text);
    for column in texts.filter(|_| !dialect.reads_dates_in_text()) {
        column.times = Some(Times::Neither("compares with no time".to_owned()));
    }
}

/// Some values as text.
fn values(dialect: &'static dyn Dialect, table: &str, column: &Column) -> Statement {
    let quoted = dialect.quote(&column.name);
    let value = dialect.contract("x.v", FieldKind::Text);
    let is_number = Family::of(&column.data_type) == Family::Number;
    // Numbers say nothing by their type: one has to be found. All else is looked at in passing.
    let from = match is_number {
        true => format!("SELECT t.{quoted} AS v FROM {table} AS t WHERE t.{quoted} IS NOT NULL LIMIT {VALUES}"),
        false => format!("SELECT t.{quoted} AS v FROM {table} AS t LIMIT {ROWS}"),
    };
    let mut sql = Sql::new(dialect);
    sql.push(&format!("SELECT {value} FROM ({from}) AS x WHERE x.v IS NOT NULL LIMIT {VALUES}"));
    sql.done()
}
