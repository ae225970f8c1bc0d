//! The table beside a dead-letter table that jobs are archived in, with the same columns and two more.
//!
//! It has no constraint but its key, no default and no sequence of its own: whatever could stand in the one table can
//! stand in the other. Whether it still has every column is looked at in each batch, while that batch holds its rows and
//! nobody can alter the table: a column that appeared meanwhile must not be left behind.

use crate::adapter::{ExpectedRows, FieldKind};
use crate::db::cells::Cells;
use crate::db::{Row, Statement, Tx};
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{BatchRow, Dialect};
use crate::store::sql::query::template::{Fill, push};
use crate::store::sql::schema::archive_name::archive_table_name;
use crate::store::sql::schema::discovery::{read_catalogue, without_transactions};
use crate::store::sql::write::batch::Filled;
use crate::store::{Availability, Batch, Budget, Preparation, Result, SourceError};

/// The columns that only an archive has: when a row came, and with which run.
const AT: &str = "archived_at";
const RUN: &str = "archive_run";

/// A column with what its values may be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ArchiveColumn {
    name: String,
    definition: String,
}

/// A table and its archive, as they stand now.
#[derive(Debug, Default)]
struct Pair {
    table: Vec<ArchiveColumn>,
    archive: Vec<ArchiveColumn>,
}

/// Makes the archive table, and moves rows into it.
#[derive(Clone, Copy)]
pub(crate) struct ArchiveTable<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> ArchiveTable<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    pub(crate) async fn missing_archive(self, action: Action, budget: &Budget) -> Result<Option<Preparation>> {
        if action != Action::Archive || matches!(self.context.info.availability(action), Availability::Disabled(_)) {
            return Ok(None);
        }
        let rows = self.context.engine.read(&[self.pair_statement()], budget).await?.pop().unwrap_or_default();
        let pair = self.pair(rows)?;
        if pair.archive.is_empty() {
            let creates = format!("{}.{}", self.context.layout.schema, self.archive_name());
            return Ok(Some(Preparation { creates, ddl: self.archive_ddl(&pair.table)? }));
        }
        self.check_archive(&pair)?;
        let name = self.archive_name();
        let catalogue = read_catalogue(&self.context.engine, std::slice::from_ref(&name), budget).await?;
        let here = catalogue.iter().find(|(schema, _)| *schema == self.context.layout.schema);
        match here.and_then(|(_, tables)| without_transactions(&name, tables.get(&name)?)) {
            Some(reason) => Err(SourceError::Input(reason)),
            None => Ok(None),
        }
    }

    pub(crate) async fn create_archive(self, action: Action, budget: &Budget) -> Result<()> {
        let Some(missing) = self.missing_archive(action, budget).await? else { return Ok(()) };
        let mut tx = self.context.begin(budget).await?;
        let made = match tx.execute(&Statement { sql: missing.ddl, binds: Vec::new() }).await {
            Ok(_) => tx.commit().await,
            Err(error) => {
                tx.rollback().await;
                Err(error)
            }
        };
        match made {
            Ok(()) => Ok(()),
            // Somebody else may have made it between the two looks.
            Err(error) => match self.missing_archive(action, budget).await? {
                None => Ok(()),
                Some(missing) => Err(SourceError::Input(format!(
                    "{} could not be created: {error}; `dlq-tui archive --dry-run` prints the statement for a role that may",
                    missing.creates
                ))),
            },
        }
    }

    pub(crate) async fn archived(self, run: &str, ids: &[JobId], budget: &Budget) -> Result<Vec<JobId>> {
        let rows = self.context.engine.read(&[self.pair_statement()], budget).await?.pop().unwrap_or_default();
        let pair = self.pair(rows)?;
        if !is_archive(&pair.archive) {
            return Ok(Vec::new());
        }
        let (layout, dialect) = (&self.context.layout, self.context.layout.dialect);
        let ids: Vec<String> = self.context.valid(ids).into_iter().map(|id| id.as_str().to_owned()).collect();
        let mut sql = Sql::new(dialect);
        sql.push(&format!("SELECT {} FROM {} AS t WHERE ", layout.key.text, self.archive()));
        push(&mut sql, "{ids}", &Fill { ids: &ids, ..Fill::names_only(layout, None) });
        sql.push(&format!(" AND t.{} = ", dialect.quote(RUN)));
        let place = sql.text(run);
        sql.push(&dialect.cast(&place, FieldKind::Text));
        let rows = self.context.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default();
        let ids = rows.into_iter().map(|row| Cells::new(row).text());
        Ok(ids.collect::<Result<Vec<_>>>()?.into_iter().flatten().map(JobId::new).collect())
    }

    /// The statements that move rows which are held into the archive.
    pub(crate) async fn create_statements(
        self,
        tx: &mut Tx<'_>,
        batch: &Batch,
        rows: &[BatchRow],
    ) -> Result<Vec<Filled>> {
        let pair = self.pair(tx.fetch(self.pair_statement()).await?)?;
        self.check_archive(&pair)?;
        let (layout, dialect) = (&self.context.layout, self.context.layout.dialect);
        let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
        let fill = Fill { ids: &ids, run: &batch.run, ..Fill::names_only(layout, None) };
        let quoted: Vec<String> = pair.table.iter().map(|column| dialect.quote(&column.name)).collect();
        let mut copy = Sql::new(dialect);
        let (into, of) = (quoted.join(", "), quoted.join(", t."));
        copy.push(&format!("INSERT INTO {} ({into}, {AT}, {RUN}) SELECT t.{of}, ", self.archive()));
        push(&mut copy, "{now}, {run} FROM {table} AS t WHERE {ids}", &fill);
        let mut delete = Sql::new(dialect);
        delete.push(&dialect.delete_from(&layout.tables.table));
        push(&mut delete, " WHERE {ids}", &fill);
        let each = |no, statement| Filled { statement, no, rows: ExpectedRows::Each };
        Ok(vec![each(1, copy.done()), each(2, delete.done())])
    }

    fn archive_name(self) -> String {
        archive_table_name(&self.context.layout.spec.table, self.context.layout.dialect.name_limit())
    }

    /// The archive, quoted, with its schema.
    fn archive(self) -> String {
        let dialect = self.context.layout.dialect;
        format!("{}.{}", dialect.quote(&self.context.layout.schema), dialect.quote(&self.archive_name()))
    }

    fn pair_statement(self) -> Statement {
        self.context
            .layout
            .dialect
            .definitions(&self.context.layout.schema, &[self.context.layout.spec.table.clone(), self.archive_name()])
    }

    fn pair(self, rows: Vec<Row>) -> Result<Pair> {
        let (table, archive) = (&self.context.layout.spec.table, self.archive_name());
        let mut pair = Pair::default();
        for row in rows {
            let mut cells = Cells::new(row);
            let mut text = || cells.text().map(Option::unwrap_or_default);
            let (of, name, definition) = (text()?, text()?, text()?);
            let column = ArchiveColumn { name, definition };
            match of {
                of if of == *table => pair.table.push(column),
                of if of == archive => pair.archive.push(column),
                _ => {}
            }
        }
        Ok(pair)
    }

    fn archive_ddl(self, table: &[ArchiveColumn]) -> Result<String> {
        let dialect = self.context.layout.dialect;
        let label = format!("{}.{}", self.context.layout.schema, self.context.layout.spec.table);
        if let Some(own) = table.iter().find(|column| [AT, RUN].contains(&column.name.as_str())) {
            return Err(SourceError::Input(format!(
                "{label} has a column {} of its own, which its archive needs for itself",
                own.name
            )));
        }
        let key = self.context.layout.key.expr.column.as_deref().unwrap_or_default();
        let column = |column: &ArchiveColumn| {
            let null = if column.name == key { "NOT NULL" } else { "NULL" };
            format!("    {} {} {null},\n", dialect.quote(&column.name), column.definition)
        };
        let columns: String = table.iter().map(column).collect();
        let new = dialect.new_table();
        // A key may come back: some databases give the number of a deleted row to a new one.
        Ok(format!(
            "CREATE TABLE {} (\n{columns}    {AT} {} NOT NULL,\n    {RUN} {} NOT NULL,\n    PRIMARY KEY ({}, {RUN})\n){}",
            self.archive(),
            new.instant,
            new.word,
            dialect.quote(key),
            new.after
        ))
    }

    /// Whether the archive is ours, and holds whatever the table holds.
    fn check_archive(self, pair: &Pair) -> Result<()> {
        let schema = &self.context.layout.schema;
        let (table, archive) =
            (format!("{schema}.{}", self.context.layout.spec.table), format!("{schema}.{}", self.archive_name()));
        if pair.archive.is_empty() {
            return Err(SourceError::Input(format!("{archive} is gone: archive again to create it")));
        }
        if !is_archive(&pair.archive) {
            return Err(SourceError::Input(format!(
                "{archive} is no archive of ours: it has no columns {AT} and {RUN}; rename it, and the archive is created beside it"
            )));
        }
        let cures = cures(self.context.layout.dialect, &self.archive(), pair);
        if cures.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = cures.iter().map(|(name, _)| name.as_str()).collect();
        let cure = match cures.iter().map(|(_, cure)| cure.clone()).collect::<Option<Vec<String>>>() {
            Some(statements) => format!("{} mends it", statements.join("; ")),
            None => "rename it, and a new one is created".to_owned(),
        };
        Err(SourceError::Input(format!(
            "{archive} no longer has the columns of {table} ({}), which would be cut or lost: {cure}",
            names.join(", ")
        )))
    }
}

fn is_archive(columns: &[ArchiveColumn]) -> bool {
    [AT, RUN].iter().all(|name| columns.iter().any(|column| column.name == *name))
}

/// The columns that the archive lacks or has otherwise, with the statement that helps.
fn cures(dialect: &dyn Dialect, archive: &str, pair: &Pair) -> Vec<(String, Option<String>)> {
    let cure = |column: &ArchiveColumn| {
        let name = dialect.quote(&column.name);
        let statement = match pair.archive.iter().find(|other| other.name == column.name) {
            Some(other) if other.definition == column.definition => return None,
            Some(_) => dialect.redefine(archive, &name, &column.definition),
            None => Some(format!("ALTER TABLE {archive} ADD COLUMN {name} {} NULL", column.definition)),
        };
        Some((column.name.clone(), statement))
    };
    pair.table.iter().filter_map(cure).collect()
}
