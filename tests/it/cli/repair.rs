//! `repair --dry-run`: what an expression would change, held against what SQL counts.

use serde_json::Value;

use super::User;
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
        (&["repair", "--all", ".a = 1"], "--dry-run shows what would change"),
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
