//! The application, which goes on failing jobs while something else is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::baseline::Baseline;
use crate::fixtures::Layout;
use crate::sample::Sample;

/// Connections, and what each inserts in a second.
const WRITERS: u32 = 4;
const RATE: u32 = 25;

/// Writers in threads of their own, which insert at a steady rate until they are stopped.
pub struct Writers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Sample>>,
}

impl Writers {
    pub fn start(url: &str, layout: Layout) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = |_| {
            let (stop, url, statement) = (Arc::clone(&stop), url.to_owned(), Baseline(layout).new_rows(1));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(write(&url, &statement, &stop))
            })
        };
        let threads = (0..WRITERS).map(thread).collect();
        Self { stop, threads }
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

/// Times run from the instant at which an insert was due: one that waits behind a slow one is late as well.
async fn write(url: &str, statement: &str, stop: &AtomicBool) -> Sample {
    let mut connection = PgConnection::connect(url).await.unwrap_or_else(|e| panic!("{e}"));
    let pause = Duration::from_secs(1) / RATE;
    let mut due = Instant::now();
    let mut sample = Sample::default();
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
        let inserted = connection.execute(AssertSqlSafe(statement.to_owned())).await;
        inserted.unwrap_or_else(|e| panic!("{e}"));
        sample.push(due.elapsed());
        due += pause;
    }
    sample
}
