//! What an operator can ask of a replay, by what the adapter's texts ask for.

use crate::adapter::{Piece, Verb, VerbStep, pieces};
use crate::domain::action::Action;
use crate::domain::job::State;
use crate::domain::run_options::Attempts;
use crate::store::Offers;
use crate::store::sql::dialect::Locks;
use crate::store::sql::query::layout::{Layout, Part};
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

/// Whether two batches of one run can be under way without either seeing less than it would behind the other.
pub(crate) fn abreast(layout: &Layout) -> bool {
    let looks_around = |verb: &Verb| {
        let asks_others = verb.when.as_ref().is_some_and(|when| when.get_ref().to_ascii_uppercase().contains("SELECT"));
        asks_others || !verb.refuse.is_empty() || verb.lock.is_some() || !verb.along.is_empty()
    };
    let has_such_steps = |verb: &Verb| {
        let into_table = verb.into_table.iter().flat_map(|table| &table.steps);
        verb.steps.iter().chain(into_table).any(|step| looks_for_others(step.sql.get_ref()))
    };
    let mut verbs = Action::ALL.into_iter().filter_map(|action| layout.spec.verbs.get(action));
    let locks_its_own = match layout.dialect.locks() {
        Locks::All => false,
        Locks::Found => true,
        Locks::Read => layout.is_stored_by_key,
    };
    locks_its_own && !verbs.any(|verb| looks_around(verb) || has_such_steps(verb))
}

/// Whether a step asks what is there already, or how much of it. What it finds missing the other batch may be about to add;
/// where it does, a unique index has to decide.
fn looks_for_others(step: &str) -> bool {
    const DECIDED: [&str; 3] = [" ON CONFLICT ", " ON DUPLICATE KEY ", "INSERT IGNORE "];
    const MISSING: [&str; 8] =
        [" EXISTS", " NOT IN", " EXCEPT ", " INTERSECT ", " LEFT ", " RIGHT ", " FULL ", " ALL("];
    const COUNTING: [&str; 5] = [" COUNT(", " MAX(", " MIN(", " SUM(", " AVG("];
    let words = step.to_ascii_uppercase().replace('(', " ( ").split_whitespace().collect::<Vec<_>>().join(" ");
    let sql = format!(" {} ", words.replace(" (", "("));
    let has = |words: &[&str]| words.iter().any(|word| sql.contains(word));
    // What is counted of the batch alone, or of the rows that it holds, is its own.
    let of = |source: &str| sql.matches(source).count();
    let is_own = of(" FROM ") == of(" FROM {BATCH}") + of(" FROM {TABLE} AS T WHERE {IDS} ") && of(" JOIN ") == 0;
    !has(&DECIDED) && (has(&MISSING) || has(&COUNTING) && !is_own)
}

/// Whether a text of an adapter has one of these placeholders.
fn asks(text: &str, holes: &[&str]) -> bool {
    pieces(text).iter().any(|piece| matches!(piece, Piece::Hole(hole) if holes.contains(hole)))
}

/// What can be asked for beside verb and jobs: what the texts of the replay that this destination gets ask for.
pub(crate) fn offers(layout: &Layout, destination: &CheckedDestination) -> Offers {
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
    Offers {
        to_queue: any("to_queue"),
        attempts,
        states: State::ALL.into_iter().filter(has).collect(),
        touched: layout.part(Part::Touched).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_asks_what_is_there_already_has_to_be_alone() {
        let alone = [
            "INSERT INTO chores (kind) SELECT t.kind FROM {table} AS t WHERE {ids} AND NOT EXISTS (SELECT 1 FROM chores)",
            "INSERT INTO chores (kind) SELECT t.kind FROM {table} AS t WHERE t.kind NOT\n  IN (SELECT kind FROM chores)",
            "INSERT INTO chores (kind) SELECT t.kind FROM {table} AS t LEFT JOIN chores AS c USING (kind) WHERE c.kind IS NULL",
            "INSERT INTO chores (kind) SELECT t.kind FROM {table} AS t WHERE t.kind <> ALL (SELECT kind FROM chores)",
            "INSERT INTO chores (at) SELECT coalesce((SELECT max(at) FROM chores), 0) + 1 FROM {batch}",
            "UPDATE {table} AS t SET turn = (SELECT count (*) FROM chores) WHERE {ids}",
            "UPDATE {table} AS t SET turn = (SELECT max(o.turn) FROM {table} AS o WHERE o.kind = t.kind) WHERE {ids}",
            "INSERT INTO chores (kind) SELECT b.id FROM {batch} EXCEPT SELECT kind FROM chores",
        ];
        let beside = [
            "INSERT INTO chores (kind) SELECT t.kind FROM {table} AS t JOIN {batch} ON t.id = b.id",
            "DELETE FROM chores AS c WHERE c.id IN (SELECT b.live FROM {batch})",
            "SELECT notify('n', count(*)) FROM {batch}",
            "SELECT notify(n.q, n.first) FROM (SELECT t.q, min(t.id) AS first FROM {table} AS t WHERE {ids} GROUP BY t.q) AS n",
            "UPDATE {table} AS t SET queue = (SELECT q.id FROM queues AS q WHERE q.name = {to_queue}) WHERE {ids}",
            "INSERT INTO q (n) SELECT 'a' WHERE NOT EXISTS (SELECT FROM q) ON CONFLICT DO NOTHING",
            "INSERT IGNORE INTO q (n) SELECT t.n FROM {table} AS t LEFT JOIN q USING (n) WHERE q.n IS NULL",
            "INSERT INTO q (n) SELECT max(t.n) FROM {table} AS t WHERE {ids} ON DUPLICATE KEY UPDATE n = n",
        ];
        for step in alone {
            assert!(looks_for_others(step), "{step}");
        }
        for step in beside {
            assert!(!looks_for_others(step), "{step}");
        }
    }
}
