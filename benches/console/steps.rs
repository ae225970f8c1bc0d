//! What takes many bounded steps: a count, a scan; how long each takes, and how soon it ends when it is told to.

use std::future::Future;
use std::time::{Duration, Instant};

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::Histogram;
use dlq_tui::store::{Budget, Cursor, HistogramQuery, PageQuery, ScanMode, Sort, SourceError, Store};

use crate::client::Client;
use crate::harness::Engine;
use crate::sample::Sample;

/// Rows of a page.
pub const PAGE: usize = 100;
/// Database sessions of ours that do something.
const BUSY: &str = "select count(*) from pg_stat_activity where datname = current_database() and state = 'active' \
                    and application_name like 'dlq-tui%'";
/// The same on MariaDB, where sessions have no name.
const BUSY_MARIADB: &str = "select cast(count(*) as char) from information_schema.processlist where db = database() \
                            and command <> 'Sleep' and id <> connection_id()";

/// A filter, of which it is known that it can be read.
pub fn filter(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

/// Counts to the end; each step's time beside it.
pub async fn count(
    store: &dyn Store,
    facet: Facet,
    filter: &Filter,
    budget: &Budget,
) -> Result<(Histogram, Sample), SourceError> {
    let (mut steps, mut resume) = (Sample::default(), None);
    loop {
        let query = HistogramQuery::exact(facet, filter.clone(), resume);
        let began = Instant::now();
        let step = store.count(query, budget).await?;
        steps.push(began.elapsed());
        resume = step.resume;
        if resume.is_none() {
            return Ok((step.histogram, steps));
        }
    }
}

/// What a scan found.
#[derive(Debug, Default)]
pub struct Scan {
    pub steps: Sample,
    pub hits: usize,
    /// When the first of them were there.
    pub first: Option<Duration>,
}

/// Reads pages until `hits` rows were found, or the end of the table.
pub async fn scan(store: &dyn Store, filter: &Filter, hits: usize, budget: &Budget) -> Result<Scan, SourceError> {
    let began = Instant::now();
    let (mut scan, mut cursor) = (Scan::default(), Cursor::Start);
    loop {
        let query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor, limit: PAGE };
        let step_began = Instant::now();
        let page = store.scan(query, ScanMode::Screen(PAGE), budget).await?;
        scan.steps.push(step_began.elapsed());
        scan.hits += page.entries.len();
        if scan.hits > 0 && scan.first.is_none() {
            scan.first = Some(began.elapsed());
        }
        match page.next {
            Some(next) if scan.hits < hits => cursor = next,
            _ => return Ok(scan),
        }
    }
}

/// How soon work ends that is cancelled after a while, and how soon the server is idle again, where it tells. Nothing where
/// the work came to its end before.
pub async fn cancelled<T>(
    work: impl Future<Output = Result<T, SourceError>>,
    budget: &Budget,
    after: Duration,
    server: &Client,
) -> Option<(Duration, Option<Duration>)> {
    let token = budget.cancel.clone();
    let cancel = async {
        tokio::time::sleep(after).await;
        token.cancel();
        Instant::now()
    };
    let work = async { (work.await.is_err(), Instant::now()) };
    let ((broke_off, ended), asked) = tokio::join!(work, cancel);
    if !broke_off || ended < asked {
        return None;
    }
    Some((ended - asked, wait_until_idle(server).then(|| asked.elapsed())))
}

/// The longest that a server may go on with what nobody waits for any more.
const STILL_BUSY: Duration = Duration::from_secs(60);

/// Waits until no session of ours does anything on the server; whether that can be told.
pub fn wait_until_idle(server: &Client) -> bool {
    let busy = match server.engine() {
        Engine::Postgres => BUSY,
        Engine::Mysql => BUSY_MARIADB,
        Engine::Sqlite => return false,
    };
    let began = Instant::now();
    while server.print(&[busy]) != "0" {
        assert!(began.elapsed() < STILL_BUSY, "the server is still at work for us, and nobody waits for it");
    }
    true
}

/// Both times of [`cancelled`], several times over.
#[derive(Debug, Default)]
pub struct Cancels {
    pub ours: Sample,
    pub server: Sample,
}

impl Cancels {
    pub fn push(&mut self, one: Option<(Duration, Option<Duration>)>) {
        if let Some((ours, server)) = one {
            self.ours.push(ours);
            server.into_iter().for_each(|time| self.server.push(time));
        }
    }
}
