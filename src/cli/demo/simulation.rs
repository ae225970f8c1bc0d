//! The shop while the console shows it: jobs keep dying, and a worker runs what is replayed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::DemoLayout;
use super::database::Shop;
use super::timeline::Story;
use crate::domain::time::Timestamp;

/// How long the worker waits when its queue is empty.
const IDLE: Duration = Duration::from_millis(200);
/// How long either waits after the database refused: locked by a big replay, most likely.
const SULK: Duration = Duration::from_millis(500);
/// Jobs that are run at the same time.
const WORKERS: usize = 3;

/// The running shop. Dropping it stops it at once; [`Life::end`] does so in order.
pub struct Life {
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Life {
    /// Starts failing jobs and running replayed ones.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub async fn start(path: &Path, layout: DemoLayout, story: Story) -> Result<Life> {
        let stop = CancellationToken::new();
        let story = Arc::new(Mutex::new(story));
        let mut tasks = JoinSet::new();
        tasks.spawn(keep_failing(Shop::open(path, layout).await?, Arc::clone(&story), stop.clone()));
        for n in 0..WORKERS {
            let shop = Shop::open(path, layout).await?;
            tasks.spawn(keep_working(shop, format!("toy-worker-{n}"), Arc::clone(&story), stop.clone()));
        }
        Ok(Life { stop, tasks })
    }

    /// Stops, and waits until the connections are closed.
    pub async fn end(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn keep_failing(mut shop: Shop, story: Arc<Mutex<Story>>, stop: CancellationToken) {
    loop {
        let (pause, deaths) = {
            let mut story = story.lock().await;
            let now = Timestamp::now();
            let (pause, n) = story.next_burst(now);
            let deaths: Vec<_> = (0..n)
                .map(|_| {
                    let phase = story.present(now);
                    story.death(phase, now)
                })
                .collect();
            (pause, deaths)
        };
        let pause = if shop.bury(&deaths).await.is_ok() { pause } else { SULK };
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
    }
    shop.close().await;
}

async fn keep_working(mut shop: Shop, name: String, story: Arc<Mutex<Story>>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let pause = match shop.claim(&name, Timestamp::now()).await {
            Ok(Some((id, payload))) => match work(&mut shop, id, &payload, &story).await {
                Ok(()) => continue,
                Err(_) => SULK,
            },
            Ok(None) => IDLE,
            Err(_) => SULK,
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
    }
    shop.close().await;
}

/// Runs a claimed job: takes a while, and succeeds or dies.
async fn work(shop: &mut Shop, id: i64, payload: &str, story: &Mutex<Story>) -> Result<()> {
    let takes = story.lock().await.work_time();
    tokio::time::sleep(takes).await;
    let death = match shop.body(id, payload) {
        Some(body) => story.lock().await.rerun(body, Timestamp::now()),
        None => None,
    };
    shop.finish(id, death.as_ref()).await
}
