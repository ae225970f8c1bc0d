//! Exports of jobs that are named one by one, and notes on runs.

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

fn ids(lines: &str) -> Vec<String> {
    let id =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["id"].as_str().map(str::to_owned);
    lines.lines().filter_map(id).collect()
}

#[tokio::test]
async fn jobs_are_named_by_their_ids_or_by_lines_of_a_list_and_what_is_missing_is_told() {
    let db = harness::sqlite("export ids").await;
    Layout::JobsDlq.seed(&db, 120).await;
    let user = User::of(&db);
    let named = user.run(&["export", "7", "3", "7"]);
    named.with(0);
    assert_eq!(ids(&named.out), ["7", "3"]);
    assert!(named.out.contains("\"arguments\":"), "{}", named.out);

    let list = user.run(&["list", "--limit", "110", "-o", "jsonl"]).out;
    let fed = user.fed(&["export", "-"], &list);
    fed.with(0);
    assert_eq!(ids(&fed.out), ids(&list), "in the order in which they were named, over several statements");
    let csv = user.fed(&["export", "-", "-o", "csv"], "5\n6\n");
    csv.with(0);
    let firsts: Vec<&str> = csv.out.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(firsts, ["id", "5", "6"]);

    let part = user.run(&["export", "7", "99991", "99992"]);
    assert_eq!(part.with(3), "2 jobs were not found: 99991, 99992\n");
    assert_eq!(ids(&part.out), ["7"]);
    let file = user.home().join("none.jsonl");
    let none = user.run(&["export", "99991", "--to", file.to_str().expect("a path")]);
    assert!(none.with(1).contains("nothing to export: this job was not found: 99991"), "{}", none.err);
    assert!(!file.exists());

    for wrong in
        [&["export", "7", "-f", "class:A"][..], &["export", "7", "--limit", "1"], &["export", "7", "-o", "markdown"]]
    {
        user.run(wrong).with(2);
    }
}

/// A dead job with arguments of more lines than an example has.
async fn died(db: &TestDb, class: &str, currency: &str, minute: u32) {
    let many = (0..60).map(|n| format!("\"k{n:02}\":{n}")).collect::<Vec<_>>().join(",");
    db.execute(&format!(
        "insert into jobs_dlq (payload, attempts, error_class, error_msg, failed_at) values \
         ('{{\"class\":\"ChargeCard\",{many},\"currency\":\"{currency}\",\"password\":\"hunter2\"}}', 3, '{class}', 'no rate', \
         '2026-11-20 10:{minute:02}:00')"
    ))
    .await;
}

#[tokio::test]
async fn a_note_on_a_run_is_about_its_own_jobs_whatever_is_dead_now() {
    for db in harness::every_engine("cli_run_note").await {
        let name = db.engine.name();
        Layout::JobsDlq.install(&db).await;
        for minute in 0..6 {
            died(&db, "KeyError", "JPY", minute).await;
            died(&db, "Timeout", "EUR", minute).await;
        }
        let user = User::of(&db);
        let nothing = user.run(&["export", "--run", "last", "-o", "markdown"]);
        assert!(nothing.with(2).contains("nothing was replayed here yet"), "{name}: {}", nothing.err);
        user.run(&["mark", "v2.3.1", "--at", "2026-11-20T10:02:30Z"]).with(0);
        user.run(&["replay", "-f", "error:KeyError", "--yes", "--reason", "INC-7"]).with(0);
        // One died again, under another error, and others died meanwhile.
        let ids = db.column("select id from jobs order by id").await;
        died(&db, "KeyError", "CHF", 30).await;
        db.execute(&format!(
            "insert into jobs_dlq (payload, attempts, error_class, failed_at) \
             select payload, 3, 'TypeError', '2026-11-29 09:00:00' from jobs where id = {}",
            ids[0]
        ))
        .await;
        db.execute(&format!("delete from jobs where id in ({}, {})", ids[0], ids[1])).await;
        let note = user.run(&["export", "--run", "last", "-o", "markdown"]);
        note.with(0);
        let has = |text: &str| assert!(note.out.contains(text), "{name}: no `{text}` in\n{}", note.out);
        assert!(note.out.starts_with("# Replayed 6 in "), "{name}: {}", note.out);
        for text in [
            "- reason: INC-7\n",
            "- filter: `error:KeyError`\n",
            "- died: 2026-11-20 10:00:00Z to 2026-11-20 10:05:00Z\n",
            "| KeyError | 6 |",
            "1 died again",
            "died again with TypeError 1",
            "**mark v2.3.1**",
            "1 death, 1.0 a minute",
            "## Example: TypeError",
            "\"k37\": 37",
            "more lines",
        ] {
            has(text);
        }
        assert!(!note.out.contains("CHF") && !note.out.contains("hunter2"), "{name}: {}", note.out);
        let at = |text: &str| note.out.find(text).unwrap_or_else(|| panic!("{name}: no {text}"));
        assert!(at("| 2026-11-20 10:02:00Z") < at("**mark v2.3.1**"), "{name}: in the order of time");
        assert!(at("**mark v2.3.1**") < at("| 2026-11-20 10:03:00Z"), "{name}: in the order of time");
        assert!(at("| 2026-11-20 10:05:00Z") < at("**replayed 6**"), "{name}: in the order of time");
        let rows = user.run(&["export", "--run", "last"]);
        assert_eq!(rows.out.lines().count(), 1, "{name}: only the row that died again is left: {}", rows.out);
        let filtered = user.run(&["export", "-f", "error:KeyError error:TypeError", "-o", "markdown"]);
        filtered.with(0);
        for text in ["## Timeline", "**mark v2.3.1**", "**replayed 6**", "1 died again"] {
            assert!(filtered.out.contains(text), "{name}: no `{text}` in\n{}", filtered.out);
        }
        for wrong in [&["export", "--run", "r-1", "-o", "markdown"][..], &["export", "--run", "last", "7"]] {
            assert_ne!(user.run(wrong).code, 0, "{name}");
        }
    }
}

#[tokio::test]
async fn a_note_keeps_the_values_that_tell_the_jobs_from_others() {
    let db = harness::sqlite("cli_note_values").await;
    Layout::JobsDlq.install(&db).await;
    for minute in 0..12 {
        died(&db, "KeyError", "JPY", minute).await;
        died(&db, "Timeout", "EUR", minute).await;
    }
    let user = User::of(&db);
    let note = user.run(&["export", "-f", "error:KeyError", "-o", "markdown"]);
    note.with(0);
    assert!(note.out.contains("## What they have in common"), "{}", note.out);
    assert!(note.out.contains("| 2026-11-20 10:11:00Z | 1 death, 1.0 a minute |"), "{}", note.out);
    assert!(note.out.contains("\n    … 25 more lines\n    args.currency = JPY\n"), "{}", note.out);
}
