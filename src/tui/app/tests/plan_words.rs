//! Words behind a verb after `:`.

use super::*;
use crate::domain::run_options::pick::Pick;

/// What is planned, with its limit, pace and reason; or what is said instead.
fn planned(console: &Console) -> String {
    match console.request(Slot::Act) {
        Some(Request::Plan { scope, limit, options, reason, .. }) => {
            let scope = match scope {
                ActionScope::Filter(filter) => format!("filter `{filter}`"),
                ActionScope::Jobs(ids) => format!("{} jobs", ids.len()),
                other => format!("{other:?}"),
            };
            format!("{scope}, limit {limit:?}, {}, reason {reason:?}", options.pacing)
        }
        _ => console.model.screen.notice.as_ref().map_or_else(String::new, |notice| notice.sentence.clone()),
    }
}

fn typed(words: &str) -> String {
    let mut console = Console::with_jobs(5);
    console.keys(":").text(words).keys("Enter");
    planned(&console)
}

#[test]
fn a_number_behind_a_verb_is_a_limit_and_never_a_reason() {
    assert_eq!(typed("replay 10"), "filter ``, limit Some(10), , reason None");
    assert_eq!(
        typed("replay all 10 --rate 5/s fixed"),
        "filter ``, limit Some(10), at most 5 jobs a second, reason Some(\"fixed\")"
    );
    assert_eq!(typed("replay fixed"), "1 jobs, limit None, , reason Some(\"fixed\")");
    assert!(typed("replay 10%").contains("no number of jobs"));
    assert!(typed("discard --spread 5m").contains("no option of discard"));
}

#[test]
fn the_jobs_that_a_number_takes_are_picked_by_a_word_or_a_key() {
    let picked = |console: &Console| match console.request(Slot::Act) {
        Some(Request::Plan { limit, pick, .. }) => (*limit, *pick),
        other => panic!("no plan: {other:?}"),
    };
    let mut console = Console::with_jobs(5);
    console.keys(":").text("replay 3 oldest").keys("Enter");
    assert_eq!(picked(&console), (Some(3), Pick::Oldest));
    console.plan(3, Confirm::Yes).wait(LONG_ENOUGH).keys("c");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("no plan") };
    let shell = dialog.shell.clone().unwrap_or_default();
    assert!(shell.contains("--limit 3 --pick oldest"), "{shell}");
    console.keys("o");
    assert_eq!(picked(&console), (Some(3), Pick::Spread), "the next of them, and another plan at once");
    let mut console = Console::with_jobs(5);
    console.keys(":").text("replay all").keys("Enter").plan(5, Confirm::Yes).wait(LONG_ENOUGH).keys("o");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("the plan stands") };
    assert!(
        dialog.complaint.as_deref().is_some_and(|why| why.contains("set a limit first (l)")),
        "{:?}",
        dialog.complaint
    );
}

#[test]
fn a_number_is_not_of_marked_jobs() {
    let mut console = Console::with_jobs(5);
    console.keys("Space Space :").text("replay 1").keys("Enter");
    assert!(planned(&console).contains("Esc clears the marks"), "{}", planned(&console));
    let mut console = Console::with_jobs(5);
    console.keys("Space Space :").text("replay all 1").keys("Enter");
    assert_eq!(planned(&console), "filter ``, limit Some(1), , reason None");
}

#[test]
fn options_complete_behind_other_words() {
    let mut console = Console::with_jobs(1);
    console.keys(":").text("replay all --ra").keys("Tab").text(" 5/s").keys("Enter");
    assert_eq!(planned(&console), "filter ``, limit None, at most 5 jobs a second, reason None");
}

#[test]
fn the_command_line_of_a_plan_has_its_limit() {
    let mut console = Console::with_jobs(5);
    console.keys(":").text("replay 3 --rate 5/s").keys("Enter");
    let mut found = plan(Action::Replay, 3, Confirm::Yes);
    found.filter = Some("state:dead".into());
    found.options.pacing.rate = Some(5.0);
    console.answer(Slot::Act, Reply::Planned(Box::new(Ok(found))));
    console.keys("c");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("no plan") };
    let shell = dialog.shell.clone().unwrap_or_default();
    assert!(shell.contains("--limit 3 --rate 5/s"), "{shell}");
}

#[test]
fn a_large_replay_is_guarded_unless_that_is_switched_off() {
    let guarded = |words: &str| {
        let mut console = Console::with_jobs(5);
        console.keys(":").text(words).keys("Enter");
        match console.request(Slot::Act) {
            Some(Request::Plan { is_guarded, options, .. }) => (*is_guarded, options.rollout.is_some()),
            _ => panic!("{words}: no plan"),
        }
    };
    assert_eq!(guarded("replay all"), (true, false));
    assert_eq!(guarded("replay all --stop-above off"), (false, false));
    assert_eq!(guarded("replay all --canary 20 --ramp"), (true, true));
}

/// What is planned by an expression: the verb, of which jobs, and the expression; or what is said instead.
fn repaired(console: &Console) -> String {
    match console.request(Slot::Act) {
        Some(Request::Plan { action, options, scope, .. }) => {
            let all = if matches!(scope, ActionScope::Filter(_)) { "all" } else { "some" };
            format!("{action} {all} {}", options.repair.as_deref().unwrap_or("without an expression"))
        }
        _ => planned(console),
    }
}

#[test]
fn an_expression_is_planned_as_it_was_typed() {
    let typed = |words: &str| {
        let mut console = Console::with_jobs(5);
        console.keys(":").text(words).keys("Enter");
        repaired(&console)
    };
    assert_eq!(typed("repair .currency //= \"EUR\""), "repair some .currency //= \"EUR\"");
    assert_eq!(typed("repair all '.a = 1'"), "repair all .a = 1");
    assert_eq!(typed("repair all --replay .a = 1"), "replay all .a = 1");
    // The function of that name is an expression too.
    assert_eq!(typed("repair all"), "repair some all");
    assert!(typed("repair").contains("write a jq expression"));
}

#[test]
fn the_command_for_a_repair_has_its_expression() {
    let mut console = Console::with_jobs(5);
    console.keys(":").text("repair all --replay .a = 1").keys("Enter").plan(2, Confirm::Yes);
    console.keys("c");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("no plan") };
    let shell = dialog.shell.clone().unwrap_or_default();
    assert!(shell.starts_with("dlq-tui repair '.a = 1' --replay"), "{shell}");
}
