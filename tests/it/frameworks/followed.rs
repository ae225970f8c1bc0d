//! Replayed jobs that a real worker gives up again, under another error: how soon that is said to who waits for it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::open;
use super::shop::{Job, Ran, Shop, World};
use crate::cli::User;
use crate::harness::Engine;
use crate::pty::Pty;

/// So long the jobs wait before a worker comes: whoever asks ever more rarely asks rarely by then.
const QUIET: Duration = Duration::from_secs(8);
/// The longest time from the last death to the word of it.
const SOON: Duration = Duration::from_secs(2);

/// Jobs that were given up once; some kinds that every framework has, none of which is refused.
async fn given_up(shop: &Shop) -> Vec<Job> {
    let mut jobs = shop.one_of_each("again");
    jobs.retain(|job| ["plain", "multiline", "unicode"].contains(&job.kind.as_str()));
    shop.enqueue(&jobs).await;
    shop.work(World::Broken).await;
    assert_eq!(shop.dead().await.len(), jobs.len(), "{shop}");
    jobs
}

/// Lets the worker give them up under another error. When the last one was dead in the database, and what it said.
async fn give_up_again(shop: &Shop, n: usize) -> (Instant, Vec<Ran>) {
    let dead = async {
        while shop.dead().await.len() < n {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Instant::now()
    };
    tokio::join!(dead, shop.work(World::BrokenOtherwise))
}

/// `runs RUN --wait` ends, with the new error.
async fn ends_the_wait(name: &str, engine: Engine) {
    let Some(shop) = open(name, engine, "again").await else { return };
    let jobs = given_up(&shop).await;
    let user = User::of(&shop.db);
    let receipt = user.json(&["replay", "--all", "--yes", "-o", "json"]);
    assert_eq!(receipt["done"], jobs.len(), "{shop}: {receipt}");
    let run = receipt["run"].as_str().expect("a run");
    let mut waits = tokio::process::Command::from(user.command(&["runs", run, "--wait", "-o", "json"]));
    let waits = waits.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().expect("a start");
    let waits = tokio::spawn(async move { (waits.wait_with_output().await.expect("an end"), Instant::now()) });
    tokio::time::sleep(QUIET).await;
    assert!(!waits.is_finished(), "{shop}: nobody has worked yet");
    let (died, ran) = give_up_again(&shop, jobs.len()).await;
    let (ended, said) = waits.await.expect("an end");
    let late = said.saturating_duration_since(died);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(3), "{shop}: {err}");
    let outcomes = serde_json::from_str::<Value>(&out).expect("JSON")["outcomes"].clone();
    assert_eq!(outcomes["died_again"], jobs.len(), "{shop}: {outcomes}");
    if shop.framework.keeps.class {
        let class = ran[0].class.as_deref().expect("a class");
        let wanted = serde_json::json!([{ "error_class": class, "n": jobs.len() }]);
        assert!(class.ends_with("LookupError"), "{shop}: {class}");
        assert_eq!((&outcomes["died_by_error"], &outcomes["died_same_error"]), (&wanted, &0.into()), "{shop}");
    }
    assert!(late < SOON, "{shop}: said {late:?} after the last death\n{err}");
}

/// The console says it beside the filter, where the jobs were replayed from.
async fn is_said_by_the_console(name: &str, engine: Engine) {
    let Some(shop) = open(name, engine, "line").await else { return };
    let jobs = given_up(&shop).await;
    let n = jobs.len();
    let mut pty = Pty::console(&[]).env("DATABASE_URL", &shop.db.url).size(140, 45).start();
    pty.wait("jobs", |screen| screen.contains("declined"));
    pty.send("<Tab>");
    pty.wait("that the list has the keys", |screen| screen.contains("[Jobs]"));
    pty.send("A");
    pty.press_until("R", "a plan", |screen| screen.contains("[ n No ]"));
    pty.press_until("y", "the receipt", |screen| screen.contains("Receipt of"));
    pty.press_until("<Esc>", "the line", |screen| {
        screen.contains(&format!("{n} replayed: ")) && !screen.contains("Receipt of")
    });
    tokio::time::sleep(QUIET).await;
    assert!(!pty.text().contains("died again"), "{shop}: {}", pty.text());
    let line = format!("{n} replayed: {n} died again");
    let sees = tokio::task::spawn_blocking(move || {
        pty.wait("that they died again", |screen| screen.contains(&line));
        let (said, text) = (Instant::now(), pty.text());
        pty.send("F");
        pty.wait("the jobs, with the new error", |screen| screen.contains("nothing known of mk-again"));
        (said, text)
    });
    let (died, _) = give_up_again(&shop, n).await;
    let (said, text) = sees.await.expect("the line");
    let late = said.saturating_duration_since(died);
    assert!(late < SOON, "{shop}: said {late:?} after the last death\n{text}");
}

#[tokio::test]
async fn whoever_waits_for_a_run_of_oban_learns_within_two_seconds_that_its_jobs_died_again() {
    ends_the_wait("oban-py", Engine::Postgres).await;
}

#[tokio::test]
async fn whoever_waits_for_a_run_of_pg_boss_learns_within_two_seconds_that_its_jobs_died_again() {
    ends_the_wait("pg-boss", Engine::Postgres).await;
}

#[tokio::test]
async fn whoever_waits_for_a_run_of_delayed_job_learns_within_two_seconds_that_its_jobs_died_again() {
    for engine in [Engine::Postgres, Engine::Mysql] {
        ends_the_wait("delayed_job", engine).await;
    }
}

#[tokio::test]
async fn the_console_says_within_two_seconds_that_jobs_of_delayed_job_died_again() {
    is_said_by_the_console("delayed_job", Engine::Postgres).await;
}

#[tokio::test]
async fn the_console_says_within_two_seconds_that_jobs_of_pg_boss_died_again() {
    is_said_by_the_console("pg-boss", Engine::Postgres).await;
}
