//! `repair`: what an expression would change, held against what SQL counts, and writing it.

use serde_json::Value;

use super::{Ended, User};
use crate::fixtures::Layout;
use crate::harness;

/// A currency, or a default where there is none.
const EXPRESSION: &str = "if type == \"array\" then .[0] else .currency //= \"EUR\" end";

#[tokio::test]
async fn groups_have_the_counts_of_sql_on_every_engine_and_nothing_is_written() {
    for db in harness::every_engine("cli repair").await {
        Layout::DeadLetterJobs.seed(&db, 1_000).await;
        let set = |arguments: &str, condition: &str| {
            format!("update dead_letter_jobs set arguments = '{arguments}' where {condition}")
        };
        db.execute(&set(r#"{"currency": "JPY", "total": 12345678901234567890.10}"#, "1 = 1")).await;
        db.execute(&set(r#"{"currency": null, "password": "hunter2"}"#, "error_class = 'KeyError'")).await;
        let ids = db.column("select cast(id as char(36)) from dead_letter_jobs where error_class <> 'KeyError'").await;
        let listed = |ids: &[String]| {
            let ids: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
            format!("cast(id as char(36)) in ({})", ids.join(", "))
        };
        db.execute(&set("7", &listed(&ids[..40]))).await;
        let dead = async |condition: String| {
            let sql = format!("select count(*) from dead_letter_jobs where status = 'failed' and {condition}");
            db.column(&sql).await[0].parse::<u64>().expect("a number")
        };
        let keyed = dead("error_class = 'KeyError'".to_owned()).await;
        let failing = dead(listed(&ids[..40])).await;
        let all = dead("1 = 1".to_owned()).await;
        assert!(keyed > 10 && failing > 10 && all > keyed + failing, "{keyed} {failing} {all}");
        let before = db.column("select arguments from dead_letter_jobs order by id").await;
        let user = User::of(&db);
        let told = user.json(&["repair", "--all", EXPRESSION, "--dry-run", "--show", "1", "-o", "json"]);
        assert_eq!((told["jobs"].as_u64(), told["changed"].as_u64()), (Some(all), Some(keyed)), "{told:#}");
        let groups: Vec<(&str, Option<u64>, &str)> = told["groups"]
            .as_array()
            .expect("groups")
            .iter()
            .map(|group| {
                (
                    group["outcome"].as_str().expect("text"),
                    group["jobs"].as_u64(),
                    group["summary"].as_str().expect("text"),
                )
            })
            .collect();
        assert_eq!(
            groups,
            [
                ("changed", Some(keyed), ".currency null -> \"EUR\""),
                ("unchanged", Some(all - keyed - failing), "unchanged"),
                ("failed", Some(failing), "error: cannot use <n> as iterable (array or object)"),
            ]
        );
        assert_eq!(told["examples"].as_array().map(Vec::len), Some(1));
        assert_eq!(told["examples"][0]["changes"], told["groups"][0]["changes"]);
        let after = db.column("select arguments from dead_letter_jobs order by id").await;
        assert!(before == after, "arguments were written");
        let copied = user.run(&["repair", "-f", "error:KeyError", ".note = .password", "--dry-run", "--show", "2"]);
        copied.with(0);
        assert!(copied.out.contains(".note added \"[redacted]\"") && !copied.out.contains("hunter2"), "{}", copied.out);
    }
}

#[tokio::test]
async fn a_wrong_line_is_refused_before_a_job_is_read() {
    let db = harness::sqlite("cli repair refused").await;
    Layout::DeadLetterJobs.seed(&db, 30).await;
    let user = User::of(&db);
    for (line, said) in [
        (&["repair", "--all", ".a | now", "--dry-run"][..], "at character 6: now is left out"),
        (&["repair", ".a = 1", "--dry-run"], "name the jobs with -f"),
        (&["repair", "--all", "--dry-run"], "EXPRESSION"),
    ] {
        let ended = user.run(line);
        ended.with(2);
        assert!(ended.err.contains(said), "{line:?}: {}", ended.err);
    }
}

#[tokio::test]
async fn no_jobs_are_no_groups() {
    let db = harness::sqlite("cli repair none").await;
    Layout::DeadLetterJobs.seed(&db, 30).await;
    let user = User::of(&db);
    let told = user.json(&["repair", "-f", "error:Nothing", ".", "--dry-run", "-o", "json"]);
    assert_eq!((told["jobs"].as_u64(), &told["groups"]), (Some(0), &Value::from(Vec::<Value>::new())));
}

#[tokio::test]
async fn a_repair_is_asked_for_written_and_undone_by_commands() {
    for db in harness::every_engine("cli repair write").await {
        Layout::DeadLetterJobs.seed(&db, 300).await;
        db.execute(r#"update dead_letter_jobs set arguments = '{"currency": null, "token": "tk_live_1"}'"#).await;
        let dead = db.count("dead_letter_jobs where status = 'failed'").await;
        let user = User::of(&db);
        let refused = user.run(&["repair", "--all", ".currency = \"EUR\""]);
        assert!(refused.with(4).contains("--yes is needed to repair"), "{}", refused.err);
        assert!(refused.err.contains(".currency null -> \"EUR\""), "{}", refused.err);
        let receipt = user.json(&["repair", "--all", ".currency = \"EUR\"", "--yes", "-o", "json"]);
        assert_eq!((receipt["action"].as_str(), receipt["done"].as_u64()), (Some("repair"), Some(dead)), "{receipt:#}");
        assert_eq!(receipt["options"]["repair"], ".currency = \"EUR\"");
        let of = if db.engine == harness::Engine::Mysql { "char" } else { "text" };
        let repaired = format!(
            "dead_letter_jobs where cast(arguments as {of}) like '%EUR%' and cast(arguments as {of}) like '%tk_live_1%'"
        );
        assert_eq!(
            (db.count(&repaired).await, db.count("dead_letter_jobs where status = 'failed'").await),
            (dead, dead)
        );

        // What would not change is left, and an expression that fails on every job is a failure.
        let same = user.run(&["repair", "--all", ".currency = \"EUR\"", "--yes"]);
        assert!(same.with(0).contains("nothing to repair"), "{}", same.err);
        user.run(&["repair", "--all", ".[0] = 1", "--yes"]).with(1);
        // One job, by its id.
        let id =
            user.json(&["list", "--limit", "1", "-o", "json"])["jobs"][0]["id"].as_str().expect("an id").to_owned();
        let one = user.json(&["repair", ".currency = \"USD\"", &id, "--yes", "-o", "json"]);
        assert_eq!(one["done"].as_u64(), Some(1), "{one:#}");
        let run = receipt["run"].as_str().expect("a run");
        let undone = user.json(&["undo", one["run"].as_str().expect("a run"), "--yes", "-o", "json"]);
        assert_eq!((undone["action"].as_str(), undone["done"].as_u64()), (Some("revert"), Some(1)), "{undone:#}");
        let preview = user.run(&["undo", run, "--dry-run"]);
        assert!(preview.with(0).is_empty() && preview.out.contains("can be undone"), "{}", preview.out);
        user.run(&["undo", run, "--yes"]).with(0);
        assert_eq!(db.count(&repaired).await, 0);
    }
}

#[tokio::test]
async fn a_source_can_forbid_repairs() {
    let db = harness::sqlite("cli repair forbidden").await;
    Layout::DeadLetterJobs.seed(&db, 30).await;
    let user = User::of(&db).configured(&format!("[sources.shop]\nurl = \"{}\"\nedit = false\n", db.url));
    let ended = user.run(&["--source", "shop", "repair", "--all", ".a = 1", "--yes"]);
    assert!(ended.code != 0 && ended.err.contains("edit = false"), "{} {}", ended.code, ended.err);
    user.run(&["--source", "shop", "repair", "1", "--edit"]).with(ended.code);
    let shown = user.run(&["--source", "shop", "repair", "--all", ".a = 1", "--dry-run"]);
    assert!(shown.with(0).contains("cannot be written here"), "{}", shown.err);
    user.run(&["--source", "shop", "--read-only", "repair", "--all", ".a = 1", "--yes"]).with(ended.code);
    assert_eq!(db.count("dead_letter_jobs where arguments like '%\"a\":1%'").await, 0);
}

/// Accepts jobs whose arguments have a currency.
const ACCEPTS: &str = r#"
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    print(json.dumps({"id": job["id"], "ok": "EUR" in json.dumps(job["arguments"]), "error": "no currency"}), flush=True)
"#;

#[tokio::test]
async fn the_validator_of_a_source_reads_the_repaired_form() {
    let db = harness::sqlite("cli repair validated").await;
    Layout::DeadLetterJobs.seed(&db, 30).await;
    db.execute(r#"update dead_letter_jobs set arguments = '{"n": 1}'"#).await;
    let dead = db.count("dead_letter_jobs where status = 'failed'").await;
    let user = User::of(&db);
    let script = user.home().join("check.py");
    std::fs::write(&script, ACCEPTS).expect("a script");
    let command = format!("python3 {}", script.display());
    let user =
        user.configured(&format!("[sources.shop]\nurl = \"{}\"\nvalidate = {{ command = \"{command}\" }}\n", db.url));
    let repair =
        |expression: &str| user.run(&["--source", "shop", "repair", "--all", expression, "--yes", "-o", "json"]);
    let refused: Value = serde_json::from_str(&repair(".n = 2").out).expect("JSON");
    assert_eq!((refused["done"].as_u64(), refused["skipped"][0]["n"].as_u64()), (Some(0), Some(dead)), "{refused:#}");
    let taken: Value = serde_json::from_str(&repair(".currency = \"EUR\"").out).expect("JSON");
    assert_eq!(taken["done"].as_u64(), Some(dead), "{taken:#}");
}

#[tokio::test]
async fn the_arguments_of_one_job_are_edited_without_the_console() {
    for db in harness::every_engine("cli repair edit").await {
        Layout::DeadLetterJobs.seed(&db, 30).await;
        let arguments = r#"{"id": 12345678901234567890, "currency": null, "password": "hunter2"}"#;
        db.execute(&format!("update dead_letter_jobs set arguments = '{arguments}'")).await;
        let user = User::of(&db);
        let id = "select cast(id as char(36)) from dead_letter_jobs where status = 'failed' order by id";
        let id = db.column(id).await[0].trim().to_owned();
        let ended = |words: &[&str], editor: &str| {
            Ended::from(user.command(words).env("EDITOR", editor).output().expect("the binary starts"))
        };
        let text = if db.engine == harness::Engine::Mysql { "char" } else { "text" };
        let count = async |pattern: &str| {
            db.count(&format!("dead_letter_jobs where cast(arguments as {text}) like '%{pattern}%'")).await
        };
        let with = |editor: &str, more: &[&str]| {
            let words: Vec<&str> = ["repair", &id, "--edit"].into_iter().chain(more.iter().copied()).collect();
            ended(&words, editor)
        };
        let seen = with("sh -c 'cat \"$1\" >&2' editor", &["--yes"]);
        seen.with(0);
        assert!(seen.err.contains("[redacted 1]") && !seen.err.contains("hunter2"), "{}", seen.err);
        assert!(seen.err.contains("nothing to write"), "{}", seen.err);
        let wrong = with("sed -i s/null/EUR/", &["--yes"]);
        wrong.with(4);
        assert!(wrong.err.contains("line 3, column 15: this is not JSON"), "{}", wrong.err);
        with("false", &["--yes"]).with(1);
        with("sed -i s/null/1/", &[]).with(4);
        with("sed -i s/null/1/", &["--dry-run"]).with(0);
        assert_eq!(count("null").await, 30, "something was written");
        with("sed -i s/null/\\\"EUR\\\"/", &["--yes"]).with(0);
        assert_eq!((count("EUR").await, count("hunter2").await), (1, 30));
        ended(&["repair", &id, "--edit", "-f", "error:x"], "true").with(2);
        ended(&["repair", &id, &id, "--edit"], "true").with(2);
        ended(&["repair", "0", "--edit"], "true").with(1);
    }
}
