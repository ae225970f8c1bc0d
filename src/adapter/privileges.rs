//! Which rights a layout needs: to read it, and for each of its verbs.
//!
//! An adapter lists what its statements take in `needs`; what the store does by itself (hold rows, archive them, put them
//! back) is added here. What is not listed is left to the database, whose error says it when the verb is tried.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::spec::{Route, Spec, Undo, Verb, VerbStep};
use crate::domain::action::{Action, RowEffect};

/// Something that can be done with a table or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Read rows.
    Select,
    /// Write new rows.
    Insert,
    /// Change rows.
    Update,
    /// Hold rows back from others: databases want the right to change something of them.
    Lock,
    /// Delete rows.
    Delete,
    /// Have a sequence number new rows, in columns other than those.
    Number,
    /// Call it.
    Execute,
}

impl Right {
    /// The word for it in a GRANT.
    pub fn word(self) -> &'static str {
        match self {
            Right::Select => "SELECT",
            Right::Insert => "INSERT",
            Right::Update | Right::Lock => "UPDATE",
            Right::Delete => "DELETE",
            Right::Number => "USAGE",
            Right::Execute => "EXECUTE",
        }
    }
}

/// What a right is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// The dead-letter table.
    Own,
    /// The live table that the config names.
    Target,
    /// Another table of the layout's schema.
    Beside(String),
    /// A function of the layout's schema.
    Function(String),
}

/// An entry of `needs`, such as `insert on jobs (payload, run_at)`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Need {
    right: Right,
    object: Object,
    columns: BTreeSet<String>,
    /// Not each time, or by a trigger or function: the verb is offered without it.
    sometimes: bool,
}

impl Need {
    /// The right to change a column of another table, or of the dead-letter table.
    pub fn update(table: Option<&str>, column: &str) -> Self {
        let columns = BTreeSet::from([column.to_owned()]);
        let object = table.map_or(Object::Own, |table| Object::Beside(table.to_owned()));
        Self { right: Right::Update, object, columns, sometimes: false }
    }
}

impl TryFrom<String> for Need {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parsed = || {
            let (sometimes, text) = text.strip_prefix("sometimes ").map_or((false, &*text), |rest| (true, rest));
            let (word, on) = text.split_once(" on ")?;
            let right = match word {
                "select" => Right::Select,
                "insert" => Right::Insert,
                "update" => Right::Update,
                "lock" => Right::Lock,
                "delete" => Right::Delete,
                "number" => Right::Number,
                "execute" => Right::Execute,
                _ => return None,
            };
            let (name, columns) = match on.split_once(" (") {
                Some((name, columns)) => (name, columns.strip_suffix(')')?),
                None => (on, ""),
            };
            let object = match name.strip_suffix("()") {
                Some(function) => Object::Function(function.to_owned()),
                None => object(name)?,
            };
            let columns = columns.split(',').map(|column| column.trim().to_owned()).filter(|column| !column.is_empty());
            let is_right = (right == Right::Execute) == matches!(object, Object::Function(_));
            is_right.then(|| Self { right, object, columns: columns.collect(), sometimes })
        };
        parsed().ok_or_else(|| {
            format!(
                "`{text}` is no right: `select`, `insert`, `number`, `update`, `lock` or `delete`, then `on` and a table, with \
                 columns as in `insert on jobs (payload)`, or `execute on f()`; `sometimes` may come before"
            )
        })
    }
}

/// The table that a text names as statements do, or by its name alone.
fn object(name: &str) -> Option<Object> {
    match name.strip_prefix("{schema}.").unwrap_or(name) {
        "{table}" => Some(Object::Own),
        "{target}" => Some(Object::Target),
        other if other.is_empty() || other.contains(['{', '(', ' ']) => None,
        other => Some(Object::Beside(other.trim_matches(['"', '`']).to_owned())),
    }
}

/// Rights, each with the columns that it is used on; without columns it is used on some that are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privileges(BTreeMap<(Object, Right), BTreeSet<String>>);

impl Privileges {
    /// What is needed, by object.
    pub fn iter(&self) -> impl Iterator<Item = (&Object, Right, &BTreeSet<String>)> {
        self.0.iter().map(|((object, right), columns)| (object, *right, columns))
    }

    /// Adds what else is needed.
    pub fn extend(&mut self, more: Privileges) {
        for ((object, right), columns) in more.0 {
            self.0.entry((object, right)).or_default().extend(columns);
        }
    }

    fn add(&mut self, object: Object, right: Right, columns: impl IntoIterator<Item = String>) {
        self.0.entry((object, right)).or_default().extend(columns);
    }
}

/// What a layout's statements take.
pub struct Needs<'a> {
    spec: &'a Spec,
}

impl<'a> Needs<'a> {
    /// Of a layout.
    pub fn of(spec: &'a Spec) -> Self {
        Self { spec }
    }

    /// What a list takes: without it, there is nothing to be seen at all.
    pub fn list(&self) -> Privileges {
        let mut rights = Privileges::default();
        rights.add(Object::Own, Right::Select, []);
        self.declare(&mut rights, &self.spec.needs, false);
        rights
    }

    /// What reading needs: lists, counts, and open jobs.
    pub fn reading(&self) -> Privileges {
        let mut rights = self.list();
        self.declare(&mut rights, &self.spec.needs, true);
        rights
    }

    /// What an action takes where replayed jobs go that way, beside what it takes to look; `None` where the layout has no such
    /// action. What an archive takes of its own table is not among it.
    pub fn act(&self, action: Action, way: Route) -> Option<Privileges> {
        let mut rights = Privileges::default();
        rights.add(Object::Own, Right::Select, []);
        match action {
            Action::Restore => {
                self.put_back(&mut rights, self.spec.verbs.discard.as_ref().filter(|verb| verb.archive)?);
                return Some(rights);
            }
            Action::Recall => {
                let replay = self.spec.verbs.replay.as_ref().filter(|verb| verb.disabled.is_none())?;
                self.undo(&mut rights, replay, replay.undo_by(way)?);
            }
            _ => {
                let verb = self.spec.verbs.get(action).filter(|verb| verb.disabled.is_none())?;
                rights.add(Object::Own, Right::Lock, []);
                if action.profile().rows == RowEffect::Moved {
                    rights.add(Object::Own, Right::Delete, []);
                }
                for along in &verb.along {
                    rights.add(Object::Beside(along.table.get_ref().clone()), Right::Select, []);
                }
            }
        }
        self.declare(&mut rights, self.declared(action, way).unwrap_or_default(), false);
        Some(rights)
    }

    /// What an action may take besides: where jobs go to another queue, and by what functions and triggers of the database do
    /// in turn, for which it is theirs to know whose rights they take. Of a verb that lists nothing, what its statements may
    /// do to the dead-letter table's rows.
    pub fn perhaps(&self, action: Action, way: Route) -> Privileges {
        let mut rights = Privileges::default();
        match (self.declared(action, way), self.spec.verbs.get(action).filter(|verb| verb.disabled.is_none())) {
            (Some(needs), _) => self.declare(&mut rights, needs, true),
            (None, Some(verb)) => {
                let steps = steps_of(verb, way).map(|step| step.sql.get_ref());
                for sql in steps.chain(verb.within.iter().map(|sql| sql.get_ref())) {
                    if let Some(object) = deleted_from(sql) {
                        rights.add(object, Right::Delete, []);
                    }
                    if sql.to_ascii_lowercase().contains("insert into {table}") {
                        rights.add(Object::Own, Right::Insert, []);
                    }
                }
            }
            (None, None) => {}
        }
        rights
    }

    /// The other tables of the schema that its statements are known to name.
    pub fn tables(&self) -> BTreeSet<String> {
        let mut all = self.reading();
        let ways = [Route::Own, Route::Table, Route::Command];
        for (action, way) in Action::ALL.into_iter().flat_map(|action| ways.map(|way| (action, way))) {
            all.extend(self.act(action, way).unwrap_or_default());
            all.extend(self.perhaps(action, way));
        }
        let beside = |(object, _): &(Object, Right)| match object {
            Object::Beside(table) => Some(table.clone()),
            _ => None,
        };
        all.0.keys().filter_map(beside).collect()
    }

    /// What the adapter lists for an action that goes that way; `None` where it lists nothing.
    fn declared(&self, action: Action, way: Route) -> Option<&'a [Need]> {
        let verb = match action {
            Action::Recall => return self.spec.verbs.replay.as_ref()?.undo_by(way)?.needs.as_deref(),
            action => self.spec.verbs.get(action)?,
        };
        match (way, &verb.into_table, &verb.command) {
            (Route::Table, Some(table), _) => table.needs.as_deref(),
            (Route::Command, _, Some(command)) => command.needs.as_deref(),
            _ => verb.needs.as_deref(),
        }
    }

    /// Adds what is listed, always or only sometimes.
    fn declare(&self, rights: &mut Privileges, needs: &[Need], sometimes: bool) {
        for Need { right, object, columns, .. } in needs.iter().filter(|need| need.sometimes == sometimes) {
            let object = match object {
                Object::Beside(name) if *name == self.spec.table => &Object::Own,
                other => other,
            };
            // What changes rows finds them first.
            if matches!(right, Right::Update | Right::Delete) {
                rights.add(object.clone(), Right::Select, []);
            }
            rights.add(object.clone(), *right, columns.iter().cloned());
        }
    }

    fn undo(&self, rights: &mut Privileges, replay: &Verb, undo: &Undo) {
        if undo.when.is_some() {
            rights.add(Object::Own, Right::Lock, []);
        }
        if let Some(table) = undo.live.as_ref().and_then(|live| object(live.table.get_ref())) {
            let table = if table == Object::Beside(self.spec.table.clone()) { Object::Own } else { table };
            rights.add(table.clone(), Right::Select, []);
            rights.add(table, Right::Lock, []);
        }
        if undo.put_back {
            self.put_back(rights, replay);
        }
    }

    /// Whole rows are inserted as they were kept.
    fn put_back(&self, rights: &mut Privileges, verb: &Verb) {
        rights.add(Object::Own, Right::Insert, []);
        for along in verb.along.iter().filter(|along| !along.stays) {
            rights.add(Object::Beside(along.table.get_ref().clone()), Right::Insert, []);
        }
    }
}

/// The statements of a verb where replayed jobs go that way.
fn steps_of(verb: &Verb, way: Route) -> impl Iterator<Item = &VerbStep> {
    let steps: [&[VerbStep]; 3] = match (way, &verb.into_table, &verb.command) {
        (Route::Table, Some(table), _) => [&table.steps, &[], &[]],
        (Route::Command, _, Some(command)) => [&command.claim, &command.accepted, &command.refused],
        _ => [&verb.steps, &[], &[]],
    };
    steps.into_iter().flatten()
}

/// The table from which a statement deletes rows, where it does: the first that it names behind the word.
fn deleted_from(sql: &str) -> Option<Object> {
    let words = sql.to_ascii_lowercase();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let whole = |&(at, _): &(usize, &str)| {
        !words[..at].ends_with(is_word) && !words[at + "delete".len()..].starts_with(is_word)
    };
    let (at, _) = words.match_indices("delete").find(whole)?;
    let other = sql[at..].find("{schema}.").filter(|other| sql[at..].find("{table}").is_none_or(|own| other < &own));
    let other = other.and_then(|other| named_tables(&sql[at + other..]).next());
    Some(other.map_or(Object::Own, Object::Beside))
}

/// The tables that the statements of a file name.
pub(super) fn named_tables(text: &str) -> impl Iterator<Item = String> {
    let name = |rest: &str| {
        let rest = rest.trim_start_matches(['"', '`']);
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        let is_function = rest[end..].starts_with('(');
        (end > 0 && !is_function).then(|| rest[..end].to_owned())
    };
    text.split("{schema}.").skip(1).filter_map(name)
}

#[cfg(test)]
mod tests;
