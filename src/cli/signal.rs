//! When a command without a console is told to stop, to pause, or to go on.

use std::sync::OnceLock;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Returns at the first interrupt, termination or hang-up; a hang-up that we are to outlive is none.
pub async fn stop_requested() {
    let outlives = outlives_hangup();
    // Where a signal cannot be listened to it keeps its usual effect, which is to end the program.
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    let hung_up = async {
        match if outlives { None } else { signal(SignalKind::hangup()).ok() } {
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
