//! What commands do, and why some cannot be used at the moment.

use super::colon_commands::plan_form;
use super::runs::edit_arguments;
use super::{contrast, filter, input_line, navigation, preview, resume, runs, shell_command};
use crate::domain::action::Action;
use crate::domain::time::Timestamp;
use crate::store::{Availability, Sort};
use crate::tui::app::document::Direction;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::{CountedFor, Focus, HeldKey, HelpPage, Model, Overlay, Purpose, RunsPage, SelectionMarks};
use crate::tui::keys::{KeyCommand, KeyContext};

/// Why an action cannot be begun now, whichever key or word asks for it.
pub fn refusal_of(model: &Model, action: Action) -> Option<String> {
    let Some(opened) = &model.source.opened else { return Some("not connected yet".into()) };
    if let Availability::Disabled(reason) = opened.info.availability(action) {
        return Some(reason);
    }
    refusal_to_write(model)
}

/// Why nothing can be begun now, whatever it is.
pub fn refusal_to_write(model: &Model) -> Option<String> {
    if model.source.opened.is_none() {
        return Some("not connected yet".into());
    }
    if model.runner.going.is_some() {
        return Some(format!("a run is going: {} shows it", model.key(KeyCommand::Runs)));
    }
    if model.live.is_stale() {
        return Some("not connected: nothing can be written".into());
    }
    None
}

/// Why a command cannot be used here and now.
pub fn refusal(model: &Model, place: KeyContext, command: KeyCommand) -> Option<String> {
    match command {
        KeyCommand::Act(action) => refusal_of(model, action),
        KeyCommand::EditArguments => edit_arguments::refusal(model),
        KeyCommand::WriteEdited(action) => edit_arguments::refusal_to_write(model, action),
        KeyCommand::Undo => refusal_to_write(model),
        KeyCommand::Resume => resume::refusal(model),
        KeyCommand::RunJobs => runs::jobs_filter(model).err(),
        KeyCommand::Open if place == KeyContext::Runs => runs::jobs_filter(model).err(),
        KeyCommand::Sort if place == KeyContext::List || place == KeyContext::Histogram => {
            let sorts = model.source.opened.as_ref().map_or(0, |o| o.info.capabilities.sorts.len());
            (sorts == 0).then(|| "this layout has no order to choose from".into())
        }
        KeyCommand::Wrap
        | KeyCommand::FoldAll
        | KeyCommand::Search
        | KeyCommand::NextMatch
        | KeyCommand::PreviousMatch
        | KeyCommand::Include
        | KeyCommand::Exclude
            if place == KeyContext::Detail && model.detail.document.is_none() =>
        {
            Some("no job is open".into())
        }
        KeyCommand::Search if place == KeyContext::Page && !matches!(model.overlay, Overlay::Help(_)) => {
            Some("there is nothing to search in here".into())
        }
        KeyCommand::Pause if !matches!(model.live.link, crate::tui::app::model::ConnectionState::Up) => {
            Some("not connected".into())
        }
        _ => None,
    }
}

/// Carries out a command, or says why not.
pub fn run(model: &mut Model, command: KeyCommand, now: Timestamp) -> Vec<Effect> {
    if let Some(sentence) = held(model, command, now) {
        model.complain(sentence, now);
        return Vec::new();
    }
    if let Some(reason) = refusal(model, model.place(), command) {
        model.complain(reason, now);
        return Vec::new();
    }
    if let Some(effects) = navigation::run(model, command, now) {
        return effects;
    }
    let place = model.place();
    match command {
        KeyCommand::Act(action) => runs::begin(model, action, now),
        KeyCommand::Undo => runs::undo(model, now),
        KeyCommand::Open => open(model, now),
        KeyCommand::Back => back(model, now),
        KeyCommand::Filter => input_line::open(model, Purpose::Filter),
        KeyCommand::Search => search(model),
        KeyCommand::CommandLine => input_line::open(model, Purpose::Command),
        KeyCommand::Help => show(model, Overlay::Help(HelpPage::new(place))),
        KeyCommand::NextMatch => find(model, Direction::Forward, now),
        KeyCommand::PreviousMatch => find(model, Direction::Backward, now),
        KeyCommand::Pause => pause(model, now),
        KeyCommand::Refresh => filter::refresh(model, now),
        KeyCommand::Sort => sort(model, now),
        KeyCommand::Wrap => wrap(model),
        KeyCommand::Copy => copy(model, now),
        KeyCommand::Edit => edit(model, now),
        KeyCommand::EditArguments | KeyCommand::EditAgain => edit_arguments::begin(model, now),
        KeyCommand::WriteEdited(action) => edit_arguments::write(model, action, now),
        KeyCommand::ShowCommand => shell_command::show(model, now),
        KeyCommand::Runs => runs(model),
        KeyCommand::RunJobs => runs::list_jobs(model, now),
        KeyCommand::AllRuns => runs::on_page(model, RunsPage::toggle_plans),
        KeyCommand::Receipt => runs::on_page(model, RunsPage::show_receipt),
        KeyCommand::Contrast => contrast::begin(model, now),
        KeyCommand::Include => filter::by_argument(model, false, now),
        KeyCommand::Exclude if place == KeyContext::Contrast => contrast::exclude(model, now),
        KeyCommand::Exclude if place == KeyContext::Detail => filter::by_argument(model, true, now),
        KeyCommand::Exclude => filter::exclude_bars(model, now),
        KeyCommand::CountAll => contrast::count_all(model, now),
        KeyCommand::Resume => resume::ask(model),
        KeyCommand::Mouse => take_mouse(model, now),
        KeyCommand::HideTour => hide_tour(model),
        KeyCommand::Yes => runs::confirm::yes(model, now),
        KeyCommand::SkipGate => resume::confirm(model, true, now),
        KeyCommand::Change(option) => plan_form::change(model, option, now),
        KeyCommand::No => runs::confirm::no(model, now),
        KeyCommand::StopRun => runs::stop(model, now),
        KeyCommand::PauseRun => runs::pause(model),
        KeyCommand::Interrupt => interrupt(model, now),
        KeyCommand::Suspend => vec![Effect::Suspend],
        KeyCommand::Repaint => vec![Effect::Repaint],
        KeyCommand::Quit => quit(model),
        _ => Vec::new(),
    }
}

fn hide_tour(model: &mut Model) -> Vec<Effect> {
    model.screen.tour = None;
    Vec::new()
}

/// Why a key that acts is not heeded: it may be held since the job before this one. Any other key says that it is not.
fn held(model: &mut Model, command: KeyCommand, now: Timestamp) -> Option<String> {
    if !command.writes() {
        model.runner.held = None;
        return None;
    }
    let here = model.list.current().map(|entry| &entry.row.id);
    match &mut model.runner.held {
        Some(held) if held.command == command && held.acted => {
            let is_held = held.is_held(here, now);
            held.at = now;
            is_held.then(|| format!("not done again: {} came before this job could be read", model.key(command)))
        }
        held => {
            *held = Some(HeldKey::new(command, now));
            None
        }
    }
}

pub fn show(model: &mut Model, overlay: Overlay) -> Vec<Effect> {
    model.overlay = overlay;
    Vec::new()
}

/// `/`: in the open job, or in the help.
fn search(model: &mut Model) -> Vec<Effect> {
    if let Overlay::Help(page) = &mut model.overlay {
        page.typing = true;
        return Vec::new();
    }
    input_line::open(model, Purpose::Search)
}

/// Enter: narrow, open, fold or choose.
fn open(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    match &mut model.overlay {
        Overlay::Picker(picker) => {
            let Some(choice) = picker.choices.get(picker.at).map(|c| c.name.clone()) else { return Vec::new() };
            model.overlay = Overlay::None;
            return vec![model.requests.ask(Slot::Open, Request::Open(choice))];
        }
        Overlay::Runs(_) => return runs::list_jobs(model, now),
        Overlay::Contrast(_) => return contrast::narrow(model, now),
        _ => {}
    }
    match model.screen.focus {
        Focus::Histogram => filter::narrow_to_bars(model, now),
        Focus::List => {
            if model.list.current().is_none() {
                return Vec::new();
            }
            model.screen.before = Focus::List;
            model.screen.focus = Focus::Detail;
            filter::open_current(model)
        }
        Focus::Detail => {
            let (width, height) = model.detail_size();
            model.detail.toggle_fold(width, height);
            Vec::new()
        }
    }
}

/// Esc: closes what is over the panes, then leaves the open job, then clears marks, then widens the filter.
fn back(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    if !matches!(model.overlay, Overlay::None) {
        return close(model, now);
    }
    if model.screen.focus == Focus::Detail {
        if model.detail.search.take().is_some() {
            return Vec::new();
        }
        model.screen.focus = model.screen.before;
        return Vec::new();
    }
    if model.list.range.take().is_some() {
        return Vec::new();
    }
    if model.list.marks != SelectionMarks::None || !model.histogram.marks.is_empty() {
        model.list.marks = SelectionMarks::None;
        model.histogram.marks.clear();
        return Vec::new();
    }
    if model.preview.shown.is_some() {
        return preview::end(model);
    }
    match model.filter.widen() {
        Some(wider) => filter::apply(model, wider, now),
        None => {
            model.say(format!("{} quits", model.key(KeyCommand::Quit)), now);
            Vec::new()
        }
    }
}

/// Closes what lies over the panes, one thing at a time.
fn close(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    match &mut model.overlay {
        // Hidden, its plan would come to nothing unseen.
        Overlay::Freezing(_) => return runs::stop(model, now),
        Overlay::Runs(page) if page.receipt.is_some() => page.receipt = None,
        // What became of its jobs was seen.
        Overlay::Receipt(run, _) => {
            model.runner.followed.take_if(|followed| followed.run == run.id && followed.is_final());
            model.overlay = Overlay::None;
        }
        Overlay::Contrast(_) => {
            model.overlay = Overlay::None;
            return vec![model.requests.cancel(Slot::Contrast)];
        }
        Overlay::Picker(_) => match &model.source.opened {
            Some(opened) => {
                model.source.wanted = Some(opened.name.clone());
                model.overlay = Overlay::None;
            }
            None => model.say(format!("{} quits", model.key(KeyCommand::Quit)), now),
        },
        _ => model.overlay = Overlay::None,
    }
    Vec::new()
}

fn find(model: &mut Model, direction: Direction, now: Timestamp) -> Vec<Effect> {
    let (width, height) = model.detail_size();
    match &model.detail.search {
        None => model.say("/ searches in the open job", now),
        Some((words, _)) => {
            let words = words.clone();
            if !model.detail.find(direction, false, width, height) {
                model.say(format!("`{words}` is not in this part"), now);
            }
        }
    }
    Vec::new()
}

fn pause(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    model.live.paused = !model.live.paused;
    if model.live.paused {
        model.say(format!("live watch paused: {} continues", model.key(KeyCommand::Pause)), now);
        return vec![model.requests.cancel(Slot::Poll)];
    }
    model.live.next_poll = Some(now);
    Vec::new()
}

/// The next of: each order of the layout, downwards first.
fn sort(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let Some(opened) = &model.source.opened else { return Vec::new() };
    let orders: Vec<Sort> = opened
        .info
        .capabilities
        .sorts
        .iter()
        .flat_map(|key| [true, false].map(|descending| Sort { key: *key, descending }))
        .collect();
    let at = orders.iter().position(|s| *s == model.list.sort).map_or(0, |i| (i + 1) % orders.len().max(1));
    if let Some(next) = orders.get(at) {
        model.list.sort = *next;
    }
    filter::reload_list(model, now)
}

fn wrap(model: &mut Model) -> Vec<Effect> {
    model.detail.wrap = !model.detail.wrap;
    model.detail.left = 0;
    let (width, height) = model.detail_size();
    let line = model.detail.view().line;
    model.detail.go(line, width, height);
    Vec::new()
}

fn copy(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let text = match &model.overlay {
        Overlay::Text { lines, .. } => Some(lines.join("\n")),
        Overlay::Receipt(run, _) => Some(run.id.0.clone()),
        Overlay::Runs(page) => page.current().map(|run| run.id.0.clone()),
        Overlay::Contrast(page) => page.current().map(|line| line.filter.clone().unwrap_or_else(|| line.words())),
        Overlay::None => under_cursor(model),
        _ => None,
    };
    match text {
        Some(text) if !text.is_empty() => vec![Effect::Copy(text)],
        _ => {
            model.say("there is nothing to copy here", now);
            Vec::new()
        }
    }
}

/// What `y` copies in the focused pane.
fn under_cursor(model: &Model) -> Option<String> {
    match (model.screen.focus, &model.detail.document) {
        (Focus::Detail, Some(document)) => Some(document.copy(model.detail.tab)),
        (Focus::Histogram, _) => {
            let value = model.histogram.current()?.value.as_ref()?;
            Some(model.masked(value.exact()).into_owned())
        }
        _ => model.list.current().map(|e| e.row.id.as_str().to_owned()),
    }
}

fn edit(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let current = model.list.current().map(|e| e.row.id.clone());
    match &model.detail.document {
        Some(document) if model.screen.focus == Focus::Detail || model.detail.job == current => {
            let (name, text) = document.exact(model.detail.tab);
            vec![Effect::Edit { name, text }]
        }
        _ => {
            model.say("open the job first: Enter", now);
            Vec::new()
        }
    }
}

fn runs(model: &mut Model) -> Vec<Effect> {
    if model.runner.going.is_some() {
        return show(model, Overlay::Run);
    }
    vec![model.requests.ask(Slot::Runs, Request::Runs)]
}

/// Takes or releases the mouse.
pub fn take_mouse(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    model.screen.mouse = !model.screen.mouse;
    let word = match model.screen.mouse {
        true => format!("mouse taken: {} gives it back", model.key(KeyCommand::Mouse)),
        false => "mouse left to the terminal".to_owned(),
    };
    model.say(word, now);
    vec![Effect::Mouse(model.screen.mouse)]
}

/// Ctrl-C: cancels what is being read for the operator; when nothing is, leaves.
fn interrupt(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    let scanning = model.list.scan.is_some() && model.requests.is_open(Slot::Page);
    // A count in the background goes on: nobody waits for it, and nothing but the share of the database's time tells whether a
    // window of it is being read just now.
    let counting = model.requests.is_open(Slot::Histogram) && model.histogram.counted_for != CountedFor::Background;
    if !scanning && !counting {
        return quit(model);
    }
    let mut effects = Vec::new();
    if scanning {
        model.list.halted = true;
        effects.push(model.requests.cancel(Slot::Page));
    }
    if counting {
        effects.push(model.requests.cancel(Slot::Histogram));
        model.histogram.full_count.begin();
    }
    model.say(format!("cancelled: {} reads on", model.key(KeyCommand::Refresh)), now);
    effects
}

fn quit(model: &mut Model) -> Vec<Effect> {
    if model.runner.going.is_some() {
        return show(model, Overlay::Leave);
    }
    vec![Effect::Quit]
}
