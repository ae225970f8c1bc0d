//! Replay through a command: the jobs are claimed in one transaction, delivered, and settled in another.

use std::collections::HashMap;
use std::time::Duration;

use super::SqlStore;
use super::apply::{Work, again, failed, undo, with_all};
use super::dialect::BatchRow;
use crate::adapter::{Command, Step};
use crate::domain::action::{JobOutcome, JobResult};
use crate::domain::job::JobId;
use crate::store::{Budget, Message, Result, StoreError};

impl SqlStore {
    /// Through a command: claim, deliver, settle.
    pub(super) async fn hand_over(
        &self,
        work: &Work<'_>,
        command: &Command,
        ids: &[String],
        budget: &Budget,
    ) -> Result<Vec<JobOutcome>> {
        let Some(deliver) = &work.batch.deliver else {
            return Err(StoreError::Input("nobody delivers to the command".to_owned()));
        };
        let mut tx = self.engine.begin(budget).await?;
        let held = match self.hold(&mut tx, work, ids).await {
            Ok(held) => held,
            Err(error) => return undo(tx, error).await,
        };
        if held.rows.is_empty() {
            tx.rollback().await;
            return Ok(held.settled);
        }
        if let Err(error) = self.run_steps(&mut tx, work, &command.claim, &held.rows).await {
            return undo(tx, error).await;
        }
        tx.commit().await?;
        let message = |row: &BatchRow| Some(Message { id: JobId::new(&row.id), json: row.message.clone()? });
        let answers = deliver.deliver(held.rows.iter().filter_map(message).collect()).await;
        let answers: HashMap<JobId, std::result::Result<(), String>> = answers.into_iter().collect();
        let accepted = |row: &&BatchRow| answers.get(&JobId::new(&row.id)).is_some_and(|a| a.is_ok());
        let (taken, left): (Vec<&BatchRow>, Vec<&BatchRow>) = held.rows.iter().partition(accepted);
        self.settle(work, command, &taken, &left, budget).await?;
        Ok(with_all(held.settled, &held.rows, |id| match answers.get(id) {
            Some(Ok(())) => JobResult::Done,
            Some(Err(reason)) => failed(reason),
            None => failed("the command gave no answer for this job"),
        }))
    }

    /// Marks the jobs that were accepted and gives back the others, in one transaction. The jobs are claimed, so this
    /// is tried for longer than anything else: giving up leaves them `retrying`, with the run's id beside them.
    async fn settle(
        &self,
        work: &Work<'_>,
        command: &Command,
        taken: &[&BatchRow],
        left: &[&BatchRow],
        budget: &Budget,
    ) -> Result<()> {
        // Cancelling must not come between a delivery and its record.
        let budget = Budget::new(budget.statement);
        let owned = |rows: &[&BatchRow]| rows.iter().map(|r| (*r).clone()).collect::<Vec<BatchRow>>();
        let parts = [(&command.accepted, owned(taken)), (&command.refused, owned(left))];
        let mut pause = Duration::from_millis(20);
        let mut tries = 0;
        loop {
            tries += 1;
            match self.settle_once(work, &parts, &budget).await {
                Err(error) if tries < 8 && (again(&error) || error.retryable()) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                other => return other,
            }
        }
    }

    async fn settle_once(&self, work: &Work<'_>, parts: &[(&Vec<Step>, Vec<BatchRow>)], budget: &Budget) -> Result<()> {
        let mut tx = self.engine.begin(budget).await?;
        for (steps, rows) in parts.iter().filter(|(_, rows)| !rows.is_empty()) {
            for step in *steps {
                let ids: Vec<String> = rows.iter().map(|r| r.id.clone()).collect();
                if let Err(error) = tx.execute(&self.filled(work, step, rows, &ids)).await {
                    return undo(tx, error).await;
                }
            }
        }
        tx.commit().await
    }
}
