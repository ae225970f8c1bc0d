//! The application, which goes on failing jobs while something else is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::baseline::Baseline;
use crate::books::APPLICATION;
use crate::sample::Sample;

/// Connections, and what each sends in a second.
const WRITERS: u32 = 4;
const STATEMENTS: u32 = 25;

/// Writers in threads of their own, which insert at a steady rate until they are stopped.
pub struct Writers {
    stop: Arc<AtomicBool>,
    rows: Arc<AtomicU64>,
    threads: Vec<JoinHandle<Sample>>,
}

impl Writers {
    /// Starts them; `rate` rows a second come in all, a multiple of a hundred.
    pub fn start(url: &str, baseline: Baseline, rate: u32) -> Self {
        let (stop, rows) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let each = (rate / WRITERS / STATEMENTS).max(1);
        let (statement, url) = (baseline.new_rows(each), as_application(url));
        let thread = |_| {
            let (stop, rows, url, statement) = (Arc::clone(&stop), Arc::clone(&rows), url.clone(), statement.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(write(&url, &statement, &stop, || rows.fetch_add(u64::from(each), Ordering::Relaxed)))
            })
        };
        let threads = (0..WRITERS).map(thread).collect();
        Self { stop, rows, threads }
    }

    /// Rows that were inserted so far.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// How long the inserts took.
    pub fn stop(self) -> Sample {
        self.stop.store(true, Ordering::Relaxed);
        let mut sum = Sample::default();
        for thread in self.threads {
            sum.extend(thread.join().expect("a writer"));
        }
        sum
    }
}

/// The same database as a role whose statements are not ours.
pub fn as_application(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (_, place) = rest.split_once('@').expect("a URL with a user");
    format!("{scheme}://{APPLICATION}@{place}")
}

/// Times run from the instant at which an insert was due: one that waits behind a slow one is late as well.
async fn write(url: &str, statement: &str, stop: &AtomicBool, note: impl Fn() -> u64) -> Sample {
    let mut connection = PgConnection::connect(url).await.unwrap_or_else(|e| panic!("{e}"));
    let pause = Duration::from_secs(1) / STATEMENTS;
    let mut due = Instant::now();
    let mut sample = Sample::default();
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
        let inserted = connection.execute(AssertSqlSafe(statement.to_owned())).await;
        inserted.unwrap_or_else(|e| panic!("{e}"));
        note();
        sample.push(due.elapsed());
        due += pause;
    }
    sample
}
