//! Questions on a terminal.

use crate::fixtures::Layout;
use crate::harness;
use crate::pty::Pty;

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
