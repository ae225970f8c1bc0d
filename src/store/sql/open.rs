//! A store over a layout that was found, and where its replayed jobs go.

pub(super) mod adapter_check;
pub(super) mod capabilities;
pub(super) mod charset_check;
pub(super) mod grant_script;
pub(super) mod privileges;
pub(super) mod undo_capabilities;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::SqlStore;
use super::dialect::dialect;
use crate::adapter::{Adapter, FieldKind, Part, Spec, Verb, destination_misfits, epoch_by};
use crate::db::Engine;
use crate::domain::action::Action;
use crate::store::found::{CatalogueTables, Found, Seen};
use crate::store::open_options::{OpenOptions, ReplayDestination, places};
use crate::store::sql::context::Context;
use crate::store::sql::count::CountMemory;
use crate::store::sql::open::capabilities::{defers, layout_options};
use crate::store::sql::open::charset_check::charset_refusal;
use crate::store::sql::open::privileges::Role;
use crate::store::sql::open::undo_capabilities::undoable;
use crate::store::sql::query::buckets::{Axis, PollReading};
use crate::store::sql::query::key_uniqueness::{Doubt, doubt};
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::message::Recipe;
use crate::store::sql::read::ReadMemory;
use crate::store::sql::schema::destination::CheckedDestination;
use crate::store::sql::schema::discovery::{read_catalogue, without_transactions};
use crate::store::sql::schema::epoch_columns;
use crate::store::sql::write::edit::edited_columns;
use crate::store::sql::write::related_rows;
use crate::store::sql::write::row_completeness::partial;
use crate::store::{Availability, Budget, Capabilities, Evidence, Grant, Result, SortKey, SourceError, StoreInfo};

/// Opens a layout that [`crate::store::sql::detect()`] found.
///
/// # Errors
/// When the adapter does not speak for this database, its message template is wrong, or the database cannot be read.
pub async fn open(
    engine: Arc<Engine>,
    adapter: &Adapter,
    found: &Found,
    options: &OpenOptions,
    budget: &Budget,
) -> Result<SqlStore> {
    let word = engine.kind().word();
    let unspoken = || SourceError::Layout(format!("the adapter {} does not speak for {word}", adapter.name));
    let spec = found.spec(adapter, word).ok_or_else(unspoken)?;
    let mut layout = Layout::new(dialect(engine.kind()), adapter, spec, &found.schema, &found.columns);
    for action in Action::ALL {
        if let Some(message) = spec.verbs.get(action).and_then(|v| v.message.as_ref()) {
            Recipe::new(&layout, message)?;
        }
    }
    let destination = check_destination(&engine, &layout, &options.destination, &found.seen, budget).await?;
    layout.due = due(spec, found, &destination);
    if let Some(reason) = Role::new(&engine, spec, found, &destination).blind(found) {
        return Err(SourceError::Denied(reason));
    }
    if let Some(reason) = charset_refusal(&layout, found, &destination) {
        return Err(SourceError::Layout(reason));
    }
    let axis = Axis::of(&layout, true).ok_or_else(unspoken)?;
    let clock = match options.just_connected {
        true => engine.clock(),
        false => {
            let rows = engine.read(&[axis.clock()], budget).await?.pop().unwrap_or_default();
            (PollReading::read(rows)?.clock, Instant::now())
        }
    };
    let doubt = doubt(&layout, &found.columns);
    let mut info = describe(&engine, &layout, found, &destination, doubt.as_ref());
    if options.no_edit {
        forbid_edits(&mut info);
    }
    let lacks = hold_back(&mut info, &Role::new(&engine, spec, found, &destination), found, &destination);
    let context = Context {
        engine,
        destination,
        info,
        unique: doubt.is_none(),
        along: related_rows::columns(spec, found),
        clock: Mutex::new(clock),
        next_instant: AtomicI64::new(0),
        layout,
    };
    let count = CountMemory { awaits_unit: spec.awaits_unit(&found.columns), ..CountMemory::default() };
    Ok(SqlStore { context, lacks, table: found.columns.clone(), read: ReadMemory::new(options.gentle), count })
}

fn describe(
    engine: &Engine,
    layout: &Layout,
    found: &Found,
    destination: &CheckedDestination,
    doubt: Option<&Doubt>,
) -> StoreInfo {
    let verbs = &layout.spec.verbs;
    let held_back = |action| {
        let untold = found.untold_times.as_ref().filter(|_| Action::profile(action).writes_times);
        let unsafe_to_write = found.unsafe_to_write.as_ref().or(untold).cloned();
        unsafe_to_write.or_else(|| partial(layout, found, destination.kind(), action))
    };
    let available = |action: Action, verb: &Verb| match held_back(action) {
        Some(reason) if verb.disabled.is_none() => Availability::Disabled(reason),
        // Where it goes is ours to make.
        None if action == Action::Archive && verb.disabled.is_none() => {
            Availability::Ready { notes: verb.notes.clone() }
        }
        None if action.edits() && verb.disabled.is_none() => editable(layout, verb, found),
        _ => availability(verb, destination),
    };
    let mut actions: Vec<(Action, Availability)> =
        Action::ALL.into_iter().filter_map(|a| Some((a, available(a, verbs.get(a)?)))).collect();
    actions.extend(undoable(layout, found, destination, &actions));
    if let Some(Doubt::Open(why)) = doubt {
        for (_, availability) in &mut actions {
            if let Availability::Ready { notes } = availability {
                notes.push(why.clone());
            }
        }
    }
    let recalls = actions.iter().any(|(a, way)| *a == Action::Recall && matches!(way, Availability::Ready { .. }));
    let sorts = [SortKey::Time, SortKey::Attempts].into_iter().filter(|s| layout.order(*s, true).is_some()).collect();
    let capabilities = Capabilities {
        facets: layout.facets(),
        sorts,
        actions,
        options: layout_options(layout, destination),
        defers: defers(verbs.replay.as_ref(), destination),
        renames: verbs.replay.as_ref().is_some_and(renames),
        undo_needs_copies: recalls && verbs.replay.as_ref().is_some_and(|verb| !verb.keep.is_nothing()),
        outcomes_need_copies: layout.spec.outcome.as_ref().is_some_and(|outcome| needs_copies(outcome.get_ref())),
        outcomes_unknown: outcomes_unknown(layout),
        live_or_succeeded: layout.spec.states.live_or_succeeded.clone(),
        evidence: layout.dialect.transaction().map_or(Evidence::None, |_| Evidence::Transaction),
    };
    StoreInfo {
        adapter: layout.adapter.clone(),
        title: found.label(),
        server: engine.server().to_owned(),
        database: engine.database().to_owned(),
        user: engine.user().to_owned(),
        newest_by: newest_by(layout),
        destination: verbs.replay.as_ref().and_then(|verb| destination.of(verb)),
        notation: Arc::new(layout.spec.notation.clone()),
        read_only: engine.read_only().map(str::to_owned),
        replica: engine.is_replica(),
        warnings: found.warnings.clone(),
        capabilities,
    }
}

/// Whether the column is there that holds the arguments, and holds text.
fn editable(layout: &Layout, verb: &Verb, found: &Found) -> Availability {
    let Some(edit) = &layout.spec.verbs.repair else { return Availability::Ready { notes: verb.notes.clone() } };
    let (name, others) = (edit.column.get_ref(), related_rows::columns(&layout.spec, found));
    let column = edited_columns(edit, &layout.columns, &others).iter().find(|column| column.name == *name);
    let Some(column) = column else {
        let table = edit.row.as_ref().map_or(&layout.spec.table, |row| row.table.get_ref());
        return Availability::Disabled(format!("{table} has no column {name}, which would hold the arguments"));
    };
    match layout.dialect.is_text(&column.data_type) || ["json", "jsonb"].contains(&column.data_type.as_str()) {
        true => Availability::Ready { notes: verb.notes.clone() },
        false => Availability::Disabled(format!("{name} is {}, and only text and JSON are changed", column.data_type)),
    }
}

/// Disables what changes arguments.
fn forbid_edits(info: &mut StoreInfo) {
    let edits = info.capabilities.actions.iter_mut().filter(|(action, _)| action.edits());
    for (_, availability) in edits {
        if let Availability::Ready { .. } = availability {
            *availability = Availability::Disabled("the config has edit = false for this source".to_owned());
        }
    }
}

/// Whether an outcome statement goes by what the replay kept.
fn needs_copies(outcome: &str) -> bool {
    ["b.kept", "b.run_after"].iter().any(|column| outcome.contains(column))
}

/// Why the layout cannot tell the outcome of replayed jobs, where it cannot.
fn outcomes_unknown(layout: &Layout) -> Option<String> {
    let unsaid = || format!("the adapter {} has no `outcome` statement", layout.adapter);
    layout.spec.outcome.is_none().then(|| layout.spec.replayed.unknown.clone().unwrap_or_else(unsaid))
}

/// The column by which the newest come first, where that is not the time of death.
fn newest_by(layout: &Layout) -> Option<String> {
    let order = layout.order(SortKey::Time, true)?;
    let is_time = layout.part(Part::At).is_some_and(|at| at.raw == order.raw);
    order.column.clone().filter(|_| !is_time)
}

/// How the column counts time since 1970 that says when replayed jobs may run, where it does.
pub(super) fn due(spec: &Spec, found: &Found, destination: &CheckedDestination) -> Option<FieldKind> {
    let replay = spec.verbs.replay.as_ref()?;
    if let (CheckedDestination::Table(_, table), Some(into)) = (destination, &replay.into_table) {
        let due = into.due.as_ref()?;
        return epoch_by(into.columns.get(due)?, table.column(due)?);
    }
    let due = replay.due.as_ref()?;
    let (name, column) = due.rsplit_once('.').unwrap_or((&spec.table, due));
    spec.epoch_of(name, found.neighbours()?.get(name)?.column(column)?)
}

/// Disables the actions that the role may not do, and all writing where none is left. A database that takes no changes at all
/// has said so.
fn hold_back(
    info: &mut StoreInfo,
    role: &Role<'_>,
    found: &Found,
    destination: &CheckedDestination,
) -> Vec<(Option<Action>, Vec<Grant>)> {
    let mut lacks = vec![(None, role.lacks_to_read(found))];
    let is_open = info.read_only.is_none();
    for (action, availability) in &mut info.capabilities.actions {
        let missing = role.lacks(found, destination, *action);
        if let (Availability::Ready { .. }, Some(reason)) = (&*availability, role.refusal(&missing)) {
            lacks.push((Some(*action), missing));
            if is_open {
                *availability = Availability::Disabled(reason);
            }
        }
    }
    let is_left =
        info.capabilities.actions.iter().any(|(_, availability)| matches!(availability, Availability::Ready { .. }));
    if is_open && lacks.len() > 1 && !is_left {
        info.read_only = Some(format!("the role {} may do nothing here but look", info.user));
    }
    lacks.retain(|(_, missing)| !missing.is_empty());
    lacks
}

/// Whether what is put back has a new id.
fn renames(verb: &Verb) -> bool {
    verb.message
        .as_ref()
        .is_some_and(|message| message.template.as_ref().is_some_and(|t| t.get_ref().contains("{new_id}")))
}

fn availability(verb: &Verb, destination: &CheckedDestination) -> Availability {
    if let Some(reason) = &verb.disabled {
        return Availability::Disabled(reason.clone());
    }
    let ready = |more: &[String]| Availability::Ready { notes: verb.notes.iter().chain(more).cloned().collect() };
    match (destination, &verb.into_table, &verb.command) {
        (CheckedDestination::Table(..), Some(table), _) => ready(&table.notes),
        (CheckedDestination::Command(_), _, Some(command)) => ready(&command.notes),
        _ if !verb.steps.is_empty() => ready(&[]),
        (CheckedDestination::Unusable(reason), _, _) => Availability::Disabled(reason.clone()),
        (_, table, command) => Availability::Disabled(no_destination(table.is_some(), command.is_some())),
    }
}

fn no_destination(table: bool, command: bool) -> String {
    let table = table.then_some("replay = { table = \"jobs\" } for a live table of this database");
    let command = command.then_some("replay = { command = [\"bin/replay\"] } for a program that takes one job a line");
    let ways: Vec<&str> = table.into_iter().chain(command).collect();
    format!("nothing says where replayed jobs go; in the source's section of the config write {}", ways.join(", or "))
}

/// Whether replayed jobs can go where the config says.
pub(super) async fn check_destination(
    engine: &Engine,
    layout: &Layout,
    wanted: &ReplayDestination,
    seen: &Seen,
    budget: &Budget,
) -> Result<CheckedDestination> {
    let name = match wanted {
        ReplayDestination::None => return Ok(CheckedDestination::None),
        ReplayDestination::Command(line) => return Ok(CheckedDestination::Command(line.clone())),
        ReplayDestination::Table(name) => name,
    };
    let columns = layout.spec.verbs.replay.as_ref().and_then(|v| v.into_table.as_ref()).map(|t| &t.columns);
    let Some(columns) = columns else { return Ok(CheckedDestination::None) };
    let places = places(&layout.schema, name);
    let look = |catalogue: &CatalogueTables| {
        let (schema, table, found) = places.iter().find_map(|(schema, table)| {
            let (_, tables) = catalogue.iter().find(|(name, _)| name == schema)?;
            Some((*schema, *table, tables.get(*table)?.clone()))
        })?;
        let misfits = destination_misfits(table, &found, columns).into_iter();
        let reasons: Vec<String> = misfits.chain(without_transactions(table, &found)).collect();
        Some((schema, table, found, reasons))
    };
    let quoted =
        |schema: &str, table: &str| format!("{}.{}", layout.dialect.quote(schema), layout.dialect.quote(table));
    let tables = wanted.table_names(&layout.schema);
    // A table that was not asked for then may be the one that is meant; and one that did not fit may be mended since.
    let asked = tables.iter().all(|table| seen.names.contains(table));
    let found = match look(&seen.catalogue).filter(|(_, _, _, reasons)| asked && reasons.is_empty()) {
        Some(found) => Some(found),
        None => {
            let mut catalogue = read_catalogue(engine, &tables, budget).await?;
            for (schema, table) in &places {
                let found = catalogue.iter_mut().find(|(name, _)| name == schema);
                let Some(found) = found.and_then(|(_, tables)| tables.get_mut(*table)) else { continue };
                for column in columns.keys() {
                    epoch_columns::read_column_ranges(engine, schema, (table, found), column, budget).await?;
                }
            }
            look(&catalogue)
        }
    };
    Ok(match found {
        None => CheckedDestination::Unusable(format!("replay.table names {name}: there is no such table")),
        Some((schema, table, found, reasons)) if reasons.is_empty() => {
            CheckedDestination::Table(quoted(schema, table), Box::new(found))
        }
        Some((schema, table, _, reasons)) => {
            CheckedDestination::Unusable(format!("replay.table names {schema}.{table}: {}", reasons.join("; ")))
        }
    })
}
