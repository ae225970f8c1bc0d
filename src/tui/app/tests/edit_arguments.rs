//! `E`: arguments in the editor, what changed, and what becomes of that.

use super::*;
use crate::domain::repair::{EditableArguments, EditedArguments};
use crate::tui::keys::{KeyCommand, KeyContext};

const ARGUMENTS: &str = r#"{"id": 12345678901234567890, "currency":null,"password":"hunter2"}"#;

fn editable() -> EditableArguments {
    EditableArguments::new(ARGUMENTS, Arc::default()).expect("JSON")
}

fn at_cursor(console: &Console) -> JobId {
    JobId::new(console.current().expect("a job"))
}

/// The console once the arguments of the job at the cursor were read.
fn in_editor() -> Console {
    let mut console = Console::with_jobs(3);
    console.keys("E");
    let job = at_cursor(&console);
    assert!(matches!(console.request(Slot::Arguments), Some(Request::EditableArguments(asked)) if *asked == job));
    console.answer(Slot::Arguments, Reply::EditableArguments(job, Box::new(Ok(editable()))));
    console
}

/// The text that the editor was opened with last.
fn opened_with(console: &Console) -> &str {
    let text = console.other.iter().rev().find_map(|effect| match effect {
        Effect::EditArguments(text) => Some(text.as_str()),
        _ => None,
    });
    text.expect("an editor")
}

/// The editor leaves the text with one word replaced by another.
fn edit(console: &mut Console, word: &str, by: &str) {
    let typed = opened_with(console).replace(word, by);
    console.tell(Msg::Edited(Ok(typed)));
}

fn planned(console: &Console) -> Option<(Action, &ActionScope, &EditedArguments)> {
    match console.request(Slot::Act) {
        Some(Request::Plan { action, scope, edited: Some(edited), .. }) => Some((*action, scope, edited)),
        _ => None,
    }
}

fn notice(console: &Console) -> &str {
    console.model.screen.notice.as_ref().map_or("", |notice| notice.sentence.as_str())
}

#[test]
fn arguments_are_planned_as_they_were_edited_to_be_replayed_or_saved() {
    for (key, action) in [("r", Action::Replay), ("s", Action::Repair)] {
        let mut console = in_editor();
        assert!(opened_with(&console).contains("\"password\": \"[redacted 1]\""));
        edit(&mut console, "null", "\"EUR\"");
        console.keys(key);
        assert!(planned(&console).is_none(), "nobody can have read it");
        console.wait(LONG_ENOUGH).keys(key);
        let (verb, scope, edited) = planned(&console).expect("a plan");
        let job = at_cursor(&console);
        assert_eq!((verb, scope), (action, &ActionScope::Jobs(vec![job])));
        assert_eq!(edited.text, ARGUMENTS.replace("null", "\"EUR\""));
        assert_eq!(edited.original, ARGUMENTS);
        assert!(matches!(console.model.overlay, Overlay::Freezing(_)));
    }
}

#[test]
fn a_text_that_is_not_json_is_kept_to_be_edited_again_or_dropped() {
    let mut console = in_editor();
    edit(&mut console, "null", "EUR");
    console.wait(LONG_ENOUGH).keys("r");
    assert!(planned(&console).is_none());
    assert!(notice(&console).starts_with("line 3, column 15: this is not JSON"), "{}", notice(&console));
    console.keys("e");
    assert!(opened_with(&console).contains("\"currency\": EUR"), "{}", opened_with(&console));
    edit(&mut console, "EUR", "\"EUR\"");
    console.wait(LONG_ENOUGH).keys("s");
    assert_eq!(planned(&console).expect("a plan").2.text, ARGUMENTS.replace("null", "\"EUR\""));

    let mut console = in_editor();
    edit(&mut console, "[redacted 1]", "[redacted 1]x");
    console.wait(LONG_ENOUGH).keys("s");
    assert!(planned(&console).is_none() && notice(&console).contains("mask"), "{}", notice(&console));
    console.keys("n");
    assert!(matches!(console.model.overlay, Overlay::None) && console.request(Slot::Act).is_none());
}

#[test]
fn what_was_typed_is_there_again_when_there_is_no_plan() {
    let mut console = in_editor();
    edit(&mut console, "null", "1");
    console.wait(LONG_ENOUGH).keys("s").answer(Slot::Act, Reply::Planned(Box::new(Err("locked".into()))));
    assert!(matches!(&console.model.overlay, Overlay::Edit(page) if page.typed.contains("\"currency\": 1")));
    console.wait(LONG_ENOUGH).keys("s Esc");
    assert!(matches!(&console.model.overlay, Overlay::Edit(_)), "the plan was cancelled");
    console.wait(LONG_ENOUGH).keys("s").plan(1, Confirm::Yes).keys("n");
    assert!(matches!(&console.model.overlay, Overlay::Edit(_)), "the plan was dismissed");
    console.wait(LONG_ENOUGH).keys("s").plan(1, Confirm::Key);
    assert!(matches!(console.request(Slot::Act), Some(Request::Execute(_))));
    assert!(console.model.runner.edit.is_none());
}

#[test]
fn an_editor_that_changed_nothing_or_failed_ends_it() {
    let mut console = in_editor();
    edit(&mut console, "null", "null");
    assert!(matches!(console.model.overlay, Overlay::None));
    assert!(notice(&console).contains("nothing to write"), "{}", notice(&console));

    let mut console = in_editor();
    console.tell(Msg::Edited(Err("vi ended with exit status: 1".into())));
    assert!(matches!(console.model.overlay, Overlay::None) && notice(&console).contains("exit status"));

    // The text is gone with it: another plan that is dismissed shows the panes.
    let mut console = in_editor();
    edit(&mut console, "null", "1");
    console.keys("n R").plan(2, Confirm::Yes).keys("n");
    assert!(matches!(console.model.overlay, Overlay::None));

    // The second time, what was typed the first time stays.
    let mut console = in_editor();
    edit(&mut console, "null", "1");
    console.keys("e").tell(Msg::Edited(Err("vi ended with exit status: 1".into())));
    assert!(matches!(&console.model.overlay, Overlay::Edit(page) if page.typed.contains("\"currency\": 1")));
}

#[test]
fn what_cannot_be_edited_says_why() {
    let mut console = Console::with_jobs(3);
    console.keys("E");
    let job = at_cursor(&console);
    let gone = Reply::EditableArguments(job, Box::new(Err("this job is gone: there is nothing to edit".into())));
    console.answer(Slot::Arguments, gone);
    assert!(notice(&console).contains("this job is gone") && console.other.is_empty());

    let opened = console.model.source.opened.as_mut().expect("a store");
    opened.info.read_only = Some("the server is a replica".into());
    console.keys("E");
    assert_eq!(notice(&console), "the server is a replica");
    assert!(console.request(Slot::Arguments).is_none());
    let refused = crate::tui::app::refusal(&console.model, KeyContext::List, KeyCommand::EditArguments);
    assert_eq!(refused.as_deref(), Some("the server is a replica"), "the footer dims it");
}

#[test]
fn arguments_that_come_late_open_no_editor_over_something_else() {
    let mut console = Console::with_jobs(3);
    console.keys("E ?");
    let job = at_cursor(&console);
    console.answer(Slot::Arguments, Reply::EditableArguments(job, Box::new(Ok(editable()))));
    assert!(console.other.is_empty() && matches!(console.model.overlay, Overlay::Help(_)));
}
