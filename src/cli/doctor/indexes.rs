//! The indexes: what they serve of lists, counts and filters, and what the missing ones would cost and bring.

use super::finding::{Finding, Level, bytes, roughly};
use crate::domain::histogram::grouped;
use crate::store::{Budget, Diagnose, Extent, Housekeeping, MissingIndex, Result, Served, Service};

/// Rows up to which a table is read from end to end in no time.
const SMALL: u64 = 50_000;
/// The same in bytes, where nobody knows the rows.
const SMALL_BYTES: u64 = 20_000_000;
/// Rows from which on counts by an index alone depend on how often the database tidies up.
const LARGE: u64 = 1_000_000;
/// New rows that such a count may have to look up one by one.
const UNTIDY: u64 = 200_000;
/// The share of pages that it wants to be tidied.
const TIDY: f64 = 0.9;

/// What is found of the indexes of a store.
///
/// # Errors
/// When the database cannot be read.
pub async fn findings(section: &str, store: &dyn Diagnose, extent: Extent, budget: &Budget) -> Result<Vec<Finding>> {
    let housekeeping = store.housekeeping(budget).await?;
    let mut all = vec![size(section, extent, &housekeeping)];
    let served = store.served(extent, budget).await?;
    all.extend(served.into_iter().map(|served| index(section, extent, served)));
    all.extend(tidiness(section, extent, &housekeeping));
    Ok(all)
}

fn size(section: &str, extent: Extent, housekeeping: &Housekeeping) -> Finding {
    let rows = extent.rows.map_or("an unknown number of rows".to_owned(), |n| format!("~{} rows", grouped(n)));
    let finding = Finding::new(section, "rows", Level::Ok, format!("{rows}, {}", bytes(extent.bytes)));
    match housekeeping.analyzed {
        true => finding,
        false => Finding { level: Level::Warn, ..finding }
            .advising("the planner has no statistics for it: estimates are missing, and plans may be bad")
            .by(housekeeping.analyze.clone()),
    }
}

fn index(section: &str, extent: Extent, served: Served) -> Finding {
    let finding = |level, fact: String| Finding::new(section, &served.what, level, fact);
    let is_small = extent.rows.map_or(extent.bytes <= SMALL_BYTES, |rows| rows <= SMALL);
    match served.by {
        Service::Index(name) => finding(Level::Ok, format!("served by {name}")),
        Service::Computed => finding(
            Level::Ok,
            "computed from each row, which no index serves: counted in steps, in the background".to_owned(),
        ),
        Service::Missing(None) => finding(Level::Ok, "no index: read in steps, in the background".to_owned()),
        Service::Missing(Some(missing)) => {
            let level = if is_small { Level::Ok } else { Level::Warn };
            let fact = if is_small { "no index, and none needed for so few rows" } else { "no index" };
            let finding = finding(level, fact.to_owned());
            let finding = if is_small { finding } else { finding.advising(price(&missing)).by(missing.ddl) };
            Finding { bytes: missing.bytes, seconds: missing.build.map(|span| span.as_secs_f64().ceil()), ..finding }
        }
    }
}

/// What an index costs, in a sentence.
fn price(missing: &MissingIndex) -> String {
    match (missing.bytes, missing.build) {
        (Some(size), Some(build)) => {
            format!("makes {} instant; about {} and {} to build", missing.purpose, bytes(size), roughly(build))
        }
        _ => format!("makes {} instant", missing.purpose),
    }
}

/// Whether counts that an index answers alone can stay quick.
fn tidiness(section: &str, extent: Extent, housekeeping: &Housekeeping) -> Option<Finding> {
    let visible = housekeeping.visible.filter(|_| extent.rows.is_some_and(|rows| rows >= LARGE))?;
    let after = housekeeping.tidies_after;
    let often = after.is_some_and(|rows| rows <= UNTIDY);
    let pages = format!("an index alone can count {:.0} % of the pages", (visible * 100.0).floor());
    let fact = match after {
        Some(rows) => format!("{pages}; autovacuum sees to the rest every {} new rows", grouped(rows)),
        None => format!("{pages}; autovacuum does not go by new rows here"),
    };
    let level = if often && visible >= TIDY { Level::Ok } else { Level::Warn };
    let finding = Finding::new(section, "autovacuum", level, fact);
    Some(match (&housekeeping.tidy, often) {
        (Some(ddl), false) => finding
            .advising(
                "counts grow slower between two rounds (2.7 times at half a million new rows); a round takes a second",
            )
            .by(ddl.clone()),
        _ if level == Level::Warn => finding.advising("counts are slower until the next round"),
        _ => finding,
    })
}
