//! What is known of a store without asking.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SortKey;
use crate::domain::action::Action;
use crate::domain::display_rules::Notation;
use crate::domain::facet::Facet;
use crate::domain::job::State;
use crate::domain::run_options::destination::Destination;
use crate::domain::run_options::{Attempts, Options};

/// What the floors above may know of a store without asking its database.
#[derive(Clone, Debug)]
pub struct StoreInfo {
    /// Name of the adapter, as in its file.
    pub adapter: String,
    /// What a picker shows: the table with its schema.
    pub title: String,
    /// Engine and version, such as `PostgreSQL 15.18`.
    pub server: String,
    /// Database name or file.
    pub database: String,
    /// Database user; empty where the engine has none.
    pub user: String,
    /// The column by which the newest come first, where that is not the time of death.
    pub newest_by: Option<String>,
    /// Where replayed jobs go; `None` where nothing says so, or what says so cannot be used.
    pub destination: Option<Destination>,
    /// How payloads of this layout are read by a human.
    pub notation: Arc<Notation>,
    /// Why nothing can be written, where that is so.
    pub read_only: Option<String>,
    /// Whether the server follows another one: what is seen may be behind it.
    pub replica: bool,
    /// What makes the numbers less than they seem, in sentences: rows that the database does not show us.
    pub warnings: Vec<String>,
    /// What can be asked of it.
    pub capabilities: Capabilities,
}

/// What a plan says of copies.
const COPY_NOTES: [&str; 2] = [
    "Copies go to the other queue. The dead rows stay as they are, and no replay is counted.",
    "Copies cannot be taken back from here: whoever owns that queue deletes them.",
];

/// Why a copy names its queue.
pub const COPY_NEEDS_QUEUE: &str = "--copy needs --to-queue NAME: in its own queue a copy would run the job twice";

/// What can be asked of a store.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    /// Facets that this layout can count by, in the order of the tabs.
    pub facets: Vec<Facet>,
    /// Orders that the list can be had in; the first is the default.
    pub sorts: Vec<SortKey>,
    /// Each action with whether it can be used, and if not why.
    pub actions: Vec<(Action, Availability)>,
    /// What can be asked for beside verb and jobs.
    pub options: LayoutOptions,
    /// Whether a replayed job can be told when to run; where not, only the moment of its replay can be chosen.
    pub defers: bool,
    /// Whether a replayed job gets a new id, [`crate::domain::job::lineage::successor`], by which it is known from then on.
    pub renames: bool,
    /// Whether an undo of a replay needs the copies of the dead rows that the ledger keeps.
    pub undo_needs_copies: bool,
    /// Whether [`super::Store::outcomes`] goes by these copies.
    pub outcomes_need_copies: bool,
    /// Why [`super::Store::outcomes`] cannot tell anything, where that is so; a sentence.
    pub outcomes_unknown: Option<String>,
    /// The layout's own words for jobs that are live or have succeeded: dead ones can be compared with them.
    pub live_or_succeeded: Vec<String>,
    /// What tells after a crash whether a batch took effect.
    pub evidence: Evidence,
}

/// What tells whether a batch took effect, beside the rows themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing.
    #[default]
    None,
    /// The source remembers how transactions ended: each is noted with [`super::Batch::journal`] before it commits, unless a
    /// destination outside the source has part in it.
    Transaction,
}

impl StoreInfo {
    /// Whether `action` can be used here.
    pub fn availability(&self, action: Action) -> Availability {
        if action == Action::Copy {
            return self.copying();
        }
        let actions = &self.capabilities.actions;
        let own = actions.iter().find(|(a, _)| *a == action).map(|(_, availability)| availability);
        let is_ready = |(_, availability): &(Action, Availability)| matches!(availability, Availability::Ready { .. });
        match (&self.read_only, own) {
            // Where it is for want of rights, none is ready, and each says which right it wants.
            (Some(reason), own) if own.is_none() || actions.iter().any(is_ready) => {
                Availability::Disabled(reason.clone())
            }
            (_, Some(availability)) => availability.clone(),
            (_, None) => Availability::Disabled(format!("this layout has no {action}")),
        }
    }
}

/// What tells a database from every other, by what it says of itself and by how it is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// What the database says: the same however it is reached, and on a replica that has taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Host, port and database, or the file.
    pub place: String,
}

impl Identity {
    /// Whether both are the same database, as far as can be known.
    pub fn is(&self, other: &Identity) -> bool {
        match (&self.own, &other.own) {
            (Some(own), Some(other)) => own == other,
            _ => self.place == other.place,
        }
    }
}

/// What an operator can ask for beside verb and jobs, as layout and destination allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutOptions {
    /// Whether replayed jobs can be sent to another queue than their own.
    pub to_queue: bool,
    /// Whether a copy of a dead job can be put into another queue.
    pub copies: bool,
    /// What may become of used attempts, the usual one first; empty where there is no choice.
    pub attempts: Vec<Attempts>,
    /// The states that the layout has words for.
    pub states: Vec<State>,
    /// Whether the layout keeps when a job was last changed.
    pub touched: bool,
}

impl StoreInfo {
    /// Whether copies can be made: it takes the rights of a replay, whose inserting steps are run.
    fn copying(&self) -> Availability {
        let notes = || COPY_NOTES.map(str::to_owned).into();
        match (self.availability(Action::Replay), &self.destination) {
            (Availability::Disabled(reason), _) => Availability::Disabled(reason),
            (Availability::Ready { .. }, _) if self.capabilities.options.copies => {
                Availability::Ready { notes: notes() }
            }
            (_, Some(Destination::Command(_))) => Availability::Disabled(format!(
                "replayed jobs of {} go to a command, which may settle the dead rows: --copy takes a table as destination",
                self.title
            )),
            _ => Availability::Disabled(format!(
                "{} has no step that puts a copy beside the dead job: its adapter marks none with `copies = true`",
                self.title
            )),
        }
    }

    /// Why these options cannot be had for an action here; `None` when they can.
    pub fn refusal(&self, action: Action, options: &Options) -> Option<String> {
        let (table, offered) = (&self.title, &self.capabilities.options);
        if options.to_queue.is_none() && action == Action::Copy {
            return Some(COPY_NEEDS_QUEUE.to_owned());
        }
        if options.to_queue.is_some() && action.enqueues() && !offered.to_queue {
            return Some(format!(
                "{table} keeps no queue that a replay could replace: its adapter has no {{to_queue}} for this destination"
            ));
        }
        if options.edits_too(action) {
            if let Some(Destination::Command(_)) = &self.destination {
                return Some(format!(
                    "replayed jobs of {table} go to a command, which takes no part in a transaction: repair them first, and \
                     then replay them"
                ));
            }
            if let Availability::Disabled(reason) = self.availability(Action::Repair) {
                return Some(reason);
            }
        }
        let attempts = options.attempts.filter(|a| action.enqueues() && !offered.attempts.contains(a))?;
        Some(format!(
            "{table} has no choice of attempts: its adapter has no {{once}} for this destination, so `{}` cannot be had",
            attempts.word()
        ))
    }
}

/// Whether an action can be used, and what the operator must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can; the notes belong into the plan.
    Ready {
        /// Sentences of the adapter, such as `One more attempt, counters kept.`
        notes: Vec<String>,
    },
    /// It cannot; the sentence says why, and what to write into the config where that helps.
    Disabled(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_known_by_what_it_says_of_itself_and_else_by_how_it_is_reached() {
        let of = |own: Option<&str>, place: &str| Identity { own: own.map(str::to_owned), place: place.to_owned() };
        assert!(of(Some("7/16384"), "db1:5432/shop").is(&of(Some("7/16384"), "db2:5432/shop")), "a replica took over");
        assert!(!of(Some("7/16384"), "db1:5432/shop").is(&of(Some("8/16384"), "db1:5432/shop")), "it was made anew");
        assert!(of(None, "db1:3306/shop").is(&of(None, "db1:3306/shop")));
        assert!(!of(None, "db1:3306/shop").is(&of(Some("7"), "db2:3306/shop")));
    }
}
