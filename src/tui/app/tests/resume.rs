//! Going on with a run of the ledger from the page of runs.

use super::*;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::rollout::{RolloutPhase, RolloutState};
use crate::domain::run_options::destination::Destination;
use crate::tui::app::model::{FollowedReplay, ScrollState};
use crate::tui::app::tour::TourStep;

fn stopped(id: &str) -> Run {
    let tally = RunTally { planned: 5, done: 2, not_started: 3, ..RunTally::default() };
    let mut stopped = Run { state: RunState::Stopped, tally, ..run(id) };
    stopped.intent.store = opened().store();
    stopped
}

/// The page of runs, with these on it.
fn on_runs(runs: Vec<Run>) -> Console {
    let mut console = Console::with_jobs(5);
    console.keys("L").answer(Slot::Runs, Reply::Runs(Ok(runs)));
    console
}

fn resumes(console: &Console) -> Option<&str> {
    match console.request(Slot::Act) {
        Some(Request::Resume { run, .. }) => Some(&run.0),
        _ => None,
    }
}

fn notice(console: &Console) -> &str {
    console.model.screen.notice.as_ref().map_or("", |notice| notice.sentence.as_str())
}

#[test]
fn a_run_that_was_stopped_is_gone_on_with_once_that_is_confirmed() {
    let mut console = on_runs(vec![run("r-2"), stopped("r-1")]);
    console.keys("j R");
    assert!(matches!(&console.model.overlay, Overlay::Resume(_)) && resumes(&console).is_none());
    console.keys("y");
    assert_eq!(resumes(&console), None, "nobody can have read it");
    console.wait(LONG_ENOUGH).keys("Enter R y");
    assert_eq!(resumes(&console), Some("r-1"));
    let going = console.model.runner.going.as_ref().expect("a run");
    assert_eq!((going.tally.done, console.model.runner.action), (2, Some(Action::Replay)));
    let tally = RunTally { planned: 5, done: 5, ..RunTally::default() };
    console
        .answer(Slot::Act, Reply::Executed(Box::new(Ok(Run { state: RunState::Finished, tally, ..stopped("r-1") }))));
    assert!(matches!(&console.model.overlay, Overlay::Receipt(..)) && console.model.runner.going.is_none());
}

#[test]
fn a_run_that_is_left_as_it_stands_is_there_still() {
    let mut console = on_runs(vec![run("r-2"), stopped("r-1")]);
    for no in ["n", "q", "Ctrl-c", "Esc"] {
        console.keys("G R").wait(LONG_ENOUGH).keys(no);
        let Overlay::Runs(page) = &console.model.overlay else { panic!("{no}: {:?}", console.model.overlay) };
        assert_eq!((page.current().map(|run| &*run.id.0), resumes(&console)), (Some("r-1"), None), "{no}");
    }
}

#[test]
fn a_run_that_has_ended_or_is_of_another_store_is_not_gone_on_with_here() {
    let mut elsewhere = stopped("r-3");
    elsewhere.intent.store = "others public.others".into();
    let mut console = on_runs(vec![run("r-2"), elsewhere, stopped("r-1")]);
    console.keys("R");
    assert_eq!(notice(&console), "run r-2 is finished: there is nothing to resume");
    console.keys("j R");
    assert!(notice(&console).starts_with("run r-3 is of another store: dlq-tui resume r-3"), "{}", notice(&console));
    console.model.source.opened.as_mut().expect("a store").info.read_only = Some("the server is a replica".into());
    console.keys("j R");
    assert_eq!(notice(&console), "the server is a replica");
    assert!(matches!(&console.model.overlay, Overlay::Runs(_)) && resumes(&console).is_none());
}

#[test]
fn a_run_whose_jobs_went_elsewhere_is_neither_gone_on_with_nor_undone_here() {
    let mut handed = stopped("r-1");
    handed.intent.destination = Some(Destination::Command("bin/replay".into()));
    let mut console = on_runs(vec![handed]);
    let opened = console.model.source.opened.as_mut().expect("a store");
    opened.info.destination = Some(Destination::Table("public.jobs".into()));
    console.keys("R");
    assert!(notice(&console).contains("go to the table public.jobs now"), "{}", notice(&console));
    console.keys("U");
    assert!(notice(&console).contains("handed its jobs to the command `bin/replay`"), "{}", notice(&console));
    assert!(matches!(&console.model.overlay, Overlay::Runs(_)) && resumes(&console).is_none());
}

#[test]
fn the_receipt_of_a_replay_follows_its_jobs_until_all_have_settled() {
    let mut console = on_runs(vec![stopped("r-1")]);
    console.keys("R").wait(LONG_ENOUGH).keys("y");
    let tally = RunTally { planned: 5, done: 5, ..RunTally::default() };
    let ended = Run { state: RunState::Finished, tally, ..stopped("r-1") };
    console.answer(Slot::Act, Reply::Executed(Box::new(Ok(ended.clone())))).wait(LONG_ENOUGH);
    assert!(matches!(console.request(Slot::Runs), Some(Request::RunsAgain { .. })), "asked at once");
    let seen = |waiting, succeeded| {
        let outcomes = OutcomeCounts { replayed: 5, waiting, succeeded, ..OutcomeCounts::default() };
        Reply::RunsAgain(Ok(vec![Run { outcomes: Some(outcomes), ..ended.clone() }]))
    };
    console.answer(Slot::Runs, seen(5, 0));
    let Overlay::Receipt(run, _) = &console.model.overlay else { panic!("{:?}", console.model.overlay) };
    assert_eq!(run.outcomes.as_ref().map(OutcomeCounts::summary).as_deref(), Some("5 waiting"));
    console.wait(Duration::from_secs(2));
    assert!(matches!(console.request(Slot::Runs), Some(Request::RunsAgain { .. })), "asked again");
    console.answer(Slot::Runs, seen(0, 5)).wait(Duration::from_secs(60));
    assert!(console.request(Slot::Runs).is_none(), "nothing is left to ask");
    assert!(console.model.runner.followed.is_some());
    console.keys("Esc");
    assert!(console.model.runner.followed.is_none(), "it was seen");
}

#[test]
fn what_became_of_a_replay_is_followed_until_it_was_seen() {
    let mut console = Console::with_jobs(5);
    console.keys("R").plan(1, Confirm::Key);
    let tally = RunTally { planned: 1, done: 1, ..RunTally::default() };
    let ended = Run { state: RunState::Finished, tally, ..stopped("r-1") };
    console.answer(Slot::Act, Reply::Executed(Box::new(Ok(ended.clone()))));
    assert!(matches!(console.model.overlay, Overlay::None), "one job has no receipt");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("Boom", 1)])))));
    let seen = |waiting, died_other| {
        let outcomes = OutcomeCounts { replayed: 1, waiting, died_other, ..OutcomeCounts::default() };
        Reply::RunsAgain(Ok(vec![Run { outcomes: Some(outcomes), ..ended.clone() }]))
    };
    let asks =
        |console: &Console| matches!(console.request(Slot::Runs), Some(Request::RunsAgain { followed: Some(_) }));
    let known =
        |console: &Console| console.model.runner.followed.as_ref()?.outcomes.as_ref().map(OutcomeCounts::summary);
    console.wait(LONG_ENOUGH);
    assert!(asks(&console));
    // It is dear to ask.
    let long = Duration::from_secs(4);
    for _ in 0..6 {
        console.wait(long).answer(Slot::Runs, seen(1, 0)).wait(Duration::from_secs(31));
        assert!(asks(&console));
    }
    assert_eq!(known(&console).as_deref(), Some("1 waiting"));
    console.wait(long).answer(Slot::Runs, seen(1, 0)).wait(Duration::from_secs(2));
    assert!(!asks(&console), "nothing has changed for a while");
    // A death is a change of the table.
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(changes(Vec::new())))));
    console.wait(Duration::from_millis(10));
    assert!(asks(&console), "asked at once");
    console.answer(Slot::Runs, seen(0, 1)).wait(Duration::from_secs(60));
    assert_eq!(known(&console).as_deref(), Some("1 died again"));
    assert!(!asks(&console), "nothing is left to ask");
    console.keys("L").answer(Slot::Runs, Reply::Runs(Ok(vec![ended])));
    assert_eq!(known(&console), None, "it was seen");
}

#[test]
fn the_jobs_of_a_run_are_listed_from_its_page_and_those_that_died_again_from_anywhere() {
    let replayed = |id: &str| {
        let tally = RunTally { planned: 5, done: 5, ..RunTally::default() };
        Run { state: RunState::Finished, tally, ..stopped(id) }
    };
    let mut elsewhere = replayed("r-2");
    elsewhere.intent.source = "staging".into();
    let unstarted = Run { state: RunState::Dismissed, ..stopped("r-1") };
    let mut console = on_runs(vec![replayed("r-3"), elsewhere, unstarted]);
    console.keys("j F");
    assert!(notice(&console).starts_with("run r-2 is of staging"), "{}", notice(&console));
    console.keys("G U");
    assert!(notice(&console).ends_with("open that source to undo it"), "{}", notice(&console));
    console.keys("a G F");
    assert!(notice(&console).starts_with("run r-1 was not started"), "{}", notice(&console));
    console.keys("g Enter F");
    assert_eq!(console.model.filter.written.to_string(), "run:r-3");
    assert!(matches!(console.model.overlay, Overlay::None));
    assert_eq!(console.model.screen.focus, Focus::List);
    console.keys("Esc F");
    assert!(notice(&console).starts_with("nothing was replayed in this console"), "{}", notice(&console));
    let mut followed = FollowedReplay::new(&replayed("r-4"), console.now);
    followed.outcomes = Some(OutcomeCounts { replayed: 5, succeeded: 3, died_other: 2, ..OutcomeCounts::default() });
    console.model.runner.followed = Some(followed);
    console.keys("F");
    assert_eq!(console.model.filter.written.to_string(), "run:r-4 outcome:died");
}

#[test]
fn an_undo_that_can_undo_nothing_asks_nothing() {
    let ended = || {
        let tally = RunTally { planned: 3, done: 3, ..RunTally::default() };
        Run { state: RunState::Finished, tally, ..stopped("r-7") }
    };
    let planned = |outlook: &[(&str, u64)]| Plan {
        outlook: outlook.iter().map(|(what, n)| ((*what).to_owned(), *n)).collect(),
        ..plan(Action::Recall, 3, Confirm::Yes)
    };
    let mut console = on_runs(vec![ended()]);
    console.keys("U").answer(Slot::Act, Reply::Planned(Box::new(Ok(planned(&[("changed", 3)])))));
    assert_eq!(notice(&console), "nothing was touched: none of 3 jobs can be undone (3 changed)");
    assert!(matches!(console.model.overlay, Overlay::None));
    assert!(matches!(console.request(Slot::Act), Some(Request::Dismiss(_))));
    let mut console = on_runs(vec![ended()]);
    let some = planned(&[("can be undone", 2), ("changed", 1)]);
    console.keys("U").answer(Slot::Act, Reply::Planned(Box::new(Ok(some))));
    assert!(matches!(console.model.overlay, Overlay::Plan(_)));
}

#[test]
fn plans_that_were_not_confirmed_are_hidden_until_they_are_asked_for() {
    let plan = |id: &str| Run { state: RunState::Dismissed, ..stopped(id) };
    let mut console = on_runs(vec![plan("r-4"), stopped("r-3"), plan("r-2"), stopped("r-1")]);
    let shown = |console: &Console| match &console.model.overlay {
        Overlay::Runs(page) => (
            page.shown().iter().map(|run| run.id.0.clone()).collect::<Vec<_>>().join(" "),
            page.current().map(|run| run.id.0.clone()).unwrap_or_default(),
        ),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(&console), ("r-3 r-1".into(), "r-3".into()));
    console.keys("j a");
    assert_eq!(shown(&console), ("r-4 r-3 r-2 r-1".into(), "r-1".into()), "the cursor stays on its run");
    console.wait(Duration::from_secs(6)).answer(Slot::Runs, Reply::RunsAgain(Ok(vec![plan("r-5"), stopped("r-1")])));
    assert_eq!(shown(&console).0, "r-5 r-1");
    console.keys("a");
    assert_eq!(shown(&console), ("r-1".into(), "r-1".into()));
}

#[test]
fn the_tour_of_the_demo_goes_on_with_what_is_on_the_screen_and_a_key_hides_it() {
    let mut console = Console::with_jobs(5);
    console.keys("j");
    assert_eq!(console.model.screen.tour, None, "only the demo has one");
    console.model.screen.tour = Some(TourStep::Narrow);
    let step = |console: &Console| console.model.screen.tour;
    console.keys("/").text("class:Billing*").keys("Enter");
    assert_eq!(step(&console), Some(TourStep::Contrast));
    let mut stopped = run("r-1");
    stopped.tally.not_started = 80;
    stopped.rollout = Some(RolloutState { phase: RolloutPhase::Stopped, ..RolloutState::starting(20) });
    console.model.overlay = Overlay::Receipt(Box::new(stopped.clone()), ScrollState::default());
    console.keys("j");
    assert_eq!(step(&console), Some(TourStep::Resume));
    stopped.tally.not_started = 0;
    console.model.overlay = Overlay::Receipt(Box::new(stopped), ScrollState::default());
    console.keys("j Esc");
    assert_eq!(step(&console), Some(TourStep::Outcome));
    console.keys("L").answer(Slot::Runs, Reply::Runs(Ok(vec![run("r-1")])));
    assert_eq!(step(&console), Some(TourStep::End));
    console.keys("Esc T");
    assert_eq!(step(&console), None);
}
