//! What lies over the panes: at most one thing at a time.

mod edit_page;

pub use edit_page::EditPage;

use std::sync::Arc;
use std::time::Duration;

use tui_input::Input;

use super::contrast::ContrastPage;
use super::followed::FollowedReplay;
use crate::domain::action::Action;
use crate::domain::contrast::ValueCounts;
use crate::domain::histogram::Histogram;
use crate::domain::job::JobId;
use crate::domain::mark::NamedMoment;
use crate::domain::time::Timestamp;
use crate::ledger::{Run, RunId, RunState};
use crate::triage::plan::Plan;
use crate::triage::progress::{FreezeProgress, RunProgress};
use crate::tui::StoreChoice;
use crate::tui::app::update::colon_commands::plan_words::PlanWords;
use crate::tui::keys::{KeyCommand, KeyContext};

/// The one thing over the panes.
#[derive(Debug, Default)]
pub enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// The keys.
    Help(HelpPage),
    /// A line of text is being typed.
    Line(Box<InputLine>),
    /// A store is being chosen.
    Picker(Picker),
    /// A cohort is being frozen.
    Freezing(Option<FreezeProgress>),
    /// A plan waits for confirmation.
    Plan(Box<PlanDialog>),
    /// The gauge of the run that is going.
    Run,
    /// The receipt of a run.
    Receipt(Box<Run>, ScrollState),
    /// Runs of the ledger.
    Runs(RunsPage),
    /// What jobs have in common that others have not.
    Contrast(Box<ContrastPage>),
    /// The arguments of a job as they were edited.
    Edit(Box<EditPage>),
    /// Text to be read: a command line, a long sentence.
    Text {
        /// Title.
        title: String,
        /// Lines.
        lines: Vec<String>,
        /// Scroll.
        reading: ScrollState,
    },
    /// The question before the run at the cursor of the page of runs is gone on with.
    Resume(ResumeDialog),
    /// The question before leaving while a run is going.
    Leave,
}

/// How far something that is only read is scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrollState {
    /// First line on screen.
    pub top: usize,
}

/// The keys and commands, those of one place first.
#[derive(Debug)]
pub struct HelpPage {
    /// Where the keys went that asked for it.
    pub place: KeyContext,
    /// How far it is scrolled.
    pub reading: ScrollState,
    /// Only lines with these words are shown.
    pub search: Input,
    /// Whether they are being typed.
    pub typing: bool,
}

impl HelpPage {
    /// The whole page.
    pub fn new(place: KeyContext) -> Self {
        Self { place, reading: ScrollState::default(), search: Input::default(), typing: false }
    }

    /// Whether a line is shown.
    pub fn has(&self, line: &str) -> bool {
        let line = line.to_lowercase();
        self.search.value().to_lowercase().split_whitespace().all(|word| line.contains(word))
    }
}

impl Overlay {
    /// First line on screen of what can be scrolled.
    fn top_mut(&mut self) -> Option<&mut usize> {
        match self {
            Overlay::Help(page) => Some(&mut page.reading.top),
            Overlay::Receipt(_, reading) | Overlay::Text { reading, .. } => Some(&mut reading.top),
            Overlay::Runs(page) => page.receipt.as_mut().map(|reading| &mut reading.top),
            Overlay::Plan(dialog) => Some(&mut dialog.top),
            Overlay::Edit(page) => Some(&mut page.reading.top),
            _ => None,
        }
    }

    /// Scrolls by `by` lines; false where nothing can be scrolled. How many lines there are depends on the width, so
    /// that the end is only known when it was drawn: see [`Overlay::clamp_scroll`].
    pub fn scroll(&mut self, by: isize) -> bool {
        let top = self.top_mut();
        let scrolls = top.is_some();
        top.into_iter().for_each(|top| *top = top.saturating_add_signed(by));
        scrolls
    }

    /// Notes that a frame shows this.
    pub fn drawn(&mut self) {
        match self {
            Overlay::Plan(dialog) => dialog.drawn = true,
            Overlay::Edit(page) => page.drawn = page.edited.is_some(),
            Overlay::Resume(dialog) => dialog.drawn = true,
            _ => {}
        }
    }

    /// Notes that the frames drawn so far are on the terminal at `now`.
    pub fn shown(&mut self, now: Timestamp) {
        match self {
            Overlay::Plan(dialog) if dialog.drawn => drop(dialog.seen.get_or_insert(now)),
            Overlay::Edit(page) if page.drawn => drop(page.seen.get_or_insert(now)),
            Overlay::Resume(dialog) if dialog.drawn => drop(dialog.seen.get_or_insert(now)),
            _ => {}
        }
    }

    /// Takes back what was scrolled beyond the `deepest` line that can stand first.
    pub fn clamp_scroll(&mut self, deepest: usize) {
        self.top_mut().into_iter().for_each(|top| *top = (*top).min(deepest));
    }
}

/// Runs of the ledger, with a cursor; the receipt of one may lie over them.
#[derive(Debug, Default)]
pub struct RunsPage {
    /// The runs, the latest first: with plans that were not confirmed.
    runs: Vec<Run>,
    /// Whether such plans are shown.
    pub shows_plans: bool,
    /// Index of the cursor among the runs that are shown.
    pub at: usize,
    /// The receipt of the run at the cursor, while it is read.
    pub receipt: Option<ScrollState>,
    /// When they are asked for again: other operators may be at work.
    pub next: Option<Timestamp>,
}

/// How often runs are asked for again while their page is open: while one is executed, and otherwise.
const RUNS_LIVE: Duration = Duration::from_secs(1);
const RUNS_QUIET: Duration = Duration::from_secs(5);
/// The same while replayed jobs have not settled.
const RUNS_OPEN: Duration = Duration::from_secs(2);

impl RunsPage {
    /// A page with the cursor on the latest run.
    pub fn new(runs: Vec<Run>) -> Self {
        Self { runs, ..Self::default() }
    }

    /// The runs that are shown.
    pub fn shown(&self) -> Vec<&Run> {
        self.runs.iter().filter(|run| self.shows_plans || run.is_confirmed()).collect()
    }

    /// Plans that are not shown.
    pub fn hidden(&self) -> usize {
        self.runs.len() - self.shown().len()
    }

    /// Shows plans that were not confirmed, or hides them; the cursor stays on its run.
    pub fn toggle_plans(&mut self) {
        let here = self.here();
        self.shows_plans = !self.shows_plans;
        self.go_to(here);
    }

    /// Shows the receipt of the run at the cursor.
    pub fn show_receipt(&mut self) {
        self.receipt = self.current().map(|_| ScrollState::default());
    }

    fn here(&self) -> Option<RunId> {
        self.current().map(|run| run.id.clone())
    }

    /// Puts the cursor on a run, or leaves it about where it was.
    fn go_to(&mut self, run: Option<RunId>) {
        let shown = self.shown();
        let at = run.and_then(|id| shown.iter().position(|run| run.id == id));
        let last = shown.len().saturating_sub(1);
        if at.is_none() {
            self.receipt = None;
        }
        self.at = at.unwrap_or(self.at.min(last));
    }

    /// Says when the runs are asked for again.
    pub fn schedule_reload(&mut self, now: Timestamp) {
        let shown = self.shown();
        let live = shown.iter().any(|run| matches!(run.state, RunState::Running | RunState::Freezing));
        let is_open = shown.iter().any(|run| run.outcomes.as_ref().is_some_and(|counts| counts.open() > 0));
        let quiet = if is_open { RUNS_OPEN } else { RUNS_QUIET };
        self.next = Some(now.after(if live { RUNS_LIVE } else { quiet }));
    }

    /// Takes in how the runs are now; the cursor stays on its run.
    pub fn refresh(&mut self, runs: Vec<Run>) {
        let here = self.here();
        self.runs = runs;
        self.go_to(here);
    }

    /// The run at the cursor.
    pub fn current(&self) -> Option<&Run> {
        self.shown().get(self.at).copied()
    }
}

/// The question whether to go on with a run.
#[derive(Debug, Default)]
pub struct ResumeDialog {
    /// The page of runs, with its cursor on the run.
    pub page: RunsPage,
    /// Whether it was drawn.
    pub drawn: bool,
    /// When the terminal had taken it: keys that were typed ahead of it do not count.
    pub seen: Option<Timestamp>,
}

/// A choice of stores.
#[derive(Debug, Default)]
pub struct Picker {
    /// What was found.
    pub choices: Vec<StoreChoice>,
    /// Index of the cursor.
    pub at: usize,
}

/// A plan with the state of its confirmation.
#[derive(Debug)]
pub struct PlanDialog {
    /// The plan.
    pub plan: Plan,
    /// The number as typed so far, where it must be typed.
    pub typed: Input,
    /// Whether it was drawn.
    pub drawn: bool,
    /// When the terminal had taken it: keys that were typed ahead of it do not count.
    pub seen: Option<Timestamp>,
    /// First line on screen.
    pub top: usize,
    /// What was wrong with the last attempt to confirm, for the dialog's last line.
    pub complaint: Option<String>,
    /// What was asked for behind the verb.
    pub words: PlanWords,
    /// The command line that does the same, once it was asked for.
    pub shell: Option<String>,
}

/// What a typed line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The filter.
    Filter,
    /// A command.
    Command,
    /// Words to search for in the open job.
    Search,
}

/// A line that is being typed, with its completion.
#[derive(Debug)]
pub struct InputLine {
    /// What for.
    pub purpose: Purpose,
    /// The text with its cursor.
    pub input: Input,
    /// What is wrong with it, and where.
    pub fault: Option<InputError>,
    /// What it can be completed with.
    pub candidates: Vec<Candidate>,
    /// Index of the chosen candidate, once Tab was pressed.
    pub chosen: Option<usize>,
    /// Part of the text that a candidate replaces, in bytes.
    pub span: std::ops::Range<usize>,
    /// How far back in the history the shown line is; `None` is the line being typed.
    pub recalled: Option<usize>,
    /// What was being typed when the history was entered.
    pub draft: String,
    /// Real values for the key at the cursor, once they are here.
    pub values: Option<Histogram>,
    /// What stands in the arguments of some jobs, once it was asked for and is here.
    pub arguments: ArgumentValues,
    /// The marks of the source, once they were asked for; none until they are here.
    pub marks: Option<Vec<NamedMoment>>,
}

/// What a line knows of the arguments of jobs.
#[derive(Clone, Debug, Default)]
pub enum ArgumentValues {
    /// Nothing was asked for.
    #[default]
    Unasked,
    /// It was asked for.
    Asked,
    /// Paths and values.
    Known(Arc<ValueCounts>),
}

/// A fault of a typed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// Column in characters.
    pub column: usize,
    /// Columns that are wrong.
    pub width: usize,
    /// A sentence.
    pub sentence: String,
}

/// Something a line can be completed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is inserted.
    pub insert: String,
    /// What is shown; sanitised.
    pub label: String,
    /// What it means, or its count.
    pub note: String,
}

/// The key that acts, as it was pressed last. Held, it comes again and again, while each run puts the cursor on the next job.
#[derive(Clone, Debug)]
pub struct HeldKey {
    /// What it asks for.
    pub command: KeyCommand,
    /// When it came last.
    pub at: Timestamp,
    /// Whether it was all that a run took to be confirmed.
    pub acted: bool,
    /// The job under the cursor of the frame that was drawn last.
    drawn: Option<JobId>,
    /// The job under the cursor of what is on the terminal, and since when.
    seen: Option<(Option<JobId>, Timestamp)>,
}

/// A key that comes again within this time may be held: terminals wait that long before the first repeat.
const REPEATS: Duration = Duration::from_millis(700);

/// What comes on the screen is read no faster than this.
pub const READ_FIRST: Duration = Duration::from_millis(400);

impl HeldKey {
    /// The key was pressed.
    pub fn new(command: KeyCommand, at: Timestamp) -> Self {
        Self { command, at, acted: false, drawn: None, seen: None }
    }

    /// Whether the key may be held still, or what it would act on cannot have been read.
    pub fn is_held(&self, here: Option<&JobId>, now: Timestamp) -> bool {
        let read = |(job, since): &(Option<JobId>, Timestamp)| job.as_ref() == here && now >= since.after(READ_FIRST);
        self.acted && (now < self.at.after(REPEATS) || !self.seen.as_ref().is_some_and(read))
    }

    /// Notes that a frame shows this job under the cursor.
    pub fn drawn(&mut self, here: Option<&JobId>) {
        self.drawn = here.cloned();
    }

    /// Notes that the frames drawn so far are on the terminal.
    pub fn shown(&mut self, now: Timestamp) {
        if self.seen.as_ref().is_none_or(|(job, _)| *job != self.drawn) {
            self.seen = Some((self.drawn.clone(), now));
        }
    }
}

/// The run of this console that is going, or was last.
#[derive(Debug, Default)]
pub struct Runner {
    /// Progress of the run that is going.
    pub going: Option<RunProgress>,
    /// Its verb.
    pub action: Option<Action>,
    /// Whether it was asked to stop.
    pub stopping: bool,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether the console leaves when it has stopped.
    pub leave_after: bool,
    /// The key that acts, while it may be held.
    pub held: Option<HeldKey>,
    /// What was asked for behind the verb, of the plan that was asked for last.
    pub words: PlanWords,
    /// Arguments that were edited, until a plan that has them is confirmed.
    pub edit: Option<Box<EditPage>>,
    /// The last run that did anything, with its verb, for its undo.
    pub last: Option<(RunId, Action)>,
    /// The last replay, until what became of its jobs was seen.
    pub followed: Option<FollowedReplay>,
}
