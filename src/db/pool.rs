//! At most two connections, lent out one call at a time.
//!
//! A pool of our own, because what matters here is what happens to a connection whose statement was cancelled: it
//! comes back only after the statement has ended on the server and the transaction is closed; else it is dropped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::db::connection::{Connector, End, Link, Mode};
use crate::db::net::address::Address;
use crate::domain::log;
use crate::domain::source_error::{Result, SourceError};

/// How long a connection may take to close its transaction before it is given up.
const SETTLE: Duration = Duration::from_secs(2);

/// How long a call waits for a connection that is on its way back.
const SHORT: Duration = Duration::from_millis(200);

/// The connections of one engine.
pub(super) struct Pool {
    connector: Box<dyn Connector>,
    address: Address,
    /// Its word, for the log.
    database: &'static str,
    connect_timeout: Duration,
    size: usize,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<OpenLink>>,
    open: Arc<OpenLinks>,
    /// The server refused us another connection, and has not let us open one since.
    is_refused: AtomicBool,
    /// Connections on their way back: worth waiting for instead of opening another one.
    settling: AtomicUsize,
}

/// The connections that are open, lent out or idle.
#[derive(Default)]
struct OpenLinks {
    count: AtomicUsize,
    /// One came back, or was closed.
    returned: Notify,
}

impl Pool {
    pub(super) fn new(
        connector: Box<dyn Connector>,
        address: Address,
        database: &'static str,
        size: usize,
        connect_timeout: Duration,
    ) -> Self {
        Self {
            connector,
            address,
            database,
            connect_timeout,
            size: size.max(1),
            permits: Arc::new(Semaphore::new(size.max(1))),
            idle: Mutex::new(Vec::new()),
            open: Arc::default(),
            is_refused: AtomicBool::new(false),
            settling: AtomicUsize::new(0),
        }
    }

    pub(super) fn connector(&self) -> &dyn Connector {
        &*self.connector
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// Puts a connection without an open transaction where the next call finds it.
    pub(super) fn put(&self, link: Box<dyn Link>) {
        self.take_back(self.opened(link));
    }

    fn opened(&self, link: Box<dyn Link>) -> OpenLink {
        self.open.count.fetch_add(1, Ordering::SeqCst);
        OpenLink { link, open: Arc::clone(&self.open) }
    }

    fn take_back(&self, link: OpenLink) {
        self.lock_idle().push(link);
        self.open.returned.notify_one();
    }

    /// Waits up to `patience` until no connection is lent out or on its way back, and lends none any more.
    pub(super) async fn close(&self, patience: Duration) {
        let all = u32::try_from(self.size).unwrap_or(u32::MAX);
        drop(tokio::time::timeout(patience, self.permits.acquire_many(all)).await);
        self.permits.close();
        self.clear();
    }

    /// Lends a connection that was just opened and never put here.
    pub(super) fn lend(self: &Arc<Self>, link: Box<dyn Link>) -> Result<Lease> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| SourceError::Unreachable("every connection is lent out".into()))?;
        let link = Some(self.opened(link));
        Ok(Lease { link, pool: Arc::clone(self), open: None, ending: false, permit: Some(permit) })
    }

    /// Opens a second connection, where there may be one. If the server refuses it, the call that needs it hears why.
    pub(super) fn open_second(self: &Arc<Self>) {
        if self.size > 1 {
            let pool = Arc::clone(self);
            tokio::spawn(async move { drop(pool.lease(pool.connect_timeout).await) });
        }
    }

    /// Forgets the idle connections: the server they belong to is gone.
    pub(super) fn clear(&self) {
        let stale = std::mem::take(&mut *self.lock_idle());
        drop(stale);
    }

    /// Lends a connection, waiting up to `patience` for one to be free; also says whether it was just opened.
    pub(super) async fn lease(self: &Arc<Self>, patience: Duration) -> Result<(Lease, bool)> {
        let permit = tokio::time::timeout(patience, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|_| SourceError::Timeout(patience))?
            .map_err(|_| SourceError::Unreachable("the connection was closed".into()))?;
        let (link, fresh) = match self.idle_link().await {
            Some(link) => (link, false),
            None => self.connect_or_share(patience).await?,
        };
        Ok((Lease { link: Some(link), pool: Arc::clone(self), open: None, ending: false, permit: Some(permit) }, fresh))
    }

    async fn idle_link(&self) -> Option<OpenLink> {
        loop {
            let returned = self.open.returned.notified();
            if let Some(link) = self.lock_idle().pop() {
                return Some(link);
            }
            if self.settling.load(Ordering::SeqCst) == 0 && !self.has_to_share() {
                return None;
            }
            // Usually one round trip; when it is more, a new connection is the better choice.
            if tokio::time::timeout(SHORT, returned).await.is_err() {
                return None;
            }
        }
    }

    /// Opens a connection. Where the server refuses it, the call waits up to `patience` for one that is lent out: a role or
    /// a server at its limit may admit no second one.
    async fn connect_or_share(&self, patience: Duration) -> Result<(OpenLink, bool)> {
        let connected = self.connect().await;
        self.is_refused.store(connected.is_err(), Ordering::Relaxed);
        match connected {
            Ok(link) => Ok((self.opened(link), true)),
            Err(refusal) if self.has_to_share() => {
                let returned = tokio::time::timeout(patience, self.returned_link()).await;
                returned.ok().flatten().map(|link| (link, false)).ok_or(refusal)
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// The connection that comes back next; `None` once none is open any more.
    async fn returned_link(&self) -> Option<OpenLink> {
        loop {
            let returned = self.open.returned.notified();
            if let Some(link) = self.lock_idle().pop() {
                return Some(link);
            }
            if !self.has_to_share() {
                return None;
            }
            returned.await;
        }
    }

    /// Whether the server, when last asked, refused a connection, and one is open.
    fn has_to_share(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed) && self.open.count.load(Ordering::SeqCst) > 0
    }

    async fn connect(&self) -> Result<Box<dyn Link>> {
        self.bounded(self.connector.connect()).await.map_err(|error| self.address.tell(error))
    }

    /// Awaits what opens a connection, for as long as connecting may take.
    pub(super) async fn bounded<T>(&self, connecting: impl Future<Output = Result<T>>) -> Result<T> {
        let began = Instant::now();
        let connected = tokio::time::timeout(self.connect_timeout, connecting)
            .await
            .unwrap_or_else(|_| Err(no_answer(self.connect_timeout)));
        log::connected(self.database, connected.as_ref().err().map(SourceError::kind), began.elapsed());
        connected
    }

    /// Where its connections lead.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// The database's word.
    pub(super) fn database(&self) -> &'static str {
        self.database
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<OpenLink>> {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// An open connection, counted for as long as it lives.
struct OpenLink {
    link: Box<dyn Link>,
    open: Arc<OpenLinks>,
}

impl Drop for OpenLink {
    fn drop(&mut self) {
        self.open.count.fetch_sub(1, Ordering::SeqCst);
        self.open.returned.notify_waiters();
    }
}

/// How the error of a server that says nothing begins.
pub(super) const NO_ANSWER: &str = "no answer within ";

/// The error of a server that says nothing.
pub(super) fn no_answer(after: Duration) -> SourceError {
    SourceError::Unreachable(format!("{NO_ANSWER}{after:?}"))
}

/// A connection on loan.
///
/// Dropped with an open transaction, it closes it in the background (a read is released, a write undone) and then
/// returns; so the caller of a read need not wait for the answer to the `COMMIT`.
pub(super) struct Lease {
    link: Option<OpenLink>,
    pool: Arc<Pool>,
    open: Option<Mode>,
    /// It is being ended.
    ending: bool,
    permit: Option<OwnedSemaphorePermit>,
}

impl Lease {
    /// The connection; an error when a lost one was kept in use.
    pub(super) fn link(&mut self) -> Result<&mut dyn Link> {
        match &mut self.link {
            Some(open) => Ok(&mut *open.link),
            None => Err(SourceError::Unreachable("the connection was lost".into())),
        }
    }

    /// Notes that a transaction is open, or about to be.
    pub(super) fn opened(&mut self, mode: Mode) {
        self.open = Some(mode);
    }

    /// Notes that the transaction is about to be ended. Its connection is kept while the server may still answer, as only the
    /// answer tells whether it was committed.
    pub(super) fn ends(&mut self) {
        self.ending = true;
    }

    pub(super) fn is_closing(&self) -> bool {
        self.ending
    }

    /// Notes that the transaction is closed.
    pub(super) fn closed(&mut self) {
        (self.open, self.ending) = (None, false);
    }

    /// Drops the connection: it is lost, or nobody knows what it is doing.
    pub(super) fn give_up(&mut self) {
        self.link = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut open) = self.link.take() else { return };
        let Some(mode) = self.open else { return self.pool.take_back(open) };
        // Without a runtime there is nobody to talk to the server: closing the connection undoes the transaction.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let end = if mode == Mode::Read { End::Release } else { End::Rollback };
        let settling = Settling::start(Arc::clone(&self.pool), self.permit.take());
        runtime.spawn(async move {
            if let Ok(Ok(())) = tokio::time::timeout(SETTLE, open.link.end(end)).await {
                settling.pool.take_back(open);
            }
        });
    }
}

/// Counts a connection as on its way back for as long as it lives.
struct Settling {
    pool: Arc<Pool>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Settling {
    fn start(pool: Arc<Pool>, permit: Option<OwnedSemaphorePermit>) -> Self {
        pool.settling.fetch_add(1, Ordering::SeqCst);
        Self { pool, _permit: permit }
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        self.pool.settling.fetch_sub(1, Ordering::SeqCst);
        self.pool.open.returned.notify_waiters();
    }
}
