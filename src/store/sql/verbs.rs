//! The verbs: which way a batch takes, and what it would come to.

use std::collections::HashSet;

use crate::domain::action::{JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::store::sql::context::Context;
use crate::store::sql::undo::recall::Recall;
use crate::store::sql::undo::restore::Restore;
use crate::store::sql::write::batch::{Attempt, BatchWriter, failed, with_all};
use crate::store::sql::write::dry_run::{Asker, DryRun};
use crate::store::sql::write::edit::ArgumentsEditor;
use crate::store::sql::write::row_completeness::RowCompleteness;
use crate::store::sql::write::verb::{VerbMethod, Work};
use crate::store::{Applied, Batch, Budget, Interrupted, Result, SourceError};

/// Applies batches.
#[derive(Clone, Copy)]
pub(crate) struct Verbs<'s> {
    pub(crate) context: &'s Context,
}

impl<'s> Verbs<'s> {
    pub(crate) fn new(context: &'s Context) -> Self {
        Self { context }
    }

    pub(crate) async fn apply_batch(self, batch: Batch, budget: &Budget) -> Applied {
        let mut outcomes = Vec::new();
        let mut broke = self.work_through(&batch, budget, &mut outcomes).await.err();
        if let Some(Interrupted { error: SourceError::Unfit { .. }, .. }) = &broke
            && let Err(outdated) = RowCompleteness::new(self.context).check_kept_now(batch.action, budget).await
        {
            broke = broke.map(|broke| Interrupted { error: outdated, ..broke });
        }
        Applied { outcomes, broke }
    }

    /// Puts the outcome of each job down as soon as it is committed: what comes after it may break off.
    async fn work_through(
        self,
        batch: &Batch,
        budget: &Budget,
        outcomes: &mut Vec<JobOutcome>,
    ) -> std::result::Result<(), Interrupted> {
        let work = BatchWriter::new(self.context).work(batch)?;
        let mut seen = HashSet::new();
        let (valid, never): (Vec<&JobId>, Vec<&JobId>) =
            batch.ids.iter().filter(|id| seen.insert(*id)).partition(|id| self.context.layout.holds(id.as_str()));
        outcomes.extend(never.into_iter().map(|id| (id.clone(), JobResult::Skipped(SkipReason::Gone))));
        let valid: Vec<String> = valid.into_iter().map(|id| id.as_str().to_owned()).collect();
        let mut waiting: Vec<Vec<String>> =
            DryRun::new(self.context).parts_of_work(&work, &valid).into_iter().rev().map(<[_]>::to_vec).collect();
        while let Some(ids) = waiting.pop().filter(|ids| !ids.is_empty()) {
            match self.attempt(&work, &ids, budget).await {
                Ok(done) => outcomes.extend(done),
                Err(Interrupted { error: SourceError::Refused { message, .. }, .. }) if ids.len() == 1 => {
                    let there = Restore::new(self.context).put_back_meanwhile(&work, &ids, budget).await?;
                    let result = if there { JobResult::Skipped(SkipReason::AlreadyThere) } else { failed(&message) };
                    outcomes.extend(ids.iter().map(|id| (JobId::new(id), result.clone())));
                }
                Err(Interrupted { error: SourceError::Refused { .. }, .. }) => {
                    let (left, right) = ids.split_at(ids.len() / 2);
                    waiting.extend([right.to_vec(), left.to_vec()]);
                }
                Err(broke) => return Err(broke),
            }
        }
        Ok(())
    }

    async fn attempt(self, work: &Work<'_>, ids: &[String], budget: &Budget) -> Attempt {
        match work.way {
            VerbMethod::Steps(_) | VerbMethod::ArchiveTable | VerbMethod::Edit(_) => {
                BatchWriter::new(self.context).move_rows(work, ids, budget).await
            }
            VerbMethod::Command(command) => BatchWriter::new(self.context).hand_over(work, command, ids, budget).await,
            VerbMethod::Restore => Restore::new(self.context).restore(work, ids, budget).await,
            VerbMethod::Recall(undo) => Recall::new(self.context).recall(work, undo, ids, budget).await,
        }
    }

    /// What a batch would come to, as the rows stand now.
    pub(crate) async fn dry_run(self, batch: &Batch, budget: &Budget) -> Result<Vec<JobOutcome>> {
        let work = BatchWriter::new(self.context).work(batch)?;
        let mut outcomes = Vec::new();
        for part in DryRun::new(self.context).parts_of_work(&work, &self.context.valid(&batch.ids)) {
            match self.dry_run_part(&work, part, budget).await {
                Ok(told) => outcomes.extend(told),
                // A job that is too large for the database by itself costs nobody else.
                Err(SourceError::Refused { message, .. }) if part.len() == 1 => {
                    outcomes.extend(part.iter().map(|id| (JobId::new(id), failed(&message))));
                }
                Err(error) => return Err(error),
            }
        }
        let told: HashSet<JobId> = outcomes.iter().map(|(id, _)| id.clone()).collect();
        let never = batch.ids.iter().filter(|id| !told.contains(*id));
        outcomes.extend(never.map(|id| (id.clone(), JobResult::Skipped(SkipReason::Gone))));
        Ok(outcomes)
    }

    /// What would become of jobs if nobody held them.
    async fn free(self, asker: &mut Asker<'_, '_>, work: &Work<'_>, ids: &[String]) -> Result<Vec<JobOutcome>> {
        let free = |(id, result)| match result {
            JobResult::Skipped(SkipReason::Locked) => (id, JobResult::Done),
            result => (id, result),
        };
        Ok(DryRun::new(self.context).explain_rest(asker, work, ids).await?.into_iter().map(free).collect())
    }

    async fn dry_run_part(self, work: &Work<'_>, ids: &[String], budget: &Budget) -> Result<Vec<JobOutcome>> {
        let asker = &mut Asker::Look(budget);
        Ok(match work.way {
            VerbMethod::Restore => Restore::new(self.context).restorable(asker, work, ids).await?,
            VerbMethod::Recall(undo) => {
                let found = Recall::new(self.context).find_live(asker, work, undo, ids).await?;
                with_all(found.settled, &found.rows, |_| JobResult::Done)
            }
            VerbMethod::Steps(_) | VerbMethod::ArchiveTable | VerbMethod::Command(_) => {
                self.free(asker, work, ids).await?
            }
            VerbMethod::Edit(_) => {
                let told = self.free(asker, work, ids).await?;
                ArgumentsEditor::new(self.context).leave_changed(work, told, budget).await?
            }
        })
    }
}
