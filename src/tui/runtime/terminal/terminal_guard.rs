//! Taking the terminal and giving it back.
//!
//! Only the loop's own thread does either: a panic elsewhere must not pull the screen from under a console that lives.

use std::io::{self, IsTerminal};
use std::time::Duration;

use crate::tui::runtime::terminal::backend::SYNC_END;
use crate::tui::runtime::terminal::stderr::Diverted;
use crate::tui::runtime::terminal::writer::TerminalWriter;

const ALTERNATE_SCREEN: (&str, &str) = ("\x1b[?1049h", "\x1b[?1049l");
const BRACKETED_PASTE: (&str, &str) = ("\x1b[?2004h", "\x1b[?2004l");
const CURSOR_HIDDEN: (&str, &str) = ("\x1b[?25l", "\x1b[?25h");
/// Clicks and the wheel, in the encoding that has no limit of columns; not every move of the mouse.
const MOUSE: (&str, &str) = ("\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l");
const PLAIN: &str = "\x1b[0m";

/// How long a terminal that takes nothing is waited for before it is left as it is.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether the console can be shown here.
///
/// # Errors
/// A sentence that says why not, and what to use instead.
pub fn check_terminal(is_terminal: bool, term: Option<&str>) -> Result<(), String> {
    let instead = "`dlq-tui stats`, `list`, `show` and `replay` work without one (see --help)";
    if !is_terminal {
        return Err(format!("the console needs a terminal on its standard output; {instead}"));
    }
    match term {
        None | Some("") => Err(format!("TERM is not set, so the terminal's abilities are unknown; {instead}")),
        Some("dumb") => Err(format!("TERM=dumb cannot show the console; {instead}")),
        Some(_) => Ok(()),
    }
}

/// The same of this process' standard output.
///
/// # Errors
/// A sentence that says why not.
pub fn check_this_terminal() -> Result<(), String> {
    check_terminal(io::stdout().is_terminal(), std::env::var("TERM").ok().as_deref())
}

/// Proof that the terminal is ours. [`TerminalGuard::leave`] gives it back.
#[derive(Debug)]
#[must_use = "a terminal that is not given back leaves the operator without a shell"]
pub struct TerminalGuard {
    mouse: bool,
    _stderr: Option<Diverted>,
}

impl TerminalGuard {
    /// Takes the terminal: raw keys, the alternate screen, pastes in one piece, no cursor, and the mouse if wanted.
    /// What is written to standard error goes to the log from now on.
    ///
    /// # Errors
    /// When the terminal cannot be put into raw mode; it is as before then.
    pub fn enter(writer: &mut TerminalWriter, mouse: bool) -> io::Result<Self> {
        crossterm::terminal::enable_raw_mode()?;
        writer.send(enter_bytes(mouse));
        // Without a log, stray words would scroll the screen once; that is no reason not to start.
        Ok(Self { mouse, _stderr: Diverted::to_log().ok() })
    }

    /// Takes or releases the mouse.
    pub fn mouse(&mut self, writer: &mut TerminalWriter, taken: bool) {
        if self.mouse != taken {
            self.mouse = taken;
            writer.send(if taken { MOUSE.0 } else { MOUSE.1 }.into());
        }
    }

    /// Gives the terminal back. One that takes nothing any more is not waited for long.
    pub fn leave(self, writer: &mut TerminalWriter) {
        writer.send_and_wait(leave_bytes(self.mouse), PATIENCE);
        // Fails when the terminal is gone, and then nobody misses it.
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

fn enter_bytes(mouse: bool) -> Vec<u8> {
    let mouse = if mouse { MOUSE.0 } else { "" };
    [ALTERNATE_SCREEN.0, BRACKETED_PASTE.0, CURSOR_HIDDEN.0, mouse].concat().into_bytes()
}

fn leave_bytes(mouse: bool) -> Vec<u8> {
    let mouse = if mouse { MOUSE.1 } else { "" };
    let rest = [PLAIN, mouse, CURSOR_HIDDEN.1, BRACKETED_PASTE.1, ALTERNATE_SCREEN.1].concat();
    [SYNC_END, rest.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_on_is_switched_off_again() {
        for mouse in [false, true] {
            let on = String::from_utf8(enter_bytes(mouse)).expect("text");
            let off = String::from_utf8(leave_bytes(mouse)).expect("text");
            for mode in ["1049", "2004", "1000", "1006"] {
                assert_eq!(on.contains(&format!("{mode}h")), off.contains(&format!("{mode}l")), "{mode}");
            }
            assert!(off.contains("\x1b[?25h") && off.starts_with("\x1b[?2026l"));
        }
    }

    #[test]
    fn a_pipe_and_a_dumb_terminal_are_refused_with_a_way_out() {
        assert!(check_terminal(true, Some("xterm-256color")).is_ok());
        for (terminal, term) in [(false, Some("xterm")), (true, None), (true, Some("")), (true, Some("dumb"))] {
            assert!(check_terminal(terminal, term).expect_err("refused").contains("`dlq-tui stats`"));
        }
    }
}
