//! What can be done in a layout, and why other things cannot.

use crate::adapter::Part;
use crate::adapter::redis::{RedisSpec, RedisVerb, SetKind};
use crate::domain::action::Action;
use crate::domain::facet::Facet;
use crate::domain::job::State;
use crate::domain::run_options::Attempts;
use crate::store::{Availability, Capabilities, Evidence, LayoutOptions, SortKey};

/// What is said of every verb that puts entries of a stream back.
const NO_OLD_IDS: &str = "an entry of a stream cannot be put back under its id";

/// What the layout offers. `held_back` is why nothing may be written.
pub(super) fn capabilities(spec: &RedisSpec, adapter: &str, held_back: Option<&str>) -> Capabilities {
    let replay = spec.verbs.get(Action::Replay);
    let uses = |parameter: &str| replay.is_some_and(|verb| verb.uses(parameter));
    let mut attempts = if uses("attempts") { Attempts::ALL.to_vec() } else { Vec::new() };
    let usual = replay.and_then(|verb| verb.attempts).unwrap_or(Attempts::Reset);
    attempts.sort_by_key(|choice| *choice != usual);
    let actions = actions(spec, held_back);
    let recalls = actions.iter().any(|(action, way)| *action == Action::Recall && is_ready(way));
    let unsaid = || format!("the adapter {adapter} has no `outcome`");
    Capabilities {
        facets: facets(spec),
        sorts: vec![SortKey::Time],
        actions,
        options: LayoutOptions {
            to_queue: uses("to_queue"),
            copies: false,
            attempts,
            states: vec![State::Dead],
            touched: false,
        },
        defers: uses("run_after_ms"),
        renames: false,
        undo_needs_copies: recalls,
        outcomes_need_copies: outcome_uses(spec, "kept"),
        outcomes_unknown: spec.outcome.lua.is_none().then(|| spec.outcome.unknown.clone().unwrap_or_else(unsaid)),
        live_or_succeeded: Vec::new(),
        evidence: Evidence::Transaction,
    }
}

/// Whether the body of outcomes uses a parameter.
fn outcome_uses(spec: &RedisSpec, parameter: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    spec.outcome.lua.as_ref().is_some_and(|lua| lua.get_ref().split(|c| !is_part(c)).any(|word| word == parameter))
}

fn is_ready(availability: &Availability) -> bool {
    matches!(availability, Availability::Ready { .. })
}

fn actions(spec: &RedisSpec, held_back: Option<&str>) -> Vec<(Action, Availability)> {
    let no = |why: &str| Availability::Disabled(why.to_owned());
    let of = |verb: &RedisVerb| match (&verb.disabled, held_back) {
        (Some(why), _) => no(why),
        (None, Some(why)) => no(why),
        (None, None) if verb.body().is_none() => no("the adapter does not say how that is done"),
        (None, None) => Availability::Ready { notes: verb.notes.clone() },
    };
    let mut actions = Vec::new();
    for action in Action::ALL {
        let way = spec.verbs.get(action).map(of);
        actions.extend(match action {
            // Arguments are changed by none of these stores yet.
            Action::Repair | Action::Revert => {
                way.map(|_| (action, no("arguments of jobs in Redis cannot be changed yet")))
            }
            Action::Restore | Action::Recall => {
                let undone = action.profile().undoes.and_then(|undone| spec.verbs.get(undone)).map(of);
                let way = match (undone, way) {
                    (None, _) => None,
                    (Some(Availability::Disabled(why)), _) => Some(no(&why)),
                    _ if spec.dead.kind != SetKind::Zset => Some(no(NO_OLD_IDS)),
                    (_, None) if action == Action::Recall => {
                        Some(no("the adapter does not say how a replay is undone"))
                    }
                    (_, Some(Availability::Ready { notes })) => Some(Availability::Ready { notes }),
                    (_, Some(disabled)) => Some(disabled),
                    (_, None) => Some(Availability::Ready {
                        notes: vec!["The jobs come back from the ledger as they were, with their keys.".to_owned()],
                    }),
                };
                way.map(|way| (action, way))
            }
            _ => way.map(|way| (action, way)),
        });
    }
    actions
}

/// What jobs can be counted by.
fn facets(spec: &RedisSpec) -> Vec<Facet> {
    let has = |part: Part| spec.fields.get(part).is_some();
    let is_there = |facet: &Facet| match facet {
        Facet::Error => has(Part::Error),
        Facet::Fingerprint => has(Part::Error) || has(Part::Message),
        Facet::Class => has(Part::Class),
        Facet::Queue => has(Part::Queue) || spec.queues.is_some(),
        Facet::Reason => has(Part::Reason),
        Facet::Worker => has(Part::Worker),
        Facet::Hour => true,
        // All of them are dead.
        Facet::State => false,
    };
    match &spec.facets {
        Some(words) => words.iter().map(|word| word.0).collect(),
        None => Facet::ALL.into_iter().filter(is_there).collect(),
    }
}
