//! The shipped binary on a pseudo-terminal, with real keys, on real databases. A handful: what a lower level can show
//! is tested there.

mod bytes;
mod demo;
mod edit;
mod keys;
mod lines;
mod lost;
mod nasty;
mod replayers;
mod signals;
mod terminal;

use crate::harness::TestDb;
use crate::pty::{Launch, Pty, Screen};

/// The console on a database, in an empty home.
fn on(db: &TestDb) -> Launch {
    Pty::console(&[]).env("DATABASE_URL", &db.url)
}

/// A command on a database, without a terminal of ours in between; its output must be a success.
fn command(db: &TestDb, home: &std::path::Path, args: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_dlq-tui"))
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("DATABASE_URL", &db.url)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} ended with {}: {said}", output.status);
    String::from_utf8(output.stdout).expect("the binary prints UTF-8")
}

/// Whether bars are drawn.
fn has_bars(screen: &Screen<'_>) -> bool {
    let drawn = |row: &String| row.contains(['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█']);
    // Those of the first page come before any count.
    screen.rows().iter().filter(|row| drawn(row)).count() >= 3 && !screen.contains("≥")
}

/// The rows of the list with what stands before them: its cursor and its marks.
fn jobs(screen: &Screen<'_>) -> Vec<String> {
    let rows = screen.below("time UTC", 2).into_iter();
    // Below the list begins the open job or the footer, neither of which has a time in front.
    rows.take_while(|row| row.split([' ', '▸', '●']).find(|word| !word.is_empty()).is_some_and(is_time)).collect()
}

/// Whether a word is a time as the list writes it: `03:12:09`, `11-01`, `Nov`, `9999-12`, `-`.
fn is_time(word: &str) -> bool {
    let is_month = word.len() == 3 && word.chars().all(char::is_alphabetic);
    is_month || word.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '-'))
}

/// Gives the keys to the list, which they do not go to at first.
fn to_list(pty: &mut Pty) {
    pty.send("<Tab>");
    pty.wait("that the list has the keys", |screen| screen.contains("[Jobs]"));
}

/// Whether rows of jobs are in view.
fn has_jobs(screen: &Screen<'_>) -> bool {
    jobs(screen).len() >= 3
}

/// The row of the list under the cursor.
fn row_under_cursor(screen: &Screen<'_>) -> Option<String> {
    jobs(screen).into_iter().find(|row| row.starts_with('▸'))
}

/// The row of the list under the cursor now.
fn text_under_cursor(pty: &Pty) -> String {
    pty.see(row_under_cursor).unwrap_or_else(|| panic!("no row under the cursor\n{}", pty.text()))
}
