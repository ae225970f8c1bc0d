//! `replay --canary`, `--stop-above` and `--ramp`, with workers of which some, all or none succeed.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};
use tokio::task::JoinHandle;

use super::{Ended, User};
use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine};

/// Something that works on replayed jobs until it is dropped.
struct Workers(JoinHandle<()>);

impl Workers {
    /// Runs these statements over and over.
    fn running(db: &Arc<TestDb>, statements: &[String]) -> Self {
        let (db, statements) = (Arc::clone(db), statements.to_vec());
        Self(tokio::spawn(async move {
            loop {
                for sql in &statements {
                    // Another session may hold a row: then the next round has it.
                    let _ = db.try_execute(sql).await;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }))
    }

    /// Finishes jobs, of which so many percent die again.
    fn failing(db: &Arc<TestDb>, share: u32) -> Self {
        let end = format!("case when id % 10 < {} then 'FAILED_PERMANENTLY' else 'SUCCEEDED' end", share / 10);
        Self::running(db, &[format!("update dlq_events set status = {end} where status = 'PENDING'")])
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn seeded(name: &str) -> Vec<Arc<TestDb>> {
    let mut seeded = Vec::new();
    for db in every_engine(name).await {
        if db.engine != Engine::Mysql {
            Layout::DlqEvents.seed(&db, 300).await;
            db.execute("update dlq_events set status = 'SUCCEEDED' where status = 'PENDING'").await;
            seeded.push(Arc::new(db));
        }
    }
    seeded
}

fn canary(user: &User, wait: &str) -> (Ended, Value) {
    told(user.run(&["replay", "--all", "--canary", "20", "--settle", wait, "--yes", "-o", "json"]))
}

fn resumed(user: &User, receipt: &Value, more: &[&str]) -> (Ended, Value) {
    let run = receipt["run"].as_str().expect("a run");
    told(user.run(&[&["resume", run, "--yes", "-o", "json"], more].concat()))
}

fn told(ended: Ended) -> (Ended, Value) {
    let receipt = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}{}", ended.out, ended.err));
    (ended, receipt)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_stops_a_replay_that_fails_again_and_lets_one_go_on_that_does_not() {
    for db in seeded("canary").await {
        let name = db.engine.name();
        for share in [100, 30] {
            let user = User::of(&db);
            let failing = Workers::failing(&db, share);
            let (ended, stopped) = canary(&user, "30s");
            let why = ended.with(3);
            assert!(
                why.contains("stopped: died again ") && why.contains("; resume with `dlq-tui resume"),
                "{name}: {why}"
            );
            assert_eq!((&stopped["done"], &stopped["rollout"]["phase"]), (&json!(20), &json!("stopped")), "{name}");
            assert_eq!(stopped["options"]["rollout"]["stop_above"], json!(0.05), "{name}: {stopped}");
            let shown = user.run(&["runs", stopped["run"].as_str().expect("a run")]).out;
            assert!(shown.contains("stopped by its rule: died again "), "{name}: {shown}");
            let (ended, still) = resumed(&user, &stopped, &[]);
            assert!(ended.with(3).contains("died again "), "{name}: {}", ended.err);
            assert_eq!(still["done"], json!(40), "{name}: the next canary");
            drop(failing);
            db.execute("update dlq_events set status = 'FAILED_PERMANENTLY' where status = 'SUCCEEDED'").await;
        }
        let user = User::of(&db);
        let _fixed = Workers::failing(&db, 0);
        let (ended, receipt) = canary(&user, "30s");
        ended.with(0);
        assert_eq!((&receipt["done"], &receipt["rollout"]["phase"]), (&receipt["planned"], &json!("rest")), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_retried_or_fails_late_does_not_open_the_gate() {
    for db in seeded("canary_late").await {
        let name = db.engine.name();
        let again = "update dlq_events set retry_count = retry_count + 1, retry_after = '2031-01-01 00:00:00' \
                     where status = 'PENDING'";
        let retrying = Workers::running(&db, &[again.to_owned()]);
        let user = User::of(&db);
        let (ended, _) = canary(&user, "30s");
        assert!(ended.with(3).contains("stopped: failed again "), "{name}: {}", ended.err);
        drop(retrying);
        db.execute("update dlq_events set status = 'SUCCEEDED' where status = 'PENDING'").await;

        let _takes =
            Workers::running(&db, &["update dlq_events set status = 'PROCESSING' where status = 'PENDING'".to_owned()]);
        let (ended, undecided) = canary(&user, "1s");
        let why = ended.with(3);
        assert!(why.contains("the gate cannot tell, of 20 jobs of the canary 20 not finished"), "{name}: {why}");
        db.execute("update dlq_events set status = 'FAILED_PERMANENTLY' where status = 'PROCESSING'").await;
        let (ended, receipt) = resumed(&user, &undecided, &[]);
        assert!(ended.with(3).contains("died again 20 of 20 "), "{name}: {}", ended.err);
        assert_eq!(receipt["done"], json!(20), "{name}: the gate was asked again, and nothing else was replayed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_workers_the_gate_is_opened_by_the_operator_and_a_kill_in_it_is_no_answer() {
    for db in seeded("canary_idle").await {
        let name = db.engine.name();
        let user = User::of(&db);
        let words = ["replay", "--all", "--canary", "20", "--settle", "10m", "--yes"];
        let mut child = user.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a start");
        let gate = || {
            let runs = user.json(&["runs", "-o", "json"]);
            let run = runs["runs"].get(0).cloned().unwrap_or_default();
            (run["rollout"]["phase"] == "gate").then_some(run)
        };
        let run = loop {
            match gate() {
                Some(run) => break run,
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        child.kill().expect("a kill");
        child.wait().expect("an end");
        let pending = async || db.scalar("select count(*) from dlq_events where status = 'PENDING'").await;
        assert_eq!(pending().await, "20", "{name}");
        let (ended, receipt) = resumed(&user, &run, &["--skip-gate"]);
        ended.with(0);
        assert_eq!(receipt["done"], receipt["planned"], "{name}");
        assert_eq!(pending().await, receipt["planned"].to_string(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_stopped_by_its_outcomes_alone_and_a_ramp_leaves_it_time_to_be() {
    for db in seeded("stop_above").await {
        let name = db.engine.name();
        let _failing = Workers::failing(&db, 30);
        let user = User::of(&db);
        let (ended, receipt) =
            told(user.run(&["replay", "--all", "--stop-above", "5%", "--ramp", "--yes", "-o", "json"]));
        assert!(ended.with(3).contains("stopped: died again "), "{name}: {}", ended.err);
        let (done, planned) =
            (receipt["done"].as_u64().expect("a number"), receipt["planned"].as_u64().expect("a number"));
        assert!(done < planned / 2, "{name}: {done} of {planned}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_kept_in_a_ledger_that_all_operators_share() {
    for db in every_engine("canary_shared").await {
        let name = db.engine.name();
        Layout::DlqEvents.seed(&db, 300).await;
        db.execute("update dlq_events set status = 'SUCCEEDED' where status = 'PENDING'").await;
        let db = Arc::new(db);
        let (ada, bob) = (User::of(&db), User::of(&db));
        ada.run(&["init", "--ledger", "--yes"]).with(0);
        let failing = Workers::failing(&db, 100);
        let (ended, stopped) = canary(&ada, "30s");
        assert!(ended.with(3).contains("stopped: died again 20 of 20 canary jobs ("), "{name}: {}", ended.err);
        assert_eq!((&stopped["home"], &stopped["rollout"]["phase"]), (&json!("source"), &json!("stopped")), "{name}");
        drop(failing);
        let _fixed = Workers::failing(&db, 0);
        let (ended, receipt) = resumed(&bob, &stopped, &[]);
        ended.with(0);
        assert_eq!((&receipt["done"], &receipt["rollout"]["phase"]), (&receipt["planned"], &json!("rest")), "{name}");
    }
}

/// The rows of the events as they stand, but for the time of the last change.
async fn events(db: &TestDb) -> Vec<String> {
    let columns = ["id", "status", "retry_count", "retry_after"];
    let text = if db.engine == Engine::Mysql { "char" } else { "text" };
    let columns = columns.map(|column| format!("coalesce(cast({column} as {text}), '-')"));
    let row = match db.engine {
        Engine::Mysql => format!("concat_ws(' ', {})", columns.join(", ")),
        _ => columns.join(" || ' ' || "),
    };
    db.column(&format!("select {row} from dlq_events order by id")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_with_one_attempt_is_taken_back_with_the_rest_as_its_dry_run_says() {
    for db in every_engine("canary_undo").await {
        let name = db.engine.name();
        Layout::DlqEvents.seed(&db, 300).await;
        db.execute("update dlq_events set status = 'SUCCEEDED' where status = 'PENDING'").await;
        db.execute("update dlq_events set retry_count = 7 where status = 'FAILED_PERMANENTLY'").await;
        let before = events(&db).await;
        let user = User::of(&db);
        let (ended, undecided) = canary(&user, "1s");
        assert!(ended.with(3).contains("the gate cannot tell"), "{name}: {}", ended.err);
        assert_eq!(undecided["options"]["rollout"]["one_attempt"], json!(true), "{name}: {undecided}");
        let (ended, receipt) = resumed(&user, &undecided, &["--skip-gate"]);
        ended.with(0);
        let planned = receipt["planned"].as_u64().expect("a number");
        let pending = async |count: &str| {
            db.count(&format!("dlq_events where status = 'PENDING' and retry_count = {count}")).await
        };
        assert_eq!((pending("7").await, pending("0").await), (20, planned - 20), "{name}");
        let run = receipt["run"].as_str().expect("a run");
        let foreseen = user.json(&["undo", run, "--dry-run", "-o", "json"]);
        assert_eq!(foreseen["outlook"], json!([{ "reason": "can be undone", "n": planned }]), "{name}: {foreseen}");
        let undone = user.json(&["undo", run, "--yes", "-o", "json"]);
        assert_eq!(undone["done"], json!(planned), "{name}: {undone}");
        assert_eq!(events(&db).await, before, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_takes_the_oldest_jobs_or_some_of_each_sort() {
    for db in every_engine("pick").await {
        let name = db.engine.name();
        Layout::JobsDlq.seed(&db, 300).await;
        // One error that only one job has, which is neither among the newest nor among the oldest.
        db.execute("update jobs_dlq set error_class = 'RareError' where id = 150").await;
        let planned = |pick: &str, limit: &str| -> Vec<u64> {
            let user = User::of(&db);
            let words = ["replay", "--all", "--limit", limit, "--pick", pick, "--yes", "-o", "json"];
            let receipt = user.json(&words);
            let run = receipt["run"].as_str().expect("a run");
            let jobs = user.json(&["runs", run, "--jobs", "-o", "json"])["jobs"].clone();
            let id = |job: &Value| job["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
            let mut ids: Vec<u64> = jobs.as_array().expect("jobs").iter().map(id).collect();
            ids.sort_unstable();
            ids
        };
        let ids = async |rest: &str| -> Vec<u64> {
            let ids = db.column(&format!("select id from jobs_dlq {rest}")).await;
            let mut ids: Vec<u64> = ids.iter().map(|id| id.parse().expect("an id")).collect();
            ids.sort_unstable();
            ids
        };
        let oldest = ids("order by failed_at, id limit 7").await;
        let newest = ids("order by failed_at desc, id desc limit 7").await;
        assert_ne!(oldest, newest, "{name}");
        assert_eq!(planned("oldest", "7"), oldest, "{name}");
        assert_eq!(planned("newest", "7"), newest, "{name}");
        let classes = db.column("select distinct error_class from jobs_dlq").await;
        let all = db.column("select error_class from jobs_dlq order by id").await;
        let by_id: HashMap<u64, String> = ids("").await.into_iter().zip(all).collect();
        let (first, last) =
            (ids("order by failed_at, id limit 1").await, ids("order by failed_at desc, id desc limit 1").await);
        let spread = planned("spread", "60");
        assert!(spread.len() == 60 && classes.len() < 60, "{name}: {spread:?} of {classes:?}");
        for class in &classes {
            assert!(spread.iter().any(|id| by_id[id] == *class), "{name}: no {class} in {spread:?}");
        }
        for (end, id) in [("oldest", first[0]), ("newest", last[0])] {
            assert!(spread.contains(&id), "{name}: the {end}, {id}, is not in {spread:?}");
        }
        let left = ids("").await;
        assert!(spread.iter().all(|id| !left.contains(id)), "{name}: what was planned was replayed");
    }
}

/// The ledger of a user, for statements of ours.
async fn ledger_of(user: &User) -> SqliteConnection {
    let file = user.home().join("state/dlq-tui/ledger.sqlite3");
    SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.expect("a ledger")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_once_its_rule_has_stopped_it_is_stopped_by_it_and_goes_on_under_it() {
    for db in seeded("canary_killed_late").await {
        let name = db.engine.name();
        let user = User::of(&db);
        let failing = Workers::failing(&db, 100);
        user.run(&["runs"]).with(0);
        // The end of a run takes forever to be written. A trigger may not count to a number that nobody reaches; a view may.
        let mut ledger = ledger_of(&user).await;
        for sql in [
            "create view endless as with recursive c(n) as (select 1 union all select n + 1 from c) select n from c",
            "create trigger never before update of state on runs when new.state = 'stopped' \
             begin select count(*) from endless; end",
        ] {
            ledger.execute(sql).await.expect(sql);
        }
        let words = ["replay", "--all", "--canary", "20", "--settle", "30s", "--yes"];
        let run = killed_when(&user, &words, async |run: &Value| run["rollout"]["phase"] == "stopped").await;
        assert_eq!(run["state"], "running", "{name}: its end is not written");
        for sql in ["drop trigger never", "drop view endless"] {
            ledger.execute(sql).await.expect(sql);
        }
        drop(ledger);
        let count = async |status: &str| db.count(&format!("dlq_events where status = '{status}'")).await;
        let id = run["run"].as_str().expect("a run");
        let shown = user.run(&["runs", id]).out;
        assert!(shown.contains("stopped by its rule: died again 20 of 20"), "{name}: {shown}");
        assert_eq!(count("PENDING").await, 0, "{name}: the canary has died");
        let (ended, still) = resumed(&user, &run, &[]);
        assert!(ended.with(3).contains("stopped: died again 20 of 20 canary jobs"), "{name}: {}", ended.err);
        assert_eq!((&still["done"], &still["rollout"]["phase"]), (&json!(40), &json!("stopped")), "{name}: the next");
        drop(failing);
        let before = count("SUCCEEDED").await;
        let _fixed = Workers::failing(&db, 0);
        let (ended, receipt) = resumed(&user, &run, &[]);
        ended.with(0);
        let planned = receipt["planned"].as_u64().expect("a number");
        assert_eq!((&receipt["done"], &receipt["rollout"]["phase"]), (&json!(planned), &json!("rest")), "{name}");
        while count("PENDING").await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(
            (count("FAILED_PERMANENTLY").await, count("SUCCEEDED").await),
            (40, before + planned - 40),
            "{name}"
        );
    }
}

/// Starts a command that executes a run, and kills it as soon as the run `is_reached`; the run as it was then.
async fn killed_when(user: &User, words: &[&str], is_reached: impl AsyncFn(&Value) -> bool) -> Value {
    let mut child = user.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a start");
    let run = loop {
        let runs = user.json(&["runs", "-o", "json"]);
        let run = runs["runs"].get(0).cloned().unwrap_or_default();
        if is_reached(&run).await {
            break run;
        }
        assert!(child.try_wait().expect("a state").is_none(), "it ended before it was killed: {run}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    child.kill().expect("a kill");
    child.wait().expect("an end");
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_in_each_phase_keeps_its_rule_and_its_sums() {
    for db in seeded("canary_killed").await {
        let name = db.engine.name();
        let user = User::of(&db);
        let count = async |states: &str| -> u64 {
            let found = db.scalar(&format!("select count(*) from dlq_events where status in ({states})")).await;
            found.parse().expect("a number")
        };
        let pending = async || count("'PENDING'").await;
        let before = count("'SUCCEEDED'").await;
        // While the canary is put back.
        let words = ["--canary", "20", "--settle", "10m", "--ramp", "--rate", "4/s", "--batch", "2", "--yes"];
        let words = [&["replay", "--all"], &words[..]].concat();
        let in_canary = async |run: &Value| run["rollout"]["phase"] == "canary" && pending().await > 0;
        let run = killed_when(&user, &words, in_canary).await;
        assert!(pending().await < 20, "{name}");
        let id = run["run"].as_str().expect("a run");
        // At the gate, behind the rest of the canary.
        let resume = ["resume", id, "--rate", "2000/s", "--yes"];
        let at_gate = async |run: &Value| run["rollout"]["phase"] == "gate";
        killed_when(&user, &resume, at_gate).await;
        assert_eq!(pending().await, 20, "{name}: nothing but the canary was replayed");
        // While the rate grows.
        let fixed = Workers::failing(&db, 0);
        let in_ramp = async |run: &Value| run["rollout"]["phase"] == "rest" && count("'SUCCEEDED'").await > before + 25;
        killed_when(&user, &resume, in_ramp).await;
        drop(fixed);
        // The rule holds: it is stopped now, and goes on once the jobs succeed.
        let failing = Workers::failing(&db, 100);
        let (ended, stopped) = resumed(&user, &run, &["--rate", "500/s"]);
        assert!(ended.with(3).contains("stopped: died again "), "{name}: {}", ended.err);
        drop(failing);
        let fixed = Workers::failing(&db, 0);
        let (ended, receipt) = resumed(&user, &run, &["--rate", "2000/s"]);
        ended.with(0);
        assert_eq!(receipt["done"], receipt["planned"], "{name}: {receipt}");
        let died: u64 = count("'FAILED_PERMANENTLY'").await;
        assert!(died < stopped["done"].as_u64().expect("a number"), "{name}: {died} died again, {stopped}");
        while pending().await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let replayed = count("'SUCCEEDED'").await - before + died;
        assert_eq!(json!(replayed), receipt["planned"], "{name}: what succeeded and what died again is all of it");
        drop(fixed);
    }
}
