//! One exchange with the server, in a task that owns the connection until the exchange has ended.
//!
//! A driver's future that is dropped half way leaves the statement running on the server and its answer in the
//! connection, in front of the next user's. So cancelling, a deadline, or a caller that goes away make the task cancel the
//! statement *on the server*, over one more connection that is opened for it, wait for the answer, and only then close the
//! transaction and hand the connection back. Where the server refuses the cancel, the statement's connection is closed,
//! unless it is ending a transaction: that is waited for.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::db::connection::{Cancel, Link};
use crate::db::pool::Lease;
use crate::domain::source_error::{Result, SourceError};

/// What the server's own deadline gets ahead of ours, so that it normally is the server that ends a statement.
const GRACE: Duration = Duration::from_millis(500);

/// How long cancelling a statement may take before its connection is closed.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);

/// The same for the end of a transaction.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs `work` on the connection; without an answer after `limit` (and a little), or when `cancel` says so, or when
/// this future is dropped, it is stopped on the server.
///
/// The connection comes back with any answer that leaves it usable.
pub(super) async fn step<T, W>(
    lease: Lease,
    limit: Duration,
    cancel: &CancellationToken,
    work: W,
) -> (Option<Lease>, Result<T>)
where
    T: Send + 'static,
    W: for<'a> FnOnce(&'a mut dyn Link) -> BoxFuture<'a, Result<T>> + Send + 'static,
{
    steps(lease, (limit, 1), cancel, work).await
}

/// The same for work of several statements, each with the limit.
pub(super) async fn steps<T, W>(
    lease: Lease,
    limit: (Duration, usize),
    cancel: &CancellationToken,
    work: W,
) -> (Option<Lease>, Result<T>)
where
    T: Send + 'static,
    W: for<'a> FnOnce(&'a mut dyn Link) -> BoxFuture<'a, Result<T>> + Send + 'static,
{
    if cancel.is_cancelled() {
        return (Some(lease), Err(SourceError::Cancelled));
    }
    // A token of the step's own: the guard cancels it when this future is dropped, and nothing else.
    let stop = cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    let (answer, answered) = oneshot::channel();
    tokio::spawn(supervise(lease, limit, stop, answer, work));
    answered.await.unwrap_or_else(|_| (None, Err(SourceError::Unreachable("the connection's task ended".into()))))
}

type ExchangeAnswer<T> = oneshot::Sender<(Option<Lease>, Result<T>)>;

async fn supervise<T, W>(
    mut lease: Lease,
    (limit, times): (Duration, usize),
    stop: CancellationToken,
    answer: ExchangeAnswer<T>,
    work: W,
) where
    W: for<'a> FnOnce(&'a mut dyn Link) -> BoxFuture<'a, Result<T>>,
{
    let is_ending = lease.is_closing();
    let link = match lease.link() {
        Ok(link) => link,
        Err(error) => return reply(answer, None, Err(error)),
    };
    let cancel = link.cancel();
    let started = Instant::now();
    let patience = limit.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX)).saturating_add(GRACE);
    let mut work = work(link);
    let why = tokio::select! {
        biased;
        result = &mut work => {
            drop(work);
            let result = result.map_err(|error| timed(error, limit, started.elapsed()));
            if matches!(result, Err(SourceError::Unreachable(_))) {
                lease.give_up();
                return reply(answer, None, result);
            }
            return reply(answer, Some(lease), result);
        }
        () = stop.cancelled() => SourceError::Cancelled,
        () = tokio::time::sleep(patience) => SourceError::Timeout(limit),
    };
    // The caller has its answer now; stopping and tidying up go on behind its back.
    reply(answer, None, Err(why));
    let patience = if is_ending { END_TIMEOUT } else { CANCEL_TIMEOUT };
    let ended = tokio::time::timeout(patience, cancel_on_server(cancel, is_ending, &mut work)).await;
    drop(work);
    if ended != Ok(true) {
        lease.give_up();
    }
}

/// Whether the statement has ended and left its connection as good as before; otherwise the connection is to be closed.
async fn cancel_on_server<T>(mut cancel: Cancel, is_ending: bool, work: &mut BoxFuture<'_, Result<T>>) -> bool {
    if let Some(result) = (&mut *work).now_or_never() {
        return is_usable(&result);
    }
    tokio::select! {
        // A request that is on its way must not reach the next statement of this connection.
        result = &mut *work => {
            matches!(tokio::time::timeout(CANCEL_TIMEOUT, cancel).await, Ok(Ok(()))) && is_usable(&result)
        }
        sent = &mut cancel => (sent.is_ok() || is_ending) && is_usable(&work.await),
    }
}

fn is_usable<T>(result: &Result<T>) -> bool {
    !matches!(result, Err(SourceError::Unreachable(_)))
}

/// Sends the answer; when nobody waits for it any more, the lease that comes back settles as it is dropped.
fn reply<T>(answer: ExchangeAnswer<T>, lease: Option<Lease>, result: Result<T>) {
    drop(answer.send((lease, result)));
}

/// Tells the server's own deadline, which carries no duration, from an administrator's cancel.
fn timed(error: SourceError, limit: Duration, elapsed: Duration) -> SourceError {
    match error {
        SourceError::Timeout(_) if elapsed.saturating_add(Duration::from_millis(20)) >= limit => {
            SourceError::Timeout(limit)
        }
        SourceError::Timeout(_) => SourceError::Interrupted,
        other => other,
    }
}
