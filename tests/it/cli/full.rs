//! A ledger that cannot grow: its disk is full, before a run or in the middle of it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::{Ended, User};
use crate::fixtures::Layout;
use crate::harness::{self, process};

/// Blocks of 512 bytes, as the shell counts them.
type Blocks = u64;

/// The command with no file of its own able to grow beyond a size. The signal that comes with that is not wanted: a full
/// disk sends none.
fn limited(user: &User, blocks: Blocks, args: &[&str]) -> Command {
    let whole = user.command(args);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"")])
        .args(["sh", env!("CARGO_BIN_EXE_dlq-tui")])
        .args(args)
        .env_clear();
    shell.envs(whole.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

#[tokio::test]
async fn over_a_damaged_record_nothing_is_replayed_and_it_is_said_what_to_do() {
    let db = harness::sqlite("damaged").await;
    Layout::JobsDlq.seed(&db, 300).await;
    let user = User::of(&db);
    user.run(&["replay", "--all", "--limit", "10", "--yes"]).with(0);
    let file = user.home().join("state/dlq-tui/ledger.sqlite3");
    let whole = std::fs::read(&file).expect("the ledger");
    let garbage: Vec<u8> = (0..whole.len()).map(|at| (at * 7_919 % 251) as u8).collect();
    let pages = [&whole[..4_096], &garbage[4_096..]].concat();
    for (told, bytes) in [("garbage", &garbage[..]), ("cut off", &whole[..5_000]), ("pages of garbage", &pages)] {
        for beside in ["-wal", "-shm"] {
            // What the log holds would mend some of it.
            let _ = std::fs::remove_file(format!("{}{beside}", file.display()));
        }
        std::fs::write(&file, bytes).expect("a file");
        for args in [&["replay", "--all", "--yes"][..], &["runs"], &["undo", "r-20260101-000000-abc"]] {
            let ended = user.run(args);
            assert!(ended.code == 1 && ended.err.contains("move it away"), "{told} {args:?}: {}", ended.err);
        }
        assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (10, 290), "{told}");
        assert!(std::fs::read(&file).expect("the ledger") == bytes, "{told}: it is not left as it was");
    }
    std::fs::remove_file(&file).expect("it is moved away");
    user.run(&["replay", "--all", "--yes"]).with(0);
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (300, 0));
}

#[tokio::test]
async fn where_no_record_can_be_made_everything_can_be_looked_at_and_nothing_is_touched() {
    let db = harness::sqlite("no place").await;
    Layout::JobsDlq.seed(&db, 20).await;
    let user = User::of(&db);
    // Whoever is root may write to any folder, and to no file as if it were one.
    std::fs::create_dir_all(user.home().join("state")).expect("a folder");
    std::fs::write(user.home().join("state/dlq-tui"), "").expect("a file");
    user.run(&["list"]).with(0);
    user.run(&["stats"]).with(0);
    for verb in ["replay", "archive", "discard"] {
        let ended = user.run(&[verb, "--all", "--yes"]);
        assert!(ended.with(1).contains("XDG_STATE_HOME"), "{verb}: {}", ended.err);
    }
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (0, 20));
}

#[tokio::test]
async fn a_replay_whose_record_cannot_be_kept_touches_nothing() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("full_before").await;
    Layout::JobsDlq.seed(&db, 5_000).await;
    for blocks in [0, 1, 64, 600] {
        let user = User::of(&db);
        let ended = Ended::from(limited(&user, blocks, &["replay", "--all", "--yes"]).output().expect("it starts"));
        let said = ended.with(1);
        assert!(said.contains("ledger") && !said.contains("panicked"), "{blocks}: {said}");
        assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (0, 5_000), "{blocks}");
    }
}

#[tokio::test]
async fn a_record_that_is_full_in_the_middle_of_a_run_halts_it_and_loses_nothing() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("full_midway").await;
    Layout::JobsDlq.seed(&db, 3_000).await;
    let mut blocks: Blocks = 700;
    let (user, said) = loop {
        assert!(blocks < 20_000, "it never was full in the middle of the run");
        let user = User::of(&db);
        // Where rows are kept for an undo, that is what fails first, and stops the run before anything is touched.
        let args = ["replay", "--all", "--yes", "--batch", "20", "--no-archive"];
        let mut child = limited(&user, blocks, &args).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map(|line| line.expect("text"));
        let waits = lines.by_ref().any(|line| line.starts_with("waiting: ") && line.contains("ledger"));
        if waits {
            // It would wait for room for minutes.
            process::signal(&[child.id()], "INT");
        }
        let said: Vec<String> = lines.collect();
        let code = child.wait().expect("it ends").code();
        if waits {
            assert_eq!(code, Some(1), "{said:?}");
            break (user, said.join("\n"));
        }
        assert_eq!((code, db.count("jobs").await), (Some(1), 0), "{blocks}: {said:?}");
        blocks += blocks / 8;
    };
    let done = db.count("jobs").await;
    assert!((1..3_000).contains(&done), "{done}");
    assert!(said.contains("resume with `dlq-tui resume"), "{said}");
    let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
    assert!(run["in_doubt"].as_u64().is_some_and(|n| n > 0), "{run}");
    user.json(&["resume", run["run"].as_str().expect("a run"), "--yes", "-o", "json"]);
    let run = user.json(&["runs", run["run"].as_str().expect("a run"), "-o", "json"]);
    assert_eq!((run["done"].as_u64(), run["state"].as_str()), (Some(3_000), Some("finished")), "{run}");
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (3_000, 0));
}

#[tokio::test]
async fn a_record_that_is_removed_in_the_middle_of_a_run_halts_it_and_says_how_far_it_got() {
    let db = harness::sqlite("removed").await;
    Layout::JobsDlq.seed(&db, 500).await;
    let user = User::of(&db);
    let args = ["discard", "--all", "--yes", "--batch", "20", "--rate", "80/s"];
    let mut child = user.command(&args).stderr(Stdio::piped()).spawn().expect("it starts");
    while db.count("jobs_dlq").await == 500 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    std::fs::remove_dir_all(user.home().join("state/dlq-tui")).expect("it is removed");
    let said = std::io::read_to_string(child.stderr.take().expect("a pipe")).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{said}");
    let left = db.count("jobs_dlq").await;
    // The batch that was under way, and none behind it.
    assert!((400..500).contains(&left), "{left} left: {said}");
    for part in ["was moved away", "nothing further is touched", "in doubt", "of 500 jobs"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
