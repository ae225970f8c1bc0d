//! `run:` and `outcome:`: the jobs of a run, as the ledger has them.
//!
//! The few rows of a usual run are named to the store by their ids, so that its statements stay as quick as those of `id:`. The
//! rows of a large run are judged a page at a time.

use std::collections::HashSet;
use std::time::Duration;

use super::input;
use crate::domain::filter::{Clause, Filter, Key, LAST_RUN, Pattern, Test};
use crate::domain::job::{JobId, State};
use crate::domain::outcome::{OutcomeKind, OutcomeTest};
use crate::ledger::{Ledger, Run, RunId};
use crate::store::{Budget, Result, SourceError};
use crate::triage::StoreContext;
use crate::triage::freeze::PlanError;
use crate::triage::outcomes::{OutcomePoll, count_outcomes};

/// Rows that are named by their ids; beyond that a page at a time is judged.
const MAX_NAMED: usize = 1_000;
/// The time between two questions for the outcomes of one run, however often its rows are read.
const ASK_INTERVAL: Duration = Duration::from_secs(5);
/// A term that rows of every state pass: without one only dead rows would be read.
const ANY_STATE: &str = "-native:\"(none)\"";

/// How a filter with terms for runs is read.
#[derive(Debug)]
pub(in crate::triage) enum RunRows {
    /// By a filter that the store can answer but for `replayed:`.
    Named(Filter),
    /// No row passes.
    Nothing,
    /// By such a filter, and what passes is picked from each page.
    Paged(Filter, RunTerms),
}

/// The terms of a filter for runs.
#[derive(Debug, Default)]
pub(in crate::triage) struct RunTerms {
    /// Any of these, where there are any.
    any: Vec<RunId>,
    /// None of these.
    none: Vec<RunId>,
    /// What must hold of the outcomes since the runs of `any`.
    outcomes: Vec<OutcomeTest>,
}

/// Whether a filter has terms for runs.
pub(in crate::triage) fn asks_runs(filter: &Filter) -> bool {
    filter.clauses().iter().any(|clause| matches!(clause.key, Key::Run | Key::Outcome))
}

impl RunTerms {
    fn of(filter: &Filter) -> Result<Self> {
        let mut terms = Self::default();
        for clause in filter.clauses() {
            match clause.key {
                Key::Run if clause.negated => terms.none.extend(words(clause).map(run_id)),
                Key::Run => terms.any.extend(words(clause).map(run_id)),
                Key::Outcome => {
                    let kinds = words(clause).filter_map(OutcomeKind::from_word).collect();
                    terms.outcomes.push(OutcomeTest { kinds, is_negated: clause.negated });
                }
                _ => {}
            }
        }
        if terms.any.is_empty() && !terms.outcomes.is_empty() {
            let because = "`outcome:` asks since which run: add `run:` with its id, or `run:last`";
            return Err(SourceError::Input(because.to_owned()));
        }
        Ok(terms)
    }

    /// Whether most rows of a page fail.
    pub(in crate::triage) fn is_selective(&self) -> bool {
        !self.any.is_empty()
    }

    /// Whether only jobs that died again pass.
    fn is_of_dead(&self) -> bool {
        self.outcomes.iter().any(|test| !test.is_negated && test.kinds.iter().all(|kind| *kind == OutcomeKind::Died))
    }

    /// The rows that pass; `None` where they are too many to be named.
    async fn named(&self, ledger: &Ledger) -> Result<Option<Vec<JobId>>> {
        let mut rows = Vec::new();
        for run in &self.any {
            let ledger = ledger.of(run).await.map_err(input)?;
            rows.extend(ledger.outcomes().rows(run, &self.outcomes, MAX_NAMED + 1).await.map_err(input)?);
            if rows.len() > MAX_NAMED {
                return Ok(None);
            }
        }
        let mut seen = HashSet::new();
        rows.retain(|row| seen.insert(row.clone()));
        Ok(Some(rows))
    }

    /// The jobs that pass.
    pub(in crate::triage) async fn retain_passing<T>(
        &self,
        ledger: &Ledger,
        mut jobs: Vec<T>,
        id: impl Fn(&T) -> &JobId,
    ) -> Result<Vec<T>> {
        let ids: Vec<JobId> = jobs.iter().map(|job| id(job).clone()).collect();
        let passing = self.passing(ledger, &ids).await?;
        jobs.retain(|job| passing.contains(id(job)));
        Ok(jobs)
    }

    /// Those of these rows that pass.
    async fn passing(&self, ledger: &Ledger, ids: &[JobId]) -> Result<HashSet<JobId>> {
        let mut passing: HashSet<JobId> = HashSet::new();
        for run in &self.any {
            let ledger = ledger.of(run).await.map_err(input)?;
            passing.extend(ledger.outcomes().rows_among(run, &self.outcomes, ids).await.map_err(input)?);
        }
        if self.any.is_empty() {
            passing.extend(ids.iter().cloned());
        }
        for run in &self.none {
            let ledger = ledger.of(run).await.map_err(input)?;
            for id in ledger.outcomes().rows_among(run, &[], ids).await.map_err(input)? {
                passing.remove(&id);
            }
        }
        Ok(passing)
    }
}

fn words(clause: &Clause) -> impl Iterator<Item = &str> {
    clause.any.iter().filter_map(|test| match test {
        Test::Text(Pattern::Equals(word)) => Some(word.as_str()),
        _ => None,
    })
}

fn run_id(word: &str) -> RunId {
    RunId(word.to_owned())
}

impl StoreContext {
    /// The filter with the id of the last replay of this store in place of `run:last`, and the moments of the marks that it
    /// names.
    ///
    /// # Errors
    /// When no replay was started, a mark is unknown, or the ledger cannot be read.
    pub(in crate::triage) async fn with_names_resolved(&self, filter: &Filter, ledger: &Ledger) -> Result<Filter> {
        let filter = match filter.names_marks() {
            true => &ledger.marks().resolve(&self.source, filter).await.map_err(input)?,
            false => filter,
        };
        let is_last = |clause: &Clause| clause.key == Key::Run && words(clause).any(|word| word == LAST_RUN);
        if !filter.clauses().iter().any(is_last) {
            return Ok(filter.clone());
        }
        let last = ledger.runs().last_replay(&self.source, &self.store_name()).await.map_err(input)?;
        let none = || SourceError::Input("`run:last`: nothing was replayed here yet".to_owned());
        Ok(filter.with_last_run(&last.ok_or_else(none)?.0))
    }

    /// How a filter with terms for runs is read; `None` where it has none.
    ///
    /// # Errors
    /// When a run is unknown, is of another source, or was never started; when the ledger or the source cannot be read.
    pub(in crate::triage) async fn run_rows(&self, filter: &Filter, budget: &Budget) -> Result<Option<RunRows>> {
        if !asks_runs(filter) {
            return Ok(None);
        }
        let locator = self.ledger.as_ref().ok_or_else(|| SourceError::Input("no ledger tells of runs here".into()))?;
        let ledger = locator.ledger().await.map_err(input)?;
        let filter = self.with_names_resolved(filter, &ledger).await?;
        let terms = RunTerms::of(&filter)?;
        for run in terms.any.iter().chain(&terms.none) {
            let run = ledger.runs().get(run).await.map_err(input)?;
            self.check_run(&run, budget).await?;
            let is_open = run.outcomes.as_ref().is_none_or(|counts| counts.open() + counts.unknown > 0);
            if !terms.outcomes.is_empty() && is_open && locator.may_ask_outcomes(&run.id, ASK_INTERVAL) {
                OutcomePoll::new(run.id).poll(self, &ledger, budget).await.map_err(store_error)?;
            }
        }
        self.rows_of(&filter, terms, &ledger).await.map(Some)
    }

    /// The same for a plan, which asks for the outcomes of all jobs first.
    ///
    /// # Errors
    /// As [`StoreContext::run_rows`].
    pub(in crate::triage) async fn run_rows_now(
        &self,
        filter: &Filter,
        ledger: &Ledger,
        budget: &Budget,
    ) -> Result<Option<RunRows>> {
        if !asks_runs(filter) {
            return Ok(None);
        }
        let terms = RunTerms::of(filter)?;
        for run in terms.any.iter().chain(&terms.none) {
            self.check_run(&ledger.runs().get(run).await.map_err(input)?, budget).await?;
            if !terms.outcomes.is_empty() {
                count_outcomes(self, ledger, run, budget).await.map_err(store_error)?;
            }
        }
        self.rows_of(filter, terms, ledger).await.map(Some)
    }

    /// Refuses a run whose jobs are not of this store, or that has acted on none.
    async fn check_run(&self, run: &Run, budget: &Budget) -> Result<()> {
        if let Some(because) = run.lists_no_jobs(&self.source, &self.store_name()) {
            return Err(SourceError::Input(because));
        }
        let here = self.store.identity(budget).await?;
        run.strays(here.as_ref()).map_or(Ok(()), |because| Err(SourceError::Input(because)))
    }

    async fn rows_of(&self, filter: &Filter, terms: RunTerms, ledger: &Ledger) -> Result<RunRows> {
        let rest = filter.without(&Key::Run).without(&Key::Outcome);
        let names_state = |clause: &Clause| matches!(clause.key, Key::State | Key::Native);
        let names_ids = |clause: &Clause| clause.key == Key::Id && !clause.negated;
        let has_ids = rest.clauses().iter().any(names_ids);
        let usual = match rest.clauses().iter().any(names_state) || terms.any.is_empty() {
            true => String::new(),
            false if terms.is_of_dead() => format!("state:{}", State::Dead.word()),
            false => ANY_STATE.to_owned(),
        };
        // Terms of one key are alternatives: ids of the filter's own are judged instead.
        let named = if terms.any.is_empty() || has_ids { None } else { terms.named(ledger).await? };
        let parsed = |text: String| Filter::parse(&text).map_err(|error| SourceError::Input(error.to_string()));
        match named {
            Some(ids) if ids.is_empty() => Ok(RunRows::Nothing),
            Some(ids) if terms.none.is_empty() => {
                let ids = ids.iter().filter_map(|id| Filter::all().with(&Key::Id, Some(id.as_str()), false).ok());
                let ids: Vec<String> = ids.map(|filter| filter.to_string()).collect();
                Ok(RunRows::Named(parsed(format!("{rest} {usual} {}", ids.join(" ")))?))
            }
            _ => Ok(RunRows::Paged(parsed(format!("{rest} {usual}"))?, terms)),
        }
    }
}

fn store_error(error: PlanError) -> SourceError {
    match error {
        PlanError::Store(error) => error,
        error => SourceError::Input(error.to_string()),
    }
}
