//! When a command without a console is told to stop, to pause, or to go on.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Returns at the first interrupt, termination or hang-up.
pub async fn stop_requested() {
    // Where a signal cannot be listened to it keeps its usual effect, which is to end the program.
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
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
