//! What an operator can ask of a replay, by what the adapter's texts ask for.

use crate::adapter::{Part, Piece, Verb, VerbStep, pieces};
use crate::domain::job::State;
use crate::domain::run_options::Attempts;
use crate::store::LayoutOptions;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::template::own_instants;
use crate::store::sql::schema::destination::CheckedDestination;

/// Whether the statements of a replay say when the job may run.
pub(crate) fn defers(verb: Option<&Verb>, destination: &CheckedDestination) -> bool {
    let steps = match (destination, verb) {
        (_, None) | (CheckedDestination::Command(_), Some(Verb { command: Some(_), .. })) => return false,
        (CheckedDestination::Table(..), Some(Verb { into_table: Some(table), .. })) => &table.steps,
        (_, Some(verb)) => &verb.steps,
    };
    let says_when = |sql: &String| own_instants(sql) || asks(sql, &["run_after", "run_after_utc"]);
    steps.iter().any(|step| says_when(step.sql.get_ref()))
}

/// Whether a text of an adapter has one of these placeholders.
fn asks(text: &str, holes: &[&str]) -> bool {
    pieces(text).iter().any(|piece| matches!(piece, Piece::Hole(hole) if holes.contains(hole)))
}

/// What can be asked for beside verb and jobs: what the texts of the replay that this destination gets ask for.
pub(crate) fn layout_options(layout: &Layout, destination: &CheckedDestination) -> LayoutOptions {
    let replay = layout.spec.verbs.replay.as_ref().filter(|verb| verb.disabled.is_none());
    let (steps, message): (&[VerbStep], bool) = match (destination, replay) {
        (_, None) => (&[], false),
        (CheckedDestination::Command(_), Some(Verb { command: Some(_), .. })) => (&[], true),
        (CheckedDestination::Table(..), Some(Verb { into_table: Some(table), .. })) => (&table.steps, true),
        (_, Some(verb)) => (&verb.steps, false),
    };
    let values = replay.and_then(|verb| verb.message.as_ref()).filter(|_| message).map(|m| m.values.values());
    let values = values.into_iter().flatten().filter_map(|field| field.sql.as_ref());
    let texts: Vec<&str> =
        steps.iter().map(|step| &step.sql).chain(values).map(|text| text.get_ref().as_str()).collect();
    let any = |hole: &str| texts.iter().any(|text| asks(text, &[hole]));
    let usual = replay.and_then(|verb| verb.attempts).unwrap_or(Attempts::Reset);
    let mut attempts = if any("once") { Attempts::ALL.to_vec() } else { Vec::new() };
    attempts.sort_by_key(|choice| *choice != usual);
    let has = |state: &State| match layout.part(Part::State) {
        Some(_) => *state == State::Retrying || !layout.words(*state).is_empty(),
        None => *state == State::Dead,
    };
    LayoutOptions {
        to_queue: any("to_queue"),
        copies: any("to_queue") && steps.iter().any(|step| step.copies),
        attempts,
        states: State::ALL.into_iter().filter(has).collect(),
        touched: layout.part(Part::Touched).is_some(),
    }
}
