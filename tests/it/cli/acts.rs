//! Commands that write.

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine};

#[tokio::test]
async fn without_a_terminal_and_without_yes_nothing_is_written() {
    let db = harness::sqlite("cli_no_yes").await;
    Layout::JobsDlq.seed(&db, 40).await;
    let user = User::of(&db);
    for verb in ["replay", "discard"] {
        for form in ["table", "json"] {
            let ended = user.run(&[verb, "--all", "-o", form]);
            assert!(ended.with(4).contains("--yes is needed"), "{}", ended.err);
            assert_eq!(ended.out, "");
        }
    }
    assert_eq!((db.count("jobs_dlq").await, db.count("jobs").await), (40, 0));
    let states = user.json(&["runs", "-o", "json"]);
    let states: Vec<_> = states["runs"].as_array().expect("runs").iter().map(|r| r["state"].clone()).collect();
    assert_eq!(states, ["dismissed"; 4]);
}

#[tokio::test]
async fn a_bulk_needs_a_filter_or_an_explicit_all() {
    let db = harness::sqlite("cli_bulk").await;
    Layout::JobsDlq.seed(&db, 3).await;
    let user = User::of(&db);
    assert!(user.run(&["replay", "--yes"]).with(2).contains("--all"));
    user.run(&["replay", "--yes", "-f", " "]).with(2);
    user.run(&["replay", "--yes", "--all", "-f", "class:A"]).with(2);
    assert_eq!(db.count("jobs").await, 0);
    assert!(user.run(&["replay", "--yes", "-f", "class:NoSuchClass"]).with(0).contains("nothing to replay"));
    user.run(&["replay", "--yes", "99999"]).with(1);
}

#[tokio::test]
async fn ids_from_standard_input_are_acted_on_as_if_they_were_named() {
    let db = harness::sqlite("cli_stdin").await;
    Layout::JobsDlq.seed(&db, 20).await;
    let user = User::of(&db);
    let listed = user.run(&["list", "--limit", "3", "-o", "jsonl"]).out;
    // Standard input is no terminal, nor is there another: nothing is written without --yes.
    assert!(user.fed(&["replay", "-"], &listed).with(4).contains("--yes is needed"));
    assert_eq!(db.count("jobs").await, 0);
    assert!(user.fed(&["replay", "-", "7", "--yes"], &listed).with(2).contains("no other ids with it"));
    assert!(user.fed(&["replay", "-", "--yes"], "").with(2).contains("names no job"));
    user.fed(&["replay", "-", "--yes"], &listed).with(0);
    assert_eq!((db.count("jobs_dlq").await, db.count("jobs").await), (17, 3));
    let left = user.run(&["list", "--limit", "2", "-o", "jsonl"]).out;
    let shown = user.fed(&["show", "-", "-o", "jsonl"], &left);
    shown.with(0);
    assert_eq!(shown.out.lines().count(), 2, "{}", shown.out);
    user.fed(&["show", "-", "-o", "json"], &left).with(2);
}

#[tokio::test]
async fn plan_whose_reader_has_gone_is_dismissed() {
    let db = harness::sqlite("cli_gone").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let user = User::of(&db);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = user.command(&["replay", "--all"]).stderr(writer).status().expect("the binary starts");
    assert!(status.code().is_some(), "{status}");
    let runs = user.json(&["runs", "-o", "json"]);
    assert_eq!(runs["runs"][0]["state"], "dismissed", "{runs}");
    assert_eq!(db.count("jobs").await, 0);
}

#[tokio::test]
async fn runs_that_were_not_confirmed_are_listed_with_all_only() {
    let db = harness::sqlite("cli_dry_runs").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let user = User::of(&db);
    user.run(&["replay", "--all", "--dry-run"]).with(0);
    assert!(user.run(&["runs"]).with(0).contains("--all shows plans"));
    let all = user.run(&["runs", "--all"]);
    assert!(all.out.contains("dismissed"), "{}", all.out);
    user.run(&["replay", "--all", "--limit", "2", "--yes"]).with(0);
    let table = user.run(&["runs"]).out;
    assert!(table.contains("ended") && !table.contains("dismissed"), "{table}");
    assert_eq!(user.json(&["runs", "-o", "json"])["runs"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_dry_run_prints_the_plan_and_touches_nothing() {
    let db = harness::sqlite("cli_dry").await;
    Layout::JobsDlq.seed(&db, 60).await;
    let user = User::of(&db);
    let plan = user.json(&["replay", "--all", "--dry-run", "-o", "json"]);
    assert_eq!((plan["version"].as_u64(), plan["count"].as_u64()), (Some(1), Some(60)));
    let sum: u64 = plan["by_error"].as_array().expect("a split").iter().filter_map(|s| s["n"].as_u64()).sum();
    assert_eq!(sum, 60);
    assert_eq!((db.count("jobs_dlq").await, db.count("jobs").await), (60, 0));
}

#[tokio::test]
async fn a_replay_moves_exactly_the_jobs_of_the_filter_and_leaves_a_receipt() {
    let db = harness::sqlite("cli_replay").await;
    Layout::JobsDlq.seed(&db, 500).await;
    let user = User::of(&db);
    let class = user.json(&["stats", "-o", "json"])["bars"][0].clone();
    let (value, n) = (class["value"].as_str().expect("a class").to_owned(), class["n"].as_u64().expect("a count"));
    let filter = format!("error:\"{value}\"");
    let receipt = user.json(&["replay", "-f", &filter, "--yes", "--reason", "gateway is back", "-o", "json"]);
    assert_eq!((receipt["planned"].as_u64(), receipt["done"].as_u64()), (Some(n), Some(n)));
    assert_eq!(db.count("jobs").await, n);
    assert_eq!(db.count("jobs_dlq").await, 500 - n);
    let run = receipt["run"].as_str().expect("a run");
    let kept = user.json(&["runs", run, "-o", "json"]);
    assert_eq!((kept["reason"].as_str(), kept["state"].as_str()), (Some("gateway is back"), Some("finished")));
    assert!(user.run(&["runs"]).out.contains(run));
    assert!(user.run(&["resume", run]).with(4).contains("nothing to resume"));
    user.run(&["resume", "r-none"]).with(1);
}

#[tokio::test]
async fn ignore_and_reopen_are_each_others_undo() {
    let db = harness::sqlite("cli_ignore").await;
    Layout::DeadLetterJobs.seed(&db, 30).await;
    let dead = Layout::DeadLetterJobs.count_dead(&db).await;
    let ignored = db.count("dead_letter_jobs where status = 'ignored'").await;
    let user = User::of(&db);
    user.run(&["ignore", "--all", "--yes"]).with(0);
    assert_eq!(Layout::DeadLetterJobs.count_dead(&db).await, 0);
    user.run(&["reopen", "--all", "--yes"]).with(0);
    assert_eq!(Layout::DeadLetterJobs.count_dead(&db).await, dead + ignored);
}

#[tokio::test]
async fn a_verb_that_a_layout_has_not_is_refused_with_the_reason() {
    let db = harness::sqlite("cli_disabled").await;
    Layout::JobsDlq.seed(&db, 2).await;
    let user = User::of(&db);
    assert!(user.run(&["ignore", "--all", "--yes"]).with(4).contains("discard"));
    user.run(&["--read-only", "replay", "--all", "--yes"]).with(4);
    assert_eq!(db.count("jobs").await, 0);
}

#[tokio::test]
async fn a_replay_destination_is_asked_for_and_used() {
    let db = harness::sqlite("cli_destination").await;
    Layout::DeadLetterJobs.seed(&db, 20).await;
    let dead = Layout::DeadLetterJobs.count_dead(&db).await;
    let none = User::of(&db).run(&["replay", "--all", "--yes"]);
    assert!(none.with(4).contains("replay"), "{}", none.err);
    assert_eq!(db.count("jobs").await, 0);

    let source = format!("[sources.app]\nurl = \"{}\"\n", db.url);
    let user = User::new().configured(&format!("{source}replay = {{ table = \"jobs\" }}\n"));
    let half = dead / 2;
    let ids = user.json(&["list", "--limit", &half.to_string(), "-o", "json"]);
    let ids: Vec<&str> = ids["jobs"].as_array().expect("jobs").iter().filter_map(|j| j["id"].as_str()).collect();
    user.run(&[&["replay", "--yes"], ids.as_slice()].concat()).with(0);
    assert_eq!(db.count("jobs").await, half);

    let command = "replay = { command = [\"sh\", \"-c\", \"exit 9\"], timeout = \"5s\" }\n";
    let broken = User::new().configured(&format!("{source}{command}"));
    let before = Layout::DeadLetterJobs.count_dead(&db).await;
    broken.run(&["replay", "--all", "--yes"]).with(1);
    assert_eq!(Layout::DeadLetterJobs.count_dead(&db).await, before, "a command that dies leaves the jobs dead");
}

#[tokio::test]
async fn init_creates_what_is_missing_once_it_is_confirmed() {
    let user = User::new();
    let file = user.home().join("app.db");
    let url = format!("sqlite:{}?mode=rwc", file.display());
    for preset in ["dead_letter_jobs", "dlq_events", "jobs_dlq"] {
        let plan = user.run(&["--url", &url, "init", "--preset", preset, "--dry-run"]);
        plan.with(0);
        assert_eq!(user.run(&["--url", &url, "init", "--preset", preset, "--print"]).out, plan.out);
        assert!(plan.out.contains(&format!("CREATE TABLE {preset} (")), "{}", plan.out);
        assert!(user.run(&["--url", &url, "init", "--preset", preset]).with(4).contains("nothing was created"));
        user.run(&["--url", &url, "init", "--preset", preset, "--yes"]).with(0);
        assert!(user.run(&["--url", &url, "init", "--preset", preset, "--yes"]).with(0).contains("nothing is missing"));
        user.run(&["--url", &url, "--store", preset, "stats"]).with(0);
    }
}

#[tokio::test]
async fn init_says_why_it_creates_nothing_and_where_it_creates_something() {
    for db in harness::every_engine("init_why").await {
        let user = User::of(&db);
        db.execute("create table jobs (mine int)").await;
        let init = |more: &[&str]| user.run(&[&["init", "--preset", "jobs_dlq", "--yes"], more].concat());
        let refused = init(&[]);
        assert!(refused.with(4).contains("jobs is there already and stays as it is"), "{}", refused.err);
        assert!(refused.err.contains("jobs has no column payload") && refused.out.is_empty(), "{}", refused.err);
        let elsewhere = init(&["--schema", "dead"]);
        if db.engine != harness::Engine::Postgres {
            assert!(elsewhere.with(2).contains("the tables go into the database that the URL names"));
            continue;
        }
        assert!(elsewhere.with(0).contains("created the schema dead with jobs, jobs_dlq"), "{}", elsewhere.err);
        assert!(elsewhere.out.starts_with("CREATE SCHEMA \"dead\";\n"), "{}", elsewhere.out);
        user.run(&["--store", "dead.jobs_dlq", "stats"]).with(0);
        db.execute("create role nobody_of_note login; grant connect on database postgres to nobody_of_note").await;
        let mut command = user.command(&["init", "--yes"]);
        command.env("DATABASE_URL", db.url.replacen("dlq:", "nobody_of_note:", 1));
        let denied = super::Ended::from(command.output().expect("the binary starts"));
        db.execute("drop owned by nobody_of_note; drop role nobody_of_note").await;
        assert!(denied.with(4).contains("a role with that right can run the statements above"), "{}", denied.err);
    }
}

#[tokio::test]
async fn an_interrupt_ends_a_run_after_its_batch_and_resume_finishes_it() {
    let db = harness::sqlite("cli_interrupt").await;
    Layout::JobsDlq.seed(&db, 120_000).await;
    let user = User::of(&db);
    let child = user.replaying(&db, &[]).await;
    harness::process::signal(&[child.id()], "INT");
    let ended = super::Ended::from(child.wait_with_output().expect("it ends"));
    assert!(ended.with(3).contains("dlq-tui resume"), "{}", ended.err);
    let receipt: serde_json::Value = serde_json::from_str(&ended.out).expect("a receipt");
    let (done, left) = (receipt["done"].as_u64().expect("a count"), receipt["not_started"].as_u64().expect("a count"));
    assert_eq!((receipt["state"].as_str(), done + left), (Some("stopped"), 120_000));
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (done, left));

    let run = receipt["run"].as_str().expect("a run");
    assert!(user.run(&["resume", run]).with(4).contains("--yes is needed"));
    let finished = user.json(&["resume", run, "--yes", "-o", "json"]);
    assert_eq!(finished["done"], 120_000);
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (120_000, 0));
}

#[tokio::test]
async fn a_limit_takes_the_newest_and_says_so() {
    let db = harness::sqlite("cli_limit").await;
    Layout::JobsDlq.seed(&db, 60).await;
    let newest = db.column("select payload from jobs_dlq order by id desc limit 3").await;
    let user = User::of(&db);
    let ended = user.run(&["replay", "--all", "--limit", "3", "--yes"]);
    assert!(ended.with(0).contains("limited to 3, the newest first"), "{}", ended.err);
    assert_eq!(db.column("select payload from jobs order by id desc").await.len(), 3);
    let mut moved = db.column("select payload from jobs").await;
    let mut wanted = newest;
    moved.sort();
    wanted.sort();
    assert_eq!(moved, wanted);
    assert!(!user.run(&["replay", "--all", "--limit", "60", "--dry-run"]).with(0).contains("limited"));
    user.run(&["replay", "--all", "--limit", "0", "--yes"]).with(2);
    user.run(&["replay", "1", "--limit", "3", "--yes"]).with(2);
}

#[tokio::test]
async fn jobs_are_spread_over_a_time_on_every_engine_and_in_the_order_of_the_run() {
    for db in harness::every_engine("cli spread").await {
        for layout in [Layout::JobsDlq, Layout::DlqEvents, Layout::DeadLetterJobs] {
            layout.seed(&db, 60).await;
            let dead = layout.count_dead(&db).await;
            let config = "[sources.a]\nurl_env = \"DATABASE_URL\"\nreplay = { table = \"jobs\" }\n";
            let user = User::of(&db).configured(config);
            let command = [
                "replay",
                "--source",
                "a",
                "--store",
                layout.table(),
                "--all",
                "--spread",
                "1h",
                "--yes",
                "-o",
                "json",
            ];
            let receipt = user.json(&command);
            assert_eq!((receipt["done"].as_u64(), receipt["options"]["spread_s"].as_u64()), (Some(dead), Some(3_600)));
            let (table, column) = match layout {
                Layout::DlqEvents => ("dlq_events where status = 'PENDING' and retry_count = 0 and", "retry_after"),
                _ => ("jobs where", "run_after"),
            };
            let in_minutes = |minutes: u32| match db.engine {
                Engine::Postgres => format!("{column} > now() + interval '{minutes} minutes'"),
                Engine::Mysql => format!("{column} > utc_timestamp() + interval {minutes} minute"),
                Engine::Sqlite => format!("julianday({column}) > julianday('now', '+{minutes} minutes')"),
            };
            let mut later = Vec::new();
            for minutes in [0, 30, 62] {
                let sql = format!("select count(*) from {table} {}", in_minutes(minutes));
                later.push(db.scalar(&sql).await.parse::<u64>().expect("a count"));
            }
            let context = format!("{layout:?} on {:?}: {later:?} of {dead}", db.engine);
            assert!(later[0] >= dead * 9 / 10, "{context}");
            assert!(later[1] > dead * 3 / 10 && later[1] < dead * 7 / 10, "{context}");
            assert_eq!(later[2], 0, "{context}");
            db.execute("delete from jobs").await;
        }
    }
    let user = User::of(&harness::sqlite("cli spread ignore").await);
    user.run(&["ignore", "--all", "--spread", "1h", "--yes"]).with(2);
    // A slip of the keyboard would put them where no worker ever comes to them.
    let far = user.run(&["replay", "--all", "--spread", "99999999999d", "--yes"]);
    assert!(far.with(2).contains("at most 365d"), "{}", far.err);
    assert!(user.run(&["replay", "--all", "--rate", "0.0000001/h", "--yes"]).with(2).contains("too slow"));
    let ever = user.run(&["purge", "--state", "dead", "--older-than", "99999999999d", "--yes"]);
    assert!(ever.with(2).contains("at most 365000d"), "{}", ever.err);
    user.run(&["watch", "--interval", "99999999999d"]).with(2);
}

#[tokio::test]
async fn a_reader_that_goes_away_changes_neither_what_is_done_nor_what_the_exit_code_says() {
    for refusing in [false, true] {
        let db = harness::sqlite("cli_deaf").await;
        Layout::JobsDlq.seed(&db, 40).await;
        if refusing {
            db.execute(
                "create trigger odd before insert on jobs when new.payload = (select payload from jobs_dlq where id = 7) \
                 begin select raise(abort, 'no'); end",
            )
            .await;
        }
        let user = User::of(&db);
        let deaf = || {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            writer
        };
        let status = user.command(&["replay", "--all", "--yes"]).stdout(deaf()).stderr(deaf()).status();
        let code = status.expect("the binary starts").code();
        assert_eq!((code, db.count("jobs").await), if refusing { (Some(3), 39) } else { (Some(0), 40) });
        let wrong = user.command(&["replay", "--yes"]).stdout(deaf()).stderr(deaf()).status();
        assert_eq!(wrong.expect("the binary starts").code(), Some(2));
    }
}

#[tokio::test]
async fn a_run_of_which_nothing_could_be_done_has_failed() {
    let db = harness::sqlite("cli_nothing").await;
    // A destination that accepts nothing stops the run; what is left was not even tried.
    Layout::DeadLetterJobs.seed(&db, 600).await;
    let user = User::new().configured(&format!(
        "[sources.shop]\nurl = \"{}\"\nstore = \"dead_letter_jobs\"\nreplay = {{ command = [\"/bin/false\"] }}\n",
        db.url
    ));
    let ended = user.run(&["replay", "--all", "--yes"]);
    assert!(ended.with(1).contains("accepted no job"), "{}", ended.err);
    assert!(ended.err.contains("--source shop`"), "the line reaches the same source: {}", ended.err);
}

#[tokio::test]
async fn undo_says_job_by_job_what_it_can_and_puts_it_back() {
    let db = harness::sqlite("cli_undo").await;
    Layout::JobsDlq.seed(&db, 30).await;
    let user = User::of(&db);
    let run = user.json(&["discard", "-f", "id:3 id:5 id:7", "--yes", "-o", "json"]);
    let run = run["run"].as_str().expect("a run").to_owned();
    db.execute("insert into jobs_dlq (id, payload) values (5, '{}')").await;
    let plan = user.json(&["undo", &run, "--dry-run", "-o", "json"]);
    assert_eq!(plan["outlook"], serde_json::json!([{"reason":"can be undone","n":2},{"reason":"already there","n":1}]));
    let lines = user.run(&["undo", &run, "--dry-run", "-o", "jsonl"]);
    lines.with(0);
    assert_eq!(lines.out.lines().count(), 3);
    assert!(lines.out.contains(r#""id":"5","outcome":"skipped","reason":"already there""#), "{}", lines.out);
    assert_eq!(db.count("jobs_dlq").await, 28, "nothing is touched by looking");
    assert!(user.run(&["undo", &run]).with(4).contains("--yes is needed"));
    let done = user.run(&["undo", &run, "--yes", "-o", "json"]);
    done.with(3);
    let receipt: serde_json::Value = serde_json::from_str(&done.out).expect("a receipt");
    assert_eq!((&receipt["done"], &receipt["options"]["undoes"]), (&2.into(), &run.clone().into()));
    let undo = receipt["run"].as_str().expect("a run");
    let skipped = user.json(&["runs", undo, "--jobs", "--part", "skipped", "-o", "jsonl"]);
    assert_eq!((&skipped["id"], &skipped["reason"]), (&"5".into(), &"already there".into()));
    assert!(user.run(&["runs", undo, "--jobs"]).out.contains("done"));
    assert_eq!(user.json(&["runs", undo, "--jobs", "-o", "json"])["jobs"].as_array().map(Vec::len), Some(3));
    user.run(&["undo", "r-none"]).with(1);
    user.run(&["runs", "--jobs"]).with(2);
}

#[tokio::test]
async fn an_erasure_needs_a_reason_and_says_what_remains_where() {
    let db = harness::sqlite("cli_erase").await;
    Layout::JobsDlq.seed(&db, 10).await;
    let user = User::of(&db);
    let erase = ["discard", "-f", "args.order:4", "--no-archive"];
    assert!(user.run(&[&erase[..], &["--yes"]].concat()).with(2).contains("--reason"));
    user.run(&["ignore", "--all", "--no-archive", "--yes"]).with(2);
    let ended = user.run(&[&erase[..], &["--reason", "erasure request 118", "--yes", "-o", "json"]].concat());
    assert!(ended.with(0).contains("Deleted without a copy"), "{}", ended.err);
    for place in ["ledger keeps their ids", "backups", "exports"] {
        assert!(ended.err.contains(place), "{}", ended.err);
    }
    let receipt: serde_json::Value = serde_json::from_str(&ended.out).expect("a receipt");
    assert_eq!((&receipt["done"], &receipt["filter"]), (&1.into(), &"args.order:…".into()));
    let run = receipt["run"].as_str().expect("a run");
    assert!(user.run(&["undo", run, "--yes"]).with(4).contains("--no-archive"));
    assert_eq!(db.count("jobs_dlq").await, 9);
}
