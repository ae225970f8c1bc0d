//! Putting kept rows back as they were.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter;

use crate::adapter::{Keep, RelatedRows};
use crate::db::cells::Cells;
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{BatchRow, Dialect, Place, ValueSort};
use crate::store::sql::query::lookup_parts::json_bytes;
use crate::store::sql::query::row_snapshot::{Keeping, RelatedRow, row_of};
use crate::store::sql::query::template::{Fill, push};
use crate::store::sql::write::batch::{Attempt, failed, undo, with_all};
use crate::store::sql::write::dry_run::{Asker, DryRun};
use crate::store::sql::write::journal::record_done;
use crate::store::sql::write::transaction_id::Transactions;
use crate::store::sql::write::verb::Work;
use crate::store::{Budget, Interrupted, Result, SourceError};

/// Values of one INSERT at the most; databases allow some ten thousands.
const VALUES: usize = 8_000;
/// Why a row cannot be put back.
const NO_COPY: &str = "the ledger has no copy of it";

/// A column that can be written.
struct RestoreTarget {
    data_type: String,
    /// The database makes its values itself.
    made: bool,
}

/// Why a row is not put back of which the database would make another one.
const ANOTHER: &str =
    "the table would not hold it as it was kept: a column is of another type now, or a trigger changes it";

/// A table that rows are put back into.
struct Slots {
    /// Its name, quoted, with its schema.
    table: String,
    columns: HashMap<String, RestoreTarget>,
}

impl Slots {
    /// Whether some value of a row is taken only by an INSERT that takes others too, whatever becomes of them.
    fn grudges(&self, dialect: &dyn Dialect, kept: &RelatedRow) -> bool {
        kept.names().any(|name| match (self.columns.get(name), kept.value(name)) {
            (Some(target), Some((ValueSort::Text, text))) => dialect.is_grudged(&target.data_type, &text),
            _ => false,
        })
    }

    /// Why some of these rows have no place in it any more.
    fn missing(&self, rows: &[RelatedRow], what: &str) -> Option<String> {
        rows.iter().find_map(|kept| {
            let gone: Vec<&str> =
                kept.names().filter(|name| !self.columns.contains_key(*name) && kept.has(name)).collect();
            let columns = match gone[..] {
                [] => return None,
                [one] => format!("column {one}"),
                _ => format!("columns {}", gone.join(", ")),
            };
            Some(format!("{what} has no {columns} any more, and this row has a value there"))
        })
    }
}

/// Puts kept rows back.
#[derive(Clone, Copy)]
pub(crate) struct Restore<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> Restore<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    /// One transaction: those whose key is free are inserted with all that was kept.
    pub(crate) async fn restore(self, work: &Work<'_>, ids: &[String], budget: &Budget) -> Attempt {
        let mut tx = self.context.begin(budget).await?;
        let places = self.restorable(&mut Asker::Tx(&mut tx), work, ids).await;
        let places = match places {
            Ok(places) => places,
            Err(error) => return undo(tx, error.into()).await,
        };
        let kept = work.snapshots();
        let (mut rows, mut settled) = (Vec::new(), Vec::new());
        for (id, result) in places {
            match (result, kept.get(id.as_str())) {
                (JobResult::Done, Some(text)) => rows.push(row_of(id.as_str(), text)),
                (result, _) => settled.push((id, result)),
            }
        }
        if rows.is_empty() {
            tx.rollback().await;
            return Ok(settled);
        }
        let written = async {
            Transactions::new(self.context).run_noted(&mut tx, work, Box::new(iter::empty()), &rows).await?;
            self.put_back(&mut Asker::Tx(&mut tx), &rows, work.along).await
        }
        .await;
        let lost = match written {
            Ok(lost) => lost,
            Err(error) => return undo(tx, error.into()).await,
        };
        rows.retain(|row| !lost.iter().any(|(id, _)| id.as_str() == row.id));
        if let Err(error) = record_done(&mut tx, work, &rows).await {
            return undo(tx, error.into()).await;
        }
        tx.commit().await.map_err(Interrupted::at_commit)?;
        settled.extend(lost);
        Ok(with_all(settled, &rows, |_| JobResult::Done))
    }

    /// Which of these jobs can be put back: `Done` where a copy is at hand and the key is free.
    pub(crate) async fn restorable(
        self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        ids: &[String],
    ) -> Result<Vec<JobOutcome>> {
        let there = self.keys_there(asker, ids).await?;
        let kept = work.snapshots();
        let place = |id: &String| match (there.contains(id), kept.get(id.as_str())) {
            (true, _) => JobResult::Skipped(SkipReason::AlreadyThere),
            (false, Some(text)) if RelatedRow::parse(text).is_some() => JobResult::Done,
            (false, _) => failed(NO_COPY),
        };
        Ok(ids.iter().map(|id| (JobId::new(id), place(id))).collect())
    }

    /// Whether somebody else has put a row back between our look and our INSERT, which was refused.
    pub(crate) async fn put_back_meanwhile(
        self,
        work: &Work<'_>,
        ids: &[String],
        budget: &Budget,
    ) -> std::result::Result<bool, Interrupted> {
        if work.batch.action != Action::Restore {
            return Ok(false);
        }
        Ok(!self.keys_there(&mut Asker::Look(budget), ids).await?.is_empty())
    }

    async fn keys_there(self, asker: &mut Asker<'_, '_>, ids: &[String]) -> Result<HashSet<String>> {
        let layout = &self.context.layout;
        let mut sql = Sql::new(layout.dialect);
        sql.push(&format!("SELECT {} FROM {} AS t WHERE ", layout.key.text, layout.tables.table));
        push(&mut sql, "{ids}", &Fill { ids, ..Fill::names_only(layout, None) });
        let rows = DryRun::new(self.context).fetch(asker, sql.done()).await?;
        rows.into_iter().map(|row| Ok(Cells::new(row).text()?.unwrap_or_default())).collect()
    }

    /// Inserts kept rows, with what belongs to them. Returns those for which there is no place any more, which are left
    /// out.
    pub(crate) async fn put_back(
        self,
        asker: &mut Asker<'_, '_>,
        rows: &[BatchRow],
        along: &[RelatedRows],
    ) -> Result<Vec<JobOutcome>> {
        let own = self.slots(asker, &self.context.layout.spec.table).await?;
        let mut others = Vec::new();
        for along in along.iter().filter(|along| !along.stays) {
            others.push((along, self.slots(asker, along.table.get_ref()).await?));
        }
        let (mut lost, mut found, mut careful) = (Vec::new(), [Vec::new(), Vec::new()], Vec::new());
        let mut tables: Vec<Vec<RelatedRow>> = vec![Vec::new(); others.len()];
        for row in rows {
            let kept = row.kept.as_deref().and_then(RelatedRow::parse).unwrap_or_default();
            let below: Vec<Vec<RelatedRow>> =
                others.iter().map(|(along, _)| kept.related(along.table.get_ref())).collect();
            let missing = own.missing(std::slice::from_ref(&kept), "the table");
            let missing = missing.or_else(|| {
                let each = others.iter().zip(&below);
                each.filter_map(|((along, slots), rows)| slots.missing(rows, along.table.get_ref())).next()
            });
            if let Some(reason) = missing {
                lost.push((JobId::new(&row.id), failed(&reason)));
                continue;
            }
            let grudged = own.grudges(self.context.layout.dialect, &kept);
            if let (true, Some(text)) = (grudged, &row.kept) {
                careful.push((JobId::new(&row.id), text.clone()));
            }
            found[usize::from(grudged)].push(kept);
            for (i, rows) in below.into_iter().enumerate() {
                tables[i].extend(rows);
            }
        }
        let others: Vec<_> = others.into_iter().zip(tables).collect();
        for ((_, slots), rows) in others.iter().filter(|((along, _), _)| along.first) {
            self.insert_all(asker, slots, rows, false).await?;
        }
        let [usual, grudged] = found;
        self.insert_all(asker, &own, &usual, false).await?;
        self.insert_all(asker, &own, &grudged, true).await?;
        if self.stand_as_kept(asker, &careful).await?.len() < careful.len() {
            return Err(SourceError::Refused { message: ANOTHER.to_owned(), code: None });
        }
        for ((_, slots), rows) in others.iter().filter(|((along, _), _)| !along.first) {
            self.insert_all(asker, slots, rows, false).await?;
        }
        Ok(lost)
    }

    /// Inserts rows; those that have the same columns share a statement.
    async fn insert_all(
        self,
        asker: &mut Asker<'_, '_>,
        slots: &Slots,
        rows: &[RelatedRow],
        grudged: bool,
    ) -> Result<()> {
        let mut alike: BTreeMap<Vec<String>, Vec<RelatedRow>> = BTreeMap::new();
        for kept in rows {
            let writable = |name: &&str| slots.columns.get(*name).is_some_and(|target| !target.made);
            let columns: Vec<String> = kept.names().filter(writable).map(str::to_owned).collect();
            alike.entry(columns).or_default().push(kept.clone());
        }
        for (columns, rows) in alike {
            for rows in rows.chunks((VALUES / columns.len().max(1)).max(1)) {
                for part in self.context.parts(rows, RelatedRow::bytes) {
                    self.insert(asker, (slots, &columns), part, grudged).await?;
                }
            }
        }
        Ok(())
    }

    async fn insert(
        self,
        asker: &mut Asker<'_, '_>,
        (slots, columns): (&Slots, &[String]),
        rows: &[RelatedRow],
        grudged: bool,
    ) -> Result<()> {
        let dialect = self.context.layout.dialect;
        let quoted: Vec<String> = columns.iter().map(|name| dialect.quote(name)).collect();
        let mut sql = Sql::new(dialect);
        sql.push(dialect.putting_back(grudged));
        sql.push(&format!("INSERT INTO {} ({}) ", slots.table, quoted.join(", ")));
        sql.push(dialect.overriding()).push("VALUES ");
        sql.join(rows, ", ", |sql, row| {
            sql.push("(").join(columns, ", ", |sql, name| match row.value(name) {
                None => drop(sql.push("NULL")),
                Some((sort, text)) => {
                    let data_type = slots.columns.get(name).map_or("", |target| target.data_type.as_str());
                    sql.dialect().unkept(sql, sort, &text, data_type);
                }
            });
            sql.push(")");
        });
        let statement = sql.done();
        let Asker::Tx(tx) = asker else {
            return Err(SourceError::Input("nothing is written while looking".to_owned()));
        };
        let inserted = tx.execute(&statement).await?;
        if inserted == rows.len() as u64 {
            return Ok(());
        }
        let were = if inserted == 1 { "row was" } else { "rows were" };
        let message = format!("{inserted} {were} put back instead of {}", rows.len());
        Err(SourceError::Refused { message, code: None })
    }

    /// A table of the schema as it is now.
    async fn slots(self, asker: &mut Asker<'_, '_>, table: &str) -> Result<Slots> {
        let dialect = self.context.layout.dialect;
        let rows = DryRun::new(self.context)
            .fetch(asker, dialect.columns(Place { schema: &self.context.layout.schema, table }))
            .await?;
        let target = |row| {
            let mut cells = Cells::new(row);
            let (name, data_type) = (cells.text()?.unwrap_or_default(), cells.text()?.unwrap_or_default());
            Ok((name, RestoreTarget { data_type, made: cells.int()? == Some(1) }))
        };
        let columns = rows.into_iter().map(target).collect::<Result<_>>()?;
        Ok(Slots { table: format!("{}.{}", dialect.quote(&self.context.layout.schema), dialect.quote(table)), columns })
    }

    pub(crate) async fn read_as_kept(self, kept: &[(JobId, String)], budget: &Budget) -> Result<Vec<JobId>> {
        let mut same = Vec::new();
        for part in self.context.parts(kept, |(id, _)| json_bytes(id.as_str())) {
            same.extend(self.stand_as_kept(&mut Asker::Look(budget), part).await?);
        }
        Ok(same)
    }

    /// Those of the rows that stand there with every value that was kept of them.
    async fn stand_as_kept(self, asker: &mut Asker<'_, '_>, kept: &[(JobId, String)]) -> Result<Vec<JobId>> {
        let ids: Vec<JobId> = kept.iter().map(|(id, _)| id.clone()).collect();
        let ids = self.context.valid(&ids);
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (layout, dialect) = (&self.context.layout, self.context.layout.dialect);
        let keeping = Keeping::of(dialect, &layout.columns, &Keep::Whole(true));
        let mut columns = vec![layout.key.text.clone()];
        columns.extend(keeping.expressions());
        let mut sql = Sql::new(dialect);
        sql.push(&format!("SELECT {} FROM {} AS t WHERE ", columns.join(", "), layout.tables.table));
        push(&mut sql, "{ids}", &Fill { ids: &ids, ..Fill::names_only(layout, None) });
        let wanted: HashMap<&str, &str> = kept.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        let mut same = Vec::new();
        for row in DryRun::new(self.context).fetch(asker, sql.done()).await? {
            let mut cells = Cells::new(row);
            let Some(id) = cells.text()? else { continue };
            let now = RelatedRow::parse(&keeping.read(&mut cells, None)?);
            let then = wanted.get(id.as_str()).and_then(|text| RelatedRow::parse(text));
            if then.zip(now).is_some_and(|(then, now)| then.stands_in(&now)) {
                same.push(JobId::new(id));
            }
        }
        Ok(same)
    }
}
