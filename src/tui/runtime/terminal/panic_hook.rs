//! Panics. The hook writes a report to a file and touches nothing else; whoever owns the terminal restores it.

use std::backtrace::Backtrace;
use std::panic::{self, PanicHookInfo};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::mpsc;

use crate::domain::log;
use crate::domain::time::Timestamp;
use crate::tui::runtime::state_files;

/// A panic that was caught, and where its report lies.
#[derive(Clone, Debug)]
pub struct Report {
    /// The panic's message and place, in one line.
    pub summary: String,
    /// The file; `None` when it could not be written.
    pub path: Option<PathBuf>,
}

impl Report {
    /// One clear line for the operator.
    pub fn sentence(&self) -> String {
        match &self.path {
            Some(path) => format!("a fault in dlq-tui: {}; the report is in {}", self.summary, path.display()),
            None => format!("a fault in dlq-tui: {}", self.summary),
        }
    }
}

/// The hook that was there before.
type Hook = Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Collects panics for as long as it lives; the hook that was there before comes back with its end.
pub struct Collector {
    last: Arc<Mutex<Option<Report>>>,
    before: Hook,
}

impl Collector {
    /// Takes over the process' panic hook. Each report is announced on `notices`.
    pub fn install(notices: mpsc::UnboundedSender<Report>) -> Self {
        let before: Hook = Arc::from(panic::take_hook());
        let last = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&last);
        panic::set_hook(Box::new(move |info| {
            let report = write_report(info);
            log::panicked();
            *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.clone());
            // Nobody listens when it is the loop itself that panics.
            let _ = notices.send(report);
        }));
        Self { last, before }
    }

    /// The latest report.
    pub fn last(&self) -> Option<Report> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // The hook cannot be changed by a thread that panics.
        if !thread::panicking() {
            let before = Arc::clone(&self.before);
            panic::set_hook(Box::new(move |info| before(info)));
        }
    }
}

fn write_report(info: &PanicHookInfo<'_>) -> Report {
    let message = info.payload_as_str().unwrap_or("a panic without words");
    let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
    // The message may hold text of a job.
    let summary = crate::domain::text::Clean::line(&format!("{message}{place}")).to_string();
    let now = Timestamp::now();
    let thread = thread::current();
    let content = format!(
        "dlq-tui {}\n{}\nthread {}\n{message}{place}\n\n{}\n",
        env!("CARGO_PKG_VERSION"),
        now.to_rfc3339(),
        thread.name().unwrap_or("without a name"),
        Backtrace::force_capture(),
    );
    let name = format!("panic-{}-{}.txt", now.0, std::process::id());
    Report { summary, path: state_files::keep(&name, content.as_bytes()).ok() }
}
