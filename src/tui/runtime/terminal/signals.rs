//! What the system asks of the process.

use std::io::{self, IsTerminal};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// A signal, by what it means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM, SIGHUP, or a terminal that has hung up: the process is to end.
    Terminate,
    /// SIGINT, SIGQUIT: somebody interrupts from outside. In raw mode the keys do not send them, but while an editor has
    /// the terminal they do, and are meant for the editor.
    Interrupt,
    /// SIGCONT: the process was stopped from outside and goes on; its terminal may have been used meanwhile.
    Continue,
    /// SIGWINCH: the terminal has another size. The input tells of it too, but not when a key comes at the same moment.
    Resized,
    /// SIGUSR1, SIGUSR2: the run that goes on is to pause after its batch, or to go on.
    PauseRun(bool),
}

/// Listens for signals as long as it lives. Their default effects do not come back with its end.
#[derive(Debug)]
pub struct SignalListener(Vec<JoinHandle<()>>);

impl SignalListener {
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
            (sigcont(), Signal::Continue),
            (SignalKind::window_change(), Signal::Resized),
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
        watch_terminal(heard)?;
        Ok((Self(tasks), signals))
    }
}

/// Notices a terminal that has hung up. The signal for that reaches only the session that the terminal controls, and a
/// console in a container or behind another program may be in none; whoever reads such a terminal gets its end again and
/// again.
fn watch_terminal(heard: UnboundedSender<Signal>) -> io::Result<()> {
    let terminal = io::stdin();
    if !terminal.is_terminal() {
        return Ok(());
    }
    // Of nothing that is asked for a hang-up is told all the same. The thread ends with the terminal or the process.
    let wait = move || {
        let mut asked = [PollFd::new(&terminal, PollFlags::empty())];
        loop {
            match poll(&mut asked, None) {
                Err(Errno::INTR) => {}
                Err(_) => return,
                Ok(_) if asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => {
                    // Nobody listens when the console has ended.
                    let _ = heard.send(Signal::Terminate);
                    return;
                }
                Ok(_) => {}
            }
        }
    };
    thread::Builder::new().name("hang-up".into()).spawn(wait).map(drop)
}

impl Drop for SignalListener {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// SIGCONT, which has no name of its own in the signal library.
pub fn sigcont() -> SignalKind {
    SignalKind::from_raw(rustix::process::Signal::CONT.as_raw())
}
