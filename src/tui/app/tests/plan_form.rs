//! Changing a plan by the keys of its lines.

use super::*;
use crate::domain::rollout::{Rollout, RolloutPhase, RolloutState};
use crate::domain::run_options::validator::Validator;

/// The plan of a replay of all jobs, with this rule.
fn planned(words: &str, rollout: Option<Rollout>) -> Console {
    let mut console = Console::with_jobs(5);
    console.keys(":").text(words).keys("Enter");
    let mut found = plan(Action::Replay, 300, Confirm::Yes);
    found.options.rollout = rollout;
    console.answer(Slot::Act, Reply::Planned(Box::new(Ok(found)))).wait(LONG_ENOUGH);
    console
}

/// What stands in the command line.
fn typed(console: &Console) -> &str {
    match &console.model.overlay {
        Overlay::Line(line) => line.input.value(),
        other => panic!("no line: {other:?}"),
    }
}

/// Whether a plan was asked for with an automatic stop, and its rule.
fn asked(console: &Console) -> (bool, Option<Rollout>) {
    match console.request(Slot::Act) {
        Some(Request::Plan { is_guarded, options, .. }) => (*is_guarded, options.rollout),
        other => panic!("no plan was asked for: {other:?}"),
    }
}

#[test]
fn a_key_of_a_plan_opens_the_command_line_with_its_words() {
    let mut console = planned("replay all 300 --reason 'it is fixed'", None);
    console.keys("r");
    assert_eq!(typed(&console), "replay all --limit 300 --reason 'it is fixed' --rate ");
    assert!(matches!(console.request(Slot::Act), Some(Request::Dismiss(_))), "nothing stays open in the ledger");
    console.text("5/s").keys("Enter");
    let Some(Request::Plan { limit, options, reason, .. }) = console.request(Slot::Act) else { panic!("no plan") };
    assert_eq!((*limit, options.pacing.rate, reason.as_deref()), (Some(300), Some(5.0), Some("it is fixed")));
    let mut console = planned("replay all --reason 'it is fixed'", Rollout::new(Some(20), None, true, None));
    console.keys("w");
    assert_eq!(
        typed(&console),
        "replay all --canary 20 --stop-above 5% --ramp --reason 'it is fixed'",
        "what is there already can be edited"
    );
}

#[test]
fn the_automatic_stop_and_the_ramp_are_switches() {
    let stop = Some(Rollout::automatic_stop());
    let mut console = planned("replay all", stop);
    console.keys("x");
    assert_eq!(asked(&console), (false, None));
    let mut console = planned("replay all --stop-above off", None);
    console.keys("x");
    assert_eq!(asked(&console), (true, stop));
    let mut console = planned("replay all --stop-above off", None);
    console.keys("r");
    assert_eq!(typed(&console), "replay all --stop-above off --rate ", "what was switched off stays off");
    let mut console = planned("replay all", stop);
    console.keys("p");
    assert_eq!(asked(&console), (true, Rollout::new(None, None, true, None)));
    let mut console = planned("replay all", Rollout::new(None, None, true, None));
    console.keys("p");
    assert_eq!(asked(&console), (true, stop));
    let mut console = planned("replay all", Rollout::new(Some(20), None, false, None));
    console.keys("x");
    assert_eq!(typed(&console), "replay all --canary 20 --stop-above 5%", "a canary has a limit");
}

#[test]
fn only_a_replay_is_changed() {
    let mut console = Console::with_jobs(5);
    console.keys(":").text("ignore all").keys("Enter").plan(3, Confirm::Yes).wait(LONG_ENOUGH).keys("r");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("the plan stands") };
    assert!(dialog.complaint.as_deref().is_some_and(|why| why.contains("only a replay")), "{:?}", dialog.complaint);
}

#[test]
fn a_replay_in_production_needs_a_reason() {
    for (confirm, answer) in [(Confirm::Yes, "y"), (Confirm::TypeCount, "3 Enter")] {
        for (words, is_enough) in [("replay all", false), ("replay all fixed in 412", true)] {
            let mut console = Console::with_jobs(5);
            console.model.source.opened.as_mut().expect("a store").production = true;
            console.keys(":").text(words).keys("Enter").plan(3, confirm).wait(LONG_ENOUGH).keys(answer);
            assert_eq!(console.executes(), is_enough, "{words}, {answer}");
            if !is_enough {
                let Overlay::Plan(dialog) = &console.model.overlay else { panic!("the plan stands") };
                assert!(dialog.complaint.as_deref().is_some_and(|why| why.contains("say why")));
            }
        }
    }
}

#[test]
fn a_run_is_let_past_its_gate_by_a_key_of_its_own() {
    for (phase, skips) in [(RolloutPhase::Gate, true), (RolloutPhase::Rest, false)] {
        let mut waiting = run("r-1");
        waiting.state = RunState::Stopped;
        waiting.intent.store = opened().store();
        waiting.rollout = Some(RolloutState { phase, ..RolloutState::starting(20) });
        let mut console = Console::with_jobs(5);
        console.keys("L").answer(Slot::Runs, Reply::Runs(Ok(vec![waiting]))).keys("R").wait(LONG_ENOUGH).keys("o");
        let found = console.request(Slot::Act).is_some_and(|r| matches!(r, Request::Resume { skip_gate: true, .. }));
        assert_eq!(found, skips, "{phase:?}");
        if !skips {
            console.keys("y");
            let asked = console.request(Slot::Act);
            assert!(matches!(asked, Some(Request::Resume { skip_gate: false, .. })), "{asked:?}");
        }
    }
}

#[test]
fn the_validator_of_a_source_is_a_switch_where_it_has_one() {
    let validated = |words: &str, validator: Option<&str>| {
        let mut console = Console::with_jobs(5);
        console.keys(":").text(words).keys("Enter");
        let mut found = plan(Action::Replay, 300, Confirm::Yes);
        found.options.validate = validator.map(|line| Validator::parse(line).expect("a command"));
        console.answer(Slot::Act, Reply::Planned(Box::new(Ok(found)))).wait(LONG_ENOUGH);
        console
    };
    let is_validated = |console: &Console| match console.request(Slot::Act) {
        Some(Request::Plan { is_validated, .. }) => *is_validated,
        other => panic!("no plan was asked for: {other:?}"),
    };
    let mut console = validated("replay all --rate 5", Some("bin/check"));
    console.keys("v");
    assert!(!is_validated(&console), "it is switched off");
    let mut console = validated("replay all --validate off", None);
    console.keys("v");
    assert!(is_validated(&console), "it is on again");
    let mut console = validated("replay all --validate off", None);
    console.keys("r");
    assert_eq!(typed(&console), "replay all --validate off --rate ", "it stays off");
    let mut console = validated("replay all", None);
    console.keys("v");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("no plan") };
    assert!(dialog.complaint.as_ref().is_some_and(|said| said.contains("no validator")), "{:?}", dialog.complaint);
}
