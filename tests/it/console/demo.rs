//! The demo, as somebody meets the console for the first time.

use crate::pty::Pty;

use super::{has_bars, has_jobs, to_list};

fn demo() -> Pty {
    let mut demo = Pty::console(&["demo", "--rows", "300"]).size(140, 45).start();
    demo.wait("bars and jobs", |screen| has_bars(screen) && has_jobs(screen));
    to_list(&mut demo);
    demo
}

#[test]
fn the_demo_shows_bars_and_jobs_and_leaves_the_terminal_clean() {
    for (columns, rows) in [(80, 24), (140, 45)] {
        let mut demo = Pty::console(&["demo", "--rows", "300"]).size(columns, rows).start();
        demo.wait("bars and jobs", |screen| has_bars(screen) && has_jobs(screen));
        demo.wait("that it is live", |screen| screen.contains("live") && screen.contains("demo"));
        demo.send("q");
        assert!(demo.wait_for_exit().success());
        demo.assert_terminal_left_clean();
    }
}

#[test]
fn a_filter_narrows_the_list_and_escape_widens_it() {
    let mut demo = demo();
    demo.send("/class:*Capture*<Enter>");
    demo.wait("how many match", |screen| screen.contains("/ class:*Capture*") && screen.contains(" match"));
    demo.wait("the jobs that match", |screen| screen.contains("all: Billing::CaptureAuthorizationJob"));
    demo.send("<Esc>");
    demo.wait_for_text("all dead jobs");
}

#[test]
fn a_filter_that_is_wrong_says_where_and_changes_nothing() {
    let mut demo = demo();
    demo.send("/class:a bogus:b<Enter>");
    demo.wait("what is wrong", |screen| screen.contains("bogus") && screen.contains("column 9"));
    demo.press_until("<Esc>", "the panes", |screen| screen.contains("all dead jobs") && screen.contains("? help"));
}

#[test]
fn an_open_job_has_all_its_tabs() {
    let mut demo = demo();
    demo.send("<Enter>");
    demo.wait("the arguments", |screen| screen.contains("[1 Arguments") && screen.contains("\""));
    for (key, tab) in [("2", "[2 Backtrace"), ("3", "[3 Error"), ("4", "[4 Metadata"), ("5", "[5 History")] {
        demo.send(key);
        demo.wait_for_text(tab);
    }
    demo.send("<Esc>");
    demo.wait("the list again", |screen| screen.contains("[Jobs]"));
}

#[test]
fn one_job_is_replayed_once_it_is_confirmed_and_a_sentence_says_so() {
    let mut demo = demo();
    demo.send("R");
    demo.wait("the plan", |screen| screen.contains("replay 1 job") && screen.contains("[ n No ]"));
    demo.press_until("y", "that the plan is taken", |screen| !screen.contains("[ n No ]"));
    demo.wait("what became of it", |screen| screen.contains("replayed") && screen.contains("[Jobs]"));
}

#[test]
fn several_jobs_are_replayed_with_a_receipt_whose_parts_add_up() {
    let mut demo = demo();
    // Paused, so that the rows stand where they stand.
    demo.send("p<Space><Space><Space>");
    demo.wait_for_text("3 marked");
    demo.send("R");
    demo.wait("the plan", |screen| screen.contains("replay 3 jobs") && screen.contains("[ n No ]"));
    demo.press_until("y", "that the plan is taken", |screen| !screen.contains("[ n No ]"));
    demo.wait("the receipt", |screen| {
        screen.contains("Receipt of") && screen.contains("Every planned job was replayed")
    });
    // What became of them comes by itself, while the receipt is open.
    demo.wait("the outcomes", |screen| screen.contains("succeeded") || screen.contains("died again"));
    demo.press_until("<Esc>", "the list", |screen| !screen.contains("Receipt of") && screen.contains("[Jobs]"));
    demo.send("q");
    assert!(demo.wait_for_exit().success());
    demo.assert_terminal_left_clean();
}

#[test]
fn enter_alone_never_confirms() {
    let mut demo = demo();
    demo.send("*R");
    demo.wait("the plan", |screen| screen.contains("[ n No ]"));
    demo.send("<Enter><Enter><Enter><Space>");
    demo.send("n");
    demo.wait("the list again", |screen| !screen.contains("[ n No ]") && screen.contains("[Jobs]"));
    demo.send("L");
    demo.wait("the runs", |screen| screen.contains("uns"));
    assert!(!demo.text().contains("replay  ended"), "{}", demo.text());
}
