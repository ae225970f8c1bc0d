//! Retention: which rule holds for a store, how old its oldest dead job is, and what that means.

use std::time::Duration;

use super::finding::{Finding, Level};
use crate::adapter::Retention;
use crate::domain::filter::Filter;
use crate::domain::histogram::grouped;
use crate::domain::time::{Timestamp, short_span};
use crate::store::{Budget, Cursor, PageQuery, Result, ScanMode, Sort, SortKey, Store};

/// From this part of its time on a job is about to be deleted.
const SOON: f64 = 0.8;
/// Rows and age from which on a table that nothing tidies is worth a word.
const MANY: u64 = 100_000;
const OLD: Duration = Duration::from_secs(90 * 86_400);
/// Steps that finding the oldest job may take where no index serves.
const STEPS: usize = 5;

/// How old the oldest dead job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eldest {
    /// There is no dead job.
    None,
    /// It died then.
    Died(Timestamp),
    /// It cannot be told without reading all of the table.
    Unknown,
}

/// What is found of a store's retention.
///
/// # Errors
/// When the database cannot be read.
pub async fn check(
    section: &str,
    store: &dyn Store,
    (retention, rows): (Option<&Retention>, Option<u64>),
    budget: &Budget,
) -> Result<Vec<Finding>> {
    let eldest = eldest(store, budget).await?;
    Ok(findings(section, retention, eldest, rows, store.clock()))
}

async fn eldest(store: &dyn Store, budget: &Budget) -> Result<Eldest> {
    let sort = Sort { key: SortKey::Time, descending: false };
    let mut cursor = Cursor::Start;
    for _ in 0..STEPS {
        let query = PageQuery { filter: Filter::all(), sort, cursor, limit: 1 };
        let page = store.scan(query, ScanMode::List, budget).await?;
        match (page.entries.first(), page.next) {
            (Some(entry), _) => return Ok(entry.row.at.map_or(Eldest::Unknown, Eldest::Died)),
            (None, Some(next)) => cursor = next,
            (None, None) => return Ok(Eldest::None),
        }
    }
    Ok(Eldest::Unknown)
}

fn findings(
    section: &str,
    retention: Option<&Retention>,
    eldest: Eldest,
    rows: Option<u64>,
    now: Timestamp,
) -> Vec<Finding> {
    let rule = match retention {
        Some(rule) => Finding::new(section, "retention", Level::Ok, &rule.note),
        None => {
            Finding::new(section, "retention", Level::Ok, "the adapter knows no rule by which dead jobs are deleted")
                .advising("set `retention` in the adapter file (see docs/adapters.md)")
        }
    };
    let after = retention.and_then(|rule| rule.after);
    let oldest = |level, fact: String| Finding::new(section, "oldest dead job", level, fact);
    let oldest = match eldest {
        Eldest::None => oldest(Level::Ok, "there is none".to_owned()),
        Eldest::Unknown => oldest(Level::Ok, "not known: no index leads to it".to_owned()),
        Eldest::Died(at) => {
            let age = at.age(now);
            aged(oldest(Level::Ok, format!("died {} ago, at {at}", short_span(age))), age, after, rows)
        }
    };
    vec![rule, oldest]
}

/// The same finding with what its age means.
fn aged(finding: Finding, age: Duration, after: Option<Duration>, rows: Option<u64>) -> Finding {
    let warn = |fact: String| Finding { level: Level::Warn, fact, ..finding.clone() };
    match after {
        Some(after) if age > after => finding.advising(format!(
            "older than the usual {}: the job that deletes them does not run, or keeps them longer",
            short_span(after)
        )),
        Some(after) if age >= after.mul_f64(SOON) => {
            let left = short_span(after.saturating_sub(age));
            warn(format!("{}: about to be deleted, in {left} by the usual rule", finding.fact))
                .advising("replay the oldest jobs, or keep them with `dlq-tui export`, before they are gone")
        }
        None if age > OLD && rows.is_some_and(|rows| rows >= MANY) => {
            let rows = grouped(rows.unwrap_or_default());
            warn(format!("{}; nothing deletes any, and the table has ~{rows} rows", finding.fact)).advising(
                "`dlq-tui purge --older-than 90d` deletes those that are settled, and `dlq-tui archive` moves others away",
            )
        }
        _ => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    fn told(after: Option<u64>, eldest_days: f64, rows: Option<u64>) -> Finding {
        let rule = Retention { note: "a note".into(), after: after.map(|days| Duration::from_secs(days * DAY)) };
        let now = Timestamp(1_800_000_000_000_000);
        let died = now.before(Duration::from_secs_f64(eldest_days * DAY as f64));
        findings("s", Some(&rule), Eldest::Died(died), rows, now).remove(1)
    }

    #[test]
    fn what_is_about_to_vanish_and_what_nobody_ever_deletes_is_warned_of() {
        assert_eq!(told(Some(10), 7.9, None).level, Level::Ok);
        let soon = told(Some(10), 8.5, None);
        assert!(soon.level == Level::Warn && soon.fact.contains("in 1d by the usual rule"), "{soon:?}");
        let over = told(Some(10), 11.0, None);
        assert!(over.level == Level::Ok && over.advice.is_some_and(|a| a.starts_with("older than the usual 10d")));
        assert_eq!(told(None, 400.0, Some(MANY - 1)).level, Level::Ok);
        assert_eq!(told(None, 400.0, None).level, Level::Ok);
        assert_eq!(told(None, 89.0, Some(MANY)).level, Level::Ok);
        let never = told(None, 400.0, Some(MANY));
        assert!(never.level == Level::Warn && never.advice.is_some_and(|a| a.contains("dlq-tui purge")));
        assert_eq!(told(Some(10), 400.0, Some(MANY)).level, Level::Ok, "somebody is meant to delete them");
    }

    #[test]
    fn without_a_rule_or_a_dead_job_there_is_nothing_to_warn_of() {
        let now = Timestamp(0);
        let found = findings("s", None, Eldest::None, None, now);
        assert!(found.iter().all(|f| f.level == Level::Ok) && found[0].advice.is_some(), "{found:?}");
        assert!(findings("s", None, Eldest::Unknown, None, now)[1].fact.starts_with("not known"));
    }
}
