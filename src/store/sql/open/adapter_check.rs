//! An adapter's statements against a live database: each is explained, none is run.

mod reads;

use toml::Spanned;

use crate::adapter::{Adapter, Field, FieldKind, RelatedRows, Route, Spec, Undo, Verb};
use crate::db::{Engine, Statement};
use crate::domain::action::Action;
use crate::domain::job::State;
use crate::store::found::{CheckFinding, Found};
use crate::store::open_options::ReplayDestination;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{BatchRow, Place, dialect};
use crate::store::sql::open::undo_capabilities::recallable;
use crate::store::sql::open::{check_destination, due};
use crate::store::sql::query::key_uniqueness::{Doubt, doubt};
use crate::store::sql::query::layout::Layout;
use crate::store::sql::query::message::push_expr;
use crate::store::sql::query::template::{Fill, expand, push};
use crate::store::sql::schema::destination::CheckedDestination;
use crate::store::sql::write::edit::update_text;
use crate::store::sql::write::related_rows;
use crate::store::{Availability, Budget, Result, SourceError};

impl CheckFinding {
    fn explained(what: String, line: usize, verdict: std::result::Result<(), String>) -> Self {
        CheckFinding { what, line, verdict, unused: None }
    }
}

/// A piece to be explained.
struct CheckedPiece {
    what: String,
    offset: usize,
    statement: Statement,
}

/// Explains every expression and statement of an adapter against a database that holds its layout. Steps that need a
/// live table are explained when `target` names one.
///
/// # Errors
/// When the database cannot be reached; what it finds wrong with a statement is a finding.
pub async fn check(
    engine: &Engine,
    adapter: &Adapter,
    found: &Found,
    target: Option<&str>,
    budget: &Budget,
) -> Result<Vec<CheckFinding>> {
    let word = engine.kind().word();
    let unspoken = || SourceError::Layout(format!("the adapter {} does not speak for {word}", adapter.name));
    let spec = found.spec(adapter, word).ok_or_else(unspoken)?;
    let mut layout = Layout::new(dialect(engine.kind()), adapter, spec, &found.schema, &found.columns);
    let wanted = target.map_or(ReplayDestination::None, |table| ReplayDestination::Table(table.to_owned()));
    let destination = check_destination(engine, &layout, &wanted, &found.seen, budget).await?;
    // Of whole numbers whose unit nobody knows nothing is replayed, and one is as good as another to explain a statement.
    let stand_in = found.untold_times.as_ref().map(|_| FieldKind::EpochS);
    layout.due = due(spec, found, &destination).or(stand_in);
    let (target, unusable) = match &destination {
        CheckedDestination::Unusable(reason) => (None, Some(reason.clone())),
        _ => (target, None),
    };
    let unused = unused_undo(&layout, found, &destination);
    let pieces = pieces(&layout, spec, found, target, unused.is_none());
    let open_key = match doubt(&layout, &found.columns) {
        Some(Doubt::Open(why)) => Some(why),
        Some(Doubt::Untold(_)) | None => None,
    };
    let mut findings: Vec<CheckFinding> = Vec::with_capacity(pieces.len());
    findings.extend(unusable.map(|why| CheckFinding::explained("replay.table".to_owned(), 1, Err(why))));
    findings.extend(unused.map(|(undo, why)| CheckFinding {
        unused: Some(why),
        ..CheckFinding::explained(
            format!("verbs.{}.undo", Action::Replay),
            adapter.line(undo.taken.span().start),
            Ok(()),
        )
    }));
    for piece in pieces {
        let verdict = verdict(engine, &layout, piece.statement, budget).await?;
        let verdict = match &open_key {
            Some(why) if piece.what == "key" => verdict.and(Err(why.clone())),
            _ => verdict,
        };
        findings.push(CheckFinding::explained(piece.what, adapter.line(piece.offset), verdict));
    }
    // What is wrong with a field would be wrong with all that is made of it.
    let is_right = findings.iter().all(|finding| finding.verdict.is_ok());
    for piece in if is_right { reads::pieces(&layout, spec) } else { Vec::new() } {
        let verdict = verdict(engine, &layout, piece.statement, budget).await?;
        findings.push(CheckFinding::explained(piece.what, adapter.line(piece.offset), verdict));
    }
    Ok(findings)
}

/// What undoes a replay and cannot do so in this schema, with the reason; `None` also where nothing says how.
fn unused_undo<'a>(layout: &'a Layout, found: &Found, destination: &CheckedDestination) -> Option<(&'a Undo, String)> {
    let undo = layout.spec.verbs.replay.as_ref()?.undo_by(destination.kind())?;
    match recallable(layout, found, destination) {
        Availability::Disabled(reason) => Some((undo, reason)),
        Availability::Ready { .. } => None,
    }
}

/// What the database says of a statement.
async fn verdict(
    engine: &Engine,
    layout: &Layout,
    statement: Statement,
    budget: &Budget,
) -> Result<std::result::Result<(), String>> {
    let explained = Statement { sql: layout.dialect.explain(&statement.sql), binds: statement.binds };
    match explain(engine, explained, budget).await {
        Ok(()) => Ok(Ok(())),
        Err(error @ (SourceError::Unreachable(_) | SourceError::Cancelled)) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// The text of every expression and statement of a layout.
pub(crate) fn texts(layout: &Layout, found: &Found, target: Option<&str>) -> Vec<String> {
    pieces(layout, &layout.spec, found, target, true).into_iter().map(|piece| piece.statement.sql).collect()
}

fn pieces(layout: &Layout, spec: &Spec, found: &Found, target: Option<&str>, is_recallable: bool) -> Vec<CheckedPiece> {
    let mut pieces = fields(layout, spec);
    pieces.extend(conditions(layout, spec));
    for action in Action::ALL.into_iter().filter(|action| action.profile().undoes.is_none()) {
        if let Some(verb) = spec.verbs.get(action).filter(|v| v.disabled.is_none()) {
            let is_undone = action != Action::Replay || is_recallable;
            pieces.extend(verb_pieces(layout, verb, action, target, is_undone));
            pieces.extend(related_pieces(layout, verb, action, found));
        }
    }
    pieces.extend(edit_piece(layout, spec, found));
    let explainable = |text: &str| target.is_some() || !text.contains("{target}");
    for (what, text) in [("outcome", &spec.outcome), ("replayed.run_times", &spec.replayed.run_times)] {
        if let Some(text) = text.as_ref().filter(|text| explainable(text.get_ref())) {
            let statement = filled(layout, text.get_ref(), target);
            pieces.push(CheckedPiece { what: what.to_owned(), offset: text.span().start, statement });
        }
    }
    pieces
}

/// The indexes that an adapter wants and a database does not have: what each is for, and the statement that makes it.
pub fn missing_indexes(engine: &Engine, adapter: &Adapter, found: &Found) -> Vec<(String, String)> {
    let dialect = dialect(engine.kind());
    let Some(spec) = found.spec(adapter, engine.kind().word()) else { return Vec::new() };
    let place = Place { schema: &found.schema, table: &found.table };
    let missing = spec.indexes.iter().filter(|index| !found.columns.has_index(&index.columns));
    missing
        .map(|index| (index.purpose.clone(), dialect.create_index(place, index, found.columns.is_partitioned)))
        .collect()
}

/// Why it cannot be told whether an adapter's key is unique in a table; `None` where it is known either way.
pub fn untold_key(engine: &Engine, adapter: &Adapter, found: &Found) -> Option<String> {
    let spec = found.spec(adapter, engine.kind().word())?;
    let layout = Layout::new(dialect(engine.kind()), adapter, spec, &found.schema, &found.columns);
    match doubt(&layout, &found.columns)? {
        Doubt::Untold(why) => Some(why),
        Doubt::Open(_) => None,
    }
}

/// Explains one statement in a transaction that is rolled back: a reading one may not even explain a write.
async fn explain(engine: &Engine, statement: Statement, budget: &Budget) -> Result<()> {
    let mut tx = engine.begin(budget).await?;
    let explained = tx.fetch(&statement).await;
    tx.rollback().await;
    explained.map(drop)
}

fn fields(layout: &Layout, spec: &Spec) -> Vec<CheckedPiece> {
    let all = [
        ("key", Some(&spec.key)),
        ("order.time", Some(&spec.order.time)),
        ("order.otherwise", spec.order.otherwise.as_ref()),
        ("order.attempts", spec.order.attempts.as_ref()),
        ("held.since", spec.held.as_ref().and_then(|held| held.since.as_ref())),
    ];
    let all = all.into_iter().filter_map(|(what, field)| Some((what.to_owned(), field?)));
    let more = spec.more.iter().map(|(name, field)| (format!("more.{name}"), field));
    let parts = spec.fields.iter().map(|(part, field)| (format!("fields.{}", part.word()), field));
    all.chain(parts).chain(more).map(|(what, field)| field_piece(layout, what, field, false)).collect()
}

/// The conditions of states.
fn conditions<'a>(layout: &'a Layout, spec: &'a Spec) -> impl Iterator<Item = CheckedPiece> + 'a {
    let piece = |what: String, text: &Spanned<String>, condition: &str| {
        let mut sql = Sql::new(layout.dialect);
        push(
            &mut sql,
            &format!("SELECT 1 FROM {} WHERE {condition}", layout.tables.from),
            &Fill::names_only(layout, None),
        );
        CheckedPiece { what, offset: text.span().start, statement: sql.done() }
    };
    let states = State::ALL.into_iter().filter_map(move |state| {
        Some(piece(format!("states.when.{state}"), spec.states.when.get(state)?, layout.condition(state)?))
    });
    states.chain(spec.held.iter().map(move |held| piece("held.when".to_owned(), &held.when, held.when.get_ref())))
}

/// Where a field's column or expression stands.
fn offset_of(field: &Field) -> usize {
    field.column.as_ref().or(field.sql.as_ref()).map_or(0, |s| s.span().start)
}

fn field_piece(layout: &Layout, what: String, field: &Field, filled_in: bool) -> CheckedPiece {
    let expr = layout.expr(field);
    let offset = offset_of(field);
    let mut sql = Sql::new(layout.dialect);
    sql.push("SELECT ");
    match filled_in {
        true => push_expr(&mut sql, layout, &expr, &Fill::names_only(layout, None)),
        // Nobody fills placeholders in where lists are read.
        false => drop(sql.push(&layout.dialect.contract(&expr.raw, expr.kind))),
    }
    sql.push(&format!(" FROM {}", layout.tables.from));
    CheckedPiece { what, offset, statement: sql.done() }
}

fn verb_pieces(
    layout: &Layout,
    verb: &Verb,
    action: Action,
    target: Option<&str>,
    is_undone: bool,
) -> Vec<CheckedPiece> {
    let mut pieces = Vec::new();
    let named = [("when", &verb.when), ("trace", &verb.trace)];
    let named = named.into_iter().filter_map(|(name, condition)| Some((name.to_owned(), condition.as_ref()?)));
    let refusals = verb.refuse.iter().enumerate().map(|(i, refusal)| (format!("refuse[{i}].when"), &refusal.when));
    let warnings = verb.warn.iter().enumerate().map(|(i, warning)| (format!("warn[{i}].when"), &warning.when));
    for (name, condition) in named.chain(refusals).chain(warnings) {
        let mut sql = Sql::new(layout.dialect);
        sql.push(&format!("SELECT 1 FROM {} WHERE ", layout.tables.from));
        push(&mut sql, condition.get_ref(), &Fill::names_only(layout, target));
        let (what, offset) = (format!("verbs.{action}.{name}"), condition.span().start);
        pieces.push(CheckedPiece { what, offset, statement: sql.done() });
    }
    if let Some(lock) = &verb.lock {
        let statement = filled(layout, lock.get_ref(), target);
        pieces.push(CheckedPiece { what: format!("verbs.{action}.lock"), offset: lock.span().start, statement });
    }
    if let Some(message) = &verb.message {
        if let Some(edit) = &message.edit {
            pieces.push(field_piece(layout, format!("verbs.{action}.message.edit"), edit, true));
        }
        for (name, field) in &message.values {
            pieces.push(field_piece(layout, format!("verbs.{action}.message.values.{name}"), field, true));
        }
    }
    let mut lists = vec![("steps", verb.steps.as_slice())];
    if let (Some(table), Some(_)) = (&verb.into_table, target) {
        lists.push(("into_table.steps", &table.steps));
    }
    if let Some(c) = &verb.command {
        lists.extend([
            ("command.claim", c.claim.as_slice()),
            ("command.accepted", &c.accepted),
            ("command.refused", &c.refused),
        ]);
    }
    let way = target.map_or(Route::Own, |_| Route::Table);
    if let Some(undo) = verb.undo_by(way).filter(|_| is_undone) {
        pieces.extend(undo_pieces(layout, undo, action, target));
        lists.push(("undo.steps", &undo.steps));
    }
    for (list, steps) in lists {
        for (i, step) in steps.iter().enumerate() {
            let statement = filled(layout, step.sql.get_ref(), target);
            pieces.push(CheckedPiece {
                what: format!("verbs.{action}.{list}[{i}]"),
                offset: step.sql.span().start,
                statement,
            });
        }
    }
    pieces
}

/// The statement that changes arguments.
fn edit_piece(layout: &Layout, spec: &Spec, found: &Found) -> Option<CheckedPiece> {
    let edit = spec.verbs.repair.as_ref().filter(|edit| edit.verb.disabled.is_none())?;
    let statement = filled(layout, &update_text(layout, edit, &related_rows::columns(spec, found))?, None);
    Some(CheckedPiece { what: "verbs.repair.column".to_owned(), offset: edit.column.span().start, statement })
}

/// The tables whose rows are kept along; one that is not there has none.
fn related_pieces(layout: &Layout, verb: &Verb, action: Action, found: &Found) -> Vec<CheckedPiece> {
    let there = |table: &String| found.neighbours().is_some_and(|tables| tables.contains_key(table));
    let along = verb.along.iter().enumerate().filter(|(_, along)| there(along.table.get_ref()));
    let piece = |(i, along): (usize, &RelatedRows)| {
        let quote = |name: &str| layout.dialect.quote(name);
        let (table, column, of) = (quote(along.table.get_ref()), quote(&along.column), quote(&along.of));
        let also: String =
            along.also.iter().map(|(theirs, ours)| format!(" AND x.{} = t.{}", quote(theirs), quote(ours))).collect();
        let statement = filled(
            layout,
            &format!("SELECT 1 FROM {{table}} AS t JOIN {{schema}}.{table} AS x ON x.{column} = t.{of}{also}"),
            None,
        );
        CheckedPiece { what: format!("verbs.{action}.along[{i}]"), offset: along.table.span().start, statement }
    };
    along.map(piece).collect()
}

/// What a replay is undone by, but for its steps.
fn undo_pieces(layout: &Layout, undo: &Undo, action: Action, target: Option<&str>) -> Vec<CheckedPiece> {
    let condition = |table: &str, text: &Spanned<String>| {
        let mut sql = Sql::new(layout.dialect);
        push(&mut sql, &format!("SELECT 1 FROM {table} WHERE "), &Fill::names_only(layout, target));
        push(&mut sql, text.get_ref(), &Fill::names_only(layout, target));
        sql.done()
    };
    let piece = |what: &str, text: &Spanned<String>, statement| CheckedPiece {
        what: format!("verbs.{action}.undo.{what}"),
        offset: text.span().start,
        statement,
    };
    let mut pieces: Vec<CheckedPiece> =
        undo.when.iter().map(|w| piece("when", w, condition("{table} AS t", w))).collect();
    let table = undo.live.as_ref().map_or("{table} AS t".to_owned(), |live| format!("{} AS j", live.table.get_ref()));
    pieces.push(piece("taken", &undo.taken, condition(&table, &undo.taken)));
    if let Some(lock) = &undo.lock {
        pieces.push(piece("lock", lock, filled(layout, lock.get_ref(), target)));
    }
    if let Some(live) = &undo.live {
        pieces.push(piece("live.find", &live.find, filled(layout, live.find.get_ref(), target)));
    }
    pieces
}

/// A statement over one job that is not there.
fn filled(layout: &Layout, text: &str, target: Option<&str>) -> Statement {
    let id = match layout.key.expr.kind {
        FieldKind::Int | FieldKind::Natural => "0",
        _ => "00000000-0000-0000-0000-000000000000",
    };
    let id = layout.key.scope.as_ref().map_or(id.to_owned(), |_| format!("none/{id}"));
    let ids = [id.clone()];
    let (id_text, json) = (id.clone(), Some("{}".to_owned()));
    let row = BatchRow {
        new_id: id.clone(),
        message: json.clone(),
        kept: json,
        live: Some("0".to_owned()),
        id: id_text,
        ..BatchRow::default()
    };
    let live = Some(FieldKind::Int);
    let fill = Fill { ids: &ids, batch: std::slice::from_ref(&row), live, ..Fill::names_only(layout, target) };
    expand(text, &fill)
}
