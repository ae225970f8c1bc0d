//! Rows of other tables that belong to a job's row: kept along with it, and put back with it.

use std::collections::{BTreeMap, HashMap};

use crate::adapter::{Column, Keep, RelatedRows, Spec};
use crate::db::Tx;
use crate::db::cells::Cells;
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::store::Result;
use crate::store::found::Found;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::row_snapshot::{Keeping, add_related};
use crate::store::sql::query::template::{Fill, push};
use crate::store::sql::write::batch::{BatchWriter, Held};
use crate::store::sql::write::verb::Work;

/// The columns of the tables whose rows an adapter keeps along or changes, as far as they are there.
pub(crate) fn columns(spec: &Spec, found: &Found) -> BTreeMap<String, Vec<Column>> {
    let verbs = Action::ALL.into_iter().filter_map(|action| spec.verbs.get(action));
    let names = verbs.flat_map(|verb| &verb.along).map(|along| along.table.get_ref());
    let edited = spec.verbs.repair.as_ref().and_then(|edit| edit.row.as_ref()).map(|row| row.table.get_ref());
    let table = |name: &String| Some((name.clone(), found.neighbours()?.get(name)?.columns.clone()));
    names.chain(edited).filter_map(table).collect()
}

impl<'s> BatchWriter<'s> {
    /// Reads what belongs to the rows that are held, and adds it to what is kept of these.
    pub(crate) async fn keep_related(self, tx: &mut Tx<'_>, work: &Work<'_>, held: &mut Held) -> Result<()> {
        if work.along.is_empty() || held.archive.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = held.archive.iter().map(|(id, _)| id.as_str().to_owned()).collect();
        let mut tables: Vec<(&str, HashMap<String, Vec<String>>)> = Vec::new();
        for along in work.along {
            if let Some(columns) = self.context.along.get(along.table.get_ref()) {
                tables.push((along.table.get_ref(), self.related_rows(tx, along, columns, &ids).await?));
            }
        }
        for (id, kept) in &mut held.archive {
            let rows =
                |rows: &mut HashMap<String, Vec<String>>, id: &JobId| rows.remove(id.as_str()).unwrap_or_default();
            let own: Vec<_> = tables.iter_mut().map(|(table, found)| (*table, rows(found, id))).collect();
            add_related(kept, &own);
        }
        Ok(())
    }

    /// The rows of one table, by the job that they belong to.
    async fn related_rows(
        self,
        tx: &mut Tx<'_>,
        along: &RelatedRows,
        columns: &[Column],
        ids: &[String],
    ) -> Result<HashMap<String, Vec<String>>> {
        let (layout, dialect) = (&self.context.layout, self.context.layout.dialect);
        let keeping = Keeping::of(dialect, columns, &Keep::Whole(true));
        let expressions: Vec<String> = keeping.expressions().collect();
        let mut sql = Sql::new(dialect);
        // The other table is `t` here, as the expressions of what is kept have it.
        let pairs = || std::iter::once((&along.column, &along.of)).chain(&along.also).zip(0..);
        let ours: Vec<String> = pairs().map(|((_, of), n)| format!("t.{} AS o{n}", dialect.quote(of))).collect();
        let same: Vec<String> =
            pairs().map(|((column, _), n)| format!("t.{} = p.o{n}", dialect.quote(column))).collect();
        sql.push(&format!(
            "SELECT p.k, {} FROM (SELECT {} AS k, {} FROM {} AS t WHERE ",
            expressions.join(", "),
            layout.key.text,
            ours.join(", "),
            layout.tables.table
        ));
        push(&mut sql, "{ids}", &Fill { ids, ..Fill::names_only(layout, None) });
        sql.push(") AS p JOIN ");
        push(&mut sql, "{schema}", &Fill::names_only(layout, None));
        sql.push(&format!(".{} AS t ON {}", dialect.quote(along.table.get_ref()), same.join(" AND ")));
        let mut rows: HashMap<String, Vec<String>> = HashMap::new();
        for row in tx.fetch(&sql.done()).await? {
            let mut cells = Cells::new(row);
            let Some(id) = cells.text()? else { continue };
            rows.entry(id).or_default().push(keeping.read(&mut cells, None)?);
        }
        Ok(rows)
    }
}
