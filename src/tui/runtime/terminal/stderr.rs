//! Standard error while the console is up: one stray line from a library would scroll the whole screen.

use std::io;
use std::os::fd::OwnedFd;

use crate::tui::runtime::state_files;

/// Standard error goes to the log for as long as this lives.
#[derive(Debug)]
pub struct Diverted {
    original: OwnedFd,
}

impl Diverted {
    /// Sends standard error to the log file.
    ///
    /// # Errors
    /// When the log cannot be opened; standard error is as before then.
    pub fn to_log() -> io::Result<Self> {
        let log = state_files::log()?;
        let original = rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3)?;
        rustix::stdio::dup2_stderr(&log)?;
        Ok(Self { original })
    }
}

impl Drop for Diverted {
    fn drop(&mut self) {
        // The only failure is a closed original, and then there is nowhere to write to either.
        let _ = rustix::stdio::dup2_stderr(&self.original);
    }
}
