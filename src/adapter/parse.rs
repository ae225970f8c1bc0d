//! Reads an adapter file: the common part is overlaid with each database's section, and each result is validated.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error};

use super::draft_check::unfilled_places;
use super::error::{line_of, with_suggestion};
use super::library::NOTATIONS;
use super::privileges::named_tables;
#[cfg(feature = "redis")]
use super::redis::read as read_redis;
use super::spec::{Field, FieldKind, Keep, MessageSpec, Spec, Undo, Verb, VerbStep};
use super::template::{PLACEHOLDERS, unknown_hole};
use super::{Adapter, AdapterError, DIALECTS, Needs};
use crate::domain::action::Action;
use crate::domain::job::State;
use crate::domain::json::Document;

/// A fault with the byte offset where it stands.
pub(super) type LocatedError = (Option<usize>, String);

pub(super) fn adapter(text: &str, origin: Option<PathBuf>) -> Result<Adapter, AdapterError> {
    read(text, &origin).map_err(|(offset, message)| AdapterError {
        file: origin.clone(),
        line: offset.map(|o| line_of(text, o)),
        message,
    })
}

fn read(text: &str, origin: &Option<PathBuf>) -> Result<Adapter, LocatedError> {
    let mut root = DeTable::parse(text).map_err(fault)?.into_inner();
    if is_redis(&mut root)? {
        return read_redis(text, root, origin);
    }
    let (name, file) = ParsedFile::read(text, root)?;
    let mut specs: [OnceLock<Vec<Spec>>; DIALECTS.len()] = Default::default();
    for (dialect, slot) in DIALECTS.into_iter().zip(&mut specs) {
        *slot = file.specs(dialect)?.into();
    }
    let all = || specs.iter().filter_map(OnceLock::get).flatten();
    let tables: BTreeSet<String> = all().map(|spec| spec.table.clone()).collect();
    let others =
        all().flat_map(other_tables).chain(named_tables(text)).filter(|table| !tables.contains(table)).collect();
    Ok(Adapter {
        name,
        origin: origin.clone(),
        text: text.to_owned(),
        tables,
        other_tables: others,
        specs,
        #[cfg(feature = "redis")]
        redis: None.into(),
    })
}

/// Takes the key `engine` out of a file, and says whether it is of a layout in Redis.
pub(super) fn is_redis(root: &mut DeTable<'_>) -> Result<bool, LocatedError> {
    let Some(value) = root.remove("engine") else { return Ok(false) };
    match value.get_ref().as_str() {
        Some("redis") => Ok(true),
        Some("sql") => Ok(false),
        _ => Err((Some(value.span().start), "`engine` is \"sql\" or \"redis\"".to_owned())),
    }
}

#[cfg(not(feature = "redis"))]
fn read_redis(_: &str, root: DeTable<'_>, _: &Option<PathBuf>) -> Result<Adapter, LocatedError> {
    drop(root);
    Err((None, "this program was built without Redis: build it with the feature `redis`".to_owned()))
}

/// What a file that can be read says for one database.
pub(super) fn specs(text: &str, dialect: &str) -> Vec<Spec> {
    let root = DeTable::parse(text).map_err(fault).map(toml::Spanned::into_inner);
    root.and_then(|root| ParsedFile::read(text, root)).and_then(|(_, file)| file.specs(dialect)).unwrap_or_default()
}

/// A file, taken apart.
struct ParsedFile<'i> {
    /// Of its text, in bytes.
    length: usize,
    /// What holds for every database.
    common: DeTable<'i>,
    /// The databases that it speaks for.
    spoken: Vec<&'static str>,
    /// What holds for one of them.
    overlays: Vec<(&'static str, Option<DeTable<'i>>)>,
    /// With the databases that each is for.
    variants: Vec<(Vec<&'static str>, DeTable<'i>)>,
}

impl<'i> ParsedFile<'i> {
    /// With its name.
    fn read(text: &str, mut root: DeTable<'i>) -> Result<(String, Self), LocatedError> {
        if let Some((at, message)) = unfilled_places(text, &root) {
            return Err((Some(at), message));
        }
        let name = take_name(&mut root)?;
        let spoken = take_dialects(&mut root)?;
        named_notation(&mut root)?;
        let variants = take_variants(&mut root)?;
        let mut overlays = Vec::new();
        for dialect in DIALECTS {
            overlays.push((dialect, take_table(&mut root, dialect)?));
        }
        Ok((name, Self { length: text.len(), common: root, spoken, overlays, variants }))
    }

    /// What it says for a database, its variants first; nothing where it does not speak for it.
    fn specs(&self, dialect: &str) -> Result<Vec<Spec>, LocatedError> {
        if !self.spoken.contains(&dialect) {
            return Ok(Vec::new());
        }
        let mut merged = self.common.clone();
        let overlay = self.overlays.iter().find(|(of, _)| *of == dialect).and_then(|(_, overlay)| overlay.clone());
        if let Some(overlay) = overlay {
            overlay_onto(&mut merged, overlay);
        }
        let spec = |table: DeTable<'i>| {
            let spec = Spec::deserialize(Deserializer::from(Spanned::new(0..self.length, table)));
            let spec = spec.map_err(|e| in_dialect(fault(e), dialect, self.spoken.len()))?;
            validate(&spec).map_err(|f| in_dialect(f, dialect, self.spoken.len()))?;
            Ok(spec)
        };
        let mut tried = Vec::new();
        for (_, variant) in self.variants.iter().filter(|(spoken, _)| spoken.contains(&dialect)) {
            let mut varied = merged.clone();
            overlay_onto(&mut varied, variant.clone());
            tried.push(spec(varied)?);
        }
        tried.push(spec(merged)?);
        Ok(tried)
    }
}

/// The tables that tell a layout apart beside its own, or hold parts of its jobs, or that it needs rights on.
fn other_tables(spec: &Spec) -> BTreeSet<String> {
    let verbs = Action::ALL.into_iter().filter_map(|action| spec.verbs.get(action));
    let along = verbs.flat_map(|verb| &verb.along).map(|along| along.table.get_ref());
    spec.detect.tables.keys().chain(along).cloned().chain(Needs::of(spec).tables()).collect()
}

pub(super) fn fault(error: Error) -> LocatedError {
    (error.span().map(|s| s.start), with_suggestion(error.message().trim()))
}

/// A fault without a place (a missing key) says for which database it is missing.
fn in_dialect((offset, message): LocatedError, dialect: &str, spoken: usize) -> LocatedError {
    match offset {
        Some(o) if o > 0 => (offset, message),
        _ if spoken > 1 => (None, format!("{message} (for {dialect})")),
        _ => (None, message),
    }
}

pub(super) fn take_name(root: &mut DeTable<'_>) -> Result<String, LocatedError> {
    let Some(value) = root.remove("name") else {
        return Err((None, "missing `name`".to_owned()));
    };
    let at = value.span().start;
    let name = value.get_ref().as_str().unwrap_or_default().to_owned();
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(good) {
        return Err((Some(at), "`name` is made of letters, digits, `_` and `-`".to_owned()));
    }
    Ok(name)
}

fn take_dialects(root: &mut DeTable<'_>) -> Result<Vec<&'static str>, LocatedError> {
    let Some(value) = root.remove("databases") else {
        return Ok(DIALECTS.to_vec());
    };
    let wrong = || (Some(value.span().start), format!("`databases` is a list of {}", DIALECTS.join(", ")));
    let items = value.get_ref().as_array().ok_or_else(wrong)?;
    let named = |item: &Spanned<DeValue<'_>>| {
        item.get_ref().as_str().and_then(|word| DIALECTS.into_iter().find(|d| *d == word)).ok_or_else(wrong)
    };
    items.iter().map(named).collect()
}

/// The variants, each with the databases that it is for.
fn take_variants<'i>(root: &mut DeTable<'i>) -> Result<Vec<(Vec<&'static str>, DeTable<'i>)>, LocatedError> {
    let Some(value) = root.remove("variants") else { return Ok(Vec::new()) };
    let wrong = (Some(value.span().start), "`variants` are sections `[[variants]]`".to_owned());
    let DeValue::Array(items) = value.into_inner() else { return Err(wrong) };
    let one = |item: Spanned<DeValue<'i>>| match item.into_inner() {
        DeValue::Table(mut table) => Ok((take_dialects(&mut table)?, table)),
        _ => Err(wrong.clone()),
    };
    items.into_iter().map(one).collect()
}

/// Puts the rules of a notation that comes with the console where a file only names it.
pub(super) fn named_notation(root: &mut DeTable<'_>) -> Result<(), LocatedError> {
    let Some(value) = root.get_mut("notation") else { return Ok(()) };
    let Some(name) = value.get_ref().as_str() else { return Ok(()) };
    // Its places are those of another text: whatever is wrong there is said of the name.
    let at = Some(value.span().start);
    let mut known = Vec::new();
    for text in NOTATIONS {
        let mut rules = DeTable::parse(text).map_err(|e| (at, e.message().trim().to_owned()))?.into_inner();
        let other = take_name(&mut rules)?;
        if other == name {
            *value.get_mut() = DeValue::Table(rules);
            return Ok(());
        }
        known.push(other);
    }
    let message = format!("there is no notation `{name}`; known are {}, or write a section", known.join(", "));
    Err((at, message))
}

fn take_table<'i>(root: &mut DeTable<'i>, key: &str) -> Result<Option<DeTable<'i>>, LocatedError> {
    match root.remove(key).map(|v| (v.span().start, v.into_inner())) {
        None => Ok(None),
        Some((_, DeValue::Table(table))) => Ok(Some(table)),
        Some((at, _)) => Err((Some(at), format!("`{key}` is a section"))),
    }
}

/// Lays `over` onto `base`, section by section; a field (a table with `column` or `sql`) is replaced whole.
fn overlay_onto<'i>(base: &mut DeTable<'i>, over: DeTable<'i>) {
    for (key, value) in over {
        let (span, value) = (value.span(), value.into_inner());
        let DeValue::Table(section) = value else {
            base.insert(key, Spanned::new(span, value));
            continue;
        };
        let whole = ["column", "sql", "disabled"].iter().any(|k| section.contains_key(*k));
        match base.get_mut(&key).map(Spanned::get_mut) {
            Some(DeValue::Table(under)) if !whole => {
                // A verb that has a way here is no longer disabled.
                if section.contains_key("when") {
                    under.remove("disabled");
                }
                overlay_onto(under, section);
            }
            _ => {
                base.insert(key, Spanned::new(span, DeValue::Table(section)));
            }
        }
    }
}

/// What serde cannot see: fields with both or neither source, placeholders nobody fills, verbs without a way.
fn validate(spec: &Spec) -> Result<(), LocatedError> {
    field(&spec.key, "key")?;
    if !matches!(spec.key.kind, FieldKind::Int | FieldKind::Uuid | FieldKind::Text) || spec.key.column.is_none() {
        return Err((source_at(&spec.key), "`key` is a column of kind int, uuid or text".to_owned()));
    }
    spec.join.as_ref().map_or(Ok(()), holes)?;
    for state in State::ALL {
        spec.states.when.get(state).map_or(Ok(()), holes)?;
    }
    if let Some(scope) = &spec.scope {
        field(scope, "scope")?;
        if scope.kind != FieldKind::Text || scope.column.is_none() || spec.key.kind == FieldKind::Text {
            let message = "`scope` is a column of kind text, beside a key of kind int or uuid".to_owned();
            return Err((source_at(scope), message));
        }
    }
    field(&spec.order.time, "order.time")?;
    for (order, name) in [(Some(&spec.order.time), "order.time"), (spec.order.otherwise.as_ref(), "order.otherwise")] {
        let Some(order) = order.filter(|order| !order.kind.is_time() && order.kind != FieldKind::Int) else { continue };
        let message = format!(
            "`{name}` is a time, or a whole number that grows with time as a counting key does: of kind int, utc, instant, \
             epoch_s, epoch_ms or epoch_us"
        );
        return Err((source_at(order), message));
    }
    let f = &spec.fields;
    field(&f.at, "fields.at")?;
    if !f.at.kind.is_time() {
        return Err((
            source_at(&f.at),
            "`fields.at` is of kind utc, instant, epoch_s, epoch_ms or epoch_us".to_owned(),
        ));
    }
    optional_fields(spec)?;
    if spec.states.dead.is_empty() {
        return Err((None, "`states.dead` names at least one word".to_owned()));
    }
    for action in Action::ALL {
        if let Some(v) = spec.verbs.get(action) {
            verb(v, action)?;
        }
    }
    for (name, more) in &spec.more {
        field(more, &format!("more.{name}"))?;
    }
    spec.replayed.run_times.as_ref().map_or(Ok(()), holes)?;
    spec.outcome.as_ref().map_or(Ok(()), holes)
}

/// The fields that a file may leave out.
fn optional_fields(spec: &Spec) -> Result<(), LocatedError> {
    for (name, value) in [("order.otherwise", &spec.order.otherwise), ("order.attempts", &spec.order.attempts)] {
        value.as_ref().map_or(Ok(()), |v| field(v, name))?;
    }
    for (part, value) in spec.fields.iter() {
        field(value, &format!("fields.{}", part.word()))?;
    }
    if let Some(held) = &spec.held {
        holes(&held.when)?;
        held.since.as_ref().map_or(Ok(()), |since| field(since, "held.since"))?;
        if let Some(since) = held.since.as_ref().filter(|since| !since.kind.is_time()) {
            let message = "`held.since` is of kind utc, instant, epoch_s or epoch_ms".to_owned();
            return Err((source_at(since), message));
        }
    }
    Ok(())
}

fn source_at(field: &Field) -> Option<usize> {
    field.column.as_ref().or(field.sql.as_ref()).map(|s| s.span().start)
}

fn field(field: &Field, name: &str) -> Result<(), LocatedError> {
    if !field.decode.is_empty() && name != "fields.arguments" {
        let message =
            format!("`{name}` has `decode`, which is for `fields.arguments` alone: databases know nothing of it");
        return Err((source_at(field), message));
    }
    match (&field.column, &field.sql) {
        (Some(column), None) if column.get_ref().is_empty() => {
            Err((Some(column.span().start), format!("`{name}` has an empty column name")))
        }
        (Some(_), None) => Ok(()),
        (None, Some(sql)) => holes(sql),
        _ => Err((source_at(field), format!("`{name}` has either `column` or `sql`"))),
    }
}

fn holes(sql: &Spanned<String>) -> Result<(), LocatedError> {
    let Some(word) = unknown_hole(sql.get_ref()) else { return Ok(()) };
    let known: Vec<String> = PLACEHOLDERS.iter().map(|(known, _)| format!("{{{known}}}")).collect();
    Err((Some(sql.span().start), format!("unknown placeholder `{{{word}}}`; known are {}", known.join(", "))))
}

fn verb(verb: &Verb, action: Action) -> Result<(), LocatedError> {
    if verb.disabled.is_some() {
        return Ok(());
    }
    let Some(when) = &verb.when else {
        return Err((None, format!("`verbs.{action}` needs `when`, the condition that a job must still meet")));
    };
    holes(when)?;
    verb.trace.as_ref().map_or(Ok(()), holes)?;
    verb.lock.as_ref().map_or(Ok(()), holes)?;
    verb.refuse.iter().chain(&verb.warn).try_for_each(|refusal| holes(&refusal.when))?;
    if let Some(along) = verb.along.first().filter(|_| !verb.archive && verb.keep.is_nothing()) {
        let message = format!("`verbs.{action}.along` needs `archive = true` or `keep`: nothing is kept otherwise");
        return Err((Some(along.table.span().start), message));
    }
    if action.edits() {
        return Ok(());
    }
    if action == Action::Archive {
        return match verb.steps.first() {
            Some(step) => {
                let message = "`verbs.archive` has no `steps`: rows move whole into a table made for them".to_owned();
                Err((Some(step.sql.span().start), message))
            }
            None => Ok(()),
        };
    }
    if verb.steps.is_empty() && verb.into_table.is_none() && verb.command.is_none() {
        let message = format!("`verbs.{action}` has no `steps`, `into_table` or `command`");
        return Err((Some(when.span().start), message));
    }
    let mut all: Vec<&VerbStep> = verb.steps.iter().collect();
    if let Some(t) = &verb.into_table {
        all.extend(&t.steps);
    }
    if let Some(c) = &verb.command {
        all.extend(c.claim.iter().chain(&c.accepted).chain(&c.refused));
        if verb.message.is_none() {
            let message = format!("`verbs.{action}.command` needs `verbs.{action}.message`");
            return Err((Some(when.span().start), message));
        }
    }
    all.into_iter().try_for_each(|s| holes(&s.sql))?;
    verb.message.as_ref().map_or(Ok(()), message)?;
    let undos = [&verb.undo, &verb.into_table.as_ref().and_then(|t| t.undo.clone())];
    undos.into_iter().flatten().try_for_each(|u| undo(u, verb, action))
}

/// An undo reads the dead row, or what was kept of one that is gone.
fn undo(undo: &Undo, verb: &Verb, action: Action) -> Result<(), LocatedError> {
    let at = Some(undo.taken.span().start);
    if action != Action::Replay {
        return Err((at, format!("`verbs.{action}` is undone without an `undo`")));
    }
    if undo.when.is_none() && undo.live.is_none() {
        return Err((at, format!("`verbs.{action}.undo` needs `when`, or `live` where the job stands elsewhere")));
    }
    if undo.put_back && verb.keep != Keep::Whole(true) {
        return Err((at, format!("`verbs.{action}.undo` puts rows back, which needs `keep = true`")));
    }
    undo.when.as_ref().map_or(Ok(()), holes)?;
    holes(&undo.taken)?;
    undo.lock.as_ref().map_or(Ok(()), holes)?;
    if let Some(live) = &undo.live {
        holes(&live.table)?;
        holes(&live.find)?;
        field(&live.key, "undo.live.key")?;
    }
    undo.steps.iter().try_for_each(|s| holes(&s.sql))
}

fn message(message: &MessageSpec) -> Result<(), LocatedError> {
    match (&message.template, &message.edit) {
        (Some(_), None) => {}
        (None, Some(edit)) => field(edit, "message.edit")?,
        (template, edit) => {
            let at = template.as_ref().map(|t| t.span().start).or(edit.as_ref().and_then(source_at));
            return Err((at, "a message has either `template` or `edit`".to_owned()));
        }
    }
    for (path, value) in &message.set {
        if Document::parse(value.get_ref().as_str()).is_err() {
            return Err((
                Some(value.span().start),
                format!("`message.set.{path}` is not JSON: put text in its own quotes"),
            ));
        }
    }
    message.values.iter().try_for_each(|(name, f)| field(f, &format!("message.values.{name}")))
}
