//! The console driven by strings of keys and by answers, without terminal, clock or database.

mod argument_bars;
mod arguments;
mod contrast;
mod count_prefix;
mod cursor;
mod edit_arguments;
mod first;
mod marks;
mod others;
mod plan_form;
mod plan_words;
mod prefetch;
mod preview;
mod query_budget;
mod reopen;
mod resume;
mod search;
mod secrets;
mod shell_command;
mod stores;

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::{ConnectionState, Focus, Model, Overlay, SelectionMarks, SourceState, Stale};
use super::{Effect, JobDocument, Msg, Opened, Reply, Request, RequestId, Settings, Slot, start, update};
use crate::domain::action::Action;
use crate::domain::display_rules::Notation;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::job::{JobDetail, JobId, JobRow, State};
use crate::domain::redact::Redactor;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerLocation, Operator, Run, RunId, RunIntent, RunState, RunTally};
use crate::store::{
    Availability, Capabilities, Cell, Changes, Cursor, Entry, Evidence, HistogramStep, Page, Position, SortKey,
    SourceError, StoreInfo, Token,
};
use crate::triage::plan::{ActionScope, CohortBreakdown, Confirm, Plan};
use crate::tui::StoreChoice;
use crate::tui::app::model::FilterState;

/// A console with the effects it has asked for and a clock of its own.
struct Console {
    model: Model,
    now: Timestamp,
    asked: Vec<(RequestId, Slot, Request)>,
    other: Vec<Effect>,
    /// The terminal takes nothing: what is drawn is not seen.
    stalled: bool,
}

impl Console {
    /// A console that has not reached its source yet.
    fn connecting() -> Self {
        let source = SourceState { label: "shop".into(), ..SourceState::default() };
        let mut model = Model::new(source, FilterState::default(), Settings::default(), (140, 45));
        // What most tests are about.
        model.screen.focus = Focus::List;
        let mut console =
            Self { model, now: Timestamp(1_000_000_000), asked: Vec::new(), other: Vec::new(), stalled: false };
        let effects = start(&mut console.model);
        console.take(effects);
        console
    }

    /// A console with an open store and `n` jobs in its list, all of them read.
    fn with_jobs(n: usize) -> Self {
        let mut console = Self::connecting();
        console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
        console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
        console.first_screen(None, page(0..n, None));
        console
    }

    /// The estimate and the rows of the first screen are there, and the bars are counted.
    fn first_screen(&mut self, estimate: Option<Histogram>, page: Page) -> &mut Self {
        self.answer(Slot::Histogram, Reply::Estimate(Ok(estimate)));
        self.answer(Slot::Page, Reply::Page(Ok(page)))
    }

    /// The first job is there, and the bars are counted.
    fn counting(&mut self) -> &mut Self {
        let job = self.current().map(document).expect("a job");
        self.answer(Slot::Detail, Reply::Detail(Ok(Some(job))));
        assert!(matches!(self.request(Slot::Histogram), Some(Request::Histogram(_))));
        self
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask { id, slot, request } => {
                    self.asked.retain(|(_, s, _)| *s != slot);
                    self.asked.push((id, slot, request));
                }
                Effect::Cancel(slot) => self.asked.retain(|(_, s, _)| *s != slot),
                Effect::WakeAt(_) => {}
                other => self.other.push(other),
            }
        }
    }

    fn tell(&mut self, msg: Msg) {
        let effects = update(&mut self.model, msg, self.now);
        self.take(effects);
        self.model.overlay.drawn();
        self.model.drawn();
        if !self.stalled {
            self.model.shown_at(self.now);
        }
    }

    /// Presses keys such as `j j Enter` or `Ctrl-d`.
    fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split(' ').filter(|k| !k.is_empty()) {
            self.press(key, KeyEventKind::Press);
        }
        self
    }

    fn press(&mut self, key: &str, kind: KeyEventKind) {
        let (modifiers, name) = match key.strip_prefix("Ctrl-") {
            Some(rest) => (KeyModifiers::CONTROL, rest),
            None => (KeyModifiers::NONE, key),
        };
        let code = match name {
            "Enter" => KeyCode::Enter,
            "Esc" => KeyCode::Esc,
            "Tab" => KeyCode::Tab,
            "Space" => KeyCode::Char(' '),
            "Backspace" => KeyCode::Backspace,
            one => KeyCode::Char(one.chars().next().expect("a key")),
        };
        self.tell(Msg::Key(KeyEvent { kind, ..KeyEvent::new(code, modifiers) }));
    }

    /// Types text, a key a character.
    fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.tell(Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
        }
        self
    }

    /// A digit that nothing follows.
    fn digit(&mut self, digit: &str) -> &mut Self {
        self.keys(digit).wait(Duration::from_millis(300))
    }

    fn wait(&mut self, span: Duration) -> &mut Self {
        self.now = self.now.after(span);
        self.tell(Msg::Tick);
        self
    }

    fn request(&self, slot: Slot) -> Option<&Request> {
        self.asked.iter().find(|(_, s, _)| *s == slot).map(|(_, _, r)| r)
    }

    /// Answers what a slot waits for.
    fn answer(&mut self, slot: Slot, reply: Reply) -> &mut Self {
        let at = self.asked.iter().position(|(_, s, _)| *s == slot).unwrap_or_else(|| panic!("{slot:?} asks nothing"));
        let (id, slot, _) = self.asked.remove(at);
        self.tell(Msg::Reply { id, slot, reply });
        self
    }

    fn current(&self) -> Option<&str> {
        self.model.list.current().map(|e| e.row.id.as_str())
    }

    /// Answers a request for a plan with one of `count` jobs.
    fn plan(&mut self, count: u64, confirm: Confirm) -> &mut Self {
        let action = match self.request(Slot::Act) {
            Some(Request::Plan { action, .. }) => *action,
            other => panic!("no plan was asked for: {other:?}"),
        };
        self.answer(Slot::Act, Reply::Planned(Box::new(Ok(plan(action, count, confirm)))))
    }

    fn executes(&self) -> bool {
        matches!(self.request(Slot::Act), Some(Request::Execute(_)))
    }
}

fn choice(name: &str) -> StoreChoice {
    StoreChoice { name: name.into(), title: name.into() }
}

fn opened() -> Opened {
    let ready = Availability::Ready { notes: Vec::new() };
    let info = StoreInfo {
        adapter: "events".into(),
        title: "events".into(),
        server: "SQLite".into(),
        database: "shop".into(),
        user: String::new(),
        newest_by: None,
        destination: None,
        notation: Arc::default(),
        read_only: None,
        replica: false,
        warnings: Vec::new(),
        capabilities: Capabilities {
            facets: vec![Facet::Error, Facet::Class],
            sorts: vec![SortKey::Time, SortKey::Attempts],
            actions: Action::ALL.iter().map(|a| (*a, ready.clone())).collect(),
            defers: true,
            evidence: Evidence::Transaction,
            ..Capabilities::default()
        },
    };
    Opened { info, production: false, name: "events".into() }
}

fn entry(n: usize) -> Entry {
    let row = JobRow {
        at: Some(Timestamp(1_000_000 - n as i64)),
        native_state: "FAILED".into(),
        error_class: Some("Net::ReadTimeout".into()),
        ..JobRow::bare(format!("job-{n}"))
    };
    let id = row.id.clone();
    Entry { row, position: Position { key: Some(n.to_string()), id }, lineage: None, arguments: None, compared: None }
}

fn page(rows: std::ops::Range<usize>, next: Option<Cursor>) -> Page {
    Page { entries: rows.map(entry).collect(), next, scanned: None }
}

fn plan(action: Action, count: u64, confirm: Confirm) -> Plan {
    Plan {
        run: RunId("r-1".into()),
        action,
        filter: None,
        count,
        breakdown: CohortBreakdown::default(),
        sample: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        creates: None,
        outlook: Vec::new(),
        options: Default::default(),
        confirm,
    }
}

fn run(id: &str) -> Run {
    let intent = RunIntent {
        action: Action::Replay,
        source: "shop".into(),
        store: opened().store(),
        filter: String::new(),
        resolved: String::new(),
        reason: None,
        operator: Operator::default(),
        options: Default::default(),
        database: None,
        destination: None,
        frozen_at: Timestamp(0),
    };
    let tally = RunTally { planned: 2, done: 2, ..RunTally::default() };
    Run {
        id: RunId(id.into()),
        place: LedgerLocation::default(),
        intent,
        state: RunState::Finished,
        started_at: None,
        ended_at: None,
        tally,
        outcomes: None,
        rollout: None,
    }
}

fn document(id: &str) -> Arc<JobDocument> {
    with_arguments(id, None)
}

/// The same with arguments.
fn with_arguments(id: &str, arguments: Option<&str>) -> Arc<JobDocument> {
    let row = JobRow { id: JobId::new(id), ..entry(0).row };
    let detail = JobDetail {
        row,
        arguments: arguments.map(Untrusted::from),
        message: None,
        undecodable: false,
        backtrace: None,
        metadata: Vec::new(),
        decoded_from: Vec::new(),
        lineage: None,
    };
    Arc::new(JobDocument::build(detail, Vec::new(), &Notation::default(), &Redactor::default()))
}

/// A poll that found these cells.
fn changes(cells: Vec<Cell>) -> Changes {
    let server_time = Timestamp(2_000_000);
    Changes {
        uncounted: false,
        unsettled: false,
        token: Token::new(()),
        changed: true,
        from_bucket: 0,
        cells,
        server_time,
        cost: Duration::ZERO,
        needs_reopen: false,
    }
}

/// A complete count.
fn counted(bars: &[(&str, u64)]) -> HistogramStep {
    let bar = |(value, n): &(&str, u64)| Bar::new(Some((*value).into()), Count::exact(*n));
    let histogram = Histogram {
        facet: Facet::Error,
        bars: bars.iter().map(bar).collect(),
        total: Count::exact(bars.iter().map(|(_, n)| n).sum()),
        as_of: Timestamp(0),
        progress: None,
    };
    HistogramStep::of(histogram)
}

const LONG_ENOUGH: Duration = Duration::from_secs(1);

#[test]
fn a_single_layout_is_opened_and_several_are_a_choice() {
    let mut one = Console::connecting();
    one.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    assert!(matches!(one.request(Slot::Open), Some(Request::Open(name)) if name == "events"));

    let mut two = Console::connecting();
    two.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events"), choice("jobs")])));
    assert!(matches!(two.model.overlay, Overlay::Picker(_)));
    two.keys("j Enter");
    assert!(matches!(two.request(Slot::Open), Some(Request::Open(name)) if name == "jobs"));
}

#[test]
fn a_reload_never_moves_the_cursor_to_another_job() {
    let mut console = Console::with_jobs(30);
    console.keys("j j j");
    assert_eq!(console.current(), Some("job-3"));
    console.keys("r");
    let mut entries: Vec<Entry> = (100..105).map(entry).collect();
    entries.extend((0..30).map(entry));
    console.answer(Slot::Page, Reply::Page(Ok(Page { entries, next: None, scanned: None })));
    assert_eq!(console.current(), Some("job-3"));
}

#[test]
fn when_the_job_under_the_cursor_is_gone_its_neighbour_takes_the_place() {
    let mut console = Console::with_jobs(10);
    console.keys("j j r");
    let entries: Vec<Entry> = (0..10).filter(|n| *n != 2).map(entry).collect();
    console.answer(Slot::Page, Reply::Page(Ok(Page { entries, next: None, scanned: None })));
    assert_eq!(console.current(), Some("job-3"));
}

#[test]
fn an_answer_to_a_superseded_question_is_dropped() {
    let mut console = Console::with_jobs(5);
    console.keys("r");
    let (old, ..) = *console.asked.iter().find(|(_, s, _)| *s == Slot::Page).expect("a page");
    console.keys("r");
    console.tell(Msg::Reply { id: old, slot: Slot::Page, reply: Reply::Page(Ok(page(50..60, None))) });
    assert_eq!(console.current(), Some("job-0"));
}

#[test]
fn paging_down_asks_for_what_follows_the_last_row_and_never_loses_the_place() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    let after = |n: usize| Some(Cursor::After(entry(n).position));
    console.answer(Slot::Page, Reply::Page(Ok(page(0..200, after(199)))));
    for from in (200..6_000).step_by(200) {
        for _ in 0..40 {
            console.keys("Ctrl-d");
        }
        let Some(Request::Page { query, .. }) = console.request(Slot::Page) else { panic!("asks for no more") };
        assert_eq!(query.cursor, after(from - 1).expect("a cursor"));
        console.answer(Slot::Page, Reply::Page(Ok(page(from..from + 200, after(from + 199)))));
    }
    assert!(console.model.list.entries().len() <= 2_500, "far rows are let go");
    assert!(!console.model.list.knows_start(), "and can be read again");
    console.keys("g");
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { query: q, .. }) if q.cursor == Cursor::Start));
}

#[test]
fn new_jobs_are_counted_and_not_put_under_the_cursor() {
    let mut console = Console::with_jobs(10);
    console.model.list.freshness.arrived = 37;
    console.keys("j g");
    assert!(matches!(console.request(Slot::Page), Some(Request::Page { query: q, .. }) if q.cursor == Cursor::Start));
}

#[test]
fn rows_that_vanished_stay_where_they_were_and_say_so() {
    let mut console = Console::with_jobs(3);
    let asked: Vec<JobId> = (0..3).map(|n| entry(n).row.id).collect();
    console.model.list.freshen(&asked, &[entry(0), entry(2)]);
    assert_eq!(console.model.list.freshness.stale.get(&asked[1]), Some(&Stale::Gone));
    assert_eq!(console.model.list.entries().len(), 3);
}

#[test]
fn one_job_is_acted_on_where_nothing_is_marked_and_the_marks_where_something_is() {
    let mut console = Console::with_jobs(5);
    console.keys("j R");
    let Some(Request::Plan { scope: ActionScope::Jobs(ids), .. }) = console.request(Slot::Act) else { panic!() };
    assert_eq!(ids, &[JobId::new("job-1")]);

    let mut console = Console::with_jobs(5);
    console.keys("Space Space j R");
    let Some(Request::Plan { scope: ActionScope::Jobs(ids), .. }) = console.request(Slot::Act) else { panic!() };
    assert_eq!(ids, &[JobId::new("job-0"), JobId::new("job-1")]);
}

#[test]
fn all_that_the_filter_selects_is_acted_on_only_when_it_was_marked_as_such() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("error:Net::*").keys("Enter");
    console.answer(Slot::Page, Reply::Page(Ok(page(0..5, None))));
    console.keys("A R");
    let Some(Request::Plan { scope: ActionScope::Filter(filter), .. }) = console.request(Slot::Act) else { panic!() };
    assert_eq!(filter.to_string(), "error:Net::*");
}

#[test]
fn a_range_marks_everything_between_its_ends() {
    let mut console = Console::with_jobs(9);
    console.keys("j v j j v");
    let SelectionMarks::Some(ids) = &console.model.list.marks else { panic!("nothing is marked") };
    assert_eq!(ids.len(), 3);
    assert!(ids.contains(&JobId::new("job-3")));
}

#[test]
fn enter_alone_never_confirms_and_y_does() {
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(2, Confirm::Yes).wait(LONG_ENOUGH).keys("Enter Enter");
    assert!(!console.executes());
    console.keys("y");
    assert!(console.executes());
}

#[test]
fn keys_typed_ahead_of_a_dialog_do_not_confirm_it() {
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(2, Confirm::Yes).keys("y y y");
    assert!(!console.executes());
    for _ in 0..9 {
        console.wait(Duration::from_millis(100));
        console.press("y", KeyEventKind::Repeat);
    }
    assert!(!console.executes(), "a held key is no answer");
}

#[test]
fn a_dialog_that_is_not_on_the_screen_is_not_confirmed() {
    for (confirm, answer) in [(Confirm::Yes, "y"), (Confirm::TypeCount, "2 Enter")] {
        let mut console = Console::with_jobs(5);
        console.stalled = true;
        console.keys("R").plan(2, confirm).wait(LONG_ENOUGH).keys(answer);
        assert!(!console.executes(), "the terminal has not taken it");
        console.stalled = false;
        console.wait(Duration::from_millis(1)).keys(answer);
        assert!(!console.executes(), "it came this moment");
        console.tell(Msg::Resize { width: 20, height: 5 });
        console.wait(LONG_ENOUGH).keys(answer);
        assert!(!console.executes(), "the screen is too small for it");
        console.tell(Msg::Resize { width: 80, height: 24 });
        console.wait(LONG_ENOUGH).keys(answer);
        assert!(console.executes());
    }
}

#[test]
fn a_paste_confirms_nothing() {
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(2, Confirm::Yes).wait(LONG_ENOUGH);
    console.tell(Msg::Paste("y\n".into()));
    assert!(!console.executes());
}

#[test]
fn a_large_cohort_takes_its_number_and_nothing_else() {
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(1_204, Confirm::TypeCount).wait(LONG_ENOUGH).keys("y Enter 1 2 0 Enter");
    assert!(!console.executes());
    console.keys("4 Enter");
    assert!(console.executes());
}

#[test]
fn dismissing_a_plan_touches_nothing_and_is_recorded() {
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(2, Confirm::Yes).wait(LONG_ENOUGH).keys("Esc");
    assert!(matches!(console.request(Slot::Act), Some(Request::Dismiss(_))));
    assert!(matches!(console.model.overlay, Overlay::None));
}

#[test]
fn a_plan_that_comes_after_the_freeze_was_cancelled_is_dismissed_unseen() {
    let mut console = Console::with_jobs(5);
    console.keys("R");
    let (id, ..) = *console.asked.iter().find(|(_, s, _)| *s == Slot::Act).expect("a plan");
    console.keys("Ctrl-c");
    console.tell(Msg::Reply {
        id,
        slot: Slot::Act,
        reply: Reply::Planned(Box::new(Ok(plan(Action::Replay, 2, Confirm::Yes)))),
    });
    assert!(matches!(console.model.overlay, Overlay::None));
}

#[test]
fn a_disabled_action_says_why_and_asks_for_nothing() {
    let mut console = Console::with_jobs(5);
    let opened = console.model.source.opened.as_mut().expect("open");
    opened.info.read_only = Some("the database role may only read".into());
    console.keys("R");
    assert!(console.request(Slot::Act).is_none());
    let notice = console.model.screen.notice.as_ref().expect("a sentence");
    assert_eq!(notice.sentence, "the database role may only read");
}

#[test]
fn rows_that_the_database_does_not_show_are_told_of_when_a_store_opens() {
    let mut console = Console::connecting();
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    let mut opened = opened();
    opened.info.warnings = vec!["the role reader is not shown every row".into()];
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened))));
    let notice = console.model.screen.notice.as_ref().expect("a sentence");
    assert_eq!((notice.sentence.as_str(), notice.is_fault), ("the role reader is not shown every row", true));
}

#[test]
fn a_lost_link_keeps_the_data_and_is_tried_again_at_a_growing_distance() {
    let mut console = Console::with_jobs(5);
    console.keys("r");
    console.answer(Slot::Page, Reply::Page(Err(SourceError::Unreachable("connection refused".into()))));
    assert!(matches!(console.model.live.link, ConnectionState::Down { attempts: 1, .. }));
    assert_eq!(console.model.list.entries().len(), 5);
    console.wait(Duration::from_millis(400));
    assert!(console.request(Slot::Open).is_none(), "not before it is due");
    console.wait(Duration::from_millis(600));
    console.answer(Slot::Open, Reply::Opened(Box::new(Err(SourceError::Unreachable("still".into())))));
    let ConnectionState::Down { retry_at, attempts: 2, .. } = console.model.live.link else { panic!("not lost") };
    assert!(retry_at >= console.now.after(Duration::from_secs(1)), "twice as long as before");
    console.wait(Duration::from_secs(3));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    assert_eq!(console.model.live.link, ConnectionState::Up);
    assert!(console.request(Slot::Page).is_some(), "everything is read anew");
}

#[test]
fn a_store_that_cannot_be_opened_is_not_called_connected_again() {
    let mut console = Console::connecting();
    for _ in 0..3 {
        console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
        assert!(console.model.screen.notice.is_none(), "{:?}", console.model.screen.notice);
        let denied = SourceError::Denied("the role reader may not use the schema".into());
        console.answer(Slot::Open, Reply::Opened(Box::new(Err(denied))));
        assert!(matches!(console.model.live.link, ConnectionState::Down { .. }));
        console.wait(Duration::from_secs(40));
    }
}

#[test]
fn a_list_that_cannot_be_read_is_not_asked_for_again_and_again() {
    let mut console = Console::with_jobs(5);
    console.keys("r");
    console.answer(Slot::Page, Reply::Page(Err(SourceError::Timeout(Duration::from_secs(5)))));
    console.keys("j k");
    assert!(console.request(Slot::Page).is_none());
    console.keys("r");
    assert!(console.request(Slot::Page).is_some());
}

#[test]
fn a_scan_goes_on_by_itself_until_the_screen_is_full_and_stops_at_ctrl_c() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("msg:needle").keys("Enter");
    let scanned = crate::store::Scanned { rows: 10_000, share: 0.1 };
    let next = Some(Cursor::After(entry(9).position));
    let step = Page { entries: Vec::new(), next, scanned: Some(scanned) };
    console.answer(Slot::Page, Reply::Page(Ok(step.clone())));
    console.answer(Slot::Page, Reply::Page(Ok(step)));
    assert_eq!(console.model.list.scan.map(|s| s.rows), Some(20_000));
    console.keys("Ctrl-c");
    assert!(console.request(Slot::Page).is_none());
    assert!(console.other.is_empty(), "Ctrl-C cancelled the scan and did not quit");
}

#[test]
fn narrowing_by_a_bar_can_be_undone_with_esc() {
    let mut console = Console::with_jobs(5);
    let wide = Filter::all();
    let narrow = Filter::parse("error:A").expect("a filter");
    console.model.filter.narrow(narrow, console.now);
    console.keys("Esc");
    assert_eq!(console.model.filter.written, wide);
}

#[test]
fn quitting_asks_while_a_run_is_going_and_stops_it_first() {
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(2, Confirm::Yes).wait(LONG_ENOUGH).keys("y Esc q");
    assert!(matches!(console.model.overlay, Overlay::Leave));
    assert!(console.other.is_empty());
    console.keys("y");
    assert!(matches!(console.other.as_slice(), [Effect::StopRun]));
    console.answer(Slot::Act, Reply::Executed(Box::new(Err("stopped".into()))));
    assert!(matches!(console.other.last(), Some(Effect::Quit)));
}

#[test]
fn a_run_is_paused_and_let_go_on_from_outside_too() {
    let mut console = Console::with_jobs(5);
    console.tell(Msg::PauseRun(true));
    assert!(console.other.is_empty(), "there is no run");
    console.keys("R").plan(2, Confirm::Yes).wait(LONG_ENOUGH).keys("y");
    console.tell(Msg::PauseRun(true));
    console.tell(Msg::PauseRun(true));
    assert!(matches!(console.other.as_slice(), [Effect::PauseRun(true)]) && console.model.runner.paused);
    console.tell(Msg::PauseRun(false));
    assert!(matches!(console.other.last(), Some(Effect::PauseRun(false))));
}

#[test]
fn esc_never_quits() {
    let mut console = Console::with_jobs(5);
    for _ in 0..10 {
        console.keys("Esc");
    }
    assert!(console.other.is_empty());
    assert_eq!(console.model.screen.focus, Focus::List);
}

#[test]
fn a_word_that_takes_nothing_is_not_obeyed_with_something_behind_it() {
    let mut console = Console::with_jobs(5);
    console.keys(":").text("quit 10").keys("Enter");
    assert!(console.other.is_empty(), "it left");
    console.keys(":").text("quit ").keys("Enter");
    assert!(matches!(console.other.as_slice(), [Effect::Quit]));
}

#[test]
fn a_faulty_filter_is_not_put_in_force_and_points_at_its_column() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("attempts:many").keys("Enter");
    let Overlay::Line(line) = &console.model.overlay else { panic!("the line was closed") };
    assert_eq!(line.fault.as_ref().map(|f| f.column), Some(9));
    assert!(console.model.filter.written.is_all());
}

#[test]
fn a_count_that_stood_before_a_lock_is_soon_tried_again_and_another_later() {
    for (error, tried) in [(SourceError::Locked("x".into()), true), (SourceError::Layout("x".into()), false)] {
        let mut console = Console::with_jobs(5);
        console.counting();
        console.answer(Slot::Histogram, Reply::Histogram(Box::new(Err(error))));
        console.wait(Duration::from_secs(3));
        assert_eq!(console.request(Slot::Histogram).is_some(), tried);
        console.wait(Duration::from_secs(60));
        assert!(console.request(Slot::Histogram).is_some());
    }
}

#[test]
fn nothing_is_looked_at_while_the_watch_is_paused() {
    let mut console = Console::with_jobs(5);
    console.keys("p").wait(Duration::from_secs(60));
    assert!(console.request(Slot::Poll).is_none());
}

fn shell_line(console: &mut Console) -> String {
    console.keys("c");
    let Overlay::Text { lines, .. } = &console.model.overlay else { panic!("no command line is shown") };
    lines.join(" ")
}

#[test]
fn the_command_line_reaches_the_source_as_the_console_did_and_can_be_copied() {
    let mut console = Console::with_jobs(5);
    console.model.source.reach = vec!["--url".into(), "postgres://ops@db/shop?sslmode=require".into()];
    console.model.filter.set(Filter::parse("msg:\"card declined\"").expect("a filter"), console.now);
    let line = shell_line(&mut console);
    let words = shell_words::split(&line).expect("a line that a shell can read");
    assert_eq!(words[..6], ["dlq-tui", "list", "-f", "msg:\"card declined\"", "--store", "events"]);
    assert_eq!(words[6..], ["--url", "postgres://ops@db/shop?sslmode=require"]);
    console.keys("y");
    assert!(matches!(console.other.as_slice(), [Effect::Copy(copied)] if *copied == line));
}

#[test]
fn a_sentence_that_was_read_gives_way_at_the_next_key_and_a_fault_does_not() {
    let mut console = Console::with_jobs(2);
    console.keys("p");
    let says = |console: &Console| console.model.screen.notice.as_ref().map(|notice| notice.sentence.clone());
    assert!(says(&console).is_some_and(|sentence| sentence.contains("paused")));
    console.keys("j");
    assert!(says(&console).is_some(), "a key that was on its way already");
    console.wait(LONG_ENOUGH).keys("p");
    assert_eq!(says(&console), None, "it is live again");
    console.model.complain("out of order", console.now);
    console.wait(LONG_ENOUGH).keys("j");
    assert_eq!(says(&console).as_deref(), Some("out of order"));
}

#[test]
fn a_fault_of_the_link_goes_with_the_link() {
    let mut console = Console::with_jobs(2);
    console.model.live.link = ConnectionState::Down {
        loss: crate::tui::app::model::Loss::Connection,
        reason: "gone".into(),
        retry_at: console.now,
        attempts: 1,
    };
    console.keys("R");
    assert!(console.model.screen.notice.as_ref().is_some_and(|notice| notice.is_fault));
    console.wait(Duration::from_millis(1));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    let left = console.model.screen.notice.as_ref().map(|notice| notice.sentence.as_str());
    assert!(left.is_none_or(|sentence| !sentence.contains("not connected")), "{left:?}");
}

#[test]
fn the_help_begins_with_the_pane_and_is_searched() {
    let mut console = Console::with_jobs(1);
    console.keys("? /").text("undo");
    let Overlay::Help(page) = &console.model.overlay else { panic!("no help") };
    assert!(page.typing && page.place == crate::tui::keys::KeyContext::List);
    assert!(page.has("U Undo the run") && !page.has("R replay"));
    console.keys("Enter q");
    assert!(matches!(console.model.overlay, Overlay::None), "q closes once the words are typed");
}

#[test]
fn a_page_that_was_scrolled_beyond_its_end_goes_back_at_the_first_key() {
    let mut console = Console::with_jobs(1);
    console.keys("? G");
    console.model.overlay.clamp_scroll(40);
    console.keys("k");
    assert!(matches!(console.model.overlay, Overlay::Help(page) if page.reading.top == 39));
}

#[test]
fn an_open_page_of_runs_follows_what_other_operators_do() {
    let mut console = Console::with_jobs(1);
    console.keys("L");
    console.answer(Slot::Runs, Reply::Runs(Ok(vec![run("r-2"), run("r-1")])));
    console.keys("j");
    console.wait(Duration::from_secs(10));
    assert!(matches!(console.request(Slot::Runs), Some(Request::RunsAgain { .. })));
    console.answer(Slot::Runs, Reply::RunsAgain(Ok(vec![run("r-3"), run("r-2"), run("r-1")])));
    let Overlay::Runs(page) = &console.model.overlay else { panic!("no runs") };
    assert_eq!((page.shown().len(), page.current().map(|run| run.id.0.as_str())), (3, Some("r-1")));
    console.wait(Duration::from_secs(10));
    console.keys("Esc");
    console.answer(Slot::Runs, Reply::RunsAgain(Ok(vec![run("r-3")])));
    assert!(matches!(console.model.overlay, Overlay::None), "a late answer opens no page");
}

#[test]
fn enter_on_a_run_lists_its_jobs_and_its_receipt_lies_over_the_runs() {
    let mut console = Console::with_jobs(1);
    console.keys("L");
    console.answer(Slot::Runs, Reply::Runs(Ok(vec![run("r-2"), run("r-1")])));
    console.keys("j j i");
    let Overlay::Runs(page) = &console.model.overlay else { panic!("no runs") };
    assert_eq!(page.current().map(|run| run.id.0.as_str()), Some("r-1"));
    assert!(page.receipt.is_some());
    console.keys("Esc");
    assert!(matches!(&console.model.overlay, Overlay::Runs(page) if page.receipt.is_none()));
    console.keys("Enter");
    assert!(matches!(console.model.overlay, Overlay::None));
    assert_eq!((console.model.screen.focus, console.model.filter.written.to_string()), (Focus::List, "run:r-1".into()));
}

#[test]
fn u_undoes_the_last_run_or_the_run_at_the_cursor() {
    let mut console = Console::with_jobs(5);
    console.keys("U");
    assert!(console.request(Slot::Act).is_none(), "nothing was done yet");
    console.keys("R").plan(1, Confirm::Yes).wait(LONG_ENOUGH).keys("y");
    console.answer(Slot::Act, Reply::Executed(Box::new(Ok(run("r-7")))));
    console.keys("Esc U");
    let asked = |console: &Console| match console.request(Slot::Act) {
        Some(Request::Plan { action, scope, .. }) => (*action, scope.clone()),
        other => panic!("no plan was asked for: {other:?}"),
    };
    assert_eq!(asked(&console), (Action::Recall, ActionScope::Undo(RunId("r-7".into()), Vec::new())));
    console.keys("Esc L");
    console.answer(Slot::Runs, Reply::Runs(Ok(vec![run("r-7"), run("r-3")])));
    console.keys("j U");
    assert_eq!(asked(&console), (Action::Recall, ActionScope::Undo(RunId("r-3".into()), Vec::new())));
}

#[test]
fn hiding_a_freeze_cancels_it_and_says_so() {
    let mut console = Console::with_jobs(5);
    console.keys("R Esc");
    assert!(console.request(Slot::Act).is_none());
    assert_eq!(
        console.model.screen.notice.as_ref().map(|n| n.sentence.as_str()),
        Some("cancelled: nothing was touched")
    );
}

#[test]
fn what_is_marked_while_a_run_goes_on_stays_marked_for_the_next() {
    let mut console = Console::with_jobs(5);
    console.keys("Space Space R").plan(2, Confirm::Yes).wait(LONG_ENOUGH).keys("y");
    assert_eq!(console.model.list.marks, SelectionMarks::None, "those are frozen");
    console.keys("Esc j Space");
    console.answer(Slot::Act, Reply::Executed(Box::new(Ok(run("r-1")))));
    assert!(matches!(&console.model.list.marks, SelectionMarks::Some(ids) if ids.len() == 1));
}

#[test]
fn the_line_that_was_being_typed_comes_back_after_the_history() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("error:A").keys("Enter");
    console.keys("Esc / Ctrl-u").text("queue:lo");
    console.tell(Msg::Key(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE)));
    let typed = |console: &Console| match &console.model.overlay {
        Overlay::Line(line) => line.input.value().to_owned(),
        _ => panic!("no line"),
    };
    assert_eq!(typed(&console), "error:A");
    console.tell(Msg::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE)));
    assert_eq!(typed(&console), "queue:lo");
}

#[test]
fn the_caret_stays_where_it_was_when_a_faulty_line_is_entered() {
    let mut console = Console::with_jobs(5);
    console.keys("/").text("attempts:many error:A");
    for _ in 0..8 {
        console.tell(Msg::Key(KeyEvent::new(KeyCode::Left, KeyModifiers::NONE)));
    }
    console.keys("Enter");
    let Overlay::Line(line) = &console.model.overlay else { panic!("the line was closed") };
    assert_eq!(line.input.cursor(), 13);
}

#[test]
fn an_open_job_that_is_gone_stays_readable_and_is_known_to_be_gone() {
    let mut console = Console::with_jobs(2);
    console.answer(Slot::Detail, Reply::Detail(Ok(Some(document("job-0")))));
    console.keys("r");
    console.answer(Slot::Detail, Reply::Detail(Ok(None)));
    assert!(console.model.detail.document.is_some());
    assert!(console.model.detail.absent.is_some());
}

#[test]
fn the_job_before_stays_in_the_pane_for_a_moment_and_never_for_longer() {
    let mut console = Console::with_jobs(3);
    console.answer(Slot::Detail, Reply::Detail(Ok(Some(document("job-0")))));
    console.keys("j");
    assert_eq!(console.model.detail.drawn().job, Some(JobId::new("job-0")));
    console.wait(Duration::from_millis(100)).keys("j").wait(Duration::from_millis(60));
    assert_eq!(console.model.detail.drawn().job, Some(JobId::new("job-2")), "however often the cursor moves on");
    console.answer(Slot::Detail, Reply::Detail(Ok(Some(document("job-2")))));
    console.keys("k");
    console.answer(Slot::Detail, Reply::Detail(Ok(None)));
    assert_eq!(console.model.detail.drawn().job, Some(JobId::new("job-1")));
}

#[test]
fn what_is_copied_or_edited_is_never_the_job_before() {
    let mut console = Console::with_jobs(3);
    console.answer(Slot::Detail, Reply::Detail(Ok(Some(document("job-0")))));
    console.keys("j e");
    assert!(console.other.is_empty());
}

#[test]
fn a_poll_that_does_not_come_back_is_drawn_as_late_without_any_key() {
    let mut console = Console::with_jobs(3);
    console.counting();
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3)])))));
    console.model.live.next_poll = Some(console.now);
    let effects = update(&mut console.model, Msg::Tick, console.now);
    let woken = effects.iter().find_map(|e| if let Effect::WakeAt(at) = e { Some(*at) } else { None });
    assert!(console.model.requests.is_open(Slot::Poll));
    assert!(woken.is_some_and(|at| Some(at) <= console.model.live.late_at()), "{woken:?}");
}

#[test]
fn the_number_of_dead_jobs_is_that_of_the_bars_where_no_filter_narrows_them() {
    let mut console = Console::with_jobs(3);
    let totals = |dead| Reply::Totals(Ok(vec![(State::Dead, dead), (State::Resolved, Count::exact(1))]));
    let dead = |console: &Console| console.model.total(State::Dead);
    console.counting();
    let dear = |bars: &[(&str, u64)]| {
        Reply::Histogram(Box::new(Ok(HistogramStep { cost: Duration::from_secs(3), ..counted(bars) })))
    };
    console.answer(Slot::Histogram, dear(&[("A", 2)]));
    console.answer(Slot::Totals, totals(Count::exact(2)));
    console.keys("r");
    console.answer(Slot::Histogram, dear(&[("A", 3), ("B", 6)]));
    assert_eq!(dead(&console), Some(Count::exact(9)), "the count is later");
    let cell = |n| Cell { bucket: 7, value: Some("A".into()), n, first_seen: None, last_seen: None, example: None };
    console.wait(Duration::from_secs(2));
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(changes(vec![cell(2)])))));
    assert_eq!(dead(&console), Some(Count { n: 11, exactness: Exactness::Estimate }), "polls add to it");
    console.keys("/").text("error:A").keys("Enter");
    console.answer(Slot::Histogram, Reply::Estimate(Ok(None)));
    console.answer(Slot::Histogram, dear(&[("A", 3)]));
    console.answer(Slot::Totals, totals(Count::exact(12)));
    assert_eq!(dead(&console), Some(Count { n: 12, exactness: Exactness::Estimate }), "asked for before the poll");
    console.wait(Duration::from_secs(600)).answer(Slot::Totals, totals(Count::exact(12)));
    assert_eq!(dead(&console), Some(Count::exact(12)), "three of them match");
}

#[test]
fn once_the_keys_go_to_the_bars_no_count_moves_the_cursor_to_another() {
    let mut console = Console::with_jobs(3);
    console.counting();
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3), ("B", 2)])))));
    console.keys("Tab Tab");
    assert_eq!(console.model.screen.focus, Focus::Histogram);
    console.keys("r");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("B", 9), ("A", 3)])))));
    let here = console.model.histogram.current().and_then(|bar| bar.value.clone());
    assert_eq!(here, Some("A".into()));
}

#[test]
fn a_run_is_resumed_by_a_line_that_reaches_its_source() {
    let source = SourceState {
        label: "shop".into(),
        reach: vec!["--url".into(), "sqlite:a b".into()],
        ..SourceState::default()
    };
    assert_eq!(source.resume(&run("r-1")), "dlq-tui resume r-1 --url 'sqlite:a b'");
    let elsewhere = SourceState { label: "archive".into(), ..source };
    assert!(!elsewhere.resume(&run("r-1")).contains("--url"));
}

#[test]
fn a_verb_never_goes_to_a_bar_that_has_slipped_under_the_cursor() {
    let mut console = Console::with_jobs(5);
    console.counting();
    console.model.screen.focus = Focus::Histogram;
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3), ("B", 2)])))));
    console.keys("j r");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 3), ("C", 1)])))));
    console.keys("I");
    assert!(console.request(Slot::Act).is_none(), "B was chosen, and is gone");
    console.keys("j k I");
    let Some(Request::Plan { scope: ActionScope::Filter(filter), .. }) = console.request(Slot::Act) else {
        panic!("no plan")
    };
    assert_eq!(filter.to_string(), "error:A");
}

#[test]
fn keys_of_the_config_hold_and_sentences_name_them() {
    let mut console = Console::with_jobs(5);
    let keys = ["o".to_owned()];
    let wishes = [("pause", keys.as_slice()), ("mouse", &[])];
    console.model.settings.keys = crate::tui::keys::Keymap::configured(wishes).expect("keys");
    console.keys("p");
    assert!(!console.model.live.paused);
    console.keys("o");
    assert!(console.model.live.paused);
    let notice = console.model.screen.notice.as_ref().expect("a notice");
    assert_eq!(notice.sentence, "live watch paused: o continues");
}

#[test]
fn sentences_that_name_a_key_name_the_one_that_the_config_gives() {
    let (runs, undo, help) = (["O".to_owned()], ["Z".to_owned()], ["H".to_owned()]);
    let wishes = [("runs", runs.as_slice()), ("undo", undo.as_slice()), ("help", help.as_slice())];
    let mut console = Console::with_jobs(5);
    console.model.settings.keys = crate::tui::keys::Keymap::configured(wishes).expect("keys");
    let said = |console: &Console| console.model.screen.notice.as_ref().map(|n| n.sentence.clone()).unwrap_or_default();
    console.keys("Z");
    assert!(said(&console).ends_with("on the page of runs (O), Z undoes an earlier run"), "{}", said(&console));
    console.keys(":").text("xyz").keys("Enter");
    assert!(said(&console).ends_with("H shows the keys"), "{}", said(&console));
}

#[test]
fn a_plan_a_run_and_the_record_tell_the_command_line_that_does_the_same() {
    let said = |console: &Console| console.model.screen.notice.as_ref().map(|n| n.sentence.clone()).unwrap_or_default();
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(2, Confirm::Yes).wait(LONG_ENOUGH).keys("c");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("the question stands") };
    assert!(dialog.shell.as_ref().is_some_and(|line| line.starts_with("dlq-tui replay ")), "{:?}", dialog.shell);
    console.keys("y");
    assert!(matches!(console.model.overlay, Overlay::Run));
    console.keys("c");
    assert!(said(&console).starts_with("the same: dlq-tui runs "), "{}", said(&console));
}
