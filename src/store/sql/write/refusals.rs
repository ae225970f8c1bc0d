//! Jobs that a plan leaves out because the action can never be done for them, and those of which it warns.

use crate::adapter::Part;
use crate::adapter::{Field, Refusal};
use crate::db::Statement;
use crate::db::cells::Cells;
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::contract;
use crate::store::sql::query::template::{Fill, push};
use crate::store::{Budget, Ineligible, Result, SourceError};

/// What the statement says of a job that a worker holds, of one that is in no state for the action, and of all others.
const HELD: i64 = -3;
const OUT_OF_STATE: i64 = -2;
const FIT: i64 = -1;

/// Finds the jobs that a plan leaves out, and those of which it warns.
#[derive(Clone, Copy)]
pub(crate) struct Refusals<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> Refusals<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    /// Those of these jobs for which the verb cannot be done, each with the reason: the adapter's, or with `by_state` that its
    /// guard does not hold.
    pub(crate) async fn refused(
        self,
        action: Action,
        ids: &[JobId],
        by_state: bool,
        budget: &Budget,
    ) -> Result<Vec<(JobId, Ineligible)>> {
        let verb = self.context.layout.spec.verbs.acting(action);
        let refusals = verb.map_or(&[][..], |verb| &verb.refuse);
        let when = verb.and_then(|verb| verb.when.as_ref()).filter(|_| by_state).map(|when| when.get_ref().as_str());
        // Keys are only looked at where that is of use: whole cohorts come by.
        let ids = if refusals.is_empty() && when.is_none() { Vec::new() } else { self.context.valid(ids) };
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let statement = self.refusal_statement(when, refusals, &ids);
        let mut refused = Vec::new();
        for row in self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default() {
            let mut cells = Cells::new(row);
            let (id, which) = (cells.text()?, cells.int()?.unwrap_or(FIT));
            let (since, native) = (cells.int()?, cells.text()?);
            let because = match which {
                HELD => "a worker holds it".to_owned(),
                OUT_OF_STATE => match native {
                    Some(native) => format!("{action} takes no job that is `{native}`"),
                    None => format!("{action} does not take it as it stands"),
                },
                n => match usize::try_from(n).ok().and_then(|n| refusals.get(n)) {
                    Some(refusal) => refusal.because.clone(),
                    None => continue,
                },
            };
            let since = since.filter(|_| which == HELD).map(Timestamp);
            refused.extend(id.map(|id| (JobId::new(id), Ineligible { because, since })));
        }
        Ok(refused)
    }

    fn refusal_statement(self, when: Option<&str>, refusals: &[Refusal], ids: &[String]) -> Statement {
        let (layout, dialect) = (&self.context.layout, self.context.layout.dialect);
        let fill = Fill { ids, ..Fill::names_only(layout, self.context.destination.table()) };
        let held = layout.spec.held.as_ref();
        let mut sql = Sql::new(dialect);
        sql.push(&format!("SELECT {}, CASE", layout.key.text));
        if let Some(when) = when {
            if let Some(held) = held {
                sql.push(" WHEN (");
                push(&mut sql, when, &fill);
                sql.push(") IS NOT TRUE AND (");
                push(&mut sql, held.when.get_ref(), &fill);
                sql.push(&format!(") THEN {HELD}"));
            }
            sql.push(" WHEN (");
            push(&mut sql, when, &fill);
            sql.push(&format!(") IS NOT TRUE THEN {OUT_OF_STATE}"));
        }
        for (i, refusal) in refusals.iter().enumerate() {
            sql.push(" WHEN ");
            push(&mut sql, refusal.when.get_ref(), &fill);
            sql.push(&format!(" THEN {i}"));
        }
        let since = held.and_then(|held| held.since.as_ref()).filter(|_| when.is_some());
        let since = since.map_or("NULL".to_owned(), |since| self.contract_of(since));
        let native = if layout.part(Part::State).is_some() { contract(layout, Part::State) } else { "NULL".to_owned() };
        sql.push(&format!(" ELSE {FIT} END, {since}, {native} FROM {} WHERE ", layout.tables.from));
        push(&mut sql, "{ids}", &fill);
        sql.done()
    }

    fn contract_of(self, field: &Field) -> String {
        let expr = self.context.layout.expr(field);
        self.context.layout.dialect.contract(&expr.raw, expr.kind)
    }

    /// The adapter's warnings that hold for some of these jobs, each with their number.
    pub(crate) async fn read_cautions(
        self,
        action: Action,
        ids: &[JobId],
        budget: &Budget,
    ) -> Result<Vec<(String, u64)>> {
        let warnings = self.context.layout.spec.verbs.get(action).map_or(&[][..], |verb| &verb.warn);
        let ids = if warnings.is_empty() { Vec::new() } else { self.context.valid(ids) };
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let layout = &self.context.layout;
        let fill = Fill { ids: &ids, ..Fill::names_only(layout, self.context.destination.table()) };
        let mut sql = Sql::new(layout.dialect);
        sql.push("SELECT ").join(warnings, ", ", |sql, warning| {
            sql.push("COUNT(CASE WHEN ");
            push(sql, warning.when.get_ref(), &fill);
            sql.push(" THEN 1 END)");
        });
        sql.push(&format!(" FROM {} WHERE ", layout.tables.from));
        push(&mut sql, "{ids}", &fill);
        let rows = match self.context.engine.read(&[sql.done()], budget).await {
            Ok(mut results) => results.pop().unwrap_or_default(),
            // The verb itself does not need what a warning looks at.
            Err(SourceError::Denied(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let Some(mut cells) = rows.into_iter().next().map(Cells::new) else { return Ok(Vec::new()) };
        let mut told = Vec::new();
        for warning in warnings {
            let jobs = cells.count()?;
            told.extend((jobs > 0).then(|| (warning.because.clone(), jobs)));
        }
        Ok(told)
    }
}
