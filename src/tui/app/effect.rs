//! What the model asks of the world, as data. The runtime carries it out and answers with [`super::msg::Reply`].

use std::sync::Arc;
use std::time::Duration;

use crate::config::Thresholds;
use crate::domain::action::Action;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::domain::load_share::LoadShare;
use crate::domain::mark::MarkName;
use crate::domain::redact::Redactor;
use crate::domain::repair::EditedArguments;
use crate::domain::run_options::Options;
use crate::domain::run_options::pick::Pick;
use crate::domain::time::Timestamp;
use crate::domain::time::zone::Zone;
use crate::ledger::RunId;
use crate::store::{HistogramQuery, PageQuery, Token};
use crate::triage::contrast::ContrastQuery;
use crate::triage::mark_comparison::ComparedBy;
use crate::triage::plan::ActionScope;
use crate::tui::NoteRequest;
use crate::tui::keys::Keymap;

/// Identity of a request. A reply whose id was superseded in its slot is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RequestId(pub u64);

/// A place for requests of one kind: at most one runs and one waits; a newer one replaces the waiting one, and cancels
/// the running one where its answer no longer matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// Connecting and opening.
    Open,
    /// Counts by facet.
    Histogram,
    /// Counts by a path of the arguments.
    ArgumentCount,
    /// Totals by state.
    Totals,
    /// Rows of the list.
    Page,
    /// Freshness of the rows on screen.
    Rows,
    /// The open job.
    Detail,
    /// Polls for changes.
    Poll,
    /// Values for completion.
    Values,
    /// Comparing jobs with others.
    Contrast,
    /// Arguments for the editor.
    Arguments,
    /// Freezing, running, dismissing.
    Act,
    /// Lists of runs.
    Runs,
    /// Making a note.
    Note,
    /// Marks, listed or set.
    Marks,
    /// Comparing bars with a mark.
    MarkComparison,
}

/// A question to the store or the ledger.
#[derive(Clone, Debug)]
pub enum Request {
    /// Connect and list the layouts.
    Choices,
    /// Open a layout by name.
    Open(String),
    /// Open the layout that is open once more, after its tables or its server have become others.
    Reopen(String),
    /// Estimate a facet from the database's statistics.
    Estimate(Facet),
    /// One step of a count.
    Histogram(HistogramQuery),
    /// Count by the values at a path of the arguments.
    ArgumentCount {
        /// The keys of the path.
        keys: Vec<String>,
        /// The jobs; resolved.
        filter: Filter,
    },
    /// Totals by state, and whether somebody asked for them.
    Totals(bool),
    /// One step of a page.
    Page {
        /// What it holds.
        query: PageQuery,
        /// Rows that are on screen at a time.
        screen: usize,
    },
    /// Light rows of these jobs as they stand now.
    Rows(Vec<JobId>),
    /// Everything of one job, with its history, ready to be drawn.
    Detail(JobId),
    /// What changed since the last poll.
    Poll {
        /// The last poll; `None` starts afresh.
        since: Option<Token>,
        /// The facet whose counts are kept.
        facet: Facet,
        /// The filter in force, resolved.
        filter: Filter,
    },
    /// Values of a facet for completion, most frequent first.
    Values(Facet),
    /// Paths and values of the arguments of some jobs, for completion.
    Arguments(Filter),
    /// Compare jobs with others.
    Contrast(ContrastQuery),
    /// The arguments of a job, for an editor.
    EditableArguments(JobId),
    /// Freeze a cohort and make its plan.
    Plan {
        /// The verb.
        action: Action,
        /// Which jobs.
        scope: ActionScope,
        /// Jobs at the most.
        limit: Option<u64>,
        /// Which jobs these are.
        pick: Pick,
        /// Pace, queue and attempts.
        options: Box<Options>,
        /// Why, in the operator's words.
        reason: Option<String>,
        /// Whether many jobs are replayed with an automatic stop.
        is_guarded: bool,
        /// Whether the validator of the source is asked, where it has one.
        is_validated: bool,
        /// What an editor has made of the arguments of the one job.
        edited: Option<Box<EditedArguments>>,
    },
    /// Execute a confirmed run.
    Execute(RunId),
    /// Go on with a run that was stopped or cut off.
    Resume {
        /// Which.
        run: RunId,
        /// Whether it goes on past its gate, whatever became of its canary jobs.
        skip_gate: bool,
    },
    /// Dismiss a plan: nothing was touched.
    Dismiss(RunId),
    /// The latest runs of the ledger.
    Runs,
    /// The same, for a page of runs that is open.
    RunsAgain {
        /// The replay whose jobs are asked about in any case; of others that waits until it is due.
        followed: Option<RunId>,
    },
    /// Make a note on an incident.
    Note(NoteRequest),
    /// Something about marks.
    Marks(MarkRequest),
}

/// A question about marks.
#[derive(Clone, Debug)]
pub enum MarkRequest {
    /// Those of the source, for completion.
    List,
    /// Set one.
    Set {
        /// Its name.
        name: MarkName,
        /// Its moment; now by the source's clock without one.
        at: Option<Timestamp>,
    },
    /// Compare bars with one.
    Compare {
        /// The mark.
        name: MarkName,
        /// What the bars stand for.
        by: ComparedBy,
        /// The jobs; resolved.
        filter: Filter,
    },
}

/// What the runtime is to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Put a question; the answer comes as a reply with the same id.
    Ask {
        /// Identity.
        id: RequestId,
        /// Its place.
        slot: Slot,
        /// The question.
        request: Request,
    },
    /// Stop what a slot runs and drop what it has waiting.
    Cancel(Slot),
    /// Send [`super::msg::Msg::Tick`] at that instant; replaces an earlier wish.
    WakeAt(Timestamp),
    /// Send text to the terminal's clipboard.
    Copy(String),
    /// Open text in `$VISUAL`, `$EDITOR` or `$PAGER`, read-only; `name` hints at the file's ending.
    Edit {
        /// File name shown by the editor.
        name: String,
        /// The text, exact.
        text: String,
    },
    /// Open arguments in `$VISUAL`, `$EDITOR` or `vi`, and send [`super::msg::Msg::Edited`] with what came of them.
    EditArguments(String),
    /// Stop the running run after its current batch.
    StopRun,
    /// Pause or continue the running run between batches.
    PauseRun(bool),
    /// Take or release the mouse.
    Mouse(bool),
    /// Stop the process until the shell continues it.
    Suspend,
    /// Draw everything again, as after another program wrote to the terminal.
    Repaint,
    /// Leave.
    Quit,
}

/// The console's settings, from config and command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Palette: `dark`, `light`, `16`, `none`; `auto` asks the terminal's environment.
    pub theme: String,
    /// ASCII characters instead of glyphs.
    pub ascii: bool,
    /// Whether the mouse is taken at the start.
    pub mouse: bool,
    /// Base interval between polls.
    pub refresh: Duration,
    /// What the watch may take of the database's time.
    pub budget: LoadShare,
    /// Deadline of a statement.
    pub statement: Duration,
    /// Which keys ask for what.
    pub keys: Keymap,
    /// From where on a cohort asks for the number, and how often a job may have been replayed.
    pub thresholds: Thresholds,
    /// What is a secret on the screen.
    pub redactor: Arc<Redactor>,
    /// The zone of the times that are shown.
    pub zone: Zone,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: "auto".into(),
            ascii: false,
            mouse: false,
            refresh: Duration::from_millis(1_500),
            budget: LoadShare::DEFAULT,
            statement: Duration::from_secs(5),
            keys: Keymap::default(),
            thresholds: Thresholds::default(),
            redactor: Arc::default(),
            zone: Zone::UTC,
        }
    }
}
