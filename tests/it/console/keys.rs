//! Thousands of keys without a plan.

use crate::fixtures::Layout;
use crate::harness;
use crate::pty::Pty;

use super::{has_jobs, on};

/// Every key but those that confirm (`y`), leave (`q`, Ctrl-C), suspend (Ctrl-Z) or start another program (`e`).
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

#[tokio::test]
async fn keys_pressed_at_random_change_not_one_row_and_crash_nothing() {
    let db = harness::sqlite("console keys").await;
    // Here every verb that one key could be enough for is disabled: whatever is written was confirmed.
    Layout::JobsDlq.seed(&db, 400).await;
    let rows = "select id || ' ' || attempts || ' ' || error_msg || ' ' || payload from jobs_dlq order by id";
    let before = db.column(rows).await;
    for seed in [1u64, 0x5eed, 0xdead_10b5] {
        let mut pty = on(&db).size(100, 30).env("EDITOR", "true").start();
        pty.wait("jobs", has_jobs);
        let mut state = seed;
        for round in 0..8 {
            let keys: String = (0..190).map(|_| KEYS[next(&mut state) % KEYS.len()]).collect();
            pty.send(&keys);
            let what = format!("round {round} of seed {seed}: {keys}");
            settle(&mut pty, &format!("#{seed}#{round}#"), &what);
        }
        // Not by a key: what the last keys asked for may still come up and take it.
        pty.signal("TERM");
        pty.wait_for_exit();
        pty.assert_terminal_left_clean();
    }
    assert_eq!(db.column(rows).await, before);
    assert_eq!(db.count("jobs").await, 0);
}
