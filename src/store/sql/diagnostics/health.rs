//! How a connection and a table are doing.

use std::time::{Duration, Instant};

use crate::db::cells::Cells;
use crate::db::{DatabaseKind, Engine, Row, Statement, Value};
use crate::domain::time::Timestamp;
use crate::store::sql::diagnostics::Diagnostics;
use crate::store::sql::dialect::Place;
use crate::store::sql::dialect::catalogue::table_stats::table_stats;
use crate::store::{Budget, Connection, Housekeeping, Result};

/// Questions whose time is taken.
const QUESTIONS: usize = 5;

/// Takes the time of some questions, and asks the server where it is.
///
/// # Errors
/// When it cannot be reached.
pub async fn connection(engine: &Engine, budget: &Budget) -> Result<Connection> {
    let one = Statement { sql: "SELECT 1".to_owned(), binds: Vec::new() };
    let mut latency = Duration::MAX;
    for _ in 0..QUESTIONS {
        let began = Instant::now();
        engine.read(std::slice::from_ref(&one), budget).await?;
        latency = latency.min(began.elapsed());
    }
    let vitals = table_stats(engine.kind());
    let ask = async |sql: Option<&str>| -> Result<Option<Row>> {
        let Some(sql) = sql else { return Ok(None) };
        let rows = engine.read(&[Statement { sql: sql.to_owned(), binds: Vec::new() }], budget).await?.pop();
        Ok(rows.unwrap_or_default().pop())
    };
    // Some put the name of what was asked for before it.
    let encryption = match ask(vitals.encryption()).await?.and_then(|mut row| row.0.pop()) {
        Some(Value::Text(version)) if !version.is_empty() => Some(version),
        _ => None,
    };
    let own = ask(vitals.own_port()).await?.map(|row| Cells::new(row).int()).transpose()?.flatten();
    let own = own.and_then(|port| u64::try_from(port).ok());
    let forgets = ask(vitals.forgets()).await?.map(|row| Cells::new(row).text()).transpose()?.flatten();
    let (told, heard) = engine.clock();
    let since = i64::try_from(heard.elapsed().as_micros()).unwrap_or(i64::MAX);
    let ahead = told.0.saturating_add(since).saturating_sub(Timestamp::now().0);
    let ahead = (engine.kind() != DatabaseKind::Sqlite).then_some(ahead);
    let servers = engine.place().split('/').next().unwrap_or_default().split(',');
    let called: Vec<u64> = servers.filter_map(|server| server.rsplit_once(':')?.1.parse().ok()).collect();
    let other_port = own.filter(|own| !called.is_empty() && !called.contains(own));
    Ok(Connection { latency, other_port, forgets, ahead, encryption })
}

impl<'s> Diagnostics<'s> {
    pub(crate) async fn housekeeping(self, budget: &Budget) -> Result<Housekeeping> {
        let place = Place { schema: &self.context.layout.schema, table: &self.context.layout.spec.table };
        let vitals = table_stats(self.context.engine.kind());
        let mut out = Housekeeping {
            visible: None,
            tidies_after: None,
            analyzed: true,
            analyze: vitals.analyze(place),
            tidy: None,
        };
        if let Some(sql) = vitals.is_analyzed() {
            let rows =
                self.context.engine.read(&[Statement { sql: sql.to_owned(), binds: Vec::new() }], budget).await?.pop();
            let row = rows.unwrap_or_default().pop();
            out.analyzed = row.map(|row| Cells::new(row).count()).transpose()?.unwrap_or(0) > 0;
        }
        let Some(statement) = vitals.housekeeping(place) else { return Ok(out) };
        let Some(row) = self.context.engine.read(&[statement], budget).await?.pop().unwrap_or_default().pop() else {
            return Ok(out);
        };
        let mut cells = Cells::new(row);
        let (pages, visible, threshold, share) = (cells.int()?, cells.int()?, cells.int()?, cells.int()?);
        out.analyzed = cells.int()? == Some(1);
        let is_plain = cells.int()? == Some(1);
        let (pages, visible) = (pages.unwrap_or(0) as f64, visible.unwrap_or(0) as f64);
        out.visible = (is_plain && pages > 0.0).then(|| (visible / pages).min(1.0));
        let rows = self.extent(budget).await?.rows;
        if let (Some(threshold), Some(share), Some(rows), true) = (threshold, share, rows, is_plain) {
            let after = threshold as f64 + share as f64 / 1e6 * rows as f64;
            // A negative threshold turns it off.
            out.tidies_after = (threshold >= 0).then_some(after as u64);
            out.tidy = vitals.tidy(place);
        }
        Ok(out)
    }
}
