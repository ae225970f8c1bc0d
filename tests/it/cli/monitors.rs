//! Commands for monitors, pipes and tickets: `check`, `watch`, `metrics`, `export`, `config`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::{Ended, User};
use dlq_tui::domain::time::Timestamp;

use crate::fixtures::Layout;
use crate::harness::{self, Engine, process};

#[tokio::test]
async fn thresholds_are_held_against_what_sql_counts_on_every_engine() {
    for db in harness::every_engine("cli check").await {
        for layout in Layout::ALL {
            layout.seed(&db, 300).await;
            let dead = layout.count_dead(&db).await;
            let user = User::of(&db);
            let check = |threshold: &str| {
                user.run(&["check", "--store", layout.table(), "--max", threshold, "--max", "error=NoSuch:0"])
            };
            let (at, below) = (format!("total:{dead}"), format!("total:{}", dead - 1));
            let held = check(&at);
            held.with(0);
            assert_eq!(held.out, "", "{layout:?}: nothing to say is nothing printed");
            let passed = check(&below);
            passed.with(5);
            assert_eq!(passed.out, format!("total: {dead} dead, at most {} allowed\n", dead - 1), "{layout:?}");
            let age = user.run(&["check", "--store", layout.table(), "--max-age", "1h", "-o", "json"]);
            age.with(5);
            let told: Value = serde_json::from_str(&age.out).expect("JSON");
            assert_eq!((told["version"].as_i64(), told["breached"].as_bool()), (Some(1), Some(true)));
        }
    }
}

#[tokio::test]
async fn a_job_without_a_time_hides_no_other() {
    for db in harness::every_engine("cli timeless").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 40).await;
        let user = User::of(&db);
        let document = |args: &[&str]| serde_json::from_str::<Value>(&user.run(args).out).expect("JSON");
        let age = || document(&["check", "--max-age", "1h", "-o", "json"])["checks"][0].clone();
        let stats = || document(&["stats", "--by", "state", "-o", "json"])["bars"][0].clone();
        let (before, oldest) = (stats(), age()["found"].as_u64());
        let (first, last, lenient) = match db.engine {
            Engine::Postgres => ("'-infinity'", "'infinity'", ""),
            Engine::Mysql => ("'0000-00-00'", "'0000-00-00'", "set session sql_mode = '';\n"),
            Engine::Sqlite => ("''", "'zzz'", ""),
        };
        let ids = db
            .column(
                "select cast(id as char(36)) from dead_letter_jobs where status = 'failed' order by failed_at limit 20",
            )
            .await;
        for (id, time) in [(&ids[5], first), (&ids[6], last)] {
            db.execute(&format!("{lenient}update dead_letter_jobs set failed_at = {time} where id = '{id}'")).await;
        }
        let after = stats();
        for field in ["count", "first_seen", "last_seen"] {
            assert_eq!(after[field], before[field], "{:?}: {field}", db.engine);
        }
        let found = age()["found"].as_u64();
        assert!(found >= oldest && found.is_some_and(|age| age > 0), "{:?}: {found:?}, {oldest:?} before", db.engine);
        db.execute(&format!("{lenient}update dead_letter_jobs set failed_at = {first}")).await;
        let unknown = user.run(&["check", "--max-age", "1h"]);
        assert!(unknown.with(1).contains("dead jobs has a time, so the oldest is not known"), "{}", unknown.err);
    }
}

#[tokio::test]
async fn growth_counts_what_died_within_the_span_and_no_more() {
    let db = harness::sqlite("cli growth").await;
    Layout::JobsDlq.install(&db).await;
    db.execute(
        "insert into jobs_dlq (id, payload, error_class, failed_at) values
         (1, '{\"queue\":\"billing\"}', 'A', strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 minutes')),
         (2, '{\"queue\":\"low\"}', 'B', strftime('%Y-%m-%d %H:%M:%f', 'now', '-2 minutes')),
         (3, '{\"queue\":\"low\"}', 'B', strftime('%Y-%m-%d %H:%M:%f', 'now', '-20 minutes'))",
    )
    .await;
    let user = User::of(&db);
    user.run(&["check", "--max-growth", "2/5m"]).with(0);
    let passed = user.run(&["check", "--max-growth", "1/5m", "--max-growth", "queue=low:1/1h", "--max-age", "19m"]);
    passed.with(5);
    let lines: Vec<&str> = passed.out.lines().collect();
    assert_eq!(
        lines[..2],
        ["total: 2 died within 5m, at most 1 allowed", "queue low: 2 died within 1h, at most 1 allowed"]
    );
    assert!(lines[2].starts_with("oldest: died 20m ago"), "{lines:?}");
    for wrong in [&["check"][..], &["check", "--max", "queu=a:1"], &["check", "--max-growth", "5"]] {
        user.run(wrong).with(2);
    }
}

#[tokio::test]
async fn a_watch_prints_each_change_and_ends_at_an_interrupt() {
    for db in harness::every_engine("cli watch").await {
        Layout::JobsDlq.seed(&db, 50).await;
        let user = User::of(&db);
        let (mut child, said) = started(&user, &["watch", "--interval", "1s", "-o", "jsonl"]);
        assert!(said.starts_with("watching") && said.contains(": 50 dead jobs now"), "{said}");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut next =
            move || -> Value { serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON") };
        db.execute("insert into jobs_dlq (payload, error_class, failed_at) values ('{}', 'Fresh', '2026-11-20 10:00:00'), ('{}', 'Fresh', '2026-11-20 10:00:01')").await;
        let change = next();
        assert_eq!(
            (&change["value"], change["change"].as_i64(), change["total"].as_u64()),
            (&"Fresh".into(), Some(2), Some(2))
        );
        db.execute("delete from jobs_dlq where error_class = 'Fresh'").await;
        let change = next();
        assert_eq!((change["change"].as_i64(), change["total"].as_u64()), (Some(-2), Some(0)), "{:?}", db.engine);
        process::signal(&[child.id()], "INT");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
}

#[tokio::test]
async fn a_watch_that_meets_a_lock_says_so_once_and_goes_on_behind_it() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("cli watch locked").await;
    Layout::JobsDlq.seed(&db, 50).await;
    let user = User::of(&db);
    let (mut child, said) = spawned(&user, &["watch", "--interval", "1s", "-o", "jsonl"]);
    let mut said = said.lines();
    let mut says = move || said.next().map(|line| line.expect("text")).unwrap_or_default();
    let first = says();
    assert!(first.starts_with("watching"), "{first}");
    let mut other = PgConnection::connect(&db.url).await.expect("a connection");
    let fresh = "insert into jobs_dlq (payload, error_class, failed_at) values ('{}', 'Fresh', now())";
    let locked = format!("begin; {fresh}; lock jobs_dlq in access exclusive mode");
    other.execute(AssertSqlSafe(locked)).await.expect("a lock");
    let met = says();
    assert!(met.starts_with("the database gave no answer, and is tried again: locked by another session"), "{met}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    other.execute("commit").await.expect("an end");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let change: Value = serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON");
    assert_eq!((&change["value"], change["change"].as_i64()), (&"Fresh".into(), Some(1)));
    process::signal(&[child.id()], "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!((says().as_str(), says().as_str()), ("the database is back", ""), "each is said once");
}

#[tokio::test]
async fn a_watch_names_the_queue_of_what_is_new() {
    for db in harness::every_engine("cli watch queues").await {
        Layout::DeadLetterJobs.seed(&db, 50).await;
        let user = User::of(&db);
        let (mut child, _) = started(&user, &["watch", "--interval", "1s", "-o", "jsonl", "-f", "error:Fresh"]);
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut next =
            move || -> Value { serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON") };
        let made_fresh = |n: u64, queue: &str| {
            let now = Timestamp::now().to_rfc3339().replace('T', " ").replace('Z', "");
            let ids = format!("select id from dead_letter_jobs where status = 'failed' order by id limit {n}");
            format!(
                "update dead_letter_jobs set error_class = 'Fresh', queue_name = '{queue}', failed_at = '{now}' \
                 where id in (select id from ({ids}) as chosen)"
            )
        };
        db.execute(&made_fresh(3, "billing")).await;
        let change = next();
        assert_eq!((change["change"].as_i64(), change["queue"].as_str()), (Some(3), Some("billing")), "{change}");
        process::signal(&[child.id()], "INT");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
}

#[tokio::test]
async fn a_scrape_tells_the_numbers_and_a_database_that_is_gone_is_told_of() {
    let db = harness::sqlite("cli metrics").await;
    Layout::JobsDlq.seed(&db, 300).await;
    let user = User::of(&db);
    let (mut child, said) = started(&user, &["metrics", "--listen", "127.0.0.1:0", "--top", "2", "--cache", "1s"]);
    let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned();
    let scrape = get(&address, "/metrics");
    assert!(scrape.starts_with("HTTP/1.1 200 OK") && scrape.trim_end().ends_with("# EOF"), "{scrape}");
    let value = |scrape: &str, name: &str, label: &str| {
        let line = scrape.lines().find(|line| line.starts_with(name) && line.contains(label));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    assert_eq!(value(&scrape, "dlq_up{", ""), Some(1));
    assert_eq!(value(&scrape, "dlq_jobs{", "state=\"dead\""), Some(300));
    let errors: u64 = scrape
        .lines()
        .filter(|line| line.starts_with("dlq_dead_jobs_by_error{"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(errors, 300, "what has no name of its own is in `(other)`");
    assert_eq!(scrape.lines().filter(|line| line.starts_with("dlq_dead_jobs_by_error{")).count(), 3);
    assert!(get(&address, "/healthz").starts_with("HTTP/1.1 200"));
    assert!(get(&address, "/nowhere").starts_with("HTTP/1.1 404"));
    db.execute("drop table jobs_dlq").await;
    harness::eventually("the fault is told", || get(&address, "/healthz").starts_with("HTTP/1.1 503"));
    assert_eq!(value(&get(&address, "/metrics"), "dlq_up{", ""), Some(0));
    process::signal(&[child.id()], "TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[tokio::test]
async fn a_layout_without_error_classes_is_measured_and_written_up_all_the_same() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("cli no errors").await;
    db.execute(include_str!("../../fixtures/frameworks/procrastinate/tables.sql")).await;
    let user = User::of(&db);
    let (mut child, said) = started(&user, &["metrics", "--listen", "127.0.0.1:0"]);
    let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned();
    let scrape = get(&address, "/metrics");
    let health = get(&address, "/healthz");
    process::signal(&[child.id()], "TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    for line in ["dlq_up{", "dlq_jobs{", "dlq_deaths_5m{", "dlq_oldest_dead_age_seconds{"] {
        assert!(scrape.lines().any(|l| l.starts_with(line)), "{line} {scrape}");
    }
    assert!(!scrape.contains("dlq_dead_jobs_by_error"), "{scrape}");
    assert!(
        scrape.lines().any(|l| l.starts_with("dlq_jobs{") && l.contains("\"dead\"") && l.ends_with(" 8")),
        "{scrape}"
    );

    let file = user.home().join("note.md");
    assert!(user.run(&["export", "-o", "markdown", "--to", file.to_str().expect("a path")]).with(0).contains("8 jobs"));
    let note = std::fs::read_to_string(&file).expect("the file");
    assert!(note.starts_with("# 8 dead jobs in") && note.contains("\n## By job class\n"), "{note}");
    assert!(note.contains("\n## Example: shop.tasks.charge\n") && !note.contains("## By error"), "{note}");
}

#[tokio::test]
async fn growth_and_age_go_by_the_clock_of_the_database() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("cli slow clock").await;
    Layout::JobsDlq.install(&db).await;
    db.execute(
        "create schema slow;
         create function slow.clock_timestamp() returns timestamptz language sql as
           $$ select pg_catalog.clock_timestamp() - interval '2 hours' $$;
         insert into jobs_dlq (payload, error_class, failed_at) values
           ('{}', 'A', pg_catalog.clock_timestamp() - interval '2 hours 1 minute')",
    )
    .await;
    db.execute(&format!("alter database {} set search_path = slow, public, pg_catalog", db.name())).await;
    let user = User::of(&db);
    assert_eq!(user.run(&["check", "--max-growth", "0/5m"]).with(5), "");
    user.run(&["check", "--max-age", "10m"]).with(0);
    let scrape = scraped(&user);
    let value = |name: &str| {
        let line = scrape.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {scrape}"));
        line.rsplit(' ').next().and_then(|n| n.parse::<f64>().ok()).expect("a number")
    };
    assert_eq!(value("dlq_deaths_5m{"), 1.0);
    assert!((60.0..600.0).contains(&value("dlq_oldest_dead_age_seconds{")), "{scrape}");
}

#[tokio::test]
async fn an_export_holds_every_job_whole_and_hides_what_is_secret() {
    for layout in Layout::ALL {
        let db = harness::sqlite("cli export").await;
        layout.rows(&db).await;
        let dead = layout.count_dead(&db).await;
        let user = User::of(&db);
        let jobs = user.run(&["export"]);
        jobs.with(0);
        let ids: Vec<Value> =
            jobs.out.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON")["id"].take()).collect();
        assert_eq!(ids.len() as u64, dead, "{layout:?}");
        let listed = user.run(&["list", "--limit", "0", "-o", "jsonl"]);
        let listed = listed.out.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON")["id"].take());
        assert_eq!(ids, listed.collect::<Vec<_>>(), "{layout:?}: the order of the list");
        assert!(jobs.out.lines().all(|line| line.contains("\"backtrace\":")), "{layout:?}");
        let csv = user.run(&["export", "-o", "csv"]);
        assert!(csv.out.starts_with("id,at,state,error"), "{}", csv.out);
        let note = user.run(&["export", "-o", "markdown"]);
        assert!(
            note.out.starts_with(&format!("# {dead} dead jobs in")) && note.out.contains("\n## Example: "),
            "{}",
            note.out
        );

        let file = user.home().join("jobs.jsonl");
        let to = file.to_str().expect("a path");
        assert!(user.run(&["export", "--to", to]).with(0).contains(&format!("wrote {dead} jobs")));
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), jobs.out);
        assert!(user.run(&["export", "--to", to]).with(4).contains("is left alone"));
    }
}

#[test]
fn the_config_is_printed_with_where_each_value_comes_from() {
    let user = User::new().configured("[ui]\nrefresh = \"3s\"\n[sources.a]\nurl = \"postgres://me:hunter2@db/x\"\n");
    let text = user.run(&["config"]);
    text.with(0);
    let line = |key: &str| text.out.lines().find(|line| line.starts_with(key)).expect(key).to_owned();
    assert!(line("ui.refresh").contains("\"3s\"") && line("ui.refresh").ends_with("config.toml"));
    assert!(line("ui.ascii").ends_with("# default"));
    assert!(!text.out.contains("hunter2"), "{}", text.out);
    let json = user.json(&["config", "-o", "json"]);
    assert!(json["settings"].as_array().is_some_and(|settings| !settings.is_empty()));
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let ended = user.run(&["completions", shell]);
        ended.with(0);
        assert!(ended.out.contains("replay") && ended.out.contains("max-growth"), "{shell}");
    }
    assert!(user.run(&["man"]).out.contains(".TH dlq-tui 1"));
}

/// What bash offers for the last word of a command line.
fn offered(script: &str, line: &[&str]) -> Vec<String> {
    let (last, before) = line.split_last().expect("words");
    let asking = "eval \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                  _dlq__tui \"$1\" \"${@: -1}\" \"${@: -2:1}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", asking, "bash", script]).args(before).arg(last);
    let said = bash.output().expect("bash");
    String::from_utf8(said.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_the_options_of_a_command_and_their_words() {
    let script = User::new().run(&["completions", "bash"]).out;
    for (line, wanted) in [
        (&["dlq-tui", "repl"][..], "replay"),
        (&["dlq-tui", "replay", "--no"], "--no-archive"),
        (&["dlq-tui", "--source", "prod", "replay", "--no"], "--no-archive"),
        (&["dlq-tui", "adapters", "check", "--so"], "--source"),
        (&["dlq-tui", "replay", "--attempts", "o"], "once"),
        (&["dlq-tui", "stats", "--by", "f"], "fp"),
        (&["dlq-tui", "purge", "--state", "res"], "resolved"),
        (&["dlq-tui", "runs", "RUN", "--part", "not"], "not-started"),
        // Bash has the sign as a word of its own.
        (&["dlq-tui", "replay", "--attempts", "=", "o"], "once"),
        (&["dlq-tui", "--source", "=", "prod", "purge", "--state", "=", "res"], "resolved"),
    ] {
        assert_eq!(offered(&script, line), [wanted], "{line:?}");
    }
}

/// A command that goes on, and what it says of itself.
fn spawned(user: &User, args: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let mut command = user.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let said = BufReader::new(child.stderr.take().expect("a pipe"));
    (child, said)
}

/// A command that goes on, and the first line that it said.
fn started(user: &User, args: &[&str]) -> (Child, String) {
    let (child, mut err) = spawned(user, args);
    let mut said = String::new();
    err.read_line(&mut said).expect("a line");
    // It keeps its standard error: a closed one is not what this is about.
    std::thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
    if said.is_empty() {
        panic!("{}", Ended::from(child.wait_with_output().expect("it ends")).err);
    }
    (child, said)
}

/// The metrics of one scrape.
pub fn scraped(user: &User) -> String {
    let (mut child, said) = started(user, &["metrics", "--listen", "127.0.0.1:0"]);
    let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned();
    let scrape = get(&address, "/metrics");
    process::signal(&[child.id()], "TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    scrape
}

/// The first line that a watch prints once something has changed.
pub async fn first_change(user: &User, args: &[&str], change: impl AsyncFnOnce()) -> String {
    let (mut child, _) = started(user, args);
    change().await;
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let line = lines.next().expect("a line").expect("text");
    process::signal(&[child.id()], "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    line
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}
