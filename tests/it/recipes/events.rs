//! The SQL of the retries of `dlq_events`, bound as literals.

use serde_json::json;

use super::dead;
use crate::cli::User;
use crate::harness::{Engine, TestDb, every_engine};

/// The statements of an engine's recipe.
struct Scheduler<'a> {
    db: &'a TestDb,
    text: String,
}

/// An event that a worker has.
#[derive(Clone, Debug, PartialEq)]
struct Taken {
    id: String,
    retries: String,
}

impl<'a> Scheduler<'a> {
    fn of(db: &'a TestDb) -> Self {
        let path = super::recipe(&format!("dlq_events/{}.sql", db.engine.name()));
        Self { db, text: std::fs::read_to_string(path).expect("a recipe") }
    }

    fn statement(&self, name: &str, values: &[(&str, &str)]) -> String {
        let (_, rest) = self.text.split_once(&format!("-- name: {name}\n")).unwrap_or_else(|| panic!("no {name}"));
        let text = rest.split("\n-- name: ").next().unwrap_or_default();
        let text: String =
            text.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
        let bound = values.iter().fold(text, |text, (name, value)| text.replace(&format!(":{name}"), value));
        let free =
            ["event_type", "payload", "reason", "stacktrace", "id", "retry_count"].map(|name| format!(":{name}"));
        assert!(!free.iter().any(|name| bound.contains(name)), "not bound: {bound}");
        bound
    }

    async fn run(&self, name: &str, values: &[(&str, &str)]) {
        self.db.execute(&self.statement(name, values)).await;
    }

    async fn capture(&self, payload: &str) {
        let values =
            [("event_type", "'paid'"), ("payload", payload), ("reason", "'Early: too'"), ("stacktrace", "null")];
        self.run("capture", &values).await;
    }

    /// Takes what is due, as one worker does.
    async fn claim(&self) -> Vec<Taken> {
        if self.db.engine != Engine::Mysql {
            // One connection a statement: the columns come as one.
            let claim = self.statement("claim", &[]);
            let one = claim.replace("id, event_type, payload, retry_count;", "id || ' ' || retry_count;");
            return self.db.column(&one).await.iter().map(|row| taken(row)).collect();
        }
        let due = self.statement("due", &[]).replacen(
            "id, event_type, payload, retry_count",
            "concat(id, ' ', retry_count)",
            1,
        );
        let found: Vec<Taken> = self.db.column(&due).await.iter().map(|row| taken(row)).collect();
        for one in &found {
            self.run("claim", &[("id", &one.id)]).await;
        }
        found
    }

    async fn failed(&self, one: &Taken) {
        let values = [
            ("retry_count", one.retries.as_str()),
            ("id", &one.id),
            ("reason", "'Net::Timeout: none'"),
            ("stacktrace", "'first\nsecond'"),
        ];
        self.run("failed", &values).await;
    }

    async fn with(&self, name: &str, one: &Taken) {
        self.run(name, &[("retry_count", &one.retries), ("id", &one.id)]).await;
    }

    async fn status(&self) -> String {
        let concat = if self.db.engine == Engine::Mysql {
            "concat(status, ' ', retry_count)"
        } else {
            "status || ' ' || retry_count"
        };
        self.db.scalar(&format!("select {concat} from dlq_events where id = 1")).await
    }

    /// Seconds until the event is due, or since it was changed.
    async fn seconds(&self, column: &str) -> f64 {
        let sql = match self.db.engine {
            Engine::Postgres => format!("select extract(epoch from {column} - now())::text"),
            Engine::Mysql => {
                format!("select cast(timestampdiff(microsecond, utc_timestamp(6), {column}) / 1000000 as char)")
            }
            Engine::Sqlite => format!("select cast((julianday({column}) - julianday('now')) * 86400 as text)"),
        };
        self.db.scalar(&format!("{sql} from dlq_events where id = 1")).await.parse().expect("a number")
    }

    async fn becomes_due(&self) {
        self.ages("retry_after").await;
    }

    /// Lets ten minutes go by for a column.
    async fn ages(&self, column: &str) {
        let at = match self.db.engine {
            Engine::Postgres => "now() - interval '10 minutes'",
            Engine::Mysql => "utc_timestamp(6) - interval 10 minute",
            Engine::Sqlite => "strftime('%Y-%m-%d %H:%M:%f000', 'now', '-10 minutes')",
        };
        self.db.execute(&format!("update dlq_events set {column} = {at}")).await;
    }
}

fn taken(row: &str) -> Taken {
    let (id, retries) = row.split_once(' ').expect("two columns");
    Taken { id: id.to_owned(), retries: retries.to_owned() }
}

async fn installed(db: &TestDb) -> User {
    let user = User::of(db);
    user.run(&["init", "--preset", "dlq_events", "--yes"]).with(0);
    user
}

#[tokio::test]
async fn an_event_is_retried_with_growing_waits_dies_is_replayed_dies_again_and_succeeds() {
    for db in every_engine("events").await {
        let (user, scheduler) = (installed(&db).await, Scheduler::of(&db));
        scheduler.capture("'{\"order\" : 12345678901234567890}'").await;
        assert_eq!(scheduler.claim().await, [], "{:?}: not due yet", db.engine);
        assert!((20.0..31.0).contains(&scheduler.seconds("retry_after").await));
        for retry in 0..5 {
            scheduler.becomes_due().await;
            let [one] = scheduler.claim().await.try_into().expect("one event");
            assert_eq!((&one.id, one.retries.clone()), (&"1".to_owned(), retry.to_string()), "{:?}", db.engine);
            assert_eq!(scheduler.claim().await, [], "it is somebody's");
            scheduler.failed(&one).await;
            let state = if retry == 4 { "FAILED_PERMANENTLY" } else { "PENDING" };
            assert_eq!(scheduler.status().await, format!("{state} {}", retry + 1), "{:?}", db.engine);
            let wait = 30.0 * f64::from(2 << retry);
            let waits = scheduler.seconds("retry_after").await;
            assert!((wait * 0.5 - 5.0..wait * 1.5 + 1.0).contains(&waits), "{:?}: {waits} of {wait}", db.engine);
        }
        scheduler.becomes_due().await;
        assert_eq!(scheduler.claim().await, []);

        let job = dead(&user, &[]).remove(0);
        assert_eq!((&job["class"], &job["attempts"]), (&json!("paid"), &json!(5)));
        let shown = user.json(&["show", "1", "-o", "json"]);
        assert_eq!(shown["message"], "Net::Timeout: none");
        assert!(shown["backtrace"].to_string().contains("second"), "{shown}");

        for again in ["reset", "once"] {
            user.run(&["replay", "1", "--attempts", again, "--yes"]).with(0);
            let [one] = scheduler.claim().await.try_into().expect("due at once");
            scheduler.failed(&one).await;
            let state = if again == "once" { "FAILED_PERMANENTLY 6" } else { "PENDING 1" };
            assert_eq!(scheduler.status().await, state, "{:?}", db.engine);
            db.execute("update dlq_events set status = 'FAILED_PERMANENTLY', retry_count = 5 where retry_count = 1")
                .await;
        }
        assert_eq!(dead(&user, &[]).len(), 1, "dead again");

        user.run(&["replay", "1", "--yes"]).with(0);
        let [one] = scheduler.claim().await.try_into().expect("due at once");
        scheduler.with("succeeded", &one).await;
        assert_eq!(scheduler.status().await, "SUCCEEDED 0");
        assert_eq!(dead(&user, &[]).len(), 0);
        user.run(&["archive", "-f", "state:resolved", "--yes"]).with(0);
        assert_eq!((db.count("dlq_events").await, db.count("dlq_events_archive").await), (0, 1), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn an_event_whose_worker_is_lost_is_retried_and_the_lost_one_has_no_say_any_more() {
    for db in every_engine("lost events").await {
        let scheduler = Scheduler::of(&db);
        installed(&db).await;
        scheduler.capture("'{}'").await;
        scheduler.becomes_due().await;
        let [lost] = scheduler.claim().await.try_into().expect("one event");
        scheduler.run("recover", &[]).await;
        assert_eq!(scheduler.status().await, "PROCESSING 0", "not before its time");
        scheduler.ages("updated_at").await;
        scheduler.with("alive", &lost).await;
        assert!(scheduler.seconds("updated_at").await > -5.0);
        scheduler.run("recover", &[]).await;
        assert_eq!(scheduler.status().await, "PROCESSING 0", "{:?}: it has given a sign of life", db.engine);

        scheduler.ages("updated_at").await;
        scheduler.run("recover", &[]).await;
        assert_eq!(scheduler.status().await, "PENDING 1");
        let [one] = scheduler.claim().await.try_into().expect("due at once");
        scheduler.with("succeeded", &lost).await;
        scheduler.failed(&lost).await;
        assert_eq!(scheduler.status().await, "PROCESSING 1", "{:?}: it is somebody else's", db.engine);
        for _ in 1..5 {
            scheduler.ages("updated_at").await;
            scheduler.run("recover", &[]).await;
            scheduler.claim().await;
        }
        assert_eq!(scheduler.status().await, "FAILED_PERMANENTLY 5", "{:?}", db.engine);
        assert_eq!(dead(&User::of(&db), &[])[0]["error"], "WorkerLost");
        scheduler.with("succeeded", &one).await;
        assert_eq!(scheduler.status().await, "FAILED_PERMANENTLY 5");
    }
}

#[tokio::test]
async fn workers_that_claim_at_the_same_time_take_each_event_once() {
    for db in every_engine("claims").await.into_iter().filter(|db| db.engine == Engine::Postgres) {
        let scheduler = Scheduler::of(&db);
        installed(&db).await;
        for _ in 0..50 {
            scheduler.capture("'{}'").await;
        }
        scheduler.becomes_due().await;
        let worker = async || {
            let mut all = Vec::new();
            loop {
                let some = scheduler.claim().await;
                if some.is_empty() {
                    return all;
                }
                all.extend(some.into_iter().map(|one| one.id));
            }
        };
        let (a, b, c) = tokio::join!(worker(), worker(), worker());
        let mut all = [a, b, c].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 50);
        assert_eq!(db.scalar("select count(*) from dlq_events where status = 'PROCESSING'").await, "50");
    }
}
