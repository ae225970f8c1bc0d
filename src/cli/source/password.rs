//! A password typed at the terminal, which shows nothing of it.

use std::io::{self, BufRead as _, Write as _};

use rustix::termios::{LocalModes, QueueSelector, tcflush};

use crate::cli::termios::Without;
use crate::domain::secret::SecretString;

/// Asks on the terminal and reads one line without showing it; `None` at the end of input, or when the operator interrupts.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn ask(question: &str) -> io::Result<Option<SecretString>> {
    let mut err = io::stderr();
    // Before anything is changed: a signal that nobody listens to would end us here, and leave the terminal as it is.
    let interrupted = crate::cli::signal::stop_requested();
    let hidden = Without::modes(LocalModes::ECHO)?;
    // What was typed before the question stood there is no answer to it, and was shown.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    write!(err, "{question} ")?;
    err.flush()?;
    // Reading waits on a thread of its own: an interrupt is listened to by us, and would not end a read.
    let reading = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let n = io::stdin().lock().read_line(&mut line)?;
        // Blanks may belong to it.
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        io::Result::Ok((n > 0).then(|| SecretString::from(line)))
    });
    let answer = tokio::select! {
        answer = reading => answer.map_err(io::Error::other)?,
        () = interrupted => Ok(None),
    };
    drop(hidden);
    // The end of the line that was typed was not shown either.
    writeln!(err)?;
    answer
}
