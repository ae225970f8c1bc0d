//! The console on a terminal of 140 x 45, and what can be told from its screen.

use std::time::{Duration, Instant};

use crate::process::CONFIG;
use crate::pty::{Pty, Screen};
use crate::sample::Sample;

/// The terminal's size.
pub const COLUMNS: u16 = 140;
pub const ROWS: u16 = 45;
/// How long an answer to a key is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The console on a database, in an empty home, with these arguments.
pub fn console(url: &str, arguments: &[&str]) -> Pty {
    Pty::console(arguments).size(COLUMNS, ROWS).env("DATABASE_URL", url).start()
}

/// The same on a source whose dead jobs can be replayed.
pub fn operator(url: &str, filter: &str) -> Pty {
    let arguments = ["--source", "bench", "-f", filter];
    let launch = Pty::console(&arguments).size(COLUMNS, ROWS).file(".config/dlq-tui/config.toml", CONFIG);
    launch.env("DATABASE_URL", url).start()
}

/// Bars, rows of the list, and the job under the cursor: what an operator can decide on.
pub fn is_useful(screen: &Screen<'_>) -> bool {
    let rows = screen.rows();
    let is_bar = |row: &&String| row.contains(['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█']);
    let is_job = |row: &&String| row.split_whitespace().count() >= 2;
    rows.iter().filter(is_bar).count() >= 3
        && screen.below("time UTC", 2).iter().filter(is_job).count() >= 5
        && rows.iter().any(|row| row.contains("Arguments"))
}

/// Leads the keys from the bars, where they begin, to the list.
pub fn enter_list(pty: &mut Pty) {
    pty.wait("the bars", |screen| screen.contains("[1 error class]"));
    pty.send("<Tab>");
    pty.wait_for_text("[Jobs]");
}

/// Where the list's cursor can stand: a column, and the rows from one on.
#[derive(Clone, Copy, Debug)]
struct List {
    column: u16,
    first: u16,
}

impl List {
    fn of(screen: &Screen<'_>) -> Option<Self> {
        const HEADING: &str = "time UTC";
        let rows = screen.rows();
        let at = rows.iter().position(|row| row.contains(HEADING))?;
        let before = rows.get(at)?.split(HEADING).next()?.chars().count();
        Some(Self { column: u16::try_from(before.checked_sub(2)?).ok()?, first: u16::try_from(at).ok()? + 1 })
    }

    /// The row on which it stands.
    fn cursor(self, screen: &Screen<'_>) -> Option<u16> {
        (self.first..ROWS).find(|at| screen.cell(*at, self.column).is_some_and(|cell| cell.contents() == "▸"))
    }
}

/// How long it takes from a key that moves the cursor to the frame that shows it moved, so often; and how many keys were
/// never answered.
pub fn moves(pty: &mut Pty, keys: usize, pause: Duration) -> (Sample, usize) {
    let (mut sample, mut lost) = (Sample::default(), 0);
    let Some(list) = pty.see(List::of) else { return (sample, keys) };
    for at in 0..keys {
        // Up and down within what is on the screen.
        let key = if at / 4 % 2 == 0 { "j" } else { "k" };
        let was = pty.see(|screen| list.cursor(screen));
        let began = Instant::now();
        pty.send(key);
        if pty.seen_within(PATIENCE, |screen| list.cursor(screen).is_some_and(|now| Some(now) != was)) {
            sample.push(began.elapsed());
        } else {
            lost += 1;
        }
        std::thread::sleep(pause);
    }
    (sample, lost)
}
