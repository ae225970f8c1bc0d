//! Commands that read.

use std::io::Read;
use std::process::Stdio;

use serde::de::IgnoredAny;

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine};

#[tokio::test]
async fn what_is_in_a_database_is_told_layout_by_layout() {
    let db = harness::sqlite("cli_sources").await;
    Layout::JobsDlq.install(&db).await;
    Layout::DlqEvents.install(&db).await;
    let user = User::of(&db);
    let told = user.json(&["sources", "-o", "json"]);
    assert_eq!(told["version"], 1);
    let source = &told["sources"][0];
    assert_eq!(source["reachable"], true);
    let stores: Vec<&str> =
        source["stores"].as_array().expect("stores").iter().filter_map(|s| s["store"].as_str()).collect();
    assert_eq!(stores, ["main.dlq_events", "main.jobs_dlq"]);
    let several = user.run(&["stats"]);
    assert!(several.with(2).contains("choose one with --store (main.dlq_events, main.jobs_dlq)"), "{}", several.err);
    user.run(&["stats", "--store", "jobs_dlq"]).with(0);
    user.run(&["stats", "--store", "main.dlq_events"]).with(0);
    assert!(user.run(&["stats", "--store", "nope"]).with(2).contains("no store `nope`"));
}

#[tokio::test]
async fn counts_and_lists_agree_in_every_form_and_on_every_layout() {
    for layout in Layout::ALL {
        let db = harness::sqlite("cli_counts").await;
        layout.seed(&db, 700).await;
        let dead = layout.count_dead(&db).await;
        let user = User::of(&db);
        let stats = user.json(&["stats", "--by", "class", "-o", "json"]);
        assert_eq!(stats["total"]["n"], dead, "{layout:?}");
        let sum: u64 = stats["bars"].as_array().expect("bars").iter().filter_map(|b| b["n"].as_u64()).sum();
        assert_eq!(sum, dead, "{layout:?}");
        let lines = user.run(&["list", "--limit", "0", "-o", "jsonl"]);
        lines.with(0);
        assert_eq!(lines.out.lines().count() as u64, dead, "{layout:?}");
        let csv = user.run(&["list", "--limit", "0", "-o", "csv"]);
        assert_eq!(csv.out.lines().next().map(|l| l.starts_with("id,at,state,error")), Some(true));
        let list = user.json(&["list", "--limit", "3", "-o", "json"]);
        assert_eq!(list["jobs"].as_array().map(Vec::len), Some(3));
        assert_eq!(list["more"], true);
    }
}

#[tokio::test]
async fn a_job_is_shown_whole_and_its_numbers_are_exact() {
    let db = harness::sqlite("cli_show").await;
    Layout::JobsDlq.install(&db).await;
    db.execute(
        r#"insert into jobs_dlq (id, payload, error_class, error_msg, failed_at) values
           (7, '{"class":"A","n":12345678901234567890.10,"password":"hunter2"}', 'E', 'm', '2026-11-18 09:14:02.123456')"#,
    )
    .await;
    let user = User::of(&db);
    let text = user.run(&["show", "7"]);
    text.with(0);
    assert!(text.out.contains("12345678901234567890.10"), "{}", text.out);
    assert!(!text.out.contains("hunter2"), "a secret key is masked: {}", text.out);
    let json = user.run(&["show", "7", "-o", "jsonl"]);
    assert!(json.out.contains(r#""n":12345678901234567890.10"#), "{}", json.out);
    assert_eq!(json.out.lines().count(), 1);
    assert!(user.run(&["show", "8"]).with(1).contains("there is no job 8"));
}

#[tokio::test]
async fn stats_without_a_match_say_which_values_there_are() {
    let db = harness::sqlite("cli_no_match").await;
    Layout::JobsDlq.install(&db).await;
    db.execute(
        r#"insert into jobs_dlq (id, payload, error_class, error_msg, failed_at) values
           (1, '{"class":"A"}', 'KeyError', 'm', '2026-11-18 09:14:02'),
           (2, '{"class":"A"}', 'KeyError', 'm', '2026-11-18 09:14:03'),
           (3, '{"class":"A"}', 'TypeError', 'm', '2026-11-18 09:14:04')"#,
    )
    .await;
    let told = User::of(&db).run(&["stats", "-f", "error:KeyEror"]);
    assert!(told.with(0).contains("no job matches; dead jobs by error: KeyError 2, TypeError 1"), "{}", told.err);
}

#[tokio::test]
async fn a_job_that_died_again_says_how_often_it_was_replayed() {
    let db = harness::sqlite("cli_again").await;
    Layout::JobsDlq.install(&db).await;
    let dies = |id: u32| {
        format!(
            "insert into jobs_dlq (id, payload, error_class, error_msg, failed_at) \
             values ({id}, '{{\"class\":\"A\",\"n\":1}}', 'E', 'm', '2026-11-18 09:14:02.123456')"
        )
    };
    db.execute(&dies(7)).await;
    let user = User::of(&db);
    assert_eq!(user.json(&["show", "7", "-o", "json"])["replayed"].as_u64(), Some(0));
    assert!(!user.run(&["list"]).out.contains("replayed"));
    assert_eq!(user.json(&["list", "-o", "jsonl"])["replayed"].as_u64(), Some(0));
    user.run(&["replay", "7", "--yes"]).with(0);
    db.execute(&dies(9)).await;
    assert_eq!(user.json(&["show", "9", "-o", "json"])["replayed"].as_u64(), Some(1));
    let text = user.run(&["show", "9"]);
    assert!(text.out.contains("replayed  1 before"), "{}", text.out);
    db.execute(&dies(8).replace("\"n\":1", "\"n\":2")).await;
    let jobs = user.json(&["list", "-o", "json"])["jobs"].clone();
    let replays = |id: &str| jobs.as_array()?.iter().find(|job| job["id"] == id)?["replayed"].as_u64();
    assert_eq!((replays("9"), replays("8")), (Some(1), Some(0)), "{jobs}");
    let table = user.run(&["list"]).out;
    assert!(table.lines().next().is_some_and(|titles| titles.contains("  replayed  ")), "{table}");
    let csv = user.run(&["list", "-o", "csv"]).out;
    assert!(csv.starts_with("id,") && csv.lines().next().is_some_and(|l| l.ends_with(",replayed")), "{csv}");
    assert!(csv.lines().any(|l| l.starts_with("9,") && l.ends_with(",1")), "{csv}");
}

#[tokio::test]
async fn a_wrong_filter_points_at_its_column() {
    let db = harness::sqlite("cli_filter").await;
    Layout::JobsDlq.install(&db).await;
    let user = User::of(&db);
    let err = user.run(&["list", "-f", "class:A eror:B"]);
    let err = err.with(2);
    assert!(
        err.contains("column 9") && err.contains("did you mean `error`") && err.contains("\n        ^^^^"),
        "{err}"
    );
    assert!(user.run(&["stats", "--by", "colour"]).with(2).contains("the facets are error"));
    assert!(user.run(&["-f", "class:A", "stats"]).with(2).contains("behind the command"));
}

#[tokio::test]
async fn nothing_that_jobs_bring_acts_on_the_terminal() {
    for layout in Layout::ALL {
        let db = harness::sqlite("cli_nasty").await;
        layout.nasty_day(&db).await;
        let user = User::of(&db);
        let ids = user.run(&["list", "--limit", "0", "-o", "jsonl"]);
        ids.with(0);
        let ids: Vec<String> = ids
            .out
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["id"].as_str().map(str::to_owned))
            .collect();
        let mut printed = vec![
            user.run(&["list", "--limit", "0"]),
            user.run(&["list", "--limit", "0", "-o", "csv"]),
            user.run(&["export", "-o", "csv"]),
            user.run(&["export", "-o", "markdown"]),
            user.run(&["check", "--max", "error=*:0", "--max", "class=*:0"]),
            user.run(&["stats"]),
            user.run(&["stats", "--by", "class", "-o", "csv"]),
            user.run(&["replay", "--all", "--dry-run"]),
        ];
        printed.extend(ids.iter().take(25).map(|id| user.run(&["show", id])));
        for ended in &printed {
            for text in [&ended.out, &ended.err] {
                let acting = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
                assert!(!text.contains(acting), "{layout:?}: {text:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_reader_that_leaves_early_is_no_fault() {
    let db = harness::sqlite("cli_pipe").await;
    Layout::JobsDlq.seed(&db, 5_000).await;
    let user = User::of(&db);
    let mut child = user
        .command(&["list", "--limit", "0", "-o", "jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut first = [0u8; 64];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("a line");
    let ended = super::Ended::from(child.wait_with_output().expect("it ends"));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

#[tokio::test]
async fn adapters_are_listed_shown_and_checked_against_the_database() {
    let db = harness::sqlite("cli_adapters").await;
    Layout::JobsDlq.install(&db).await;
    db.execute("create table failed (id integer primary key, what text, at text)").await;
    let user = User::of(&db);
    let names = user.run(&["adapters"]);
    assert!(names.out.contains("dead_letter_jobs") && names.out.contains("built in"), "{}", names.out);
    let checked = user.run(&["adapters", "check"]);
    checked.with(0);
    assert!(checked.out.starts_with("jobs_dlq on main.jobs_dlq"), "{}", checked.out);

    let folder = user.home().join("config/dlq-tui/adapters");
    std::fs::create_dir_all(&folder).expect("a folder");
    let own = "name = \"failed\"\ntitle = \"failed\"\ntable = \"failed\"\nkey = { column = \"id\", kind = \"int\" }\n\
        [detect.columns]\nid = \"int\"\nwhat = \"text\"\n[order]\ntime = { column = \"at\", kind = \"utc\" }\n\
        [fields]\nat = { column = \"at\", kind = \"utc\" }\nmessage = { sql = \"no_such_function(t.what)\", kind = \"text\" }\n\
        [states]\ndead = [\"dead\"]\n";
    std::fs::write(folder.join("failed.toml"), own).expect("a file");
    let wrong = user.run(&["adapters", "check", "failed"]);
    wrong.with(1);
    assert!(wrong.out.contains("line 12, fields.message: "), "{}", wrong.out);
    std::fs::write(folder.join("failed.toml"), own.replace("no_such_function", "upper")).expect("a file");
    user.run(&["adapters", "check", "failed"]).with(0);
    db.execute("insert into failed values (1, 'boom', '2026-11-18 09:14:02')").await;
    let list = user.json(&["list", "--store", "failed", "-o", "json"]);
    assert_eq!(list["jobs"][0]["message"], "BOOM");
    assert!(user.run(&["adapters", "show", "failed"]).out.contains("upper(t.what)"));
    assert!(user.run(&["adapters", "show", "nope"]).with(2).contains("there is no adapter `nope`"));
}

#[tokio::test]
async fn a_filter_may_begin_with_a_negated_term_but_never_swallows_an_option() {
    let db = harness::sqlite("cli_negated").await;
    Layout::JobsDlq.seed(&db, 40).await;
    let user = User::of(&db);
    let listed = user.json(&["list", "-f", "-error:NoSuchError", "--limit", "0", "-o", "json"]);
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(40));
    assert!(user.run(&["discard", "-f", "--yes"]).with(2).contains("looks like an option"));
}

#[tokio::test]
async fn arguments_leave_as_the_database_holds_them_character_for_character() {
    for db in harness::every_engine("cli_exact").await {
        Layout::JobsDlq.nasty_day(&db).await;
        let payload = if db.engine == Engine::Postgres { "payload::text" } else { "payload" };
        // What is masked is not exact.
        let among = format!("from jobs_dlq where {payload} not like '%correct-horse%' order by jobs_dlq.id");
        let ids = db.column(&format!("select cast(id as char(20)) {among}")).await;
        let stored = db.column(&format!("select {payload} {among}")).await;
        let user = User::of(&db);
        let exported = user.run(&["export", "-o", "jsonl"]);
        exported.with(0);
        let dead = Layout::JobsDlq.count_dead(&db).await;
        assert_eq!(exported.out.lines().count() as u64, dead, "{:?}: a line each", db.engine);
        let mut texts = 0;
        for (id, stored) in ids.iter().zip(&stored) {
            // Levels without end are JSON as well, which not every reader takes.
            let is_json = stored.starts_with("[[[[") || serde_json::from_str::<IgnoredAny>(stored).is_ok();
            // No key tells what is a secret in what is no JSON: all of it is masked.
            let text = || match stored.trim() {
                "" => serde_json::to_string(stored).expect("a text"),
                _ => "\"[redacted]\"".to_owned(),
            };
            let wanted = format!("\"arguments\":{},\"backtrace\":", if is_json { stored.clone() } else { text() });
            let start = format!("{{\"version\":1,\"id\":\"{}\",", id.trim());
            let line = exported.out.lines().find(|line| line.starts_with(&start)).expect("the job's line");
            assert!(line.contains(&wanted), "{:?} {id}: {stored:.200}\n{line:.400}", db.engine);
            texts += usize::from(!is_json);
        }
        assert_eq!(texts > 0, db.engine != Engine::Postgres, "{:?}: {texts} that are no JSON", db.engine);
        let longest = ids.iter().zip(&stored).max_by_key(|(_, stored)| stored.len()).expect("a row");
        let shown = user.run(&["show", longest.0.trim(), "-o", "jsonl"]);
        assert!(shown.out.contains(&format!("\"arguments\":{},", longest.1)), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_number_beyond_every_calendar_is_no_time_and_takes_no_other_row_with_it() {
    for (kind, good) in [("epoch_s", 1_795_000_000_i64), ("epoch_ms", 1_795_000_000_000)] {
        for db in harness::every_engine(&format!("cli_{kind}")).await {
            db.execute(&format!(
                "create table ticks (id int primary key, at bigint, e varchar(9)); \
                 insert into ticks values (1, {good}, 'good'), (2, {max}, 'beyond'), (3, {min}, 'beyond'), (4, null, 'none'), \
                 (5, -1, 'early')",
                max = i64::MAX,
                min = i64::MIN,
            ))
            .await;
            let file = tempfile::NamedTempFile::new().expect("a file");
            let adapter = "name = \"ticks\"\ntitle = \"ticks\"\ntable = \"ticks\"\nkey = { column = \"id\", kind = \"int\" }\n\
                [detect.columns]\nat = \"int\"\n[order]\ntime = { column = \"at\", kind = \"KIND\" }\n\
                [fields]\nat = { column = \"at\", kind = \"KIND\" }\nerror_class = { column = \"e\", kind = \"text\" }\n\
                [states]\ndead = [\"dead\"]\n";
            std::fs::write(file.path(), adapter.replace("KIND", kind)).expect("written");
            let user = User::of(&db).with_adapter(file.path());
            let listed = |filter: &str| {
                let told = user.json(&["list", "-f", filter, "--limit", "0", "-o", "json"]);
                let mut jobs: Vec<(String, bool)> = told["jobs"]
                    .as_array()
                    .expect("jobs")
                    .iter()
                    .map(|job| (job["id"].as_str().expect("an id").to_owned(), job["at"].is_string()))
                    .collect();
                jobs.sort();
                jobs.into_iter()
                    .map(|(id, has_time)| format!("{id}{}", if has_time { "t" } else { "" }))
                    .collect::<Vec<_>>()
            };
            assert_eq!(listed(""), ["1t", "2", "3", "4", "5t"], "{kind} on {:?}", db.engine);
            assert_eq!(listed("since:2026-11-01"), ["1t"], "{kind} on {:?}", db.engine);
            assert_eq!(listed("until:2026-11-01"), ["5t"], "{kind} on {:?}", db.engine);
            for facet in ["hour", "error"] {
                let counted = user.json(&["stats", "--by", facet, "-o", "json"]);
                assert_eq!(counted["total"]["n"], 5, "{kind} on {:?}", db.engine);
            }
        }
    }
}
