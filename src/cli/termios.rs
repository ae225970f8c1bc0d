//! The terminal's settings, changed for a moment.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A terminal without some of its modes, until this is dropped: then its settings are as they were.
pub struct Without {
    before: Termios,
}

impl Without {
    /// Takes modes from the terminal of standard input.
    ///
    /// # Errors
    /// When there is none, or it does not let itself be changed.
    pub fn modes(modes: LocalModes) -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut changed = before.clone();
        changed.local_modes.remove(modes);
        tcsetattr(io::stdin(), OptionalActions::Now, &changed)?;
        Ok(Self { before })
    }
}

impl Drop for Without {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
