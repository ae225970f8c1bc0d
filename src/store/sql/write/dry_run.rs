//! What a batch would come to as the rows stand, and why some of them are left alone.

use std::collections::HashMap;

use crate::db::cells::Cells;
use crate::db::{Row, Statement, Tx};
use crate::domain::action::{JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::lookup_parts::json_bytes;
use crate::store::sql::query::template::{Fill, push};
use crate::store::sql::write::batch::BatchWriter;
use crate::store::sql::write::verb::Work;
use crate::store::{Budget, Result};

/// What stands for the first of an adapter's refusals.
const REFUSED: usize = 10;

/// Who runs the statements of an attempt: the transaction that acts, or nobody who holds anything.
pub(crate) enum Asker<'a, 'tx> {
    Tx(&'a mut Tx<'tx>),
    Look(&'a Budget),
}

/// Says what a batch would come to.
#[derive(Clone, Copy)]
pub(crate) struct DryRun<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> DryRun<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    /// Jobs of a batch, cut so that what was kept of each part can be sent at once.
    pub(crate) fn parts_of_work<'i>(self, work: &Work<'_>, ids: &'i [String]) -> Vec<&'i [String]> {
        let mut sent = work.snapshots();
        sent.extend(work.batch.edits.iter().map(|edit| (edit.id.as_str(), edit.edited.as_str())));
        self.context.parts(ids, |id| json_bytes(id) + sent.get(id.as_str()).map_or(0, |text| json_bytes(text)))
    }

    /// Why these rows are not held: gone, changed, taken, or locked by somebody else.
    pub(crate) async fn explain_rest(
        self,
        asker: &mut Asker<'_, '_>,
        work: &Work<'_>,
        rest: &[String],
    ) -> Result<Vec<JobOutcome>> {
        let (layout, dialect) = (&self.context.layout, self.context.layout.dialect);
        let fill = Fill { ids: rest, ..BatchWriter::new(self.context).fill(work) };
        let mut sql = Sql::new(dialect);
        sql.push(&format!("SELECT {}, CASE WHEN ", layout.key.text));
        BatchWriter::new(self.context).guard(&mut sql, work, &fill);
        sql.push(" THEN 1 ");
        if let Some(taken) = work.taken {
            sql.push("WHEN ");
            push(&mut sql, taken, &fill);
            sql.push(" THEN 2 ");
        }
        for (i, refusal) in work.refuse.iter().enumerate() {
            sql.push("WHEN ");
            BatchWriter::new(self.context).still(&mut sql, work, &fill);
            sql.push(" AND (");
            push(&mut sql, refusal.when.get_ref(), &fill);
            sql.push(&format!(") THEN {} ", REFUSED + i));
        }
        sql.push(&format!("ELSE 0 END FROM {} WHERE ", layout.tables.from));
        push(&mut sql, "{ids}", &fill);
        let mut there: HashMap<String, Option<i64>> = HashMap::new();
        for row in self.fetch(asker, sql.done()).await? {
            let mut cells = Cells::new(row);
            if let Some(id) = cells.text()? {
                there.insert(id, cells.int()?);
            }
        }
        let reason = |id: &String| match there.get(id) {
            None => SkipReason::Gone,
            Some(Some(1)) => SkipReason::Locked,
            Some(Some(2)) => SkipReason::Taken,
            Some(Some(n)) if *n >= REFUSED as i64 => {
                let refusal = usize::try_from(*n).ok().and_then(|n| work.refuse.get(n - REFUSED));
                refusal.map_or(SkipReason::Changed, |refusal| SkipReason::Unfit(refusal.because.clone()))
            }
            Some(_) => SkipReason::Changed,
        };
        Ok(rest.iter().map(|id| (JobId::new(id), JobResult::Skipped(reason(id)))).collect())
    }

    pub(crate) async fn fetch(self, asker: &mut Asker<'_, '_>, statement: Statement) -> Result<Vec<Row>> {
        match asker {
            Asker::Tx(tx) => tx.fetch(&statement).await,
            Asker::Look(budget) => Ok(self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default()),
        }
    }
}
