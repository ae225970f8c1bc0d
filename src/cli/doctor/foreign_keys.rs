//! Rows of other tables that refer to jobs: what the database does to them when jobs are deleted.

use super::finding::{Finding, Level};
use crate::store::{Budget, Diagnose, Following, Result};

/// What was looked at.
const ABOUT: &str = "foreign keys";

/// What is found of the tables that refer to those of a store.
///
/// # Errors
/// When the database cannot be read.
pub async fn check(section: &str, store: &dyn Diagnose, budget: &Budget) -> Result<Vec<Finding>> {
    let found = store.followers(budget).await?;
    if !found.deletes {
        return Ok(vec![Finding::new(section, ABOUT, Level::Ok, "no verb deletes jobs here")]);
    }
    let mut all: Vec<Finding> = found.taken().map(|(rule, tables)| taken(section, rule, tables)).collect();
    all.extend(refusing(section, &found));
    if all.is_empty() {
        all.push(Finding::new(
            section,
            ABOUT,
            Level::Ok,
            "no rows of other tables go, change or refuse when jobs are deleted",
        ));
    }
    if !found.all {
        let fact = "only tables that this role may write to were checked, in this and the server's other databases";
        all.push(Finding::new(section, ABOUT, Level::Ok, fact).advising("the right to PROCESS shows them all"));
    }
    Ok(all)
}

fn taken<'a>(section: &str, rule: &str, tables: impl IntoIterator<Item = &'a String>) -> Finding {
    let tables: Vec<&str> = tables.into_iter().map(String::as_str).collect();
    let what = match rule {
        "CASCADE" => "are deleted along with jobs",
        "SET NULL" => "refer to nothing once jobs are deleted",
        _ => "refer to their default once jobs are deleted",
    };
    let fact = format!("rows of {} {what} (ON DELETE {rule}), and an undo does not bring that back", tables.join(", "));
    Finding::new(section, ABOUT, Level::Warn, fact).advising(
        "copy them before a discard, or name their table in the verb's `along` (docs/adapters.md); with ON DELETE RESTRICT the \
         database refuses instead",
    )
}

fn refusing(section: &str, found: &Following) -> Option<Finding> {
    let tables: Vec<&str> = found.refusing().collect();
    (!tables.is_empty()).then(|| {
        let fact = format!(
            "a job that rows of {} refer to is not deleted: the database refuses, and the job is reported as failed",
            tables.join(", ")
        );
        Finding::new(section, ABOUT, Level::Ok, fact).advising("delete those rows first where the job is to go")
    })
}
