//! Thousands of keys without a plan.

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};
use crate::pty::Pty;

use super::has_jobs;

/// Every key but those that confirm (`y`), leave (`q`, Ctrl-C), suspend (Ctrl-Z) or start another program (`e`, `E`).
const KEYS: &[&str] = &[
    "j",
    "k",
    "g",
    "G",
    "h",
    "l",
    "n",
    "N",
    "s",
    "w",
    "p",
    "r",
    "v",
    "f",
    "c",
    "z",
    "]",
    "*",
    "?",
    ":",
    "/",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
    "0",
    "R",
    "I",
    "U",
    "D",
    "A",
    "L",
    "M",
    "x",
    "<Space>",
    "<Enter>",
    "<Enter>",
    "<Esc>",
    "<Esc>",
    "<Tab>",
    "<S-Tab>",
    "<Up>",
    "<Down>",
    "<Left>",
    "<Right>",
    "<PageUp>",
    "<PageDown>",
    "<Home>",
    "<End>",
    "<C-d>",
    "<C-u>",
    "<C-l>",
    "<Backspace>",
    "<Delete>",
    "<F1>",
    "é",
    "\"",
    "*",
    "-",
];

/// How often so many keys are pressed that the console is asked whether it still listens.
const ROUNDS: usize = 5;

/// The next number of a fixed sequence.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap_or(0)
}

/// Returns once the console has taken every key so far and still listens: it shows a mark typed into the filter bar,
/// which is reached from the panes alone.
fn settle(pty: &mut Pty, mark: &str, what: &str) {
    for _ in 0..60 {
        // What is on screen may be from before the keys: then the mark goes astray, and the next round finds out.
        pty.send("<Esc>");
        pty.wait_a_moment(|screen| screen.contains("? help"));
        pty.send("/");
        pty.send(mark);
        if pty.wait_a_moment(|screen| screen.contains(mark)) {
            return pty.press_until("<Esc>", "the filter bar closed", |screen| !screen.contains(mark));
        }
    }
    panic!("the console does not listen after {what}\n{}", pty.text());
}

/// Presses keys at random on consoles with these arguments, and ends them by a signal: what the last keys asked for may still
/// come up and take a key.
fn walk(db: &TestDb, arguments: &[&str], known: &[&str], seed: u64) {
    let mut pty = Pty::console(arguments).env("DATABASE_URL", &db.url).size(100, 30).env("EDITOR", "true").start();
    pty.wait("jobs", has_jobs);
    let mut state = seed;
    for round in 0..ROUNDS {
        let keys: String = (0..190).map(|_| known[next(&mut state) % known.len()]).collect();
        pty.send(&keys);
        let what = format!("round {round} of seed {seed} with {arguments:?}: {keys}");
        settle(&mut pty, &format!("#{seed}#{round}#"), &what);
    }
    pty.signal("TERM");
    pty.wait_for_exit();
    pty.assert_terminal_left_clean();
}

/// All that the rows of the dead jobs hold.
async fn rows(db: &TestDb) -> Vec<Vec<String>> {
    let text = if db.engine == Engine::Mysql { "char" } else { "text" };
    let mut all = Vec::new();
    for column in ["id", "attempts", "error_class", "error_msg", "failed_at", "payload"] {
        all.push(db.column(&format!("select cast({column} as {text}) from jobs_dlq order by id")).await);
    }
    all
}

#[tokio::test]
async fn keys_pressed_at_random_change_not_one_row_and_crash_nothing() {
    for db in harness::every_engine("console keys").await {
        // Here every verb that one key could be enough for is disabled: whatever is written was confirmed.
        Layout::JobsDlq.seed(&db, 400).await;
        db.execute("delete from jobs").await;
        let before = rows(&db).await;
        walk(&db, &[], KEYS, 1);
        walk(&db, &[], KEYS, 0xdead_10b5);
        // Where nothing can be written, whatever is confirmed is not.
        walk(&db, &["--read-only"], &[KEYS, &["y", "Y", "y<Enter>"]].concat(), 0x5eed);
        assert_eq!((rows(&db).await, db.count("jobs").await), (before, 0), "{:?}", db.engine);
    }
}
