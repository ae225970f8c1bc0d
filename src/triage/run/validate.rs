//! Asking the validator of a run before its jobs are touched: what it does not accept stays as it is.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::batch::{BatchApplier, BatchPart};
use crate::domain::action::{JobOutcome, JobResult, SkipReason};
use crate::domain::job::{JobDetail, JobId};
use crate::domain::repair::ArgumentsDocument;
use crate::domain::text::Untrusted;
use crate::ledger::LedgerError;
use crate::store::{Applied, Interrupted, Message, SourceError, Standing, StoreExt};
use crate::triage::validate::{Validate, message};

/// The validator of a run, and how it answers.
pub(super) struct Screening {
    validator: Option<Arc<dyn Validate>>,
    /// Batches in a row for which it gave no answer at all.
    silent: AtomicU32,
}

impl Screening {
    pub(super) fn new(validator: Option<Arc<dyn Validate>>) -> Self {
        Self { validator, silent: AtomicU32::new(0) }
    }

    /// Whether the run has a validator.
    pub(super) fn is_on(&self) -> bool {
        self.validator.is_some()
    }

    /// Batches in a row for which it gave no answer at all.
    pub(super) fn silent(&self) -> u32 {
        self.silent.load(Ordering::Relaxed)
    }
}

impl BatchApplier<'_> {
    /// Applies the action to jobs that the validator of the run accepts, or to all where it has none.
    pub(super) async fn screened(&self, ids: &[JobId], part: &BatchPart) -> Applied {
        let Some(validator) = &self.screening.validator else { return self.apply(ids, part).await };
        let (asked, mut outcomes) = match self.read(ids, &part.standing).await {
            Ok(read) => read,
            Err(error) => return Applied { outcomes: Vec::new(), broke: Some(Interrupted::from(error)) },
        };
        if asked.is_empty() {
            return Applied { outcomes, broke: None };
        }
        let n = asked.len();
        let answers = validator.validate(asked).await;
        match n > 0 && !answers.iter().any(|answer| answer.heard) {
            true => self.screening.silent.fetch_add(1, Ordering::Relaxed),
            false => self.screening.silent.swap(0, Ordering::Relaxed),
        };
        let mut accepted = Vec::new();
        for answer in answers {
            match answer.result {
                Ok(()) => accepted.push(answer.id),
                Err(reason) => outcomes.push((answer.id, JobResult::Skipped(SkipReason::not_accepted(&reason)))),
            }
        }
        if accepted.is_empty() {
            return Applied { outcomes, broke: None };
        }
        let mut applied = self.apply(&accepted, part).await;
        applied.outcomes.extend(outcomes);
        applied
    }

    /// Puts the arguments that the run writes in the place of those that jobs have.
    async fn show_edited(&self, ids: &[JobId], details: &mut [JobDetail]) -> Result<(), LedgerError> {
        let Some(edits) = &self.edits else { return Ok(()) };
        for part in edits.parts(ids).await? {
            for edit in edits.get(&part).await?.iter() {
                let written = ArgumentsDocument::at(edit.edited.as_str(), &edit.path);
                let detail = details.iter_mut().find(|detail| detail.row.id == edit.id);
                if let (Some(detail), Some(written)) = (detail, written) {
                    detail.arguments = Some(Untrusted::new(written.arguments()));
                }
            }
        }
        Ok(())
    }

    /// What the validator is to read of the jobs that still are as they were chosen, and what is to be said of the others.
    async fn read(&self, ids: &[JobId], standing: &Standing) -> Result<(Vec<Message>, Vec<JobOutcome>), SourceError> {
        let mut details = self.context.desk.store.details(ids, &self.context.budget).await?;
        self.show_edited(ids, &mut details)
            .await
            .map_err(|error| SourceError::Input(format!("what is to be written cannot be read: {error}")))?;
        let mut found: HashMap<&JobId, &JobDetail> = details.iter().map(|detail| (&detail.row.id, detail)).collect();
        let (mut asked, mut outcomes) = (Vec::new(), Vec::new());
        for id in ids {
            let left = |state| standing.state.is_some_and(|chosen| chosen != state);
            let why = match found.remove(id) {
                None => SkipReason::Gone,
                Some(detail) if left(detail.row.state) => SkipReason::Changed,
                Some(detail) => match message(detail) {
                    Ok(message) => {
                        asked.push(message);
                        continue;
                    }
                    Err(why) => SkipReason::not_accepted(&why),
                },
            };
            outcomes.push((id.clone(), JobResult::Skipped(why)));
        }
        Ok((asked, outcomes))
    }
}
