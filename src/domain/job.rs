//! Dead jobs: the light row that lists show, and the detail that is loaded for the open row only.

pub mod job_record;
pub mod lineage;

use std::fmt;

use super::text::Untrusted;
use super::time::Timestamp;

/// The primary key of a dead job, in the text form that its database prints.
///
/// It identifies the row for cursor, marks, folds and the ledger; it is bound as text and cast by the statement.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(String);

impl JobId {
    /// Wraps the text form of a primary key.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key as the database prints it; for binds and machine-readable output, not for a screen.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key as untrusted text, the only form that may reach a screen.
    pub fn text(&self) -> Untrusted {
        Untrusted::new(self.0.clone())
    }
}

/// The key as [`JobId::as_str`].
impl From<JobId> for String {
    fn from(id: JobId) -> String {
        id.0
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobId({:?})", self.0)
    }
}

/// What a dead-letter store's native state means, whatever the framework calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Retries are exhausted: the job waits for an operator.
    Dead,
    /// The framework itself still means to run it.
    Retrying,
    /// Replayed or otherwise settled; kept for the record.
    Resolved,
    /// Set aside by an operator; reversible.
    Ignored,
}

impl State {
    /// Every state, in the order in which totals are shown.
    pub const ALL: [State; 4] = [State::Dead, State::Retrying, State::Resolved, State::Ignored];

    /// The word used in filters, on screen and in output.
    pub fn word(self) -> &'static str {
        match self {
            State::Dead => "dead",
            State::Retrying => "retrying",
            State::Resolved => "resolved",
            State::Ignored => "ignored",
        }
    }

    /// The state that a word names, if it names one.
    pub fn from_word(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|s| s.word() == word)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One dead job as a list shows it: no column that can be heavy.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// Identity of the row.
    pub id: JobId,
    /// When the job died, or the nearest that the layout knows; `None` where the column is NULL.
    pub at: Option<Timestamp>,
    /// Normalised state.
    pub state: State,
    /// The framework's own word for the state.
    pub native_state: Untrusted,
    /// Error class as the adapter cuts it; `None` where the row has none.
    pub error_class: Option<Untrusted>,
    /// The start of the error message (at most [`MESSAGE_HEAD`] characters).
    pub message: Option<Untrusted>,
    /// Job class, event type or worker name: what was to be run.
    pub job_class: Option<Untrusted>,
    /// Queue, where the layout has queues.
    pub queue: Option<Untrusted>,
    /// Host or process that failed, where the layout knows it.
    pub worker: Option<Untrusted>,
    /// The reason as stored, where the layout keeps one apart from the error class.
    pub reason: Option<Untrusted>,
    /// Attempts made so far.
    pub attempts: Option<i64>,
    /// Attempts allowed, where the layout knows it.
    pub max_attempts: Option<i64>,
}

impl JobRow {
    /// A dead job of which nothing is known, for tests.
    #[cfg(test)]
    pub fn bare(id: impl Into<String>) -> Self {
        Self {
            id: JobId::new(id),
            at: None,
            state: State::Dead,
            native_state: "dead".into(),
            error_class: None,
            message: None,
            job_class: None,
            queue: None,
            worker: None,
            reason: None,
            attempts: None,
            max_attempts: None,
        }
    }

    /// The start of the message, without the error class that it may begin with: shown beside the class it would say
    /// the same twice, and in a narrow column nothing else.
    pub fn message_beyond_class(&self) -> Option<Untrusted> {
        let (message, class) = (self.message.as_ref()?, self.error_class.as_ref().map_or("", Untrusted::exact));
        let beyond = message.exact().strip_prefix(class).and_then(|rest| rest.strip_prefix(": ")).map(str::trim_start);
        match beyond {
            Some(rest) if !class.is_empty() && !rest.is_empty() => Some(Untrusted::new(rest)),
            _ => Some(message.clone()),
        }
    }
}

/// Characters of an error message that a light row carries.
pub const MESSAGE_HEAD: usize = 200;

/// Everything a store knows of one job; loaded for the open row only.
#[derive(Clone, Debug, PartialEq)]
pub struct JobDetail {
    /// The light row, read in the same statement as the rest.
    pub row: JobRow,
    /// The whole error message.
    pub message: Option<Untrusted>,
    /// Arguments or payload, as the text that the database holds (numbers stay exact), or as JSON read from that text.
    pub arguments: Option<Untrusted>,
    /// Whether the arguments are not what the layout says they are (JSON, or what it decodes to JSON): no key tells what is a
    /// secret in them.
    pub undecodable: bool,
    /// Backtrace, as the text that the database holds (plain lines, or a JSON array of them).
    pub backtrace: Option<Untrusted>,
    /// All other columns, in the layout's order, as text.
    pub metadata: Vec<(String, Option<Untrusted>)>,
    /// Those of them that hold, as it is stored, what the arguments were read from.
    pub decoded_from: Vec<String>,
    /// By what the same job is known across deaths (the framework's job id, what it says), where there is such a thing;
    /// as [`crate::domain::job::lineage::stored_form`].
    pub lineage: Option<Untrusted>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_begins_with_its_class_says_the_rest() {
        let said = |class: Option<&str>, message: &str| {
            let row =
                JobRow { error_class: class.map(Untrusted::from), message: Some(message.into()), ..JobRow::bare("1") };
            row.message_beyond_class().map(|text| text.exact().to_owned()).unwrap_or_default()
        };
        assert_eq!(said(Some("Net::ReadTimeout"), "Net::ReadTimeout: after 3s"), "after 3s");
        assert_eq!(said(Some("KeyError"), "key not found: :email"), "key not found: :email");
        assert_eq!(said(Some("KeyError"), "KeyErrors: many"), "KeyErrors: many");
        assert_eq!(said(Some("KeyError"), "KeyError: "), "KeyError: ");
        assert_eq!(said(Some(""), ": odd"), ": odd");
        assert_eq!(said(None, "refused"), "refused");
    }
}
