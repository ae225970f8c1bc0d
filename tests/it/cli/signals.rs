//! A run without a console: paused, continued and interrupted by signals, and its line on a terminal.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::pty::Pty;

const PATIENCE: Duration = Duration::from_secs(60);

/// A replay of everything that goes slowly enough to be caught.
async fn started(user: &User, db: &TestDb) -> (Child, impl Iterator<Item = String>) {
    let mut child = user.replaying(db, &["--batch", "10", "--rate", "400/s"]).await;
    let said = BufReader::new(child.stderr.take().expect("a pipe")).lines().map(|line| line.expect("text"));
    (child, said)
}

#[tokio::test]
async fn a_signal_pauses_a_run_and_another_lets_it_go_on() {
    let db = harness::sqlite("cli pause").await;
    Layout::JobsDlq.seed(&db, 1_000).await;
    let user = User::of(&db);
    let (child, mut said) = started(&user, &db).await;
    harness::process::signal(&[child.id()], "USR1");
    assert!(said.by_ref().any(|line| line == "waiting: paused"));
    let paused = db.count("jobs").await;
    for _ in 0..100 {
        assert_eq!(db.count("jobs").await, paused);
    }
    assert!((1..1_000).contains(&paused), "{paused}");
    // What follows a stop by the shell is no word to go on.
    harness::process::signal(&[child.id()], "CONT");
    harness::process::signal(&[child.id()], "USR1");
    assert_eq!(db.count("jobs").await, paused);
    harness::process::signal(&[child.id()], "USR2");
    assert!(said.any(|line| line == "going on"));
    let ended = super::Ended::from(child.wait_with_output().expect("it ends"));
    ended.with(0);
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (1_000, 0));
}

#[tokio::test]
async fn a_paused_run_can_be_stopped() {
    let db = harness::sqlite("cli pause stop").await;
    Layout::JobsDlq.seed(&db, 1_000).await;
    let user = User::of(&db);
    let (child, mut said) = started(&user, &db).await;
    harness::process::signal(&[child.id()], "USR1");
    assert!(said.any(|line| line == "waiting: paused"));
    harness::process::signal(&[child.id()], "TERM");
    let ended = super::Ended::from(child.wait_with_output().expect("it ends"));
    ended.with(3);
    let receipt: serde_json::Value = serde_json::from_str(&ended.out).expect("a receipt");
    assert_eq!((receipt["state"].as_str(), receipt["in_doubt"].as_u64()), (Some("stopped"), Some(0)));
    assert_eq!(receipt["done"].as_u64(), Some(db.count("jobs").await));
}

#[tokio::test]
async fn a_run_that_is_to_outlive_its_terminal_does_and_any_other_stops_between_two_batches() {
    // What is to be stopped must not come to its end before, however late this is looked at.
    for (outlives, code, rate) in [(true, 0, "300/s"), (false, 3, "10/s")] {
        let db = harness::sqlite("cli hang-up").await;
        Layout::JobsDlq.seed(&db, 600).await;
        let user = User::of(&db);
        let plain = user.command(&["replay", "--all", "--yes", "--batch", "10", "--rate", rate]);
        let mut command = Command::new("sh");
        // As nohup does it.
        let trap = if outlives { "trap '' HUP; " } else { "" };
        command.arg("-c").arg(format!("{trap}exec \"$0\" \"$@\"")).arg(plain.get_program()).args(plain.get_args());
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
        let began = Instant::now();
        while db.count("jobs").await == 0 {
            assert!(began.elapsed() < PATIENCE, "the run never began");
        }
        harness::process::signal(&[child.id()], "HUP");
        super::Ended::from(child.wait_with_output().expect("it ends")).with(code);
        assert_eq!(db.count("jobs").await == 600, outlives);
    }
}

#[tokio::test]
async fn a_second_interrupt_leaves_at_once_and_the_run_can_be_resumed() {
    let db = harness::sqlite("cli twice").await;
    Layout::DeadLetterJobs.seed(&db, 40).await;
    let dead = Layout::DeadLetterJobs.count_dead(&db).await;
    let source = format!("[sources.app]\nurl = \"{}\"\n", db.url);
    // A command that never answers: the batch that runs does not end by itself.
    let user =
        User::new().configured(&format!("{source}replay = {{ command = [\"sleep\", \"600\"], timeout = \"1h\" }}\n"));
    let mut child = user
        .command(&["replay", "--all", "--yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let began = Instant::now();
    while Layout::DeadLetterJobs.count_dead(&db).await == dead {
        assert!(began.elapsed() < PATIENCE, "the run never began");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines().map(|line| line.expect("text"));
    harness::process::signal(&[child.id()], "INT");
    assert!(said.any(|line| line.starts_with("stopping after this batch")));
    // It may take a moment until the second is listened for.
    while child.try_wait().expect("a child").is_none() {
        assert!(began.elapsed() < PATIENCE, "it did not leave");
        harness::process::signal(&[child.id()], "INT");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let last = said.last().expect("a sentence");
    assert!(last.contains("interrupted in the middle of a batch; resume with `dlq-tui resume"), "{last}");
    assert_eq!(child.wait().expect("it ended").code(), Some(3));
    let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
    assert_eq!((run["state"].as_str(), run["in_doubt"].as_u64()), (Some("running"), Some(dead)));
    // What may have been handed over is not handed over again, and is told.
    user.run(&["resume", run["run"].as_str().expect("a run"), "--yes"]).with(1);
}

#[tokio::test]
async fn a_signal_that_comes_twice_at_once_is_one_wish() {
    let db = harness::sqlite("cli echo").await;
    Layout::DeadLetterJobs.seed(&db, 40).await;
    let dead = Layout::DeadLetterJobs.count_dead(&db).await;
    // A command that answers nothing, and ends a while after it was told the jobs.
    let command = "replay = { command = [\"sh\", \"-c\", \"cat > /dev/null; sleep 2\"] }";
    let user = User::new().configured(&format!("[sources.app]\nurl = \"{}\"\n{command}\n", db.url));
    let mut child = user.command(&["replay", "--all", "--yes"]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    let began = Instant::now();
    while Layout::DeadLetterJobs.count_dead(&db).await == dead {
        assert!(began.elapsed() < PATIENCE, "the run never began");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // As `timeout` does it: the child, and then the group.
    harness::process::signal(&[child.id()], "TERM");
    tokio::time::sleep(Duration::from_millis(10)).await;
    harness::process::signal(&[child.id()], "TERM");
    child.wait().expect("an end");
    let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
    assert_eq!((run["in_doubt"].as_u64(), run["not_started"].as_u64()), (Some(0), Some(0)), "{run}");
    assert_eq!(Layout::DeadLetterJobs.count_dead(&db).await, dead, "all of them were given back");
}

#[tokio::test]
async fn a_terminal_shows_a_bar_that_leaves_nothing_behind() {
    for (locale, full) in [("C.UTF-8", "█"), ("C", "#")] {
        let db = harness::sqlite("cli bar").await;
        Layout::JobsDlq.seed(&db, 400).await;
        let mut terminal =
            Pty::console(&["--url", &db.url, "replay", "--all", "--yes", "--batch", "10", "--rate", "200/s"])
                .env("LANG", locale)
                .size(70, 24)
                .start();
        terminal.wait("a bar", |screen| {
            let line = screen.rows().into_iter().find(|line| line.contains(" of 400 ")).unwrap_or_default();
            line.starts_with(&format!("[{full}{full}")) && line.contains(" %  ") && line.contains("/s")
        });
        assert!(terminal.wait_for_exit().success());
        terminal.wait_for_text("replayed           400");
        let text = terminal.text();
        assert!(!text.contains(" %") && !text.contains(full), "{text}");
        terminal.assert_terminal_left_clean();
    }
}
