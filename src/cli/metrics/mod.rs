//! `dlq-tui metrics`: the numbers for Prometheus, over HTTP.

mod http;
mod sample;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use self::http::HttpResponse;
use self::sample::MetricsSample;
use super::args::MetricsArgs;
use super::exit::Code;
use super::{output, signal};
use crate::cli::source::open::OpenedStore;

/// Serves until it is stopped. A database that fails is reported as `dlq_up 0`, and tried again at the next scrape.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn run(opened: OpenedStore, args: &MetricsArgs) -> Result<Code> {
    let listener = TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = listener.local_addr()?;
    output::say(&format!("serving http://{address}/metrics and http://{address}/healthz"));
    let desk = Arc::new(Scrapes { opened, top: args.top, cache: args.cache, last: Mutex::new(None) });
    let stop = signal::stop_requested();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(Code::Done),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let desk = Arc::clone(&desk);
                    // A scraper that goes away, or sends what is no request, is nobody's fault here.
                    tokio::spawn(async move { let _ = http::serve(stream, |path| desk.answer(path)).await; });
                }
                // Out of file descriptors, most likely: the next one may have one.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
        }
    }
}

/// What scrapes are answered from.
struct Scrapes {
    opened: OpenedStore,
    top: usize,
    cache: Duration,
    /// Locked while it is taken again: scrapes that come meanwhile wait for the same one.
    last: Mutex<Option<Taken>>,
}

struct Taken {
    at: Instant,
    sample: MetricsSample,
}

impl Scrapes {
    async fn answer(self: Arc<Self>, path: String) -> HttpResponse {
        match path.split('?').next().unwrap_or_default() {
            "/metrics" => {
                let sample = self.sample().await;
                match sample.text(&self.opened.desk.source, &self.opened.desk.store.info().title) {
                    Ok(text) => HttpResponse::metrics(text),
                    Err(_) => HttpResponse::text(500, "cannot be written as metrics\n"),
                }
            }
            "/healthz" => match self.sample().await.fault {
                None => HttpResponse::text(200, "ok\n"),
                Some(fault) => HttpResponse::text(503, &format!("{fault}\n")),
            },
            _ => HttpResponse::text(404, "there are /metrics and /healthz\n"),
        }
    }

    /// The last sample, or a new one where that is too old.
    async fn sample(&self) -> MetricsSample {
        let mut last = self.last.lock().await;
        if let Some(taken) = last.as_ref() {
            // However often scrapes come.
            let serves = self.cache.max(self.opened.share.rest_after(taken.sample.cost));
            if taken.at.elapsed() < serves {
                return taken.sample.clone();
            }
        }
        let sample = MetricsSample::take(&self.opened, self.top).await;
        *last = Some(Taken { at: Instant::now(), sample: sample.clone() });
        sample
    }
}
