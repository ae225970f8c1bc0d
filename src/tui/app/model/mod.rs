//! What the console knows and shows. Changed by [`super::update()`] only; drawn by the view.

mod contrast;
mod detail;
mod filter;
mod followed;
mod freshness;
mod histogram;
mod list;
mod live;
mod loaded_range;
mod marks;
mod overlay;
mod preview;
mod requests;
mod state_totals;
mod varied;

pub use crate::tui::app::update::colon_commands::plan_words::PlanWords;
pub use contrast::ContrastPage;
pub use detail::{DetailPane, TabView};
pub use filter::FilterState;
pub use followed::FollowedReplay;
pub use freshness::Stale;
pub use histogram::{
    ArgumentBars, ArgumentCount, BarValue, CountedFor, HistogramPane, MarkBars, compare_with, counted_by, list_gone,
};
pub use list::{ListPane, ListSide};
pub use live::{ConnectionState, LiveState, Loss};
pub use loaded_range::PAGE;
pub use marks::SelectionMarks;
pub use overlay::{
    ArgumentValues, Candidate, EditPage, HeldKey, HelpPage, InputError, InputLine, Overlay, Picker, PlanDialog,
    Purpose, READ_FIRST, ResumeDialog, Runner, RunsPage, ScrollState,
};
pub use preview::{Preview, REST, ShownBar};
pub use requests::OpenRequests;
pub use state_totals::StateTotals;
pub use varied::OptionalColumn;

use std::borrow::Cow;
use std::time::Duration;

use super::effect::Settings;
use super::layout::Areas;
use super::msg::Opened;
use super::tour::TourStep;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Count, Exactness};
use crate::domain::job::State;
use crate::domain::text::head;
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerLocation, Run, RunId};
use crate::store::Outdated;
use crate::tui::keys::{KeyCommand, KeyContext};

/// Characters of a text that are looked through to draw a line of it, far more than one shows.
const SHOWN: usize = 4_000;

/// A sentence that was on screen for so long was read.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// The pane that keys go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Focus {
    /// The bars: what one looks at first.
    #[default]
    Histogram,
    /// The jobs.
    List,
    /// The open job.
    Detail,
}

/// The source, and what is open in it.
#[derive(Debug, Default)]
pub struct SourceState {
    /// As the header shows it; never a password.
    pub label: String,
    /// The options by which another command line reaches it.
    pub reach: Vec<String>,
    /// A line such as `demo`; empty for none.
    pub banner: String,
    /// The store to open without asking.
    pub wanted: Option<String>,
    /// The open store.
    pub opened: Option<Opened>,
    /// Why it is being opened again, and when that was asked for last.
    pub reopening: Option<(ReopenReason, Timestamp)>,
}

/// Why a store that is open is opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReopenReason {
    /// The columns of a table have changed, which has stopped the run that is named.
    Columns(Outdated, Option<RunId>),
    /// The database refuses a statement that fitted its tables when the store was opened.
    Unfit,
    /// The server takes changes now and did not then, or the other way round.
    Turned,
}

impl SourceState {
    /// A command line for a shell: these words, and the options that reach this source.
    pub fn shell(&self, words: &[&str]) -> String {
        let reach = self.reach.iter().map(String::as_str);
        shell_words::join(["dlq-tui"].into_iter().chain(words.iter().copied()).chain(reach))
    }

    /// The command line that goes on with a run; a run of another source, or of a store that is not the open one, is named
    /// without its options.
    pub fn resume(&self, run: &Run) -> String {
        let (source, store) = (&run.intent.source, &run.intent.store);
        let elsewhere = match &self.opened {
            // What the source keeps itself is of this source, whatever somebody else calls it.
            _ if run.place == LedgerLocation::Local && *source != self.label => source.clone(),
            Some(opened) if opened.store() != *store => format!("{store} on {source}"),
            // The database may hold other stores.
            Some(opened) => return self.shell(&["resume", &run.id.0, "--store", &opened.name]),
            None => return self.shell(&["resume", &run.id.0]),
        };
        format!("dlq-tui resume {} (with the options that reach {elsewhere})", run.id)
    }

    /// The command line that shows a run: without a source where the operator's own machine has the record.
    pub fn record(&self, run: &Run) -> String {
        match run.place {
            LedgerLocation::Local => shell_words::join(["dlq-tui", "runs", &run.id.0]),
            LedgerLocation::Source => self.shell(&["runs", &run.id.0]),
        }
    }
}

/// A sentence in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sentence; sanitised.
    pub sentence: String,
    /// Whether something went wrong.
    pub is_fault: bool,
    /// When it came.
    pub since: Timestamp,
    /// When it gives way to the hints again.
    pub until: Timestamp,
}

/// Digits that wait for the key of an action, or for a moment to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountPrefix {
    /// The number that they make.
    pub number: u64,
    /// When they wait no longer.
    pub due: Timestamp,
}

/// The terminal and what is in front on it.
#[derive(Debug, Default)]
pub struct ScreenState {
    /// Columns and rows.
    pub size: (u16, u16),
    /// The pane that keys go to.
    pub focus: Focus,
    /// The pane that Esc goes back to from the open job.
    pub before: Focus,
    /// A sentence in the footer.
    pub notice: Option<Notice>,
    /// The digits that were typed before a key.
    pub count: Option<CountPrefix>,
    /// Whether the mouse is taken.
    pub mouse: bool,
    /// The next thing to try, in the demo.
    pub tour: Option<TourStep>,
}

/// Everything that the console knows and shows.
#[derive(Debug)]
pub struct Model {
    /// Where the jobs come from.
    pub source: SourceState,
    /// The link and the watch.
    pub live: LiveState,
    /// The filter in force.
    pub filter: FilterState,
    /// The bars.
    pub histogram: HistogramPane,
    /// The jobs.
    pub list: ListPane,
    /// The bar whose jobs stand in place of the list.
    pub preview: Preview,
    /// The open job.
    pub detail: DetailPane,
    /// What lies over the panes.
    pub overlay: Overlay,
    /// The run that is going.
    pub runner: Runner,
    /// The terminal.
    pub screen: ScreenState,
    /// Settings.
    pub settings: Settings,
    /// Questions under way.
    pub requests: OpenRequests,
}

impl Model {
    /// A console that is about to connect.
    pub fn new(source: SourceState, filter: FilterState, settings: Settings, size: (u16, u16)) -> Self {
        let mouse = settings.mouse;
        Self {
            source,
            live: LiveState::new(settings.refresh, settings.budget),
            filter,
            histogram: HistogramPane::new(Facet::Error),
            list: ListPane::default(),
            preview: Preview::default(),
            detail: DetailPane::default(),
            overlay: Overlay::None,
            runner: Runner::default(),
            screen: ScreenState { size, mouse, ..ScreenState::default() },
            settings,
            requests: OpenRequests::default(),
        }
    }

    /// Jobs in a state, as far as is known: where no filter narrows the dead ones, those that the bars count, which are counted
    /// more often than the totals.
    pub fn total(&self, state: State) -> Option<Count> {
        let total = self.live.totals.of(state)?;
        let is_whole = state == State::Dead && self.filter.resolved.is_all() && self.histogram.counts.is_some();
        let counted = self.histogram.shown.as_ref().filter(|_| is_whole).map(|shown| shown.total);
        let is_older = total.exactness != Exactness::Exact || self.live.totals.is_changed;
        let is_better = |counted: &Count| counted.exactness == Exactness::Exact || is_older;
        Some(counted.filter(is_better).unwrap_or(total))
    }

    /// Where the keys go: the overlay, or the focused pane.
    pub fn place(&self) -> KeyContext {
        match &self.overlay {
            Overlay::None | Overlay::Line(_) => match self.screen.focus {
                Focus::Histogram => KeyContext::Histogram,
                Focus::List => KeyContext::List,
                Focus::Detail => KeyContext::Detail,
            },
            Overlay::Picker(_) => KeyContext::Picker,
            Overlay::Plan(_) => KeyContext::Plan,
            Overlay::Freezing(_) | Overlay::Run => KeyContext::Run,
            Overlay::Contrast(_) => KeyContext::Contrast,
            Overlay::Runs(RunsPage { receipt: None, .. }) => KeyContext::Runs,
            Overlay::Help(_) | Overlay::Receipt(..) | Overlay::Runs(_) | Overlay::Text { .. } => KeyContext::Page,
            Overlay::Edit(_) => KeyContext::Edit,
            Overlay::Resume(_) => KeyContext::Resume,
            Overlay::Leave => KeyContext::Leave,
        }
    }

    /// Notes that a frame shows the panes; what lies over them is told by itself.
    pub fn drawn(&mut self) {
        if Areas::of(self).is_none() {
            return;
        }
        if self.screen.focus == Focus::Histogram {
            // The bar under the cursor is the one that was seen there, whatever is counted from now on.
            self.histogram.pin();
        }
        let here = self.list.current().map(|entry| &entry.row.id);
        self.runner.held.iter_mut().for_each(|held| held.drawn(here));
    }

    /// Notes that the frames drawn so far are on the terminal at `now`.
    pub fn shown_at(&mut self, now: Timestamp) {
        self.overlay.shown(now);
        self.runner.held.iter_mut().for_each(|held| held.shown(now));
    }

    /// As much of a text as a line can show, with what looks like a secret masked: a filter that a bar was narrowed to says
    /// its value. It is asked for with every frame, and a text may be megabytes long.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let start = head(text, SHOWN);
        let shown = self.settings.redactor.prose(start);
        if start.len() == text.len() { shown } else { Cow::Owned(format!("{shown}…")) }
    }

    /// The whole of a text with what looks like a secret masked.
    pub fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.settings.redactor.prose(text)
    }

    /// The first key of a command, for a sentence that names it.
    pub fn key(&self, command: KeyCommand) -> String {
        self.settings.keys.key(command).to_owned()
    }

    /// Rows of the list on screen; 0 when it is not.
    pub fn list_rows(&self) -> usize {
        Areas::of(self).map_or(0, |a| a.list_rows())
    }

    /// Bars of the histogram on screen; 0 when it is not.
    pub fn histogram_rows(&self) -> usize {
        Areas::of(self).map_or(0, |a| a.histogram_rows())
    }

    /// Width and rows of the open job's text; zero when it is not on screen.
    pub fn detail_size(&self) -> (usize, usize) {
        Areas::of(self).map_or((0, 0), |a| (a.detail_width(), a.detail_rows()))
    }

    /// The filter of the jobs that the list shows, resolved: that in force, or narrowed to the bar under the cursor.
    pub fn listed(&self) -> &Filter {
        self.preview.shown.as_ref().map_or(&self.filter.resolved, |shown| &shown.resolved)
    }

    /// Whether the open job is on screen.
    pub fn shows_detail(&self) -> bool {
        Areas::of(self).is_some_and(|a| a.detail.is_some())
    }

    /// Shows a sentence in the footer for a while.
    pub fn say(&mut self, sentence: impl Into<String>, now: Timestamp) {
        self.put_notice(sentence.into(), false, now);
    }

    /// Shows a fault in the footer for a while.
    pub fn complain(&mut self, sentence: impl Into<String>, now: Timestamp) {
        self.put_notice(sentence.into(), true, now);
    }

    fn put_notice(&mut self, sentence: String, is_fault: bool, now: Timestamp) {
        let sentence = crate::domain::text::Clean::line(&sentence).to_string();
        let seconds = if is_fault { 10 } else { 5 };
        let until = now.after(Duration::from_secs(seconds));
        self.screen.notice = Some(Notice { sentence, is_fault, since: now, until });
    }

    /// Takes a sentence away that has been read, as the next key tells, or that no longer holds.
    pub fn hush(&mut self, now: Timestamp) {
        let is_read = |notice: &Notice| !notice.is_fault && notice.since.age(now) >= READ_WITHIN;
        self.screen.notice.take_if(|notice| is_read(notice));
    }
}
