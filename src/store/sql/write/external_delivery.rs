//! A replay through a command: claim, deliver, settle.
//!
//! Once the command has had a job, nothing may lead back to handing it over: what the database says from then on is told
//! as the result of that job, and never as an error of the batch, which would be tried again.

use std::collections::HashMap;
use std::time::Duration;

use crate::adapter::{DeliverySpec, VerbStep};
use crate::domain::action::JobResult;
use crate::domain::job::JobId;
use crate::store::sql::dialect::BatchRow;
use crate::store::sql::write::batch::{Attempt, BatchWriter, again, failed, undo, with_all};
use crate::store::sql::write::journal::recorded;
use crate::store::sql::write::verb::Work;
use crate::store::{Budget, Interrupted, Message, Result, SourceError};

/// How often settling is tried while the database is away or locked, before the jobs are left as they were claimed.
const TRIES: u32 = 12;
/// The first wait between two tries, which doubles, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why jobs could not be settled.
type Unsettled = HashMap<JobId, String>;

impl<'s> BatchWriter<'s> {
    pub(crate) async fn hand_over(
        self,
        work: &Work<'_>,
        command: &DeliverySpec,
        ids: &[String],
        budget: &Budget,
    ) -> Attempt {
        let Some(deliver) = &work.batch.deliver else {
            return Err(SourceError::Input("nobody delivers to the command".to_owned()).into());
        };
        let mut tx = self.context.begin(budget).await?;
        let held = match self.lock_rows(&mut tx, work, ids).await {
            Ok(held) => held,
            Err(error) => return undo(tx, error.into()).await,
        };
        if held.rows.is_empty() {
            tx.rollback().await;
            return Ok(held.settled);
        }
        if let Err(error) = self.run_steps(&mut tx, work, &command.claim, &held.rows).await {
            return undo(tx, error.into()).await;
        }
        tx.commit().await.map_err(Interrupted::at_commit)?;
        let message = |row: &BatchRow| Some(Message { id: JobId::new(&row.id), json: row.message.clone()? });
        let answers = deliver.deliver(held.rows.iter().filter_map(message).collect()).await;
        let answers: HashMap<JobId, std::result::Result<(), String>> = answers.into_iter().collect();
        let accepted = |row: &BatchRow| answers.get(&JobId::new(&row.id)).is_some_and(|a| a.is_ok());
        let (taken, left): (Vec<BatchRow>, Vec<BatchRow>) = held.rows.iter().cloned().partition(accepted);
        let unmarked = self.complete(work, &command.accepted, taken, true, budget).await;
        let kept = self.complete(work, &command.refused, left, false, budget).await;
        Ok(with_all(held.settled, &held.rows, |id| job_result(id, answers.get(id), &unmarked, &kept)))
    }

    /// Marks jobs that were accepted, or gives back those that were not; where a row is refused, the others go on
    /// without it. What cannot be settled stays claimed, with the run's id beside it.
    async fn complete(
        self,
        work: &Work<'_>,
        steps: &[VerbStep],
        rows: Vec<BatchRow>,
        is_done: bool,
        budget: &Budget,
    ) -> Unsettled {
        // Cancelling must not come between a delivery and its record.
        let budget = Budget::new(budget.statement);
        let mut unsettled = Unsettled::new();
        let mut waiting = vec![rows];
        let (mut tries, mut pause) = (1, FIRST_PAUSE);
        while let Some(rows) = waiting.pop().filter(|rows| !rows.is_empty()) {
            match self.complete_once(work, steps, &rows, is_done, &budget).await {
                Ok(()) => {}
                Err(error) if tries < TRIES && (again(&error) || error.retryable()) => {
                    tries += 1;
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    waiting.push(rows);
                }
                Err(SourceError::Refused { .. }) if rows.len() > 1 => {
                    let (left, right) = rows.split_at(rows.len() / 2);
                    waiting.extend([right.to_vec(), left.to_vec()]);
                }
                Err(error) => unsettled.extend(rows.iter().map(|row| (JobId::new(&row.id), error.to_string()))),
            }
        }
        unsettled
    }

    async fn complete_once(
        self,
        work: &Work<'_>,
        steps: &[VerbStep],
        rows: &[BatchRow],
        is_done: bool,
        budget: &Budget,
    ) -> Result<()> {
        let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
        let mut tx = self.context.begin(budget).await?;
        for step in steps {
            if let Err(error) = tx.execute(self.filled(work, step, rows, &ids)).await {
                return undo(tx, error).await;
            }
        }
        // The command has had them, whoever executes the run by now: their rows are marked in any case.
        if let Some(recorded) = recorded(work, rows).filter(|_| is_done)
            && let Err(error) = tx.execute(&recorded.statement).await
        {
            return undo(tx, error).await;
        }
        tx.commit().await
    }
}

/// What became of one job: what the command said, and whether that could be written down.
fn job_result(
    id: &JobId,
    answer: Option<&std::result::Result<(), String>>,
    unmarked: &Unsettled,
    kept: &Unsettled,
) -> JobResult {
    let reason = match answer {
        Some(Ok(())) => match unmarked.get(id) {
            None => return JobResult::Done,
            Some(error) => {
                return failed(&format!(
                    "accepted by the command, but it could not be marked: {error}; it stays claimed, and to replay it \
                     would run it twice"
                ));
            }
        },
        Some(Err(reason)) => reason.as_str(),
        None => "the command gave no answer for this job",
    };
    match kept.get(id) {
        None => failed(reason),
        Some(error) => failed(&format!("{reason}; it stays claimed, because it could not be given back: {error}")),
    }
}
