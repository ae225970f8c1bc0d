//! Which actions can be undone in a layout, and why others cannot.

use crate::adapter::{Column, FieldKind, Route, Table, Verb, destination_misfits};
use crate::domain::action::Action;
use crate::store::Availability;
use crate::store::found::Found;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::template::{Fill, expand};
use crate::store::sql::schema::destination::CheckedDestination;

/// The actions that are had only by undoing another, by what the others are worth.
pub(crate) fn undoable(
    layout: &Layout,
    found: &Found,
    destination: &CheckedDestination,
    actions: &[(Action, Availability)],
) -> Vec<(Action, Availability)> {
    let undo = |action: Action, way: &dyn Fn() -> Availability| {
        let undone = action.profile().undoes.unwrap_or(action);
        let done = actions.iter().find(|(a, _)| *a == undone).map(|(_, availability)| availability);
        let availability = match done {
            Some(Availability::Ready { .. }) => way(),
            Some(Availability::Disabled(reason)) => Availability::Disabled(reason.clone()),
            None => Availability::Disabled(format!("this layout has no {undone}")),
        };
        (action, availability)
    };
    let verbs = &layout.spec.verbs;
    vec![
        undo(Action::Restore, &|| restorable(verbs.discard.as_ref())),
        undo(Action::Recall, &|| recallable(layout, found, destination)),
    ]
}

/// Whether rows that were discarded can be put back.
fn restorable(discard: Option<&Verb>) -> Availability {
    match discard {
        Some(verb) if verb.archive => Availability::Ready {
            notes: vec!["The rows come back from the ledger as they were, with their ids.".to_owned()],
        },
        _ => Availability::Disabled("a discard of this layout keeps no rows that could be put back".to_owned()),
    }
}

/// Whether replayed jobs can be taken back.
pub(crate) fn recallable(layout: &Layout, found: &Found, destination: &CheckedDestination) -> Availability {
    let no = |reason: &str| Availability::Disabled(reason.to_owned());
    let way = destination.kind();
    let Some(undo) = layout.spec.verbs.replay.as_ref().and_then(|verb| verb.undo_by(way)) else {
        return no(match way {
            Route::Command => "replayed jobs are handed to a command: nobody can take them back from there",
            Route::Own | Route::Table => "the adapter does not say how a replay is undone",
        });
    };
    if let Some(reason) =
        undo.when.as_ref().and_then(|when| rounded(layout, when.get_ref(), &found.table, &found.columns))
    {
        return no(&reason);
    }
    let Some(live) = &undo.live else { return Availability::Ready { notes: undo.notes.clone() } };
    let (name, table) = match destination {
        CheckedDestination::Table(name, table) => (name.clone(), Some(table.as_ref())),
        _ => {
            let name = expand(live.table.get_ref(), &Fill::names_only(layout, None)).sql;
            let quoted =
                |table: &str| format!("{}.{}", layout.dialect.quote(&layout.schema), layout.dialect.quote(table));
            let named = |table: &str| name == quoted(table) || name.ends_with(&format!(".{table}"));
            let tables = found.neighbours().into_iter().flatten();
            let table = tables.filter(|(table, _)| named(table)).map(|(_, table)| table).next();
            (name, table)
        }
    };
    let read = name.replace(['"', '`'], "");
    if let Some(reason) = table.and_then(|table| rounded(layout, live.find.get_ref(), &read, table)) {
        return no(&reason);
    }
    match table.map(|table| destination_misfits(&name, table, &live.columns)) {
        Some(misfits) if misfits.is_empty() => Availability::Ready { notes: undo.notes.clone() },
        Some(misfits) => no(&format!("whether a worker has taken a job cannot be seen here: {}", misfits.join("; "))),
        None => no(&format!("there is no table {name} that replayed jobs could be taken back from")),
    }
}

/// Why the jobs of a replay cannot be told from others: by the instant that only this replay gave each, in a column that
/// does not keep all of it.
fn rounded(layout: &Layout, text: &str, name: &str, table: &Table) -> Option<String> {
    if let (Some(FieldKind::EpochS | FieldKind::EpochMs), Some(column)) = (layout.due, run_after_columns(text).next()) {
        return Some(format!(
            "a replayed job is known by the microsecond that it was told to run at, and {name}.{column} counts whole \
             seconds or milliseconds"
        ));
    }
    let rounds = |column: &&Column| layout.dialect.rounds(&column.data_type);
    let Column { name: column, data_type, .. } =
        run_after_columns(text).filter_map(|name| table.column(name)).find(rounds)?;
    Some(format!(
        "a replayed job is known by the microsecond that it was told to run at, and {name}.{column} is {data_type}: it keeps \
         less of it; a column with six digits of the second's fraction makes later replays undoable"
    ))
}

/// The columns that a text compares with the instant that a replay gave each job.
fn run_after_columns(text: &str) -> impl Iterator<Item = &str> {
    let compared = text.match_indices("= b.run_after").filter_map(|(at, _)| text[..at].split_whitespace().next_back());
    compared.map(|column| column.rsplit_once('.').map_or(column, |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_is_found_that_is_compared_with_a_jobs_own_instant() {
        let text =
            "SELECT 1 FROM jobs AS j JOIN {batch} ON j.run_after = b.run_after AND j.x = 1 WHERE due\n= b.run_after";
        assert_eq!(run_after_columns(text).collect::<Vec<_>>(), ["run_after", "due"]);
        assert_eq!(run_after_columns("SELECT b.run_after FROM {batch}").count(), 0);
    }
}
