//! What travels to the terminal: the operator may sit behind a thin line.

use std::time::Duration;

use crate::fixtures::Layout;
use crate::harness;
use crate::pty::Pty;

use super::{has_bars, has_jobs, on, row_under_cursor, text_under_cursor, to_list};

/// Bytes that a move of the cursor may cost at 140 x 45, the job that it opens included.
const MOVE: usize = 1_500;

/// How far away the operator may sit.
const FAR: Duration = Duration::from_millis(150);
/// How often a key comes that is held down.
const REPEAT: Duration = Duration::from_millis(33);

/// Presses a key until all that it changes is on the screen: the cursor, and the job under it in the pane below.
fn press(pty: &mut Pty, key: &str) {
    let was = text_under_cursor(pty);
    pty.send(key);
    pty.wait("the cursor on another row", |screen| row_under_cursor(screen).is_some_and(|row| row != was));
    let error =
        pty.see(|screen| row_under_cursor(screen).and_then(|row| row.split_whitespace().nth(3).map(str::to_owned)));
    let error = error.expect("an error class");
    // The head of the open job begins with its error class.
    let head = format!(" {error}: ");
    pty.wait("the job under the cursor", |screen| screen.rows().iter().any(|row| row.starts_with(&head)));
}

#[tokio::test]
async fn a_move_of_the_cursor_is_a_few_hundred_bytes_with_the_job_that_it_opens() {
    let db = harness::sqlite("bytes").await;
    Layout::DeadLetterJobs.seed(&db, 500).await;
    let mut pty = on(&db).size(140, 45).start();
    pty.wait("bars, rows, and a job", |screen| has_bars(screen) && has_jobs(screen) && screen.contains("[Arguments"));
    to_list(&mut pty);
    let before = pty.raw().len();
    let keys = ["j", "j", "j", "k", "j", "j", "j", "k", "k", "k"];
    for key in keys {
        press(&mut pty, key);
    }
    let mean = (pty.raw().len() - before) / keys.len();
    assert!(mean < MOVE, "{mean} bytes a move");
}

#[tokio::test]
async fn far_away_a_held_key_goes_as_far_as_it_was_held_and_what_was_confirmed_is_replayed() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("console far").await;
    Layout::JobsDlq.seed(&db, 500).await;
    db.execute("delete from jobs").await;
    let mut pty = on(&db).size(140, 45).away(FAR).start();
    pty.wait("jobs", has_jobs);
    to_list(&mut pty);
    let (before, held) = (pty.raw_len(), 60);
    for _ in 0..held {
        pty.send("j");
        std::thread::sleep(REPEAT);
    }
    // The newest has the id 500.
    pty.send("<Enter>");
    pty.wait_for_text("id 440");
    pty.send("<Esc>");
    pty.wait("the list again", |screen| screen.contains("[Jobs]") && row_under_cursor(screen).is_some());
    let mean = (pty.raw_len() - before) / held;
    assert!(mean < MOVE, "{mean} bytes a move");
    pty.send("RyR");
    pty.wait("the plan, which took no key that came along", |screen| screen.contains("[ n No ]"));
    assert_eq!(db.count("jobs").await, 0);
    pty.press_until("y", "that the plan is taken", |screen| !screen.contains("[ n No ]"));
    pty.wait("one job less", |screen| screen.contains("dead 499") && screen.contains("[Jobs]"));
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq where id = 440").await), (1, 0));
    pty.press_until("<Esc>", "the list", |screen| !screen.contains("Receipt of") && screen.contains("[Jobs]"));
    pty.send("q");
    assert!(pty.wait_for_exit().success());
    pty.assert_terminal_left_clean();
}
