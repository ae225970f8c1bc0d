//! What travels to the terminal: the operator may sit behind a thin line.

use crate::fixtures::Layout;
use crate::harness;
use crate::pty::Pty;

use super::{has_bars, has_jobs, on, row_under_cursor, text_under_cursor};

/// Bytes that a move of the cursor may cost at 140 x 45, the job that it opens included.
const MOVE: usize = 1_500;

/// Presses a key until all that it changes is on the screen: the cursor, and the job under it in the pane below.
fn press(pty: &mut Pty, key: &str) {
    let was = text_under_cursor(pty);
    pty.send(key);
    pty.wait("the cursor on another row", |screen| row_under_cursor(screen).is_some_and(|row| row != was));
    let error =
        pty.see(|screen| row_under_cursor(screen).and_then(|row| row.split_whitespace().nth(3).map(str::to_owned)));
    let error = error.expect("an error class");
    // The head of the open job begins with its error class.
    let head = format!("│ {}", error.trim_end_matches('…'));
    pty.wait("the job under the cursor", |screen| screen.rows().iter().any(|row| row.contains(&head)));
}

#[tokio::test]
async fn a_move_of_the_cursor_is_a_few_hundred_bytes_with_the_job_that_it_opens() {
    let db = harness::sqlite("bytes").await;
    Layout::DeadLetterJobs.seed(&db, 500).await;
    let mut pty = on(&db).size(140, 45).start();
    pty.wait("bars, rows, and a job", |screen| has_bars(screen) && has_jobs(screen) && screen.contains("1 Arguments"));
    let before = pty.raw().len();
    let keys = ["j", "j", "j", "k", "j", "j", "j", "k", "k", "k"];
    for key in keys {
        press(&mut pty, key);
    }
    let mean = (pty.raw().len() - before) / keys.len();
    assert!(mean < MOVE, "{mean} bytes a move");
}
