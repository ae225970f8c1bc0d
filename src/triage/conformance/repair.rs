//! Changing arguments: written once, found as they were written, and put back byte for byte.

use std::collections::BTreeMap;

use super::{CheckResult, RUN, TRIED, first_act, jobs, named, outcome_word};
use crate::domain::action::{Action, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::domain::repair::{ArgumentsDocument, ArgumentsEdit};
use crate::store::{Availability, Batch, Budget, EditArguments, Entry, Store};
use crate::triage::lock_retry;

/// Puts the arguments of some jobs into a list, and takes them out again.
pub(super) async fn repair(store: &dyn Store, dead: &[Entry], budget: &Budget) -> CheckResult {
    let Some(editor) = store.arguments() else {
        return Err("the store cannot read arguments to change them".to_owned());
    };
    let all: Vec<JobId> = dead.iter().map(|entry| entry.row.id.clone()).collect();
    let unfit = store.plan().unfit(Action::Repair, &all, false, budget).await.map_err(|e| e.to_string())?;
    let ids: Vec<JobId> = all.into_iter().filter(|id| !unfit.iter().any(|(other, _)| other == id)).collect();
    let before = texts(editor, &ids, budget).await?;
    let (mut found, mut why) = (Vec::new(), String::new());
    for (id, document) in before {
        match document {
            Ok(document) if found.len() < TRIED => found.push((id, document)),
            Ok(_) => {}
            Err(reason) => why = reason,
        }
    }
    if found.is_empty() {
        return Ok(format!("cannot be done for any of these jobs: {why}"));
    }
    let edits = in_lists(editor, &found, budget).await?;
    let ids: Vec<JobId> = edits.iter().map(|edit| edit.id.clone()).collect();
    let batch = |action, edits: &[ArgumentsEdit]| Batch { edits: edits.into(), ..Batch::of(action, ids.clone(), RUN) };
    let expect = async |action, edits: &[ArgumentsEdit], wanted: JobResult| {
        let told = lock_retry::apply(store, batch(action, edits), budget).await;
        let told = told.into_outcomes().map_err(|e| e.to_string())?;
        match told.iter().find(|(_, result)| *result != wanted) {
            Some((id, result)) => Err(format!("{action} of {}: {}", named(id), outcome_word(result))),
            None => Ok(()),
        }
    };
    let changed = || JobResult::Skipped(SkipReason::Changed);
    first(store, &batch(Action::Repair, &edits), budget).await?;
    expect(Action::Repair, &edits, changed()).await?;
    let after = texts(editor, &ids, budget).await?;
    for edit in &edits {
        match after.get(&edit.id) {
            Some(Ok(now)) if now.text() == edit.edited => {}
            Some(Ok(_)) => return Err(format!("{} does not have the arguments that were written", named(&edit.id))),
            Some(Err(why)) => return Err(format!("{}: {why}", named(&edit.id))),
            None => return Err(format!("{} is not there any more", named(&edit.id))),
        }
    }
    let Availability::Ready { .. } = store.info().availability(Action::Revert) else {
        return Err("what was repaired cannot be reverted".to_owned());
    };
    let back: Vec<ArgumentsEdit> = edits.iter().cloned().map(ArgumentsEdit::reversed).collect();
    expect(Action::Revert, &back, JobResult::Done).await?;
    expect(Action::Revert, &back, changed()).await?;
    let again = texts(editor, &ids, budget).await?;
    let is_back = |edit: &&ArgumentsEdit| matches!(again.get(&edit.id), Some(Ok(now)) if now.text() == edit.original);
    match edits.iter().find(|edit| !is_back(edit)) {
        Some(edit) => Err(format!("undo of {}: its arguments are not as they were", named(&edit.id))),
        None => Ok(format!("{} changed once, and not again; undone, they are as they were", jobs(edits.len()))),
    }
}

type Found = BTreeMap<JobId, std::result::Result<ArgumentsDocument, String>>;

async fn texts(editor: &dyn EditArguments, ids: &[JobId], budget: &Budget) -> std::result::Result<Found, String> {
    Ok(editor.documents(ids, budget).await.map_err(|e| e.to_string())?.into_iter().collect())
}

/// The first write, before which a lock of the verb before may have to go.
async fn first(store: &dyn Store, batch: &Batch, budget: &Budget) -> std::result::Result<(), String> {
    let told = first_act(store, batch, budget).await?;
    match told.iter().find(|(_, result)| *result != JobResult::Done) {
        Some((id, result)) => Err(format!("{}: {}", named(id), outcome_word(result))),
        None => Ok(()),
    }
}

/// What is written to put the arguments of each of these jobs into a list.
async fn in_lists(
    editor: &dyn EditArguments,
    found: &[(JobId, ArgumentsDocument)],
    budget: &Budget,
) -> std::result::Result<Vec<ArgumentsEdit>, String> {
    let edited: Vec<String> =
        found.iter().map(|(_, document)| document.with_arguments(&format!("[{}]", document.arguments()))).collect();
    let stored = editor.stored_forms(&edited, budget).await.map_err(|e| e.to_string())?;
    let mut edits = Vec::new();
    for ((id, document), edited) in found.iter().zip(stored) {
        edits.push(document.edit(id, edited.map_err(|why| format!("{}: {why}", named(id)))?));
    }
    Ok(edits)
}
