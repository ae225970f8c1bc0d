//! The worker on `jobs` and `jobs_dlq`, as real processes.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::json;

use super::webhook::{Mood, Webhook};
use super::{copy, dead, is_on};
use crate::cli::User;
use crate::harness::process::signal;
use crate::harness::{Engine, TestDb, every_engine};

/// A Python that has the drivers: the machine's own, where another stands before it.
fn python() -> &'static str {
    static FOUND: OnceLock<&'static str> = OnceLock::new();
    FOUND.get_or_init(|| {
        let has = |python: &&str| {
            let status = Command::new(python).args(["-c", "import psycopg, pymysql"]).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        ["/usr/bin/python3", "python3"]
            .into_iter()
            .find(has)
            .unwrap_or_else(|| panic!("no python3 has the drivers: apt-get install python3-psycopg python3-pymysql"))
    })
}

/// A worker, killed with the value.
struct Worker(Child);

impl Worker {
    fn name(&self) -> String {
        self.0.id().to_string()
    }

    fn kill(mut self) {
        self.0.kill().expect("a worker");
        self.0.wait().expect("an end");
    }

    /// Asks it to end, and returns whether it ended well.
    fn ends(mut self) -> bool {
        signal(&[self.0.id()], "TERM");
        self.0.wait().expect("an end").success()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A database with the preset, a folder with the recipe, and where webhooks go.
struct Shop {
    db: TestDb,
    folder: tempfile::TempDir,
    hook: Webhook,
    user: User,
}

impl Shop {
    fn of(db: TestDb, mood: Mood) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        copy(&["jobs_dlq/worker.py", "jobs_dlq/app.py"], folder.path());
        let user = User::of(&db);
        user.run(&["init", "--preset", "jobs_dlq", "--yes"]).with(0);
        Self { db, folder, hook: Webhook::open(mood), user }
    }

    async fn enqueue(&self, n: usize, max_attempts: usize) {
        for i in 1..=n {
            let payload = json!({ "class": "DeliverWebhook", "arguments": [self.hook.url(), { "order": i }] });
            let row = format!("insert into jobs (payload, max_attempts) values ('{payload}', {max_attempts})");
            self.db.execute(&row).await;
        }
    }

    fn worker(&self) -> Worker {
        self.worker_that(&["app.py"])
    }

    fn worker_that(&self, runs: &[&str]) -> Worker {
        let mut command = Command::new(python());
        command.args(runs).current_dir(self.folder.path()).env("DATABASE_URL", &self.db.url);
        let log =
            |name: &str| std::fs::File::options().append(true).create(true).open(self.file(name)).expect("a file");
        Worker(command.stdout(log("log")).stderr(log("log")).spawn().expect("a worker"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits until a query's value is so.
    async fn until(&self, sql: &str, wanted: &str) {
        self.until_meanwhile(sql, wanted, "select 1").await;
    }

    /// The same, with jobs that wait for their next attempt made due.
    async fn until_without_waiting(&self, sql: &str, wanted: &str) {
        let past = self.before(60);
        self.until_meanwhile(sql, wanted, &format!("update jobs set run_after = {past} where locked_at is null")).await;
    }

    async fn until_meanwhile(&self, sql: &str, wanted: &str, meanwhile: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            // SQLite may be busy: then it is asked again.
            let _ = self.db.try_execute(meanwhile).await;
            let found = self.db.scalar(sql).await;
            if found == wanted {
                return;
            }
            let log = || std::fs::read_to_string(self.file("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "{:?}: {sql} stays {found}, not {wanted}\n{}", self.db.engine, log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The instant so many seconds ago.
    fn before(&self, seconds: u32) -> String {
        match self.db.engine {
            Engine::Postgres => format!("now() - interval '{seconds} seconds'"),
            Engine::Mysql => format!("utc_timestamp(6) - interval {seconds} second"),
            Engine::Sqlite => format!("strftime('%Y-%m-%d %H:%M:%f000', 'now', '-{seconds} seconds')"),
        }
    }

    async fn came(&self, n: usize) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.hook.came().len() < n {
            assert!(Instant::now() < deadline, "{:?}: {:?}", self.db.engine, self.hook.came());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn shops(purpose: &str, mood: Mood) -> Vec<Shop> {
    if !is_on() {
        return Vec::new();
    }
    every_engine(purpose).await.into_iter().map(|db| Shop::of(db, mood)).collect()
}

#[tokio::test]
async fn a_job_is_tried_with_growing_waits_dies_is_replayed_dies_again_and_is_done_at_last() {
    for shop in shops("loop", Mood::Fails).await {
        shop.enqueue(1, 2).await;
        let worker = shop.worker();
        shop.until("select count(*) from jobs where attempts = 1 and locked_at is null", "1").await;
        let soon = shop.before(0);
        assert_eq!(shop.db.scalar(&format!("select count(*) from jobs where run_after > {soon}")).await, "1");
        shop.until_without_waiting("select count(*) from jobs_dlq", "1").await;
        assert_eq!((shop.db.count("jobs").await, shop.hook.came().len()), (0, 2));

        let job = dead(&shop.user, &[]).remove(0);
        assert_eq!(job["error"], "urllib.error.HTTPError");
        assert_eq!((&job["class"], &job["attempts"]), (&json!("DeliverWebhook"), &json!(2)));
        assert!(job["worker"].as_str().is_some_and(|name| name.ends_with(&format!(":{}", worker.name()))), "{job}");
        let shown = shop.user.json(&["show", job["id"].as_str().expect("an id"), "-o", "json"]);
        assert_eq!(shown["message"], "HTTP Error 500: Broken");
        let backtrace = shown["backtrace"].to_string();
        assert!(backtrace.contains("app.py") && backtrace.contains("in deliver_webhook"), "{backtrace}");

        shop.user.run(&["replay", "--all", "--yes"]).with(0);
        shop.until_without_waiting("select count(*) from jobs_dlq", "1").await;
        assert_eq!(dead(&shop.user, &["-f", "replayed:1"]).len(), 1, "the same job, though another row");

        shop.hook.becomes(Mood::Takes);
        shop.user.run(&["replay", "--all", "--yes"]).with(0);
        shop.until("select (select count(*) from jobs) + (select count(*) from jobs_dlq)", "0").await;
        assert!(worker.ends(), "{:?}", shop.db.engine);
        assert!(shop.hook.came().iter().all(|body| body == "{\"order\": 1}"), "{:?}", shop.hook.came());
    }
}

#[tokio::test]
async fn jobs_of_workers_that_died_are_tried_again_and_then_moved_away() {
    for shop in shops("lost", Mood::Hangs).await {
        shop.enqueue(1, 2).await;
        for attempt in 1..=2 {
            let worker = shop.worker();
            shop.came(attempt).await;
            let name = worker.name();
            worker.kill();
            assert_eq!(shop.db.scalar("select attempts from jobs").await, attempt.to_string());
            // Nobody takes it for lost before its time.
            let second = shop.worker();
            shop.db.execute(&format!("insert into jobs (payload) values ('{}')", json!({ "class": "Unknown" }))).await;
            shop.until("select count(*) from jobs where attempts = 1 and locked_at is null", "1").await;
            second.kill();
            shop.db.execute("delete from jobs where locked_at is null").await;
            assert_eq!((shop.db.count("jobs").await, shop.hook.came().len()), (1, attempt));
            shop.db.execute(&format!("update jobs set locked_at = {}", shop.before(301))).await;
            let third = shop.worker();
            if attempt == 1 {
                shop.until("select count(*) from jobs where locked_at is null and locked_by is null", "1").await;
            } else {
                shop.until("select count(*) from jobs_dlq", "1").await;
                let job = dead(&shop.user, &[]).remove(0);
                assert_eq!((&job["error"], &job["attempts"]), (&json!("WorkerLost"), &json!(2)));
                assert!(job["worker"].as_str().is_some_and(|who| who.ends_with(&format!(":{name}"))), "{job}");
            }
            third.kill();
            shop.db.execute(&format!("update jobs set run_after = {}", shop.before(1))).await;
        }
        shop.hook.becomes(Mood::Takes);
    }
}

#[tokio::test]
async fn a_worker_that_was_taken_for_lost_says_nothing_about_a_job_that_is_somebody_elses_now() {
    for answer in [Mood::Takes, Mood::Fails] {
        for shop in shops("theirs", Mood::Hangs).await {
            shop.enqueue(1, 5).await;
            let worker = shop.worker();
            shop.came(1).await;
            shop.db.execute("update jobs set locked_by = 'somebody else', attempts = attempts + 1").await;
            shop.hook.becomes(answer);
            assert!(worker.ends(), "{:?}", shop.db.engine);
            let left = "select count(*) from jobs where locked_by = 'somebody else' and locked_at is not null and attempts = 2";
            assert_eq!((shop.db.scalar(left).await.as_str(), shop.db.count("jobs_dlq").await), ("1", 0));
        }
    }
}

#[tokio::test]
async fn the_lock_of_a_job_that_takes_long_is_renewed() {
    for shop in shops("long", Mood::Hangs).await {
        shop.enqueue(1, 5).await;
        let worker = shop.worker_that(&["-c", "import worker; worker.LEASE = 1; import app"]);
        shop.came(1).await;
        let (long_ago, lately) = (shop.before(600), shop.before(60));
        shop.db.execute(&format!("update jobs set locked_at = {long_ago}")).await;
        shop.until(&format!("select count(*) from jobs where locked_at > {lately}"), "1").await;
        shop.hook.becomes(Mood::Takes);
        shop.until("select count(*) from jobs", "0").await;
        assert!(worker.ends(), "{:?}", shop.db.engine);
    }
}

#[tokio::test]
async fn several_workers_run_each_job_once() {
    for shop in shops("several", Mood::Takes).await {
        shop.enqueue(60, 5).await;
        let workers: Vec<Worker> = (0..3).map(|_| shop.worker()).collect();
        shop.until("select count(*) from jobs", "0").await;
        assert!(workers.into_iter().all(Worker::ends), "{:?}", shop.db.engine);
        let mut came = shop.hook.came();
        came.sort_unstable();
        came.dedup();
        assert_eq!((came.len(), shop.hook.came().len()), (60, 60), "{:?}", shop.db.engine);
    }
}
