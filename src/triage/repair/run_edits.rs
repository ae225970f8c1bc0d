//! What a run writes into the arguments of its jobs, as the ledger has it.

use std::sync::Arc;

use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::repair::ArgumentsEdit;
use crate::domain::run_options::Options;
use crate::ledger::{Ledger, LedgerError, RunId};

/// Bytes of arguments that are in memory at a time, about.
const BYTES_AT_ONCE: u64 = 16 << 20;

/// The changes of a run. An undo has none of its own: its are those of the run that it undoes, the other way round.
pub(in crate::triage) struct RunEdits {
    ledger: Ledger,
    run: RunId,
    is_reversed: bool,
}

impl RunEdits {
    /// Those of a run, where it changes arguments.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub(in crate::triage) async fn of(
        ledger: &Ledger,
        run: &RunId,
        (action, options): (Action, &Options),
    ) -> Result<Option<Self>, LedgerError> {
        if !action.edits() && options.repair.is_none() {
            return Ok(None);
        }
        let mut edits = Self { ledger: ledger.clone(), run: run.clone(), is_reversed: false };
        let mut undoes = options.undoes.clone().map(RunId);
        while let Some(undone) = undoes {
            edits.ledger = edits.ledger.of(&undone).await?;
            undoes = edits.ledger.runs().get(&undone).await?.intent.options.undoes.map(RunId);
            edits = Self { run: undone, is_reversed: !edits.is_reversed, ..edits };
        }
        Ok(Some(edits))
    }

    /// The jobs in parts whose texts fit into memory; jobs without any are in one of them too.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub(in crate::triage) async fn parts(&self, ids: &[JobId]) -> Result<Vec<Vec<JobId>>, LedgerError> {
        let sizes = self.ledger.edits().sizes(&self.run, ids).await?;
        let sizes: std::collections::HashMap<&JobId, u64> = sizes.iter().map(|(id, size)| (id, *size)).collect();
        let (mut parts, mut bytes): (Vec<Vec<JobId>>, u64) = (Vec::new(), 0);
        for id in ids {
            let size = sizes.get(id).copied().unwrap_or_default();
            bytes += size;
            match parts.last_mut() {
                Some(part) if bytes <= BYTES_AT_ONCE => part.push(id.clone()),
                _ => {
                    parts.push(vec![id.clone()]);
                    bytes = size;
                }
            }
        }
        Ok(parts)
    }

    /// What is written of these jobs.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub(in crate::triage) async fn get(&self, ids: &[JobId]) -> Result<Arc<[ArgumentsEdit]>, LedgerError> {
        let edits = self.ledger.edits().get(&self.run, ids).await?;
        Ok(match self.is_reversed {
            true => edits.into_iter().map(ArgumentsEdit::reversed).collect(),
            false => edits.into(),
        })
    }
}
