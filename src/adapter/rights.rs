//! Which rights a layout's statements take: what a role needs to look at it, and for each of its verbs.
//!
//! They are read from the statements themselves, so that what is asked of a role is what the database will ask of it. What
//! cannot be read from them (a table that is named otherwise than by a placeholder) is left out: the database has the last
//! word in any case, and a verb that is refused without need costs more than one that is refused late.

mod statement;

use std::collections::{BTreeMap, BTreeSet};

use super::spec::{ExpectedRows, Field, Route, Spec, Undo, Verb, VerbStep};
use crate::domain::action::Action;
use statement::SqlLexer;

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
    /// Have a sequence number new rows, whose other columns are those.
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

/// Rights, each with the columns that it is used on; without columns it is used on some that are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privileges(BTreeMap<(Object, Right), BTreeSet<String>>);

impl Privileges {
    /// What is needed, by object.
    pub fn iter(&self) -> impl Iterator<Item = (&Object, Right, &BTreeSet<String>)> {
        self.0.iter().map(|((object, right), columns)| (object, *right, columns))
    }

    /// The other tables of the schema.
    pub fn beside(&self) -> impl Iterator<Item = &str> {
        self.0
            .keys()
            .filter_map(|(object, _)| if let Object::Beside(table) = object { Some(table.as_str()) } else { None })
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

/// Rights as a layout's statements take them.
pub struct Needs<'a> {
    spec: &'a Spec,
    reader: SqlLexer<'a>,
}

impl<'a> Needs<'a> {
    /// Of a layout, as it is in the database of that word.
    pub fn of(spec: &'a Spec, dialect: &str) -> Self {
        // Only MySQL reads a backslash in every text.
        Self { spec, reader: SqlLexer { own: &spec.table, backslash: dialect == "mysql" } }
    }

    /// What a list takes: without it, there is nothing to be seen at all.
    pub fn list(&self) -> Privileges {
        let mut rights = Privileges::default();
        rights.add(Object::Own, Right::Select, []);
        self.read(&mut rights, self.spec.join.as_ref().map(|join| join.get_ref().as_str()));
        rights
    }

    /// What it takes to look: lists, counts, and open jobs.
    pub fn look(&self) -> Privileges {
        let spec = self.spec;
        let mut rights = self.list();
        let f = &spec.fields;
        let parts = [
            &f.touched,
            &f.state,
            &f.error_class,
            &f.message,
            &f.message_head,
            &f.job_class,
            &f.queue,
            &f.reason,
            &f.worker,
            &f.attempts,
            &f.max_attempts,
            &f.arguments,
            &f.backtrace,
            &f.lineage,
            &spec.order.otherwise,
            &spec.order.attempts,
            &spec.held.as_ref().and_then(|held| held.since.clone()),
        ];
        let fields = [&f.at, &spec.order.time, &spec.key].into_iter().chain(parts.into_iter().flatten());
        let states = &spec.states.when;
        let states = [&states.dead, &states.retrying, &states.resolved, &states.ignored].into_iter().flatten();
        self.read(&mut rights, fields.chain(spec.more.values()).filter_map(sql_of));
        self.read(&mut rights, states.map(|sql| sql.get_ref().as_str()));
        self.read(&mut rights, spec.held.iter().map(|held| held.when.get_ref().as_str()));
        rights
    }

    /// What an action takes where replayed jobs go that way, beside what it takes to look; `None` where the layout has no such
    /// action. What an archive takes of its own table is not among it.
    pub fn act(&self, action: Action, way: Route) -> Option<Privileges> {
        let mut rights = Privileges::default();
        rights.add(Object::Own, Right::Select, []);
        match action {
            Action::Restore => {
                self.put_back(&mut rights, self.spec.verbs.discard.as_ref().filter(|verb| verb.archive)?)
            }
            Action::Recall => {
                let replay = self.spec.verbs.replay.as_ref().filter(|verb| verb.disabled.is_none())?;
                self.undo(&mut rights, replay, replay.undo_by(way)?);
            }
            _ => {
                let verb = self.spec.verbs.get(action).filter(|verb| verb.disabled.is_none())?;
                rights.add(Object::Own, Right::Lock, []);
                if action == Action::Archive {
                    rights.add(Object::Own, Right::Delete, []);
                }
                self.verb(&mut rights, verb, way);
            }
        }
        Some(rights)
    }

    /// What an action may take besides: where jobs go to another queue, and by what functions and triggers of the database do
    /// in turn, for which it is theirs to know whose rights they take.
    pub fn perhaps(&self, action: Action, way: Route) -> Privileges {
        let mut rights = Privileges::default();
        let verb = match action {
            Action::Recall => self.spec.verbs.replay.as_ref(),
            action => self.spec.verbs.get(action),
        };
        if let Some(verb) = verb.filter(|verb| verb.disabled.is_none()) {
            self.read(&mut rights, verb.within.iter().map(|sql| sql.get_ref().as_str()));
            let elsewhere = steps_of(verb, way).filter(|step| step.to_queue == Some(true) && action == Action::Replay);
            self.read(&mut rights, elsewhere.map(|step| step.sql.get_ref().as_str()));
        }
        rights
    }

    /// The other tables of the schema that any of its statements name.
    pub fn tables(&self) -> BTreeSet<String> {
        let mut all = self.look();
        let ways = [Route::Own, Route::Table, Route::Command];
        for (action, way) in Action::ALL.into_iter().flat_map(|action| ways.map(|way| (action, way))) {
            all.extend(self.act(action, way).unwrap_or_default());
            all.extend(self.perhaps(action, way));
        }
        all.beside().map(str::to_owned).collect()
    }

    fn verb(&self, rights: &mut Privileges, verb: &Verb, way: Route) {
        let texts = verb.when.iter().chain(verb.refuse.iter().map(|refusal| &refusal.when)).chain(&verb.lock);
        self.read(rights, texts.map(|sql| sql.get_ref().as_str()));
        if let Some(message) = &verb.message {
            self.read(rights, message.values.values().chain(&message.edit).filter_map(sql_of));
        }
        for along in &verb.along {
            rights.add(Object::Beside(along.table.get_ref().clone()), Right::Select, []);
        }
        self.steps(rights, steps_of(verb, way));
    }

    fn undo(&self, rights: &mut Privileges, replay: &Verb, undo: &Undo) {
        let texts = undo.when.iter().chain([&undo.taken]).chain(&undo.lock);
        self.read(rights, texts.map(|sql| sql.get_ref().as_str()));
        if undo.when.is_some() {
            rights.add(Object::Own, Right::Lock, []);
        }
        if let Some(live) = &undo.live {
            self.read(rights, [live.find.get_ref().as_str()]);
            for table in self.reader.tables(live.table.get_ref()) {
                rights.add(table.clone(), Right::Select, []);
                rights.add(table, Right::Lock, []);
            }
        }
        self.steps(rights, undo.steps.iter());
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

    fn steps<'s>(&self, rights: &mut Privileges, steps: impl Iterator<Item = &'s VerbStep>) {
        for step in steps.filter(|step| step.to_queue != Some(true)) {
            let read = self.reader.rights(step.sql.get_ref());
            // Where there may be no new row, there may be none to be numbered.
            let numbered =
                read.iter().filter(|(_, right, _)| *right == Right::Insert && step.rows == ExpectedRows::Each);
            for (object, _, columns) in numbered.filter(|(.., columns)| !columns.is_empty()) {
                rights.add(object.clone(), Right::Number, columns.iter().cloned());
            }
            rights.extend(read);
        }
    }

    fn read<'t>(&self, rights: &mut Privileges, texts: impl IntoIterator<Item = &'t str>) {
        for text in texts {
            rights.extend(self.reader.rights(text));
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

fn sql_of(field: &Field) -> Option<&str> {
    field.sql.as_ref().map(|sql| sql.get_ref().as_str())
}

#[cfg(test)]
mod tests;
