//! Workers of real libraries on a real Redis: they fail jobs until they are dead, and run them again when they were put back.
//!
//! What differs between libraries stands in `tests/frameworks/<name>`: a program with the same verbs for each, and a
//! `redis.toml`. `scripts/test --frameworks` turns these tests on.

mod keys;
mod program;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cli::User;
use crate::harness;
use keys::Keys;
use program::{Library, Ran, Workshop};

macro_rules! libraries {
    ($($module:ident: $name:literal;)+) => {
        const LIBRARIES: &[&str] = &[$($name),+];

        $(mod $module {
            #[tokio::test]
            async fn what_its_workers_gave_up_is_found_replayed_run_and_dies_again() {
                super::story($name).await;
            }

            #[tokio::test]
            async fn a_replay_leaves_the_keys_that_its_own_retry_leaves() {
                super::same_keys($name).await;
            }
        })+
    };
}

libraries! {
    bullmq: "bullmq";
    bullmq_5: "bullmq-5";
    bullmq_4: "bullmq-4";
    rq: "rq";
    dramatiq: "dramatiq";
}

/// A library with a server of its own, where these tests are switched on and there is a server.
fn open(name: &str) -> Option<Workshop> {
    let library = Library::installed(name)?;
    Some(Workshop { library, server: harness::redis(&[])? })
}

/// The jobs that the console lists, by the marker in their arguments.
fn listed(user: &User) -> BTreeMap<String, Value> {
    let export = user.run(&["export"]);
    export.with(0);
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    let marker = |job: &Value| program::marker_in(&job["arguments"].to_string());
    let jobs = export.out.lines().map(read);
    jobs.map(|job| (marker(&job).unwrap_or_else(|| panic!("no marker in {job}")), job)).collect()
}

/// What the console shows of each dead job is what its worker threw.
fn found_as_thrown(shop: &Workshop, user: &User, ran: &[Ran]) {
    let jobs = listed(user);
    let last: BTreeMap<&str, &Ran> = ran.iter().map(|one| (one.marker.as_str(), one)).collect();
    assert_eq!(jobs.keys().map(String::as_str).collect::<BTreeSet<_>>(), last.keys().copied().collect(), "{shop}");
    for (marker, thrown) in last {
        let job = &jobs[marker];
        assert_eq!(job["queue"], shop.library.queue.as_str(), "{shop}: {job}");
        assert!(job["at"].as_str().is_some_and(|at| at.starts_with("20")), "{shop}: {job}");
        if !shop.library.odd.contains(&thrown.kind) {
            assert_eq!(job["error"].as_str(), thrown.class.as_deref(), "{shop}: {marker}");
            let message = job["message"].as_str().unwrap_or_default();
            let first = thrown.message.as_deref().unwrap_or_default().lines().next().unwrap_or_default().trim_end();
            assert!(message.starts_with(first), "{shop}: {message:?} and not {first:?}");
        }
    }
}

/// Replays everything, and returns the run.
fn replay(user: &User) -> String {
    let receipt = user.json(&["replay", "--all", "--yes", "-o", "json"]);
    receipt["run"].as_str().unwrap_or_else(|| panic!("{receipt}")).to_owned()
}

/// How many jobs of a run have this outcome now.
fn outcome(user: &User, run: &str, word: &str) -> u64 {
    let seen = user.json(&["runs", run, "-o", "json"]);
    seen["outcomes"][word].as_u64().unwrap_or_else(|| panic!("{seen}"))
}

/// Dead, found, replayed, run with success; dead, replayed, dead again, found again.
async fn story(name: &str) {
    let Some(shop) = open(name) else { return };
    let user = User::with_url(&shop.server.url());
    let first = shop.enqueue("first").await;
    let ran = shop.work(true).await;
    found_as_thrown(&shop, &user, &ran);
    let run = replay(&user);
    assert!(listed(&user).is_empty(), "{shop}");
    assert_eq!(outcome(&user, &run, "waiting"), first.len() as u64, "{shop}");
    let ran = shop.work(false).await;
    assert_eq!(ran.len(), first.len(), "{shop}: each job once: {ran:?}");
    assert_eq!(outcome(&user, &run, "succeeded"), first.len() as u64, "{shop}");
    assert!(ran.iter().all(|one| one.ok), "{shop}");
    assert!(shop.work(false).await.is_empty(), "{shop}");

    let second = shop.enqueue("second").await;
    shop.work(true).await;
    let run = replay(&user);
    let ran = shop.work(true).await;
    assert!(ran.len() >= second.len(), "{shop}: {ran:?}");
    found_as_thrown(&shop, &user, &ran);
    assert_eq!(outcome(&user, &run, "died_again"), second.len() as u64, "{shop}");
}

/// The library's own retry on one server, ours on another that holds the same: the same keys hold the same afterwards.
async fn same_keys(name: &str) {
    let (Some(theirs), Some(ours)) = (open(name), open(name)) else { return };
    if !theirs.library.has_retry {
        return;
    }
    for shop in [&theirs, &ours] {
        shop.enqueue("same").await;
        shop.work(true).await;
    }
    let dead = theirs.dead();
    assert_eq!(dead, ours.dead(), "{theirs}: jobs have the same ids");
    theirs.run("retry", &dead).await;
    User::with_url(&ours.server.url()).run(&["replay", "--all", "--yes"]).with(0);
    let (left, right) = (Keys::read(&theirs.server), Keys::read(&ours.server));
    // What a batch did is on record for three days under a key of dlq-tui's own.
    let may_differ = |key: &str| key.starts_with("dlq-tui:batch:") || theirs.library.differs.contains_key(key);
    let differs = left.differences(&right, may_differ);
    assert!(differs.is_empty(), "{theirs}: theirs and ours differ: {differs:#?}");
}

#[test]
fn each_library_with_a_folder_is_tested() {
    let entries = std::fs::read_dir(program::folder()).expect("the folder of the frameworks").flatten();
    let named = entries.filter(|entry| entry.path().join("redis.toml").is_file());
    let named: BTreeSet<String> = named.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(named, LIBRARIES.iter().map(|name| (*name).to_owned()).collect());
}
