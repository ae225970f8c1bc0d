//! Exports of jobs that are named one by one.

use super::User;
use crate::fixtures::Layout;
use crate::harness;

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
