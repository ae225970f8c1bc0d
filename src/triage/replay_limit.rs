//! The loop guard: a job that was replayed again and again and came back each time is not put back once more.

use std::collections::HashMap;

use super::StoreContext;
use crate::domain::action::Action;
use crate::domain::filter::{Filter, Key, Test};
use crate::domain::histogram::grouped;
use crate::domain::job::JobId;
use crate::domain::job::lineage::successor;
use crate::ledger::{KnownJob, Ledger, LedgerError, RunId, Whose};
use crate::store::{Budget, Frozen, Identity, SourceError, Store, StoreExt};

/// What is on record of the replays of a cohort's jobs, and which of them that bars.
pub(super) struct ReplayLimit<'a> {
    desk: &'a StoreContext,
    ledger: &'a Ledger,
    run: &'a RunId,
    action: Action,
    /// The database that the jobs are in, where that can be told.
    database: Option<&'a Identity>,
    /// Replays that a job may have behind it.
    max: u64,
    /// Whether there is any replay on record; asked when it first matters.
    any: Option<bool>,
    /// Jobs that were left out.
    pub(super) barred: u64,
}

impl<'a> ReplayLimit<'a> {
    pub(super) fn new(
        desk: &'a StoreContext,
        ledger: &'a Ledger,
        run: &'a RunId,
        action: Action,
        database: Option<&'a Identity>,
        max: u64,
    ) -> Self {
        Self { desk, ledger, run, action, database, max, any: None, barred: 0 }
    }

    /// The jobs that a filter lets through and the limit does not bar, with what the record keeps of their replays.
    pub(super) async fn pass(
        &mut self,
        filter: Option<&Filter>,
        mut jobs: Vec<Frozen>,
    ) -> Result<Vec<Frozen>, LedgerError> {
        let replays = self.action == Action::Replay;
        let filter = filter.filter(|filter| asks(filter));
        if (replays || filter.is_some()) && !jobs.is_empty() && self.any().await? {
            self.count(&mut jobs).await?;
        }
        if let Some(filter) = filter {
            jobs.retain(|job| replays_pass(filter, job.replays));
        }
        if !replays {
            jobs.iter_mut().for_each(|job| (job.lineage, job.replays) = (None, 0));
            return Ok(jobs);
        }
        let all = jobs.len();
        jobs.retain(|job| job.replays < self.max);
        self.barred += (all - jobs.len()) as u64;
        if self.desk.store.info().capabilities.renames {
            jobs.iter_mut().for_each(|job| job.successor = Some(successor(&self.run.0, &job.id)));
        }
        Ok(jobs)
    }

    async fn any(&mut self) -> Result<bool, LedgerError> {
        if let Some(any) = self.any {
            return Ok(any);
        }
        let any = self.ledger.history().has_replays(&self.desk.source, &self.desk.store_name()).await?;
        self.any = Some(any);
        Ok(any)
    }

    async fn count(&self, jobs: &mut [Frozen]) -> Result<(), LedgerError> {
        let asked: Vec<KnownJob> = jobs.iter().map(|job| (job.id.clone(), job.lineage.clone())).collect();
        let store = self.desk.store_name();
        let whose = Whose { source: &self.desk.source, store: &store, database: self.database };
        let counts = self.ledger.history().replayed_counts(whose, &asked).await?;
        for job in jobs {
            job.replays = counts.get(&job.id).copied().unwrap_or(0);
        }
        Ok(())
    }
}

/// What jobs of a list are known by, some hundreds at the most: pages leave the lineage out.
///
/// # Errors
/// When the source cannot be read.
pub async fn known(store: &dyn Store, ids: Vec<JobId>, budget: &Budget) -> Result<Vec<KnownJob>, SourceError> {
    let mut lineages: HashMap<JobId, String> = HashMap::new();
    for entry in store.rows(&ids, budget).await? {
        lineages.extend(entry.lineage.map(|lineage| (entry.row.id, lineage)));
    }
    let lineage = |id: JobId| {
        let lineage = lineages.remove(&id);
        (id, lineage)
    };
    Ok(ids.into_iter().map(lineage).collect())
}

/// Whether a filter asks for replays.
pub fn asks(filter: &Filter) -> bool {
    filter.clauses().iter().any(|clause| clause.key == Key::Replayed)
}

/// Whether a job that was replayed `times` passes the `replayed:` terms of a filter.
pub fn replays_pass(filter: &Filter, times: u64) -> bool {
    let times = i64::try_from(times).unwrap_or(i64::MAX);
    let holds = |test: &Test| match test {
        Test::Number { min, max } => min.is_none_or(|min| times >= min) && max.is_none_or(|max| times <= max),
        _ => false,
    };
    filter.clauses().iter().filter(|c| c.key == Key::Replayed).all(|c| c.any.iter().any(holds) != c.negated)
}

/// What is said of a cohort that has been replayed before: `replays` holds times, and jobs.
pub(super) fn warnings(replays: &[(u64, u64)], barred: u64, max: u64) -> Vec<String> {
    let were = |n: u64| if n == 1 { "was" } else { "were" };
    let mut warnings = Vec::new();
    if barred > 0 {
        warnings.push(format!(
            "{} left out: replayed {} or more before, and dead again; --max-replays lets such jobs through",
            grouped(barred),
            times(max)
        ));
    }
    let before: Vec<&(u64, u64)> = replays.iter().filter(|(n, _)| *n > 0).collect();
    let sum: u64 = before.iter().map(|(_, jobs)| jobs).sum();
    match before.last() {
        Some((most, _)) if *most > 1 => warnings.push(format!(
            "{} of them {} replayed before, the most replayed {}",
            grouped(sum),
            were(sum),
            times(*most)
        )),
        Some(_) => warnings.push(format!("{} of them {} replayed before", grouped(sum), were(sum))),
        None => {}
    }
    warnings
}

/// A number of times in words.
pub(super) fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", grouped(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replay_terms_combine_as_other_terms_do() {
        let pass = |text: &str, n| replays_pass(&Filter::parse(text).unwrap(), n);
        assert!(pass("error:Boom", 3));
        assert!(pass("replayed:>0", 1) && !pass("replayed:>0", 0));
        assert!(pass("-replayed:2", 1) && !pass("-replayed:2", 2));
        assert!(pass("replayed:1 replayed:3", 3) && !pass("replayed:1 replayed:3", 2));
    }

    #[test]
    fn the_operator_is_told_how_often_jobs_came_back() {
        assert_eq!(warnings(&[(0, 10)], 0, 3), Vec::<String>::new());
        assert_eq!(warnings(&[(0, 10), (1, 1)], 0, 3), ["1 of them was replayed before"]);
        let told = warnings(&[(0, 10), (1, 1_000), (2, 5)], 12, 3);
        assert!(told[0].starts_with("12 left out: replayed 3 times or more before"), "{told:?}");
        assert_eq!(told[1], "1,005 of them were replayed before, the most replayed twice");
    }
}
