//! The arguments of one job that are edited.

use super::ScrollState;
use crate::domain::job::JobId;
use crate::domain::repair::{EditError, EditableArguments, EditedArguments};
use crate::domain::time::Timestamp;

/// Arguments in the editor, and what came of them.
#[derive(Debug)]
pub struct EditPage {
    /// The job.
    pub job: JobId,
    /// Its arguments as they were read.
    pub arguments: EditableArguments,
    /// The text as the editor left it last.
    pub typed: String,
    /// What that text is; `None` before the editor has been closed once.
    pub edited: Option<Result<EditedArguments, EditError>>,
    /// How far it is scrolled.
    pub reading: ScrollState,
    /// Whether the changes were drawn.
    pub drawn: bool,
    /// When the terminal had taken them: keys that were typed ahead of them do not count.
    pub seen: Option<Timestamp>,
}

impl EditPage {
    /// Before the editor has been opened.
    pub fn new(job: JobId, arguments: EditableArguments) -> Self {
        let typed = arguments.text().to_owned();
        Self { job, arguments, typed, edited: None, reading: ScrollState::default(), drawn: false, seen: None }
    }

    /// Takes in what the editor left.
    pub fn take(&mut self, typed: String) {
        self.edited = Some(self.arguments.edited(&typed));
        (self.typed, self.reading, self.drawn, self.seen) = (typed, ScrollState::default(), false, None);
    }
}
