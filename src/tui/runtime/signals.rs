//! What the system asks of the process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// A signal, by what it means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM, SIGHUP: the process is to end.
    Terminate,
    /// SIGINT, SIGQUIT: somebody interrupts from outside. In raw mode the keys do not send them, but while an editor has
    /// the terminal they do, and are meant for the editor.
    Interrupt,
    /// SIGCONT: the process was stopped from outside and goes on; its terminal may have been used meanwhile.
    Continue,
    /// SIGUSR1, SIGUSR2: the run that goes on is to pause after its batch, or to go on.
    PauseRun(bool),
}

/// Listens for signals as long as it lives. Their default effects do not come back with its end.
#[derive(Debug)]
pub struct Listener(Vec<JoinHandle<()>>);

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn start() -> io::Result<(Self, UnboundedReceiver<Signal>)> {
        let (heard, signals) = unbounded_channel();
        let kinds = [
            (SignalKind::terminate(), Signal::Terminate),
            (SignalKind::hangup(), Signal::Terminate),
            (SignalKind::interrupt(), Signal::Interrupt),
            (SignalKind::quit(), Signal::Interrupt),
            (continued(), Signal::Continue),
            (SignalKind::user_defined1(), Signal::PauseRun(true)),
            (SignalKind::user_defined2(), Signal::PauseRun(false)),
        ];
        let mut tasks = Vec::new();
        for (kind, meaning) in kinds {
            let mut stream = signal(kind)?;
            let heard = heard.clone();
            tasks.push(tokio::spawn(
                async move { while stream.recv().await.is_some() && heard.send(meaning).is_ok() {} },
            ));
        }
        Ok((Self(tasks), signals))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// SIGCONT, which has no name of its own in the signal library.
pub fn continued() -> SignalKind {
    SignalKind::from_raw(rustix::process::Signal::CONT.as_raw())
}
