//! The built-in adapters of libraries whose workers cannot be run here, on a real server that holds what the libraries wrote.

use serde_json::Value;

use crate::cli::User;
use crate::harness::{self, Answer, RedisServer};

/// Runs a command whose words may be bytes: each begins with `t` for text or with `x` for hexadecimal digits.
const RUN: &str = "local words = {}
for n, word in ipairs(ARGV) do
  local rest = string.sub(word, 2)
  if string.sub(word, 1, 1) == 'x' then
    rest = string.gsub(rest, '..', function(pair) return string.char(tonumber(pair, 16)) end)
  end
  words[n] = rest
end
return redis.call(unpack(words))";

/// A server with the keys of a file of `tests/fixtures/redis`, and an operator.
fn seeded(text: &str) -> Option<(RedisServer, User)> {
    let server = harness::redis(&[])?;
    let word = |word: &Value| match word.as_str() {
        Some(text) => format!("t{text}"),
        None => format!("x{}", word["hex"].as_str().unwrap_or_else(|| panic!("neither text nor bytes: {word}"))),
    };
    for line in text.lines() {
        let words: Vec<Value> = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let words: Vec<String> = words.iter().map(word).collect();
        let all = ["EVAL", RUN, "0"].into_iter().chain(words.iter().map(String::as_str));
        server.command(&all.collect::<Vec<_>>());
    }
    let user = User::with_url(&server.url());
    Some((server, user))
}

/// The jobs that are listed, as JSON.
fn listed(user: &User) -> Vec<Value> {
    let list = user.run(&["list", "-o", "jsonl"]);
    list.with(0);
    list.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

fn number(answer: Answer) -> u64 {
    answer.text().parse().unwrap_or_else(|_| panic!("no number: {answer:?}"))
}

const SIDEKIQ: [(&str, &str); 2] = [
    ("seconds", include_str!("../fixtures/redis/sidekiq-6.jsonl")),
    ("milliseconds", include_str!("../fixtures/redis/sidekiq-8.jsonl")),
];

#[test]
fn sidekiq_jobs_go_back_with_one_retry_less_in_the_units_of_their_version() {
    for (unit, text) in SIDEKIQ {
        let Some((server, user)) = seeded(text) else { return };
        server.command(&["ZADD", "dead", "1795000000.5", "no job at all"]);
        server.command(&[
            "ZADD",
            "dead",
            "1795000001.25",
            r#"{"class":"Exact","queue":"exact","jid":"e1","args":[12345678901234567890,1.0],"retry_count":3}"#,
        ]);
        assert_eq!(listed(&user).len(), 7, "{unit}");
        // What is no job is refused, and stays.
        let ended = user.run(&["replay", "--all", "--yes"]);
        assert_eq!(ended.code, 3, "{unit}: {}{}", ended.out, ended.err);
        assert_eq!(server.command(&["ZRANGE", "dead", "0", "-1"]).texts(), ["no job at all"], "{unit}");

        let queues = server.command(&["SMEMBERS", "queues"]);
        let mut queues = queues.texts();
        queues.sort_unstable();
        assert_eq!(queues, ["default", "exact", "payments"], "{unit}");
        let exact = server.command(&["LINDEX", "queue:exact", "0"]);
        assert!(
            exact.text().contains(r#""args":[12345678901234567890,1.0],"retry_count":2,"enqueued_at":"#),
            "{exact:?}"
        );
        let payments = server.command(&["LRANGE", "queue:payments", "0", "-1"]);
        assert_eq!(payments.texts().len(), 3, "{unit}");
        for job in payments.texts() {
            let job: Value = serde_json::from_str(job).unwrap_or_else(|e| panic!("{e}: {job}"));
            let count = job["retry_count"].as_i64();
            assert_eq!(count, Some(job["retry"].as_i64().unwrap_or(25) - 1), "{unit}: {job}");
            assert_eq!(job["enqueued_at"].is_u64(), unit == "milliseconds", "{unit}: {job}");
        }
        user.run(&["discard", "--all", "--yes"]).with(0);
        assert_eq!(number(server.command(&["ZCARD", "dead"])), 0, "{unit}");
    }
}

#[test]
fn sidekiq_jobs_go_to_another_queue_and_get_all_their_tries_where_that_is_asked_for() {
    let Some((server, user)) = seeded(SIDEKIQ[0].1) else { return };
    user.run(&["replay", "-f", "class:ChargeWorker", "--to-queue", "slow", "--attempts", "reset", "--yes"]).with(0);
    let jobs = server.command(&["LRANGE", "queue:slow", "0", "-1"]);
    assert_eq!(jobs.texts().len(), 2);
    for job in jobs.texts() {
        let job: Value = serde_json::from_str(job).unwrap_or_else(|e| panic!("{e}: {job}"));
        assert_eq!((job["queue"].as_str(), job["retry_count"].as_i64()), (Some("slow"), None), "{job}");
    }
}

#[test]
fn chasquimq_entries_start_anew_and_those_that_cannot_be_decoded_stay() {
    let Some((server, user)) = seeded(include_str!("../fixtures/redis/chasquimq.jsonl")) else { return };
    let jobs = listed(&user);
    assert_eq!(jobs.len(), 10);
    let ended = user.run(&["replay", "--all", "--yes"]);
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    assert_eq!(number(server.command(&["XLEN", "{chasqui:orders}:stream"])), 8);
    let left = listed(&user);
    assert_eq!(left.len(), 2, "{left:?}");
    // [id, payload, created, attempts = 1, [2, nil]]: only the attempts become 0.
    let hex = "local all = redis.call('XRANGE', KEYS[1], '-', '+') local out = {}
        for n, entry in ipairs(all) do out[n] = string.gsub(entry[2][2], '.', function(c) return string.format('%02x', string.byte(c)) end) end
        return out";
    let after = server.command(&["EVAL", hex, "1", "{chasqui:orders}:stream"]);
    let overridden: Vec<&str> = after.texts().into_iter().filter(|entry| entry.starts_with("95")).collect();
    assert_eq!(overridden.len(), 1);
    assert!(overridden[0].ends_with("009202c0"), "{}", overridden[0]);
    user.run(&["discard", "--all", "--yes"]).with(0);
    assert_eq!(number(server.command(&["XLEN", "{chasqui:orders}:dlq"])), 0);
}

#[test]
fn asynq_tasks_go_back_once_and_free_their_lock_when_they_are_deleted() {
    let Some((server, user)) = seeded(include_str!("../fixtures/redis/asynq.jsonl")) else { return };
    let lock = "asynq:{default}:unique:email:send:0cc175b9c0f1b6a831c399e269772661";
    let locked = "5f1f3e3e-2f8e-4c55-9b0e-000000000002";
    server.command(&["SET", lock, locked]);
    assert_eq!(listed(&user).len(), 3);
    user.run(&["replay", "-f", "queue:billing", "--yes"]).with(0);
    let task = "asynq:{billing}:t:5f1f3e3e-2f8e-4c55-9b0e-000000000001";
    assert_eq!(server.command(&["HGET", task, "state"]).text(), "pending");
    assert_eq!(number(server.command(&["LLEN", "asynq:{billing}:pending"])), 1);
    user.run(&["discard", "--all", "--yes"]).with(0);
    assert_eq!(number(server.command(&["EXISTS", lock, "asynq:{default}:t:5f1f3e3e-2f8e-4c55-9b0e-000000000002"])), 0);
    // The lock is another task's by now.
    let Some((server, user)) = seeded(include_str!("../fixtures/redis/asynq.jsonl")) else { return };
    server.command(&["SET", lock, "another"]);
    user.run(&["discard", "--all", "--yes"]).with(0);
    assert_eq!(server.command(&["GET", lock]).text(), "another");
}

#[test]
fn bullmq_jobs_wait_where_their_queue_has_them() {
    let text = include_str!("../fixtures/redis/bullmq.jsonl");
    // Version, whether the queue is paused; where job 1 and job 4 (of priority 3) wait, and whether a worker is woken.
    let cases = [
        ("6.7.0", false, "wait", "prioritized", true),
        ("6.7.0", true, "wait", "prioritized", false),
        ("5.81.5", false, "wait", "prioritized", true),
        ("5.81.5", true, "paused", "prioritized", false),
        ("4.18.3", false, "wait", "wait", false),
        ("4.18.3", true, "paused", "paused", false),
    ];
    for (version, is_paused, plain, prioritized, is_woken) in cases {
        let Some((server, user)) = seeded(text) else { return };
        server.command(&["HSET", "bull:orders:meta", "version", &format!("bullmq:{version}")]);
        if is_paused {
            server.command(&["HSET", "bull:orders:meta", "paused", "1"]);
        }
        let case = format!("{version}, paused: {is_paused}");
        let ended = user.run(&["replay", "--all", "--yes"]);
        assert_eq!(ended.code, 3, "{case}: ids without a job are left out: {}", ended.err);
        let is_in = |list: &str, id: &str| {
            let key = format!("bull:orders:{list}");
            match server.command(&["TYPE", &key]).text() {
                "list" => server.command(&["LRANGE", &key, "0", "-1"]).texts().contains(&id),
                "zset" => server.command(&["ZSCORE", &key, id]) != Answer::Nil,
                _ => false,
            }
        };
        assert!(is_in(plain, "1"), "{case}");
        assert!(is_in(prioritized, "4"), "{case}");
        assert_eq!(number(server.command(&["EXISTS", "bull:orders:marker"])) == 1, is_woken, "{case}");
        assert_eq!(
            server.command(&["HMGET", "bull:orders:1", "failedReason", "finishedOn"]),
            Answer::List(vec![Answer::Nil; 2])
        );
        // The child of a flow is open again for its parent.
        let dependencies = "bull:orders:d0425ca4-d5c4-490c-bd42-76724d42d5d9:dependencies";
        let child = "bull:orders:b0cd57e1-eeb3-4657-9927-79efb526cb70";
        assert_eq!(server.command(&["SMEMBERS", dependencies]).texts(), [child], "{case}");
    }
}

#[test]
fn a_queue_of_an_unknown_version_of_bullmq_is_left_alone() {
    let Some((server, user)) = seeded(include_str!("../fixtures/redis/bullmq.jsonl")) else { return };
    server.command(&["HSET", "bull:orders:meta", "version", "bullmq:9.0.0"]);
    let before = number(server.command(&["ZCARD", "bull:orders:failed"]));
    let ended = user.run(&["replay", "--all", "--yes"]);
    assert_ne!(ended.code, 0, "{}", ended.out);
    assert_eq!(number(server.command(&["ZCARD", "bull:orders:failed"])), before);
    assert_eq!(number(server.command(&["EXISTS", "bull:orders:wait"])), 0);
}
