//! The shipped binary on a pseudo-terminal, with real keys, on real databases. A handful: what a lower level can show
//! is tested there.

mod demo;
mod keys;
mod lost;
mod nasty;
mod replayers;
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
    screen.rows().iter().filter(|row| drawn(row)).count() >= 3
}

/// The row of the list under the cursor now.
fn text_under_cursor(pty: &Pty) -> String {
    pty.see(row_under_cursor).unwrap_or_else(|| panic!("no row under the cursor\n{}", pty.text()))
}

/// The row of the list under the cursor: the one that has both the cursor and a time of day.
fn row_under_cursor(screen: &Screen<'_>) -> Option<String> {
    let rows = screen.rows();
    let found = rows.iter().filter_map(|row| row.rsplit_once('▸').map(|(_, row)| row)).find(|row| has_time(row));
    found.map(|row| row.trim().to_owned())
}

/// Whether a text holds a time of day.
fn has_time(text: &str) -> bool {
    text.split([' ', '▸', '●', '│']).any(|word| word.len() >= 5 && word.as_bytes().get(2) == Some(&b':'))
}

/// Whether rows of jobs are in view.
fn has_jobs(screen: &Screen<'_>) -> bool {
    screen.rows().iter().filter(|row| has_time(row)).count() >= 3
}
