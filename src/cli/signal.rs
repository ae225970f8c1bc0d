//! When a command without a console is told to stop.

use tokio::signal::unix::{SignalKind, signal};

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
