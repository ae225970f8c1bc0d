//! What the console does to a terminal, and how it leaves it.

use crate::fixtures::Layout;
use crate::harness;
use crate::pty::Pty;

use super::{has_jobs, on};

async fn console() -> (harness::TestDb, Pty) {
    let db = harness::sqlite("console terminal").await;
    Layout::JobsDlq.seed(&db, 500).await;
    let pty = on(&db).start();
    pty.wait("jobs", has_jobs);
    (db, pty)
}

#[tokio::test]
async fn any_size_is_drawn_and_too_small_is_said_politely() {
    let (_db, mut pty) = console().await;
    let mut size = 7u16;
    for _ in 0..200 {
        // A walk through sizes, the same each time.
        size = size.wrapping_mul(75).wrapping_add(74);
        pty.resize(1 + size % 180, 1 + (size / 7) % 60);
        pty.send("j");
    }
    pty.resize(30, 8);
    pty.wait("that it is too small", |screen| screen.contains("too small") && screen.contains("40x10"));
    pty.resize(1, 1);
    pty.resize(120, 40);
    pty.wait("the jobs again", has_jobs);
    pty.send("q");
    assert!(pty.wait_for_exit().success());
    pty.assert_terminal_left_clean();
}

#[tokio::test]
async fn signals_end_the_console_and_leave_the_terminal_clean() {
    for name in ["TERM", "HUP"] {
        let (_db, mut pty) = console().await;
        pty.signal(name);
        pty.wait_for_exit();
        pty.assert_terminal_left_clean();
    }
}
