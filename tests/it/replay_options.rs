//! What can be asked of a replay: another queue, and what becomes of used attempts.

use dlq_tui::domain::run_options::Attempts;
use dlq_tui::store::Store;

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine};
use crate::store_desk::store;

const CONFIG: &str = "[sources.a]\nurl_env = \"DATABASE_URL\"\nreplay = { table = \"jobs\" }\n";

/// The values of one key of the live jobs' payloads, told apart and counted.
async fn payloads(db: &TestDb) -> Vec<serde_json::Value> {
    let column = if db.engine == Engine::Postgres { "payload::text" } else { "payload" };
    let payloads = db.column(&format!("select {column} from jobs order by id")).await;
    payloads.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

#[tokio::test]
async fn a_replay_elsewhere_writes_the_other_queue_and_leaves_the_dead_row_its_own() {
    for db in every_engine("elsewhere").await {
        Layout::DeadLetterJobs.seed(&db, 60).await;
        let own = db.scalar("select count(distinct queue_name) from dead_letter_jobs").await;
        let user = User::of(&db).configured(CONFIG);
        let plan = user.run(&["replay", "--source", "a", "--all", "--to-queue", "backlog's", "--dry-run"]);
        assert!(plan.out.contains("to the queue backlog's"), "{}", plan.out);
        let receipt =
            user.json(&["replay", "--source", "a", "--all", "--to-queue", "backlog's", "--yes", "-o", "json"]);
        assert_eq!(receipt["options"]["to_queue"], "backlog's");
        let jobs = payloads(&db).await;
        assert_eq!(Some(jobs.len() as u64), receipt["done"].as_u64());
        assert!(jobs.iter().all(|job| job["queue_name"] == "backlog's"), "{:?}", db.engine);
        assert_eq!(db.scalar("select count(distinct queue_name) from dead_letter_jobs").await, own);
    }
}

#[tokio::test]
async fn a_command_is_told_the_other_queue_and_one_more_try_in_the_line_of_each_job() {
    for db in every_engine("elsewhere_command").await {
        Layout::DeadLetterJobs.seed(&db, 8).await;
        let taken = tempfile::NamedTempFile::new().expect("a file");
        let script = format!(
            "tee {} | while IFS= read -r line; do id=${{line#*\\\"id\\\":\\\"}}; id=${{id%%\\\"*}}; echo \"{{\\\"id\\\":\\\"$id\\\",\\\"ok\\\":true}}\"; done",
            taken.path().display()
        );
        let command = toml::Value::Array(["/bin/sh", "-c", &script].map(|s| toml::Value::String(s.to_owned())).into());
        let config = format!("[sources.a]\nurl_env = \"DATABASE_URL\"\nreplay = {{ command = {command} }}\n");
        let user = User::of(&db).configured(&config);
        user.run(&["replay", "--source", "a", "--all", "--to-queue", "low", "--attempts", "once", "--yes"]).with(0);
        let text = std::fs::read_to_string(taken.path()).expect("lines");
        assert_eq!(text.lines().count(), 8);
        for line in text.lines() {
            let line = line.replace(' ', "");
            assert!(line.contains("\"queue_name\":\"low\""), "{line}");
            assert!(!line.contains("\"executions\":0") && line.contains("\"exception_executions\":null"), "{line}");
        }
    }
}

#[tokio::test]
async fn a_queue_in_a_payload_is_replaced_where_it_stands_and_the_rest_stays_exact() {
    for db in every_engine("payload_queue").await {
        Layout::JobsDlq.install(&db).await;
        for payload in
            [r#"{"queue":"billing","n":12345678901234567890.10}"#, r#"{"queue_name":"billing","n":1}"#, r#"{"n":2}"#]
        {
            let at = if db.engine == Engine::Postgres { "now()" } else { "'2026-11-20 00:00:00'" };
            db.execute(&format!("insert into jobs_dlq (payload, failed_at) values ('{payload}', {at})")).await;
        }
        let user = User::of(&db);
        user.run(&["replay", "--all", "--to-queue", "low", "--yes"]).with(0);
        let column = if db.engine == Engine::Postgres { "payload::text" } else { "payload" };
        let mut texts: Vec<String> = db.column(&format!("select {column} from jobs")).await;
        texts.iter_mut().for_each(|text| *text = text.replace(' ', ""));
        let told = format!("{:?}: {texts:?}", db.engine);
        assert_eq!(texts.iter().filter(|text| text.contains("\"queue\":\"low\"")).count(), 2, "{told}");
        assert_eq!(texts.iter().filter(|text| text.contains("\"queue_name\":\"low\"")).count(), 1, "{told}");
        assert!(texts.iter().any(|text| text.contains("12345678901234567890.10")), "{told}");
        assert_eq!(db.count("jobs_dlq").await, 0, "{told}");
    }
}

#[tokio::test]
async fn attempts_are_reset_or_one_more_try_is_left_as_each_adapter_defines_it() {
    for layout in Layout::ALL {
        for db in every_engine(&format!("attempts_{}", layout.table())).await {
            layout.seed(&db, 40).await;
            // All that has died has used up five attempts.
            let used = match (layout, db.engine) {
                (Layout::DeadLetterJobs, Engine::Postgres) => {
                    "metadata = '{\"executions\":5,\"exception_executions\":{\"[Boom]\":5}}'::jsonb"
                }
                (Layout::DeadLetterJobs, _) => {
                    "metadata = '{\"executions\":5,\"exception_executions\":{\"[Boom]\":5}}'"
                }
                (Layout::DlqEvents, _) => "retry_count = 5",
                (Layout::JobsDlq, _) => "attempts = 5",
            };
            db.execute(&format!("update {} set {used}", layout.table())).await;
            let store = store(&db, layout).await;
            assert_eq!(store.info().capabilities.options.attempts, Attempts::ALL);
            let two = format!(
                "select cast(id as char(36)) from {} where {} order by id limit 2",
                layout.table(),
                layout.is_dead()
            );
            let ids: Vec<String> = db.column(&two).await.into_iter().map(|id| id.trim().to_owned()).collect();
            let user = User::of(&db).configured(CONFIG);
            let mut seen = Vec::new();
            for (id, how) in ids.iter().zip(["once", "reset"]) {
                let command = ["replay", "--source", "a", id, "--attempts", how, "--yes"];
                let ended = user.run(&command);
                let said = if how == "once" {
                    "Used attempts stay: a job that has none left gets one more try."
                } else {
                    "Attempts are reset"
                };
                assert!(ended.with(0).contains(said), "{}", ended.err);
                seen.push(match layout {
                    Layout::DeadLetterJobs => {
                        let job = payloads(&db).await.pop().expect("a job");
                        format!("{} {}", job["executions"], job["exception_executions"])
                    }
                    Layout::DlqEvents => {
                        db.scalar(&format!("select retry_count from dlq_events where id = {id}")).await
                    }
                    Layout::JobsDlq => db.scalar("select attempts from jobs order by id desc limit 1").await,
                });
            }
            let expected = match layout {
                Layout::DeadLetterJobs => ["5 null", "0 {}"],
                Layout::DlqEvents => ["5", "0"],
                Layout::JobsDlq => ["4", "0"],
            };
            assert_eq!(seen, expected, "{layout:?} on {:?}", db.engine);
        }
    }
}

#[tokio::test]
async fn what_a_layout_cannot_do_is_refused_with_the_reason_before_anything_is_frozen() {
    for db in every_engine("refused").await {
        Layout::DlqEvents.seed(&db, 20).await;
        let user = User::of(&db);
        let ended = user.run(&["replay", "--all", "--to-queue", "low", "--yes"]);
        assert!(ended.with(4).contains("keeps no queue that a replay could replace"), "{}", ended.err);
        assert_eq!(user.json(&["runs", "-o", "json"])["runs"].as_array().map(Vec::len), Some(0));
        user.run(&["discard", "--all", "--to-queue", "low"]).with(2);
        user.run(&["discard", "--all", "--attempts", "once"]).with(2);
        user.run(&["replay", "--all", "--attempts", "twice"]).with(2);
        user.run(&["replay", "--all", "--to-queue", " "]).with(2);
    }
}
