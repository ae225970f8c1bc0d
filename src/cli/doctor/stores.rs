//! The stores of a source: the rights on them, their indexes, their bloat, their retention and what refers to them, in sections of their
//! own.

use super::finding::Finding;
use super::{bloat, foreign_keys, indexes, privileges, retention};
use crate::cli::source::open::Surveyed;
use crate::domain::text::Clean;
use crate::store::{Budget, Diagnose, SourceError, Store};

/// What is found of each store, the rights on all of them first. What fails of one keeps nothing back of the others.
pub async fn findings(surveyed: &Surveyed, budget: &Budget) -> Vec<Finding> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for found in surveyed.matching() {
        let label = found.label();
        let label = Clean::line(&label);
        let (on, of) = (format!("rights on {label}"), format!("indexes of {label}"));
        match surveyed.survey.open(found, &surveyed.open_options(), budget).await {
            Ok(store) => {
                let Some(diagnose) = store.diagnose() else { continue };
                first.extend(privileges::findings(store.info(), diagnose, &on));
                rest.extend(of_store(&*store, diagnose, &label, budget).await);
            }
            Err(error) => {
                first.push(Finding::failed(&on, "look", &error));
                rest.push(Finding::failed(&of, "rows", &error));
            }
        }
    }
    first.extend(rest);
    first
}

async fn of_store(store: &dyn Store, diagnose: &dyn Diagnose, label: &str, budget: &Budget) -> Vec<Finding> {
    let (section, upkeep) = (format!("indexes of {label}"), format!("upkeep of {label}"));
    let failed = |section: &str, about: &str, error: SourceError| vec![Finding::failed(section, about, &error)];
    let extent = match diagnose.extent(budget).await {
        Ok(extent) => extent,
        Err(error) => return failed(&section, "rows", error),
    };
    let served = indexes::findings(&section, diagnose, extent, budget).await;
    let mut all = served.unwrap_or_else(|error| failed(&section, "rows", error));
    all.extend(match diagnose.bloat(budget).await {
        Ok(found) => bloat::findings(&upkeep, &found),
        Err(error) => failed(&upkeep, "bloat", error),
    });
    let kept = retention::check(&upkeep, store, (diagnose.retention(), extent.rows), budget).await;
    all.extend(kept.unwrap_or_else(|error| failed(&upkeep, "retention", error)));
    let following = foreign_keys::check(&upkeep, diagnose, budget).await;
    all.extend(following.unwrap_or_else(|error| failed(&upkeep, "foreign keys", error)));
    all
}
