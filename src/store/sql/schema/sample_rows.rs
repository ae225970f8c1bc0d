//! Some rows of a table that no adapter describes yet.

use crate::adapter::{FieldKind, Sample};
use crate::db::Engine;
use crate::db::cells::Cells;
use crate::store::sql::dialect::dialect;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::schema::discovery::read_catalogue;
use crate::store::{Budget, Result, SourceError};

/// Rows that are read: enough for the words of a state, few enough for payloads of any size.
const ROWS: usize = 200;

/// Reads what a first draft of an adapter is guessed from; `name` is `table` or `schema.table`.
///
/// # Errors
/// When there is no such table, or it cannot be read.
pub async fn sample(engine: &Engine, name: &str, budget: &Budget) -> Result<Sample> {
    let splits = name.match_indices('.').map(|(dot, _)| (Some(&name[..dot]), &name[dot + 1..]));
    let places: Vec<(Option<&str>, &str)> = std::iter::once((None, name)).chain(splits).collect();
    let tables: Vec<String> = places.iter().map(|(_, table)| (*table).to_owned()).collect();
    let catalogue = read_catalogue(engine, &tables, budget).await?;
    let found = places.iter().find_map(|(schema, table)| {
        let of = |(name, _): &&(String, _)| schema.is_none_or(|schema| schema == name);
        catalogue.iter().filter(of).find_map(|(schema, tables)| Some((schema, *table, tables.get(*table)?)))
    });
    let Some((schema, table, columns)) = found else {
        return Err(SourceError::Input(format!("there is no table {name} that this role can see")));
    };
    let dialect = dialect(engine.kind());
    let mut sql = Sql::new(dialect);
    let texts: Vec<String> = columns
        .columns
        .iter()
        .map(|c| dialect.contract(&format!("t.{}", dialect.quote(&c.name)), FieldKind::Text))
        .collect();
    sql.push(&format!(
        "SELECT {} FROM {}.{} AS t LIMIT {ROWS}",
        texts.join(", "),
        dialect.quote(schema),
        dialect.quote(table)
    ));
    let rows = engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default();
    let texts = |row| {
        let mut cells = Cells::new(row);
        columns.columns.iter().map(|_| cells.text()).collect::<Result<Vec<_>>>()
    };
    Ok(Sample {
        dialect: engine.kind().word().to_owned(),
        table: table.to_owned(),
        columns: columns.clone(),
        rows: rows.into_iter().map(texts).collect::<Result<Vec<_>>>()?,
    })
}
