//! The console on a line that carries nothing, little, or breaks.

use std::time::Duration;

use crate::fixtures::Layout;
use crate::harness::{self, Carries, Wire};
use crate::pty::{Pty, Screen};

use super::{has_bars, has_jobs, text_under_cursor, to_list};

fn is_live(screen: &Screen<'_>) -> bool {
    screen.contains("● live") && !screen.contains("DISCONNECTED")
}

#[tokio::test]
async fn on_a_line_that_fails_the_keyboard_works_the_data_stays_and_its_return_is_noticed() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("console lines").await;
    Layout::DeadLetterJobs.seed(&db, 500).await;
    let wire = Wire::to(&db.url, Duration::ZERO);
    let mut pty = Pty::console(&[]).env("DATABASE_URL", &wire.url).size(140, 45).start();
    pty.wait("bars and jobs, live", |screen| has_bars(screen) && has_jobs(screen) && is_live(screen));
    to_list(&mut pty);
    for fault in [Carries::Nothing, Carries::Anew, Carries::Drops] {
        wire.carry(fault);
        for key in ["j", "k"] {
            let before = text_under_cursor(&pty);
            pty.send(key);
            let moved = |screen: &Screen<'_>| super::row_under_cursor(screen).is_some_and(|row| row != before);
            assert!(pty.wait_a_moment(moved), "{fault:?}: {key} is not answered\n{}", pty.text());
        }
        if fault == Carries::Nothing {
            pty.wait("that nothing comes, and how old the data is", |screen| !is_live(screen) && has_jobs(screen));
        }
        wire.carry(Carries::All);
        pty.wait("that it is live again", |screen| is_live(screen) && has_bars(screen) && has_jobs(screen));
    }
    wire.carry(Carries::Nothing);
    pty.send("q");
    assert!(pty.wait_for_exit().success());
    pty.assert_terminal_left_clean();
}

#[tokio::test]
async fn a_source_that_never_answers_is_waited_for_in_the_console_which_can_be_left() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("console silent").await;
    Layout::DeadLetterJobs.seed(&db, 50).await;
    let wire = Wire::to(&db.url, Duration::ZERO);
    wire.carry(Carries::Nothing);
    let start = || Pty::console(&[]).env("DATABASE_URL", &wire.url).start();
    let mut pty = start();
    pty.wait("what is waited for", |screen| screen.contains("connecting to"));
    pty.send("q");
    assert!(pty.wait_for_exit().success());
    pty.assert_terminal_left_clean();

    let pty = start();
    pty.wait("what is waited for", |screen| screen.contains("connecting to"));
    wire.carry(Carries::All);
    pty.wait("jobs", has_jobs);
}
