//! Drives a program on a pseudo-terminal: real keys in, a real screen out.
//!
//! ```text
//! let mut console = Pty::console(&["demo"]).size(80, 24).start();
//! console.wait("the histogram", |screen| screen.contains("Net::ReadTimeout"));
//! console.send("j<Enter>");
//! console.send("q");
//! assert!(console.wait_for_exit().success());
//! console.assert_terminal_left_clean();
//! ```
//!
//! Waiting is for a predicate over the *screen*: the byte stream holds only the cells that changed, so a text that is
//! plainly in view never passes through it in one piece. Nothing sleeps for a fixed time. The terminal answers no
//! queries, like the silent ones that some operators have.

mod keys;
mod late;
mod screen;
mod tests;

use std::io::Write;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

pub use screen::Screen;
use screen::SideEffects;

use crate::harness::process;

/// Bounds how long a failure takes; success takes as long as it takes.
const DEADLINE: Duration = Duration::from_secs(20);

/// How long an answer to a key may take before it is pressed again, which does no harm.
const MOMENT: Duration = Duration::from_millis(300);

/// A program about to be started.
pub struct Launch {
    command: CommandBuilder,
    home: tempfile::TempDir,
    columns: u16,
    rows: u16,
    round_trip: Duration,
}

impl Launch {
    /// The terminal's size; 80 x 24 unless told.
    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        (self.columns, self.rows) = (columns, rows);
        self
    }

    /// How long it takes from a key to the earliest answer that can be in view; no time unless told.
    #[allow(dead_code, reason = "the bench measures at the bastion")]
    pub fn away(mut self, round_trip: Duration) -> Self {
        self.round_trip = round_trip;
        self
    }

    /// Sets an environment variable. The program gets nothing of the tests' own environment but `PATH`.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Writes a file below the program's home, such as `.config/dlq-tui/config.toml`.
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.home.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        self
    }

    /// Starts the program.
    pub fn start(self) -> Pty {
        let size = PtySize { cols: self.columns, rows: self.rows, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let before = pair.master.get_termios().expect("the terminal's settings");
        let reader = pair.master.try_clone_reader().expect("a reader");
        let writer = pair.master.take_writer().expect("a writer");
        let began = Instant::now();
        let child = pair.slave.spawn_command(self.command).expect("the program starts");
        // Ours must go, or the reader would never see the end.
        drop(pair.slave);

        let (rows, columns) = (non_zero(self.rows), non_zero(self.columns));
        let parser = vt100::Parser::new_with_callbacks(rows, columns, 0, SideEffects::default());
        let terminal = Arc::new(Terminal {
            state: Mutex::new(State { parser, raw: Vec::new(), heard: began, ended: false }),
            changed: Condvar::new(),
        });
        let feeder = Arc::clone(&terminal);
        let (chunks, half) = (late::chunks(reader), self.round_trip / 2);
        let writer: Box<dyn Write + Send> = if half.is_zero() {
            std::thread::spawn(move || feeder.feed(chunks));
            writer
        } else {
            std::thread::spawn(move || feeder.feed(late::late(chunks, half)));
            Box::new(late::LateKeys::start(writer, half))
        };
        let unchanged = move |master: &dyn MasterPty| master.get_termios().is_some_and(|now| now == before);
        let settings_unchanged = Box::new(unchanged);
        Pty { terminal, master: pair.master, writer, child, began, settings_unchanged, home: self.home }
    }
}

/// Compares a terminal's line settings with those it had; the type of the settings cannot be named from here.
type SettingsCheck = Box<dyn Fn(&dyn MasterPty) -> bool + Send>;

/// A program that runs on a pseudo-terminal. It is killed when the value is dropped.
pub struct Pty {
    terminal: Arc<Terminal>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    began: Instant,
    settings_unchanged: SettingsCheck,
    home: tempfile::TempDir,
}

impl Pty {
    /// The shipped binary with these arguments, in an empty home.
    pub fn console(arguments: &[&str]) -> Launch {
        Self::program(env!("CARGO_BIN_EXE_dlq-tui"), arguments)
    }

    /// Any program.
    pub fn program(program: &str, arguments: &[&str]) -> Launch {
        let home = tempfile::Builder::new().prefix("dlq-home-").tempdir().expect("a temporary folder");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(home.path());
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", home.path());
        // A program that is killed leaves its folders there.
        command.env("TMPDIR", home.path());
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.env("TZ", "UTC");
        Launch { command, home, columns: 80, rows: 24, round_trip: Duration::ZERO }
    }

    /// The program's home, where its config and state folders are.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Presses keys: `"j"`, `"12G"`, `"<Enter>"`, `"<C-d>"`; see [`keys::bytes`] for the names.
    #[track_caller]
    pub fn send(&mut self, keys: &str) {
        self.send_bytes(&keys::bytes(keys));
    }

    /// Pastes a text as terminals do for programs that asked for bracketed paste.
    #[track_caller]
    pub fn paste(&mut self, text: &str) {
        self.send_bytes(format!("\x1b[200~{text}\x1b[201~").as_bytes());
    }

    #[track_caller]
    fn send_bytes(&mut self, bytes: &[u8]) {
        let sent = self.writer.write_all(bytes).and_then(|()| self.writer.flush());
        sent.unwrap_or_else(|e| panic!("the program takes no keys: {e}\n{}", self.terminal.lock().picture()));
    }

    /// Waits until the screen satisfies `condition`; `what` names what was waited for when it never does.
    #[track_caller]
    pub fn wait(&self, what: &str, condition: impl Fn(&Screen<'_>) -> bool) {
        let found = self.terminal.wait_for(|state| condition(&state.screen()));
        found.unwrap_or_else(|why| panic!("never seen: {what} ({why})\n{}", self.terminal.lock().picture()));
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.wait(&format!("{text:?}"), |screen| screen.contains(text));
    }

    /// Presses a key until the screen satisfies `condition`: Esc that leads back from somewhere, or a confirmation that
    /// counts only once the question has stood there for a moment. Esc alone each time: with another key right behind
    /// it, it would be that key with Alt.
    #[track_caller]
    pub fn press_until(&mut self, key: &str, what: &str, condition: impl Fn(&Screen<'_>) -> bool) {
        for _ in 0..20 {
            if self.see(&condition) {
                return;
            }
            self.send(key);
            if self.wait_a_moment(&condition) {
                return;
            }
        }
        self.wait(what, condition);
    }

    /// Tells whether the screen comes to satisfy `condition` within the time that an answer to a key may take.
    pub fn wait_a_moment(&self, condition: impl Fn(&Screen<'_>) -> bool) -> bool {
        self.seen_within(MOMENT, condition)
    }

    /// Tells whether the screen comes to satisfy `condition` within a time.
    pub fn seen_within(&self, limit: Duration, condition: impl Fn(&Screen<'_>) -> bool) -> bool {
        self.terminal.wait_within(limit, |state| condition(&state.screen())).is_ok()
    }

    /// Looks at the screen as it is now.
    pub fn see<T>(&self, look: impl FnOnce(&Screen<'_>) -> T) -> T {
        look(&self.terminal.lock().screen())
    }

    /// What is on the screen now, one line per row.
    pub fn text(&self) -> String {
        self.terminal.lock().screen().text()
    }

    /// Hands out the terminal's screen as it is now, cell by cell.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.terminal.lock().parser.screen())
    }

    /// Changes the terminal's size, and tells the program.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.terminal.lock().parser.set_size(non_zero(rows), non_zero(columns));
        let size = PtySize { cols: columns, rows, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("the terminal takes a size");
    }

    /// Sends the program a signal by name: `TERM`, `HUP`, `INT`, `STOP`, `CONT`, `KILL`.
    pub fn signal(&self, signal_name: &str) {
        process::signal(&[self.pid()], signal_name);
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    /// Whether the program has ended.
    pub fn has_ended(&self) -> bool {
        self.terminal.lock().ended
    }

    /// Waits until the program has ended, but no longer than this.
    pub fn ends_within(&self, limit: Duration) -> bool {
        self.terminal.wait_within(limit, |state| state.ended).is_ok()
    }

    /// Waits until the program has ended and all that it wrote is on the screen.
    #[track_caller]
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let ended = self.terminal.wait_for(|state| state.ended);
        if let Err(why) = ended
            && why == WHY_LATE
        {
            panic!("the program does not end\n{}", self.terminal.lock().picture());
        }
        self.child.wait().expect("the program's exit status")
    }

    /// How long after its start the program last wrote something, or closed the terminal.
    #[allow(dead_code, reason = "the bench asks")]
    pub fn heard_after(&self) -> Duration {
        self.terminal.lock().heard - self.began
    }

    /// Every byte that the program wrote.
    pub fn raw(&self) -> Vec<u8> {
        self.terminal.lock().raw.clone()
    }

    /// How many bytes that were.
    #[allow(dead_code, reason = "the bench counts them while they come")]
    pub fn raw_len(&self) -> usize {
        self.terminal.lock().raw.len()
    }

    /// What the program made the terminal do beside drawing: titles, clipboard, bells, sequences nobody knows.
    /// A job's text must never add to this list.
    pub fn side_effects(&self) -> Vec<String> {
        self.terminal.lock().parser.callbacks().seen.clone()
    }

    /// After the end: main screen, cursor in view, no mouse or paste mode, and line settings (echo among them) as found.
    #[track_caller]
    pub fn assert_terminal_left_clean(&self) {
        let state = self.terminal.lock();
        let leftovers = state.screen().leftovers();
        assert!(leftovers.is_empty(), "the terminal was left with {leftovers:?}\n{}", state.picture());
        assert!(
            (self.settings_unchanged)(self.master.as_ref()),
            "the terminal was left in raw mode\n{}",
            state.picture()
        );
    }

    /// The folder of a file that the program should have written, below its home.
    pub fn path(&self, below_home: &str) -> PathBuf {
        self.home.path().join(below_home)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            process::signal(&[self.pid()], "KILL");
            let _ = self.child.wait();
        }
    }
}

const WHY_LATE: &str = "time is up";
const WHY_ENDED: &str = "the program has ended";

struct Terminal {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser<SideEffects>,
    raw: Vec<u8>,
    /// When the latest bytes came, or the end.
    heard: Instant,
    ended: bool,
}

impl State {
    fn screen(&self) -> Screen<'_> {
        Screen::new(self.parser.screen())
    }

    fn picture(&self) -> String {
        self.screen().picture()
    }
}

impl Terminal {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Shows what comes until the program closes its side.
    fn feed(&self, chunks: impl Iterator<Item = Vec<u8>>) {
        for chunk in chunks {
            let heard = Instant::now();
            let mut state = self.lock();
            state.heard = heard;
            state.raw.extend_from_slice(&chunk);
            state.parser.process(&chunk);
            self.changed.notify_all();
        }
        let mut state = self.lock();
        (state.heard, state.ended) = (Instant::now(), true);
        self.changed.notify_all();
    }

    fn wait_for(&self, condition: impl Fn(&State) -> bool) -> Result<(), &'static str> {
        self.wait_within(DEADLINE, condition)
    }

    fn wait_within(&self, limit: Duration, condition: impl Fn(&State) -> bool) -> Result<(), &'static str> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if condition(&state) {
                return Ok(());
            }
            if state.ended {
                return Err(WHY_ENDED);
            }
            let left = deadline.checked_duration_since(Instant::now()).ok_or(WHY_LATE)?;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

fn non_zero(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).expect("a terminal has at least one row and one column")
}
