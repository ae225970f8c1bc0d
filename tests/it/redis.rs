//! The store in Redis on a real server: its promises, what a crash leaves behind, and what servers refuse.

use std::future::ready;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dlq_tui::adapter::{Adapter, Library};
use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::{Count, Exactness};
use dlq_tui::domain::job::JobId;
use dlq_tui::store::survey::{EngineOptions, ReplayDestination, Survey, Target};
use dlq_tui::store::{
    Batch, Budget, Cursor, HistogramQuery, Journal, JournalEntry, PageQuery, ScanMode, Sort, SourceError, Store,
    StoreExt, TxStatus, Undoing,
};
use dlq_tui::triage::conformance::story;
use futures_util::future::BoxFuture;

use crate::cli::User;
use crate::harness::{self, RedisServer};

/// A layout with queues, and a hash for each job.
const BOARD: &str = include_str!("../fixtures/redis/board.toml");

fn budget() -> Budget {
    Budget::new(Duration::from_secs(10))
}

/// When the first job died, in milliseconds.
const FIRST: u64 = 1_795_795_178_000;

/// Puts dead jobs into two queues; several share the millisecond in which they died.
fn seed(server: &RedisServer, n: u64) {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut commands = vec![words("FLUSHALL"), words("HSET board:mail:meta v 1"), words("HSET board:orders:meta v 1")];
    for i in 0..n {
        let queue = if i % 3 == 0 { "mail" } else { "orders" };
        let class = ["KeyError", "TypeError", "Net::ReadTimeout"][usize::try_from(i % 3).expect("small")];
        let at = FIRST + i / 4;
        let mut hash = words(&format!("HSET board:{queue}:{i} name charge atm 3 finishedOn {at}"));
        hash.extend(["failedReason".to_owned(), format!("boom {i}"), "data".to_owned()]);
        hash.push(format!("{{\"id\":{i},\"amount\":12345678901234567890}}"));
        hash.extend(["stacktrace".to_owned(), format!("[\"{class}: boom {i}\\n    at f (/app/job.js:1:1)\"]")]);
        commands.push(hash);
        commands.push(words(&format!("ZADD board:{queue}:failed {at} {i}")));
    }
    server.commands(&commands);
}

async fn survey(server: &RedisServer, options: EngineOptions) -> Survey {
    let adapter = Adapter::parse(BOARD, None).expect("an adapter");
    survey_by(server, options, Library { adapters: vec![adapter], faults: Vec::new() }).await
}

async fn survey_by(server: &RedisServer, options: EngineOptions, library: Library) -> Survey {
    let target = Target::from_url(&server.url()).expect("a URL");
    let none = ReplayDestination::None;
    Survey::connect(&target, &options, ready(library), &none, &budget()).await.expect("a survey")
}

async fn opened(server: &RedisServer) -> Arc<dyn Store> {
    let survey = survey(server, EngineOptions::default()).await;
    let found = survey.found().first().expect("a layout").clone();
    survey.open(&found, &Default::default(), &budget()).await.expect("a store")
}

/// The ids of all dead jobs, in pages of so many.
async fn listed(store: &dyn Store, filter: &str, from: Cursor, limit: usize) -> Vec<String> {
    let filter = Filter::parse(filter).expect("a filter").resolve(store.clock());
    let (mut all, mut next) = (Vec::new(), Some(from));
    while let Some(cursor) = next {
        let query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor, limit };
        let page = store.scan(query, ScanMode::List, &budget()).await.expect("a page");
        all.extend(page.entries.into_iter().map(|entry| entry.row.id.as_str().to_owned()));
        next = page.next;
    }
    all
}

fn ids(texts: &[&str]) -> Vec<JobId> {
    texts.iter().map(|text| JobId::new(*text)).collect()
}

/// Keeps entries in memory.
#[derive(Default)]
struct Notes(Mutex<JournalEntry>);

impl Journal for Notes {
    fn write(&self, entry: JournalEntry) -> BoxFuture<'_, dlq_tui::store::Result<()>> {
        *self.0.lock().expect("no panic") = entry;
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn it_lives_up_to_the_whole_story() {
    let Some(server) = harness::redis(&[]) else { return };
    let open = async || {
        seed(&server, 60);
        Ok(opened(&server).await)
    };
    let chapters = story(open, &budget()).await.expect("a server");
    let wrong: Vec<_> = chapters.iter().filter(|chapter| chapter.verdict.is_err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for verb in ["replay", "discard"] {
        let about = format!("verbs.{verb}");
        let told = chapters.iter().find(|chapter| chapter.about == about).expect("a chapter").verdict.clone();
        assert!(told.clone().expect("right").ends_with("undone, they are as they were"), "{told:?}");
    }
}

/// The commands of a file of keys that a library wrote.
fn recorded(file: &str) -> Vec<Vec<Vec<u8>>> {
    let path = format!("tests/fixtures/redis/{file}.jsonl");
    let word = |word: &serde_json::Value| match word["hex"].as_str() {
        Some(hex) => {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
        }
        None => word.as_str().expect("text").as_bytes().to_vec(),
    };
    let command = |line: &str| {
        let words: Vec<serde_json::Value> = serde_json::from_str(line).expect("a command");
        words.iter().map(word).collect()
    };
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")).lines().map(command).collect()
}

#[tokio::test]
async fn what_libraries_wrote_is_found_and_lives_up_to_the_story() {
    let Some(server) = harness::redis(&[]) else { return };
    for file in ["bullmq", "sidekiq-6", "sidekiq-8", "rq", "dramatiq", "asynq", "chasquimq"] {
        let open = async || {
            server.command(&["FLUSHALL"]);
            server.commands(&recorded(file));
            // Of flows, a child that is replayed cannot be taken back, and a parent is not deleted; of 7 only the id is left.
            for id in ["b0cd57e1-eeb3-4657-9927-79efb526cb70", "d0425ca4-d5c4-490c-bd42-76724d42d5d9", "7"] {
                server.command(&["ZREM", "bull:orders:failed", id]);
            }
            // What cannot be decoded is no job that could run again.
            for id in ["1795161944737-0", "1795161944737-1"] {
                server.command(&["XDEL", "{chasqui:orders}:dlq", id]);
            }
            let survey = survey_by(&server, EngineOptions::default(), Library::load(None)).await;
            let found: Vec<&str> = survey.found().iter().map(|found| found.adapter.as_str()).collect();
            assert_eq!(found, [file.split('-').next().expect("a name")], "{file}");
            survey.open(&survey.found()[0], &Default::default(), &budget()).await
        };
        let chapters = story(open, &budget()).await.expect("a server");
        let wrong: Vec<_> = chapters.iter().filter(|chapter| chapter.verdict.is_err()).collect();
        assert!(wrong.is_empty(), "{file}: {wrong:#?}\n{chapters:#?}");
    }
}

#[tokio::test]
async fn pages_have_each_job_once_however_many_share_an_instant() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, 300);
    // More than a window with one score.
    let same: Vec<Vec<String>> = (1000..1200)
        .map(|i| format!("ZADD board:orders:failed {FIRST} {i}").split(' ').map(str::to_owned).collect())
        .collect();
    server.commands(&same);
    let store = opened(&server).await;
    for limit in [7, 64, 1_000] {
        let forward = listed(&*store, "", Cursor::Start, limit).await;
        let mut once = forward.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!((forward.len(), once.len()), (500, 500), "{limit}");
        let mut back = listed(&*store, "", Cursor::End, limit).await;
        // Pages from the end come one before the other.
        let pages: Vec<Vec<String>> = back.chunks(limit).map(<[String]>::to_vec).collect();
        back = pages.into_iter().rev().flatten().collect();
        back.sort_unstable();
        assert_eq!(back, once, "{limit}");
    }
}

#[tokio::test]
async fn filters_and_counts_agree_with_what_was_seeded() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, 90);
    let store = opened(&server).await;
    assert_eq!(listed(&*store, "error:KeyError", Cursor::Start, 20).await.len(), 30);
    assert_eq!(listed(&*store, "-queue:mail", Cursor::Start, 20).await.len(), 60);
    assert_eq!(listed(&*store, "args.id:7", Cursor::Start, 20).await, ["orders/7"]);
    assert_eq!(listed(&*store, "id:mail/9", Cursor::Start, 20).await, ["mail/9"]);
    assert_eq!(listed(&*store, "args.amount:12345678901234567890", Cursor::Start, 20).await.len(), 90);
    let step = store.count(HistogramQuery::exact(Facet::Error, Filter::all(), None), &budget()).await.expect("counts");
    let bars: Vec<(String, u64)> = step
        .histogram
        .bars
        .iter()
        .map(|bar| (bar.value.as_ref().map_or("", |v| v.exact()).to_owned(), bar.count.n))
        .collect();
    assert_eq!(bars, [("KeyError".into(), 30), ("Net::ReadTimeout".into(), 30), ("TypeError".into(), 30)]);
    let states = store.count(HistogramQuery::states(true), &budget()).await.expect("counts").histogram;
    assert_eq!(states.total, Count { n: 90, exactness: Exactness::Exact });
    // A poll sees what came, and that nothing did.
    let poll = async |since| store.changes(since, Facet::Error, &Filter::all(), &budget()).await.expect("changes");
    let first = poll(step.token.as_ref()).await;
    assert!(!first.changed && !first.uncounted);
    server.command(&["ZADD", "board:mail:failed", &(FIRST + 500).to_string(), "900"]);
    let second = poll(Some(&first.token)).await;
    assert!(second.changed && second.cells.iter().map(|cell| cell.n).sum::<u64>() > 0, "{second:?}");
    assert!(!poll(Some(&second.token)).await.changed);
}

#[tokio::test]
async fn a_batch_leaves_evidence_of_what_it_did_and_skips_what_changed() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, 12);
    let store = opened(&server).await;
    let notes = Arc::new(Notes::default());
    let journal = Some(Arc::clone(&notes) as Arc<dyn Journal>);
    server.command(&["DEL", "board:orders:1"]);
    let chosen = ids(&["orders/1", "orders/2", "mail/3", "mail/99"]);
    let batch = Batch { journal, ..Batch::of(Action::Replay, chosen.clone(), "run-1") };
    let applied = store.apply(batch, &budget()).await.into_outcomes().expect("outcomes");
    let result = |id: &str| applied.iter().find(|(of, _)| of.as_str() == id).expect("an answer").1.clone();
    assert_eq!(result("orders/2"), JobResult::Done);
    assert_eq!(result("mail/3"), JobResult::Done);
    assert_eq!(result("orders/1"), JobResult::Skipped(SkipReason::Gone), "its hash is gone");
    assert_eq!(result("mail/99"), JobResult::Skipped(SkipReason::Gone));
    assert_eq!(server.command(&["LRANGE", "board:orders:wait", "0", "-1"]).texts(), ["2"]);
    let JournalEntry { rows, marker } = notes.0.lock().expect("no panic").clone();
    let marker = marker.expect("a marker").transaction;
    let reconcile = store.reconcile().expect("evidence");
    assert_eq!(reconcile.tx_status(&marker, &budget()).await.expect("a status"), TxStatus::Committed);
    let mut done = reconcile.done_in(&marker, &budget()).await.expect("evidence").expect("some");
    done.sort();
    assert_eq!(done, ids(&["mail/3", "orders/2"]));
    let left: i64 = server.command(&["PTTL", &marker]).text().parse().expect("a number");
    assert!(left > 0, "our own keys end by themselves");
    // One that was taken by a worker is left alone, and the other comes back as it was.
    server.command(&["LREM", "board:mail:wait", "1", "3"]);
    let undo = Some(Undoing { run: "run-1".into(), kept: rows });
    let batch = Batch { undo, ..Batch::of(Action::Recall, ids(&["orders/2", "mail/3"]), "run-2") };
    let undone = store.apply(batch, &budget()).await.into_outcomes().expect("outcomes");
    let of = |id: &str| undone.iter().find(|(of, _)| of.as_str() == id).expect("an answer").1.clone();
    assert_eq!((of("orders/2"), of("mail/3")), (JobResult::Done, JobResult::Skipped(SkipReason::Taken)));
    assert_eq!(server.command(&["HGET", "board:orders:2", "failedReason"]).text(), "boom 2");
    assert_eq!(server.command(&["ZSCORE", "board:orders:failed", "2"]).text(), FIRST.to_string());
}

#[tokio::test]
async fn a_job_that_died_again_meanwhile_is_not_replayed_by_the_old_plan() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, 8);
    let store = opened(&server).await;
    let died_by = store.rows(&ids(&["orders/1"]), &budget()).await.expect("a row")[0].row.at;
    server.command(&["ZADD", "board:orders:failed", &(FIRST + 9_000).to_string(), "1"]);
    let batch = Batch { died_by, ..Batch::of(Action::Replay, ids(&["orders/1", "orders/2"]), "run-1") };
    let applied = store.apply(batch, &budget()).await.into_outcomes().expect("outcomes");
    let changed = (JobId::new("orders/1"), JobResult::Skipped(SkipReason::Changed));
    assert!(applied.contains(&changed) && applied.contains(&(JobId::new("orders/2"), JobResult::Done)), "{applied:?}");
}

#[tokio::test]
async fn what_a_server_refuses_is_a_sentence_and_no_job_is_touched() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, 12);
    let store = opened(&server).await;
    let replay = async || {
        let batch = Batch::of(Action::Replay, ids(&["orders/1", "orders/2"]), "run-1");
        store.apply(batch, &budget()).await
    };
    let untouched = || {
        assert_eq!(server.command(&["ZCARD", "board:orders:failed"]).text(), "8");
        assert_eq!(server.command(&["EXISTS", "board:orders:wait"]).text(), "0");
    };
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let broke = replay().await.broke.expect("no memory");
    assert!(matches!(broke.error, SourceError::Full(_)) && !broke.unsure, "{broke:?}");
    untouched();
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let broke = replay().await.broke.expect("a replica");
    assert!(matches!(broke.error, SourceError::Denied(_)) && !broke.unsure, "{broke:?}");
    server.command(&["REPLICAOF", "NO", "ONE"]);
    untouched();
    // A role that may take a job out and not put it back into the queue.
    server.command(&["ACL", "SETUSER", "default", "-lpush"]);
    let broke = replay().await.broke.expect("no right");
    assert!(broke.error.to_string().contains("LPUSH"), "{broke:?}");
    server.command(&["ACL", "SETUSER", "default", "+lpush"]);
    untouched();
    // A key of another type in the place of the queue: the job that failed stays dead, the others were not tried.
    server.command(&["SET", "board:orders:wait", "x"]);
    let applied = replay().await;
    assert!(applied.broke.is_some() && matches!(applied.outcomes[0].1, JobResult::Failed(_)), "{applied:?}");
    assert_eq!(server.command(&["ZCARD", "board:orders:failed"]).text(), "8");
}

#[tokio::test]
async fn only_the_queues_and_keys_are_read_that_the_url_names() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, 60);
    let adapter = Path::new("tests/fixtures/redis/board.toml");
    let total = |settings: &str| {
        let user = User::with_url(&format!("{}?{settings}", server.url())).with_adapter(adapter);
        let ended = user.run(&["stats", "-o", "json"]);
        match ended.code {
            0 => serde_json::from_str::<serde_json::Value>(&ended.out).expect("JSON")["total"]["n"].as_u64(),
            _ => None,
        }
    };
    assert_eq!((total("queues=mail"), total("queues=mail,orders"), total("db=0")), (Some(20), Some(60), Some(60)));
    server.command(&["RENAME", "board:mail:failed", "other:mail:failed"]);
    server.command(&["HSET", "other:mail:meta", "v", "1"]);
    assert_eq!((total("prefix=other"), total("prefix=none")), (Some(20), None));
}

#[tokio::test]
async fn commands_work_on_it_from_the_list_to_the_undo() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, 60);
    let user = User::with_url(&server.url()).with_adapter(Path::new("tests/fixtures/redis/board.toml"));
    let sources = user.run(&["sources"]);
    assert!(sources.code == 0 && sources.out.contains("board:*:failed"), "{}{}", sources.out, sources.err);
    let stats = user.run(&["stats", "-o", "json"]);
    assert!(stats.code == 0 && stats.out.contains("Net::ReadTimeout"), "{}{}", stats.out, stats.err);
    let shown = user.run(&["show", "orders/7"]);
    assert!(shown.out.contains("12345678901234567890") && shown.out.contains("job.js"), "{}{}", shown.out, shown.err);
    let replayed = user.run(&["replay", "-f", "error:KeyError", "--yes"]);
    assert!(replayed.code == 0 && replayed.out.contains("20"), "{}{}", replayed.out, replayed.err);
    assert_eq!(server.command(&["LLEN", "board:mail:wait"]).text(), "20");
    let run = replayed.out.split_whitespace().find(|word| word.starts_with("r-")).expect("a run").trim_end_matches(':');
    let undone = user.run(&["undo", run, "--yes"]);
    assert!(undone.code == 0, "{}{}", undone.out, undone.err);
    assert_eq!(server.command(&["ZCARD", "board:mail:failed"]).text(), "20");
    let refused = user.run(&["--read-only", "discard", "--all", "--yes"]);
    assert!(refused.code != 0 && refused.err.contains("read-only"), "{}{}", refused.out, refused.err);
    let doctor = user.run(&["doctor"]);
    assert!(doctor.out.contains("board:*:failed"), "{}{}", doctor.out, doctor.err);
}

/// The run that is not ended yet, or that was planned last.
fn run_of(user: &User) -> (String, String) {
    let told = user.json(&["runs", "-o", "json"]);
    let run = &told["runs"][0];
    let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
    (text("run"), text("state"))
}

/// Every job that is in a queue again, and that each is there once; how many are still dead.
fn counted(server: &RedisServer) -> (usize, usize, u64) {
    let mut waiting = Vec::new();
    let mut dead = 0;
    for queue in ["mail", "orders"] {
        let ids = server.command(&["LRANGE", &format!("board:{queue}:wait"), "0", "-1"]);
        waiting.extend(ids.texts().iter().map(|id| format!("{queue}/{id}")));
        dead += server.command(&["ZCARD", &format!("board:{queue}:failed")]).text().parse::<u64>().expect("a number");
    }
    let all = waiting.len();
    waiting.sort_unstable();
    waiting.dedup();
    (all, waiting.len(), dead)
}

/// Starts a replay of all jobs and kills its client after a while; resumes until the run has ended. Returns what is on record.
fn interrupted(server: &RedisServer, user: &User, waits: &[u64]) -> serde_json::Value {
    let start = |args: &[&str]| {
        let mut command = user.command(args);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("a process")
    };
    let mut kills = 0;
    for (n, wait) in waits.iter().enumerate() {
        let run = if n == 0 { String::new() } else { run_of(user).0 };
        let before = counted(server).0;
        let mut child = match n {
            0 => start(&["replay", "--all", "--yes", "--batch", "20", "--rate", "1500/s"]),
            _ => start(&["resume", &run, "--yes"]),
        };
        // Until it works on the jobs.
        while counted(server).0 == before && child.try_wait().expect("a state").is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(*wait));
        if child.try_wait().expect("a state").is_none() {
            kills += 1;
            child.kill().expect("a kill");
        }
        child.wait().expect("an end");
        let (all, once, dead) = counted(server);
        assert_eq!((all, once as u64 + dead), (once, JOBS), "after {n} kills");
    }
    assert!(kills > 1, "hardly ever killed at work");
    let (run, state) = run_of(user);
    if state != "ended" && state != "finished" {
        let ended = user.run(&["resume", &run, "--yes"]);
        assert!(ended.code == 0, "{}{}", ended.out, ended.err);
    }
    user.json(&["runs", "-o", "json"])["runs"][0].clone()
}

/// Jobs that are replayed while things are killed.
const JOBS: u64 = 3_000;

#[test]
fn killed_clients_lose_nothing_and_replay_nothing_twice() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, JOBS);
    let user = User::with_url(&server.url()).with_adapter(Path::new("tests/fixtures/redis/board.toml"));
    let waits: Vec<u64> = (0..14).map(|n| n * 37 % 120).collect();
    let run = interrupted(&server, &user, &waits);
    assert_eq!(counted(&server), (3_000, 3_000, 0));
    assert_eq!(run["done"].as_u64(), Some(JOBS), "each is on record as done: {run}");
}

#[test]
fn killed_servers_lose_nothing_and_replay_nothing_twice() {
    let Some(server) = harness::redis(&[]) else { return };
    seed(&server, JOBS);
    let user = User::with_url(&server.url()).with_adapter(Path::new("tests/fixtures/redis/board.toml"));
    let mut command = user.command(&["replay", "--all", "--yes", "--batch", "20", "--rate", "1500/s"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("a process");
    let mut kills = 0;
    for wait in [0, 40, 7, 90, 23] {
        let before = counted(&server).0;
        while counted(&server).0 == before && child.try_wait().expect("a state").is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(wait));
        kills += u32::from(child.try_wait().expect("a state").is_none());
        server.kill();
        server.restart();
        let (all, once, dead) = counted(&server);
        assert_eq!((all, once as u64 + dead), (once, JOBS), "after {kills} kills");
    }
    child.wait().expect("an end");
    assert!(kills > 1, "hardly ever killed at work");
    let (run, state) = run_of(&user);
    if state != "finished" {
        let ended = user.run(&["resume", &run, "--yes"]);
        assert!(ended.code == 0, "{}{}", ended.out, ended.err);
    }
    assert_eq!(counted(&server), (3_000, 3_000, 0));
    let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
    assert_eq!(run["done"].as_u64(), Some(JOBS), "each is on record as done: {run}");
}
