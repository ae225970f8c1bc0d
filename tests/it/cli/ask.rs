//! Questions on a terminal.

use crate::fixtures::Layout;
use crate::harness;
use crate::pty::Pty;

#[tokio::test]
async fn number_that_is_mistyped_can_be_typed_again() {
    let db = harness::sqlite("cli mistyped").await;
    Layout::JobsDlq.seed(&db, 120).await;
    let begun = || {
        let args = ["--url", &db.url, "discard", "--all"];
        let terminal = Pty::program(env!("CARGO_BIN_EXE_dlq-tui"), &args).start();
        terminal.wait_for_text("type 120 to discard");
        terminal
    };
    let mut terminal = begun();
    terminal.send("yes<Enter>");
    terminal.wait_for_text("that is not 120");
    terminal.send("n<Enter>");
    assert_eq!(terminal.wait_for_exit().exit_code(), 4, "{}", terminal.text());
    assert_eq!(db.count("jobs_dlq").await, 120);
    let mut terminal = begun();
    terminal.send("12<Enter>");
    terminal.wait_for_text("that is not 120");
    terminal.send("120<Enter>");
    assert_eq!(terminal.wait_for_exit().exit_code(), 0, "{}", terminal.text());
    assert_eq!(db.count("jobs_dlq").await, 0);
}

#[tokio::test]
async fn ids_from_a_pipe_are_confirmed_on_the_terminal() {
    let db = harness::sqlite("cli piped ids").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let line = format!("printf '1\\n2\\n' | '{}' --url '{}' replay -", env!("CARGO_BIN_EXE_dlq-tui"), db.url);
    for (answer, code, left) in [("n<Enter>", 4, 5), ("y<Enter>", 0, 3)] {
        let mut terminal = Pty::program("sh", &["-c", &line]).start();
        terminal.wait_for_text("replay 2 jobs? [y/N]");
        terminal.send(answer);
        assert_eq!(terminal.wait_for_exit().exit_code(), code, "{}", terminal.text());
        assert_eq!(db.count("jobs_dlq").await, left);
    }
}

#[tokio::test]
async fn what_was_typed_before_a_question_stood_there_is_no_answer_to_it() {
    let db = harness::sqlite("cli typed ahead").await;
    Layout::JobsDlq.seed(&db, 60).await;
    // The shell takes the first line, so that the second waits before the program begins.
    let command =
        format!("read go; exec '{}' --url '{}' discard --all --limit 40", env!("CARGO_BIN_EXE_dlq-tui"), db.url);
    let begun = || {
        let mut terminal = Pty::program("sh", &["-c", &command]).start();
        terminal.send("go<Enter>y<Enter>");
        terminal.wait_for_text("discard 40 jobs? [y/N]");
        terminal
    };
    let mut terminal = begun();
    terminal.send("n<Enter>");
    assert_eq!(terminal.wait_for_exit().exit_code(), 4, "{}", terminal.text());
    assert_eq!(db.count("jobs_dlq").await, 60);
    let mut terminal = begun();
    terminal.send("y<Enter>");
    assert_eq!(terminal.wait_for_exit().exit_code(), 0, "{}", terminal.text());
    assert_eq!(db.count("jobs_dlq").await, 20);
}
