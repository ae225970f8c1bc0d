//! Everything of a job: what the detail shows, and nothing else asks for.

use crate::adapter::{Column, FieldKind, Part};
use crate::db::Row;
use crate::db::cells::Cells;
use crate::domain::job::lineage;
use crate::domain::job::{JobDetail, JobId};
use crate::domain::json::{Document, decode_double};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::sql::context::Context;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::columns::{WIDTH, complete_text, contract, read, select};
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::where_clause::Extras;
use crate::store::{Budget, Job, Result, SortKey};

/// Reads everything of a job.
#[derive(Clone, Copy)]
pub(crate) struct Details<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> Details<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    pub(crate) async fn read_details(self, ids: &[JobId], budget: &Budget) -> Result<Vec<Job>> {
        let valid = self.context.valid(ids);
        if valid.is_empty() {
            return Ok(Vec::new());
        }
        let layout = &self.context.layout;
        let order = layout.order(SortKey::Time, true).unwrap_or(&layout.key.expr);
        let mut sql = Sql::new(layout.dialect);
        sql.push("SELECT ");
        select(&mut sql, layout, order, Extras { message: true, arguments: true, ..Extras::default() });
        let backtrace = complete_text(layout, Part::Backtrace);
        sql.push(&format!(", {backtrace}, {}", contract(layout, Part::Lineage)));
        let others = others(layout);
        for column in &others {
            sql.push(&format!(", {}", layout.dialect.shown(column)));
        }
        for expr in layout.more.values() {
            sql.push(&format!(", {}", layout.dialect.contract(&expr.raw, expr.kind)));
        }
        sql.push(&format!(" FROM {} WHERE ", layout.tables.from));
        layout.keys_in(&mut sql, &valid);
        let rows = self.context.engine.read(&[sql.done()], budget).await?.pop().unwrap_or_default();
        let named = self.context.named(ids);
        let details = rows.into_iter().map(|row| detail(layout, &others, row));
        let named = details.filter(|detail| detail.as_ref().map_or(true, |d| named(&d.row.id)));
        named.map(|detail| Ok(Job::Full(detail?))).collect()
    }
}

/// Whether arguments that should be JSON by now are none.
fn is_undecodable(layout: &Layout, text: &str) -> bool {
    let is_json = layout.part(Part::Arguments).is_some_and(|expr| expr.kind == FieldKind::Json);
    (is_json || layout.decode().is_some()) && !text.trim().is_empty() && Document::parse(decode_double(text)).is_err()
}

/// Columns that nothing else of a detail shows.
fn others(layout: &Layout) -> Vec<&Column> {
    let heavy = [Part::Message, Part::Arguments, Part::Backtrace];
    let stored = |p: &&Part| **p != Part::Arguments || layout.decode().is_none();
    let shown: Vec<&str> = heavy.iter().filter(stored).filter_map(|p| layout.part(*p)?.column.as_deref()).collect();
    layout.columns.iter().filter(|column| !shown.contains(&column.name.as_str())).collect()
}

/// A row: the light columns, backtrace and lineage, and those that nothing else shows.
fn detail(layout: &Layout, others: &[&Column], mut row: Row) -> Result<JobDetail> {
    let rest = Row(row.0.split_off(WIDTH.min(row.0.len())));
    let light = read(layout, row)?;
    let mut cells = Cells::new(rest);
    let (backtrace, lineage) = (cells.untrusted()?, cells.text()?);
    let mut metadata =
        others.iter().map(|column| Ok((column.name.clone(), cells.untrusted()?))).collect::<Result<Vec<_>>>()?;
    for (name, expr) in &layout.more {
        let value = match expr.kind.is_time() {
            true => cells.int()?.map(|at| Untrusted::new(Timestamp(at).to_string())),
            false => cells.untrusted()?,
        };
        metadata.push((name.clone(), value));
    }
    let undecodable = light.arguments.as_deref().is_some_and(|text| is_undecodable(layout, text));
    Ok(JobDetail {
        undecodable,
        message: light.message.map(Untrusted::new),
        arguments: light.arguments.map(Untrusted::new),
        backtrace,
        metadata,
        decoded_from: layout.decoded_from(),
        lineage: lineage.map(|lineage| Untrusted::new(lineage::stored_form(&lineage))),
        row: light.entry.row,
    })
}
