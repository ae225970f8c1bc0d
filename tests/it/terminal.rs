//! The console's runtime on a real terminal: whatever happens, the operator gets the shell back.
//!
//! The program under test is a toy on the real runtime, run by this very binary ([`toy`]), so that faults can be had at
//! the press of a key without a trigger for them in the shipped program.

use std::sync::Arc;

use crossterm::event::KeyCode;
use dlq_tui::domain::redact::Redactor;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::LedgerLocator;
use dlq_tui::store::SourceError;
use dlq_tui::tui::app::{Effect, Msg, Request, RequestId, Settings, Slot};
use dlq_tui::tui::runtime::{self, Program};
use dlq_tui::tui::{Launch, OpenStore, Opener, StoreChoice};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ratatui::Frame;
use ratatui::widgets::Paragraph;

use crate::harness::{eventually, process};
use crate::pty::Pty;

/// A source that is a fault.
struct Faulty;

impl Opener for Faulty {
    fn label(&self) -> String {
        "faulty".into()
    }

    fn choices(&self) -> BoxFuture<'_, Result<Vec<StoreChoice>, SourceError>> {
        async { panic!("a task breaks") }.boxed()
    }

    fn open(&self, _: String) -> BoxFuture<'_, Result<OpenStore, SourceError>> {
        async { Err(SourceError::Input("nothing is here".into())) }.boxed()
    }
}

/// Shows what it was told last, and does what its keys say.
#[derive(Default)]
struct Toy {
    said: Vec<String>,
    size: (u16, u16),
    break_drawing: bool,
}

impl Toy {
    fn on_key(&mut self, code: KeyCode) -> Vec<Effect> {
        match code {
            KeyCode::Char('q') => vec![Effect::Quit],
            KeyCode::Char('u') => panic!("update breaks"),
            KeyCode::Char('d') => {
                self.break_drawing = true;
                Vec::new()
            }
            KeyCode::Char('t') => vec![Effect::Ask { id: RequestId(1), slot: Slot::Open, request: Request::Choices }],
            KeyCode::Char('e') => vec![Effect::Edit { name: "payload.json".into(), text: "{\"exact\": 1.10}".into() }],
            KeyCode::Char('z') => vec![Effect::Suspend],
            KeyCode::Char('y') => vec![Effect::Copy("forty dead".into())],
            KeyCode::Char('m') => vec![Effect::Mouse(true)],
            KeyCode::Char('x') => {
                eprintln!("a stray line");
                self.said.push("strayed".into());
                Vec::new()
            }
            other => {
                self.said.push(format!("key {other}"));
                Vec::new()
            }
        }
    }
}

impl Program for Toy {
    fn start(&mut self, _: Timestamp) -> Vec<Effect> {
        Vec::new()
    }

    fn update(&mut self, msg: Msg, _: Timestamp) -> Vec<Effect> {
        match msg {
            Msg::Key(key) => return self.on_key(key.code),
            Msg::Resize { width, height } => self.size = (width, height),
            Msg::Said(Ok(sentence)) => self.said.push(format!("ok: {sentence}")),
            Msg::Said(Err(sentence)) => self.said.push(format!("trouble: {sentence}")),
            Msg::Reply { .. } => self.said.push("answered".into()),
            Msg::Continued => self.said.push("continued".into()),
            Msg::Terminate => return vec![Effect::Quit],
            _ => {}
        }
        Vec::new()
    }

    fn draw(&mut self, frame: &mut Frame<'_>, _: Timestamp) {
        assert!(!self.break_drawing, "drawing breaks");
        let (width, height) = self.size;
        let text = format!("toy {width}x{height}\n{}", self.said.join("\n"));
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}

/// Not a test of its own: the program that the tests below drive.
#[tokio::test]
#[ignore = "the program that the other tests of this file start"]
async fn toy() {
    let home = std::env::var("HOME").expect("a home");
    let launch = Launch {
        opener: Arc::new(Faulty),
        record: LedgerLocator::new(std::path::Path::new(&home).join("ledger.db"), None),
        store: None,
        filter: String::new(),
        settings: Settings::default(),
        redaction: Arc::new(Redactor::default()),
        banner: String::new(),
    };
    match runtime::run(&launch, Toy::default()).await {
        Ok(()) => println!("left in peace"),
        Err(error) => println!("left with: {error}"),
    }
}

const ARGUMENTS: [&str; 4] = ["--exact", "terminal::toy", "--ignored", "--nocapture"];

fn own_binary() -> String {
    std::env::current_exe().expect("this binary").to_str().expect("a path in UTF-8").to_owned()
}

fn start() -> Pty {
    start_with(&[])
}

fn start_with(env: &[(&str, &str)]) -> Pty {
    let launch = Pty::program(&own_binary(), &ARGUMENTS);
    let toy = env.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).start();
    toy.wait_for_text("toy 80x24");
    toy
}

#[track_caller]
fn assert_restored(toy: &mut Pty, words: &str) {
    toy.wait_for_exit();
    toy.assert_terminal_left_clean();
    let text = toy.text();
    assert!(text.contains(words), "{text}");
}

#[test]
fn leaving_restores_the_terminal_with_the_mouse_taken_too() {
    let mut toy = start();
    toy.send("ma");
    toy.wait_for_text("key a");
    toy.send("q");
    assert_restored(&mut toy, "left in peace");
}

#[test]
fn a_panic_of_the_model_or_the_view_restores_the_terminal_and_says_one_line() {
    for (key, words) in [("u", "update breaks"), ("d", "drawing breaks")] {
        let mut toy = start();
        toy.send(key);
        assert_restored(&mut toy, "left with: a fault in dlq-tui");
        let rows: String = toy.text().replace('\n', "");
        assert!(rows.contains(words), "{rows}");
        let state = toy.path(".local/state/dlq-tui");
        let reports = std::fs::read_dir(&state).expect("the state folder").flatten();
        let report = reports.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("panic-"));
        let report = std::fs::read_to_string(report.expect("a report")).expect("text");
        assert!(report.contains(words) && report.contains("terminal.rs"), "{report}");
    }
}

#[test]
fn a_panic_of_a_task_is_told_and_answered_while_the_console_lives_on() {
    let mut toy = start();
    toy.send("t");
    toy.wait("the report", |screen| screen.contains("trouble: a fault in dlq-tui: a task breaks"));
    toy.wait_for_text("answered");
    toy.send("a");
    toy.wait_for_text("key a");
    toy.send("q");
    assert_restored(&mut toy, "left in peace");
}

#[test]
fn signals_that_end_the_process_restore_the_terminal() {
    for signal in ["TERM", "HUP", "INT", "QUIT"] {
        let mut toy = start();
        toy.signal(signal);
        assert_restored(&mut toy, "left in peace");
    }
}

#[test]
fn a_terminal_that_goes_away_without_a_signal_ends_the_console() {
    let toy = format!("echo $$ > pid; exec {} {}", own_binary(), ARGUMENTS.join(" "));
    // A session of its own: no terminal sends it anything.
    let command = format!("setsid --wait sh -c '{toy}'");
    let outer = Pty::program("script", &["-q", "-c", &command, "/dev/null"]).start();
    outer.wait_for_text("toy 80x24");
    let pid = std::fs::read_to_string(outer.path("pid")).expect("the toy's process id");
    outer.signal("KILL");
    let pid = pid.trim().parse().expect("a number");
    eventually("that it ends without a terminal", || !process::is_alive(pid));
}

#[test]
fn a_storm_of_sizes_ends_in_a_whole_picture_of_the_last() {
    let mut toy = start();
    let before = toy.raw().len();
    for step in 0..400 {
        toy.resize(60 + step % 80, 12 + step % 30);
    }
    toy.resize(100, 30);
    toy.wait("the last size", |screen| screen.rows()[0] == "toy 100x30");
    // Far fewer frames than sizes: each would have drawn its whole screen.
    let frames = toy.raw()[before..].windows(8).filter(|bytes| bytes == b"\x1b[?2026h").count();
    assert!(frames < 200, "{frames} frames");
    toy.send("q");
    assert_restored(&mut toy, "left in peace");
}

#[test]
fn a_stray_line_goes_to_the_log_and_not_over_the_screen() {
    let mut toy = start();
    toy.send("x");
    toy.wait_for_text("strayed");
    assert!(!toy.text().contains("a stray line"), "{}", toy.text());
    toy.send("q");
    assert_restored(&mut toy, "left in peace");
    let log = std::fs::read_to_string(toy.path(".local/state/dlq-tui/console.log")).expect("the log");
    assert!(log.contains("a stray line"), "{log}");
}

#[test]
fn an_editor_has_the_terminal_to_itself_and_the_screen_comes_back_whole() {
    let script = "sh -c 'cat \"$1\"; printf \"\\nEDITOR \"; read line; echo \"got $line\"; read line' editor";
    let mut toy = start_with(&[("VISUAL", script)]);
    toy.send("e");
    toy.wait_for_text("EDITOR");
    assert!(toy.text().contains("{\"exact\": 1.10}"), "{}", toy.text());
    // An interrupt is the editor's, and here it is the terminal that turns the key into one.
    toy.send("quit me not<Enter>");
    toy.wait_for_text("got quit me not");
    toy.send("<Enter>");
    toy.wait_for_text("ok: sh closed");
    toy.wait("the screen", |screen| screen.rows()[0] == "toy 80x24" && screen.is_alternate());
    toy.send("a");
    toy.wait_for_text("key a");
    toy.send("q");
    assert_restored(&mut toy, "left in peace");
}

#[test]
fn an_interrupt_while_the_editor_is_open_ends_the_editor_and_not_the_console() {
    let mut toy = start_with(&[("VISUAL", "sh -c 'echo EDITOR; read line' editor")]);
    toy.send("e");
    toy.wait_for_text("EDITOR");
    toy.send("<C-c>");
    toy.wait_for_text("trouble: sh ended");
    toy.send("a");
    toy.wait_for_text("key a");
    toy.send("q");
    assert_restored(&mut toy, "left in peace");
}

#[test]
fn the_shell_gets_its_turn_and_gives_it_back() {
    let mut shell = Pty::program("bash", &["--norc", "--noprofile", "-i"]).env("PS1", "shell> ").start();
    shell.wait_for_text("shell>");
    let command = format!("{} {}<Enter>", own_binary(), ARGUMENTS.join(" "));
    shell.send(&command);
    shell.wait_for_text("toy 80x24");
    shell.send("z");
    shell.wait("the shell", |screen| screen.contains("Stopped") && !screen.is_alternate());
    shell.send("fg<Enter>");
    shell.wait("the console", |screen| screen.is_alternate() && screen.contains("continued"));
    shell.send("a");
    shell.wait_for_text("key a");
    shell.send("q");
    shell.wait_for_text("left in peace");
    shell.send("exit<Enter>");
    shell.wait_for_exit();
    shell.assert_terminal_left_clean();
}

#[test]
fn a_copy_reaches_the_terminals_clipboard() {
    let mut toy = start();
    toy.send("y");
    toy.wait_for_text("ok: 10 bytes sent to the terminal's clipboard");
    assert!(toy.side_effects().iter().any(|effect| effect == "clipboard Zm9ydHkgZGVhZA=="), "{:?}", toy.side_effects());
    toy.send("q");
    assert_restored(&mut toy, "left in peace");
}

#[test]
fn no_terminal_is_refused_with_a_sentence() {
    let output = std::process::Command::new(own_binary())
        .args(ARGUMENTS)
        .env("HOME", tempfile::tempdir().expect("a folder").path())
        .output()
        .expect("the toy runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("left with: the console needs a terminal on its standard output"), "{text}");
    assert!(!text.contains('\x1b'), "{text:?}");
}
