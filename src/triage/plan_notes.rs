//! What a plan says of a frozen cohort, in sentences, and what it takes to confirm it.

use super::StoreContext;
use super::freeze::{Ask, Missing};
use super::plan::{CohortShare, Confirm};
use crate::domain::action::{Action, RowEffect};
use crate::domain::histogram::grouped;
use crate::domain::job::State;
use crate::domain::run_options::{KEPT_UNASKED, Options};
use crate::domain::text::Untrusted;
use crate::ledger::Split;

/// What the options come to, in sentences.
pub(super) fn option_notes(desk: &StoreContext, ask: &Ask) -> Vec<String> {
    let offers = &desk.store.info().capabilities.options;
    let mut told = Vec::new();
    if ask.action.enqueues() {
        let attempts = ask.options.attempts.or(offers.attempts.first().copied());
        told.extend(attempts.map(|attempts| attempts.sentence().to_owned()));
    }
    if let Some(at) = ask.options.untouched_since() {
        let counts = match offers.touched {
            true => "both its death and its last change count",
            false => "its death counts: the table does not keep when a job was changed",
        };
        told.push(format!("Only what was left alone since {at}; {counts}."));
    }
    told
}

/// The values of a split, and what is not listed of it.
pub(super) fn shares(listed: &[(Option<Untrusted>, u64)], count: u64) -> Vec<CohortShare> {
    let mut shares: Vec<CohortShare> =
        listed.iter().map(|(value, n)| CohortShare { value: value.clone(), n: *n, rest: false }).collect();
    let rest = count.saturating_sub(shares.iter().map(|share| share.n).sum());
    if rest > 0 {
        shares.push(CohortShare { value: None, n: rest, rest: true });
    }
    shares
}

/// Whether jobs that nobody has settled are deleted for good: then the number is always typed.
pub(super) fn purges_dead(action: Action, split: &Split) -> bool {
    action.profile().rows == RowEffect::DeletedForGood
        && split.by_state.iter().any(|(state, n)| *state == State::Dead && *n > 0)
}

/// What must be known of the cohort before it is confirmed.
pub(super) fn warnings(ask: &Ask, split: &Split, missing: &Missing, count: u64) -> Vec<String> {
    let are = |n: u64| if n == 1 { "is" } else { "are" };
    let expected = ask.action.profile().usual_state();
    let mut warnings = Vec::new();
    if let Some(limit) = ask.limit.filter(|limit| count >= *limit) {
        warnings.push(format!("limited to {}, {}: more may match", grouped(limit), ask.pick.phrase()));
    }
    if purges_dead(ask.action, split) {
        let dead: u64 = split.by_state.iter().filter(|(state, _)| *state == State::Dead).map(|(_, n)| n).sum();
        warnings.push(format!(
            "{} of them {} dead: nobody has replayed or ignored them, and no copy is kept",
            grouped(dead),
            are(dead)
        ));
    }
    // What is kept out of the way may be in any state; and an undo says of each job whether it can be undone, which is more
    // than how it stood.
    let any_state = ask.action.profile().rows.is_retention() || ask.options.undoes.is_some();
    for (state, n) in split.by_state.iter().filter(|(state, _)| *state != expected && !any_state) {
        warnings.push(format!("{} of them {} {state}, not {expected}", grouped(*n), are(*n)));
    }
    if missing.n > 0 && ask.options.undoes.is_some() {
        let are = are(missing.n);
        warnings.push(format!(
            "{} of those that were named {are} not among what that run did{missing}",
            grouped(missing.n)
        ));
    } else if missing.n > 0 {
        let were = if missing.n == 1 { "was" } else { "were" };
        warnings.push(format!("{} of those that were named {were} not found{missing}", grouped(missing.n)));
    }
    warnings
}

/// Whether there will be a way back from a replay that needs the dead rows for that.
pub(super) fn undo_note(options: &Options, jobs: u64) -> String {
    match (options.keeps(Action::Replay, jobs), options.no_archive) {
        (true, _) => {
            "The ledger keeps the dead rows, so that jobs which no worker has taken can be taken back.".to_owned()
        }
        (false, true) => "The ledger keeps nothing of the dead rows: this cannot be undone.".to_owned(),
        (false, false) => format!(
            "The ledger keeps the dead rows of up to {} jobs: this cannot be undone, unless --keep asks for all.",
            grouped(KEPT_UNASKED)
        ),
    }
}

/// What an erasure leaves behind, and where.
pub(super) fn what_remains((kept, of_others): (u64, u64)) -> Vec<String> {
    let earlier = match kept {
        0 => "Earlier runs in this ledger kept nothing under the ids of these jobs that could be theirs.".to_owned(),
        1 => "What an earlier run in this ledger kept under the id of one of these jobs is erased too.".to_owned(),
        n => {
            format!(
                "What earlier runs in this ledger kept under the ids of these jobs is erased too: {} rows.",
                grouped(n)
            )
        }
    };
    let others = (of_others > 0).then(|| {
        format!(
            "{} kept under these ids of jobs that were discarded earlier, died at another time, and were never brought \
             back: those are other jobs, and what was kept of them is left.",
            if of_others == 1 { "1 row was".to_owned() } else { format!("{} rows were", grouped(of_others)) }
        )
    });
    let always = [
        "Deleted without a copy: this cannot be undone.",
        &earlier,
        "The ledger keeps their ids, error and job classes, times of death, and your reason; of the filter, the values of \
         args, msg, id and free words are left out.",
        "Not reached: rows that were discarded earlier and are in this table no more, ledgers of other operators, the live \
         queue, exports, backups, replicas, logs, and your shell's history.",
    ]
    .map(str::to_owned);
    always.into_iter().chain(others).collect()
}

/// What it takes to confirm: in proportion to the reach, and to whether there is a way back. What is deleted for good
/// where it matters is typed even if it is one.
pub(super) fn confirm(action: Action, count: u64, type_above: u64, production: bool) -> Confirm {
    let profile = action.profile();
    match count {
        0 | 1 if profile.undo.is_sure && !production => Confirm::Key,
        0 | 1 if profile.rows != RowEffect::DeletedForGood || !production => Confirm::Yes,
        _ if production || count > type_above => Confirm::TypeCount,
        _ => Confirm::Yes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_takes_to_confirm_grows_with_the_reach() {
        assert_eq!(confirm(Action::Ignore, 1, 100, false), Confirm::Key);
        assert_eq!(confirm(Action::Ignore, 1, 100, true), Confirm::Yes);
        assert_eq!(confirm(Action::Replay, 1, 100, false), Confirm::Yes);
        assert_eq!(confirm(Action::Ignore, 2, 100, false), Confirm::Yes);
        assert_eq!(confirm(Action::Replay, 100, 100, false), Confirm::Yes);
        assert_eq!(confirm(Action::Replay, 101, 100, false), Confirm::TypeCount);
        assert_eq!(confirm(Action::Ignore, 2, 100, true), Confirm::TypeCount);
        assert_eq!(confirm(Action::Purge, 1, 100, false), Confirm::Yes);
        assert_eq!(confirm(Action::Purge, 1, 100, true), Confirm::TypeCount);
    }
}
