//! Command lines that the console tells: each is one that the program understands.

use clap::Parser;

use super::*;
use crate::cli::args::{Cli, Command, VerbArgs, VerbCommand};
use crate::domain::action::Action;

const REACH: [&str; 2] = ["--url", "sqlite:a b"];

/// A command line of the console as the program reads it.
fn read(line: &str) -> Command {
    let words = shell_words::split(line).expect("a line that a shell can read");
    let cli = Cli::try_parse_from(words).unwrap_or_else(|fault| panic!("{line}: {fault}"));
    cli.command.unwrap_or_else(|| panic!("{line}: no command"))
}

fn console() -> Console {
    let mut console = Console::with_jobs(5);
    console.model.source.reach = REACH.map(str::to_owned).to_vec();
    console
}

/// What the open plan is told as.
fn told(console: &mut Console) -> String {
    console.wait(LONG_ENOUGH).keys("c");
    let Overlay::Plan(dialog) = &console.model.overlay else { panic!("no plan") };
    dialog.shell.clone().expect("a command line")
}

#[test]
fn a_plan_is_told_with_everything_that_was_asked_for() {
    let mut console = console();
    console.keys(":").text("replay all the bank is back").keys("Enter").plan(2, Confirm::Yes);
    let line = told(&mut console);
    let Command::Verb(VerbCommand { args: VerbArgs::Replay(args), .. }) = read(&line) else { panic!("{line}") };
    assert_eq!(args.act.plan.reason.as_deref(), Some("the bank is back"), "{line}");
    console.keys("n R").plan(2, Confirm::Yes);
    let line = told(&mut console);
    assert!(!line.contains("--reason"), "{line}");
    console.keys("n").keys(":").text("ignore").keys("Enter").plan(2, Confirm::Yes);
    let line = told(&mut console);
    assert!(matches!(read(&line), Command::Verb(VerbCommand { action: Action::Ignore, .. })), "{line}");
    for word in ["discard", "archive", "reopen all"] {
        console.keys("n").keys(":").text(word).keys("Enter").plan(2, Confirm::Yes);
        let line = told(&mut console);
        read(&line);
        assert!(line.contains("--store events") && line.contains("--url 'sqlite:a b'"), "{line}");
    }
}

#[test]
fn an_undo_is_told_as_an_undo_of_the_run() {
    for action in [Action::Replay, Action::Discard, Action::Ignore] {
        let mut console = console();
        console.keys("L");
        let mut undone = run("r-7");
        undone.intent.action = action;
        console.answer(Slot::Runs, Reply::Runs(Ok(vec![undone]))).keys("U");
        let Some(Request::Plan { action: undo, .. }) = console.request(Slot::Act) else { panic!("no plan") };
        let mut plan = plan(*undo, 2, Confirm::Yes);
        plan.options.undoes = Some(RunId("r-7".into()).to_string());
        console.answer(Slot::Act, Reply::Planned(Box::new(Ok(plan))));
        let line = told(&mut console);
        assert_eq!(line, "dlq-tui undo r-7 --store events --url 'sqlite:a b'", "{action}");
        assert!(matches!(read(&line), Command::Undo(args) if args.run == "r-7" && args.ids.is_empty()));
    }
}

#[test]
fn runs_that_the_source_keeps_are_told_with_the_way_to_it() {
    let mut console = console();
    let mut shared = run("r-7");
    shared.place = LedgerLocation::Source;
    console.keys("L").answer(Slot::Runs, Reply::Runs(Ok(vec![shared.clone(), run("r-1")])));
    assert_eq!(shell_line(&mut console), "dlq-tui runs --url 'sqlite:a b'");
    console.keys("Esc L").answer(Slot::Runs, Reply::Runs(Ok(vec![shared, run("r-1")]))).keys("i");
    assert_eq!(shell_line(&mut console), "dlq-tui runs r-7 --url 'sqlite:a b'");
    console.keys("Esc L").answer(Slot::Runs, Reply::Runs(Ok(vec![run("r-1")])));
    assert_eq!(shell_line(&mut console), "dlq-tui runs");
    console.keys("Esc L").answer(Slot::Runs, Reply::Runs(Ok(vec![run("r-1")]))).keys("i");
    let line = shell_line(&mut console);
    assert_eq!(line, "dlq-tui runs r-1");
    assert!(matches!(read(&line), Command::Runs(args) if args.run.as_deref() == Some("r-1")));
}

#[test]
fn what_the_panes_show_is_told_as_the_program_reads_it() {
    let mut console = console();
    console.model.filter.set(Filter::parse("-error:\"a b\" since:2h").expect("a filter"), console.now);
    for (keys, word) in [("", "list"), ("Tab", "stats"), ("Tab", "show")] {
        console.keys(keys);
        if word == "show" {
            console.model.screen.focus = Focus::Detail;
        } else if word == "stats" {
            console.model.screen.focus = Focus::Histogram;
        }
        let line = shell_line(&mut console);
        console.keys("Esc");
        read(&line);
        assert!(line.starts_with(&format!("dlq-tui {word} ")), "{line}");
    }
}

#[test]
fn a_run_is_resumed_by_a_line_that_names_its_store() {
    let console = console();
    let mut stopped = run("r-7");
    stopped.intent.store = "events events".into();
    let line = console.model.source.resume(&stopped);
    assert_eq!(line, "dlq-tui resume r-7 --store events --url 'sqlite:a b'");
    assert!(matches!(read(&line), Command::Resume(args) if args.run == "r-7"));
    // What another store is called is not known here.
    stopped.intent.store = "archive archive".into();
    let line = console.model.source.resume(&stopped);
    assert_eq!(line, "dlq-tui resume r-7 (with the options that reach archive archive on shop)");
}
