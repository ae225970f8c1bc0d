//! A row of `runs`, read and written.

use std::collections::HashMap;

use serde::de::DeserializeOwned;

use super::tally;
use crate::domain::action::Action;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::rollout::RolloutState;
use crate::domain::run_options::Options;
use crate::domain::time::Timestamp;
use crate::ledger::backend::RowCells;
use crate::ledger::error::{LedgerError, Result};
use crate::ledger::model::{LedgerLocation, Operator, Run, RunId, RunIntent, RunState, RunTally};

/// What is read of a run, in the order of [`RunRow::decode`].
pub(super) const HEAD: &str = "r.seq, r.id, r.action, r.source, r.store, r.filter, r.resolved, r.reason, r.os_user, r.database_user, \
                    r.host, r.ssh_client, r.options, r.frozen_at, r.state, r.started_at, r.ended_at, r.planned, r.outcomes, \
                    r.rollout";

/// A row of `runs`.
pub(super) struct RunRow {
    seq: i64,
    id: RunId,
    pub(super) intent: RunIntent,
    state: RunState,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    planned: u64,
    outcomes: Option<OutcomeCounts>,
    rollout: Option<RolloutState>,
    /// Running, and nobody executes it.
    is_left: bool,
}

impl RunRow {
    pub(super) fn decode(row: &mut RowCells) -> Result<Self> {
        let unknown = |word: &str| LedgerError::Refused(format!("`{word}` is of a later version"));
        let (seq, id, action) = (row.int()?, RunId(row.text()?), row.text()?);
        let intent = RunIntent {
            action: Action::from_word(&action).ok_or_else(|| unknown(&action))?,
            source: row.text()?,
            store: row.text()?,
            filter: row.text()?,
            resolved: row.text()?,
            reason: row.maybe_text()?,
            operator: operator(row)?,
            options: Options::default(),
            database: None,
            destination: None,
            frozen_at: Timestamp(0),
        };
        let kept = row.maybe_text()?;
        let (database, destination) =
            (stored_member(kept.as_deref(), DATABASE), stored_member(kept.as_deref(), DESTINATION));
        let frozen_at = Timestamp(row.int()?);
        let intent = RunIntent { options: options(kept)?, database, destination, frozen_at, ..intent };
        let state = row.text()?;
        Ok(Self {
            seq,
            id,
            intent,
            state: RunState::from_word(&state).ok_or_else(|| unknown(&state))?,
            started_at: row.maybe_int()?.map(Timestamp),
            ended_at: row.maybe_int()?.map(Timestamp),
            planned: row.count()?,
            outcomes: row.maybe_text()?.and_then(|kept| OutcomeCounts::from_json(&kept)),
            rollout: row.maybe_text()?.and_then(|kept| RolloutState::from_json(&kept)),
            is_left: row.int()? == 1,
        })
    }

    pub(super) fn with(self, sums: &mut HashMap<i64, RunTally>, place: LedgerLocation) -> Run {
        let Self { seq, id, intent, state, started_at, ended_at, planned, outcomes, rollout, is_left } = self;
        let tally = match state {
            RunState::Planned | RunState::Dismissed => {
                RunTally { planned, not_started: planned, ..RunTally::default() }
            }
            _ => sums.remove(&seq).map(tally::shortened).unwrap_or_default(),
        };
        let state = if is_left { RunState::Stopped } else { state };
        Run { id, place, intent, state, started_at, ended_at, tally, outcomes, rollout }
    }
}

/// Why the options of a run cannot be read: the reader's own words name our types.
const UNREADABLE: &str = "the options of a run cannot be read (did a newer version write them?)";

/// The options of a run as they are kept; runs of earlier versions have none.
pub(in crate::ledger) fn options(kept: Option<String>) -> Result<Options> {
    match kept {
        Some(text) => serde_json::from_str(&text).map_err(|_| LedgerError::Refused(UNREADABLE.to_owned())),
        None => Ok(Options::default()),
    }
}

/// The text that is kept of what was asked for, with the database and the destination beside it: one object.
pub(in crate::ledger) fn stored_intent(intent: &RunIntent) -> Result<String> {
    let refused = |_: serde_json::Error| LedgerError::Refused("what was asked for cannot be written down".to_owned());
    let mut kept = serde_json::to_value(&intent.options).map_err(refused)?;
    if let Some(members) = kept.as_object_mut() {
        if let Some(database) = &intent.database {
            members.insert(DATABASE.to_owned(), serde_json::to_value(database).map_err(refused)?);
        }
        if let Some(destination) = &intent.destination {
            members.insert(DESTINATION.to_owned(), serde_json::to_value(destination).map_err(refused)?);
        }
    }
    Ok(kept.to_string())
}

/// The members of what is kept that tell the database and the destination; no option is called that.
const DATABASE: &str = "database";
const DESTINATION: &str = "destination";

/// What is kept beside the options under a name.
fn stored_member<T: DeserializeOwned>(kept: Option<&str>, name: &str) -> Option<T> {
    let mut kept: serde_json::Value = serde_json::from_str(kept?).ok()?;
    serde_json::from_value(kept.get_mut(name)?.take()).ok()
}

/// Who acted: the four columns of `runs`, in this order.
pub(in crate::ledger) fn operator(row: &mut RowCells) -> Result<Operator> {
    Ok(Operator { user: row.text()?, database_user: row.text()?, host: row.text()?, ssh_client: row.maybe_text()? })
}
