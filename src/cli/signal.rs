//! When a command without a console has to stop, to pause, or to go on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long a command that has to stop may take to do so by itself, most of what an operator takes for at once.
const GRACE: Duration = Duration::from_millis(120);

/// How many of [`Unhurried`] there are.
static UNHURRIED: AtomicUsize = AtomicUsize::new(0);

/// Listens from now on, not only once it is awaited; the future returns at the first interrupt, termination or hang-up since.
/// A hang-up that we are to outlive is none.
pub fn stop_requested() -> impl Future<Output = ()> {
    let outlives = outlives_hangup();
    // Where a signal cannot be listened to it keeps its usual effect, which is to end the program.
    let listening = signal(SignalKind::interrupt()).ok().zip(signal(SignalKind::terminate()).ok());
    let hangup = if outlives { None } else { signal(SignalKind::hangup()).ok() };
    async {
        let Some((mut interrupt, mut terminate)) = listening else { return std::future::pending().await };
        let hung_up = async {
            match hangup {
                Some(mut hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// Listens from now on; the future returns when a stop was requested that was nobody's who is [`Unhurried`], and a little time
/// has passed. Whatever still goes on waits for somebody who does not answer, and is to be left.
pub fn overdue() -> impl Future<Output = ()> {
    let mut stop = stop_requested();
    let is_hurried = || UNHURRIED.load(Ordering::SeqCst) == 0;
    // A task of its own, which what it watches cannot block.
    let watching = tokio::spawn(async move {
        loop {
            stop.await;
            // Whoever heeded it may be done with that before the grace is over, and has other things to bring to an end.
            let was_hurried = is_hurried();
            // One that comes during the grace counts.
            stop = stop_requested();
            tokio::time::sleep(GRACE).await;
            if was_hurried && is_hurried() {
                return;
            }
        }
    });
    async { drop(watching.await) }
}

/// Somebody who heeds signals by themselves and must not be cut off, for as long as this lives: a run ends after its batch, a
/// console gives the terminal back.
#[derive(Debug)]
pub struct Unhurried(());

impl Unhurried {
    /// Begins.
    pub fn begin() -> Self {
        UNHURRIED.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Unhurried {
    fn drop(&mut self) {
        UNHURRIED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether we were started to live on when the terminal goes, as by `nohup`: with the signal ignored, which listening to it
/// would end. Linux alone tells; elsewhere a hang-up counts.
fn outlives_hangup() -> bool {
    // As it was at first: whoever listens changes it.
    static OUTLIVES: OnceLock<bool> = OnceLock::new();
    *OUTLIVES.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        // The lowest bit is the signal of the lowest number, which is this one.
        ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
    })
}

/// Listens from now on: SIGUSR1 is a pause, SIGUSR2 lets a run go on. SIGCONT has another meaning: it follows every stop
/// by the shell, and must not end a pause.
pub fn pauses() -> watch::Receiver<bool> {
    let (tell, told) = watch::channel(false);
    // Where a signal cannot be listened to it keeps its usual effect, which is to end the program.
    if let (Ok(mut pause), Ok(mut go_on)) = (signal(SignalKind::user_defined1()), signal(SignalKind::user_defined2())) {
        tokio::spawn(async move {
            loop {
                let paused = tokio::select! {
                    Some(()) = pause.recv() => true,
                    Some(()) = go_on.recv() => false,
                    else => return,
                };
                tell.send_replace(paused);
            }
        });
    }
    told
}
