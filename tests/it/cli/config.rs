//! Which database, and what is said when that is not clear.

use super::User;
use crate::fixtures::Layout;
use crate::harness;

#[test]
fn with_nothing_configured_six_lines_say_what_to_do() {
    for args in [&[][..], &["stats"], &["sources"]] {
        let ended = User::new().run(args);
        assert_eq!(ended.with(2).lines().count(), 6, "{}", ended.err);
        assert!(ended.err.contains("dlq-tui demo"), "{}", ended.err);
        assert_eq!(ended.out, "");
    }
}

#[tokio::test]
async fn the_console_asks_for_a_terminal_and_names_the_commands_that_need_none() {
    let db = harness::sqlite("cli_no_tty").await;
    Layout::JobsDlq.install(&db).await;
    assert!(User::of(&db).run(&[]).with(2).contains("needs a terminal"));
    assert!(User::new().run(&["demo"]).with(2).contains("dlq-tui stats"));
}

#[test]
fn a_password_on_the_command_line_is_refused_with_the_safe_ways_named() {
    let ended = User::new().run(&["--url", "postgres://ann:s3cret@127.0.0.1:1/app", "stats"]);
    let err = ended.with(2);
    assert!(err.contains("~/.pgpass") && err.contains("DATABASE_URL"), "{err}");
    assert!(!err.contains("s3cret"), "{err}");
}

#[test]
fn a_password_never_reaches_the_output() {
    let mut user = User::new().configured("[sources.far]\nurl = \"postgres://ann:s3cret@127.0.0.1:1/app\"\n");
    let mut printed = vec![user.run(&["sources"]), user.run(&["sources", "-o", "json"]), user.run(&["stats"])];
    user.database_url = Some("mysql://ann:s3cret@127.0.0.1:1/app".to_owned());
    printed.extend([user.run(&["stats"]), user.run(&["list", "-o", "json"])]);
    user.database_url = Some("postgres://ann:s3cret@[broken/app".to_owned());
    printed.push(user.run(&["stats"]));
    for ended in printed {
        assert_ne!(ended.code, 0);
        assert!(!format!("{}{}", ended.out, ended.err).contains("s3cret"), "{}{}", ended.out, ended.err);
    }
}

#[tokio::test]
async fn the_command_line_wins_over_the_environment_and_that_over_the_config() {
    let (a, b, c) = (harness::sqlite("cli_a").await, harness::sqlite("cli_b").await, harness::sqlite("cli_c").await);
    for (db, n) in [(&a, 1), (&b, 2), (&c, 3)] {
        Layout::JobsDlq.seed(db, n).await;
    }
    let config = format!("[sources.configured]\nurl = \"{}\"\n", a.url);
    let mut user = User::new().configured(&config);
    let total =
        |user: &User, args: &[&str]| user.json(&[args, &["stats", "-o", "json"]].concat())["total"]["n"].as_u64();
    assert_eq!(total(&user, &[]), Some(1), "the only source of the config");
    user.database_url = Some(b.url.clone());
    assert_eq!(total(&user, &[]), Some(2), "the environment");
    assert_eq!(total(&user, &["--source", "configured"]), Some(1), "a source by name");
    assert_eq!(total(&user, &["--url", &c.url]), Some(3), "a URL");
}

#[tokio::test]
async fn an_address_may_come_from_a_variable_or_a_command() {
    let db = harness::sqlite("cli_address").await;
    Layout::JobsDlq.seed(&db, 4).await;
    let config = format!(
        "[sources.command]\nurl_command = \"echo '{}'\"\n[sources.env]\nurl_env = \"APP_URL\"\n[sources.fails]\nurl_command = \"false\"\n",
        db.url
    );
    let user = User::new().configured(&config);
    user.run(&["stats", "--source", "command"]).with(0);
    assert!(user.run(&["stats", "--source", "env"]).with(2).contains("APP_URL"));
    let set = user.command(&["stats", "--source", "env"]).env("APP_URL", &db.url).output().expect("the binary starts");
    assert!(set.status.success());
    assert!(user.run(&["stats", "--source", "fails"]).with(2).contains("url_command `false` failed"));
    assert!(user.run(&["stats", "--source", "comand"]).with(2).contains("did you mean `command`"));
    let told = user.run(&["sources", "-o", "json"]);
    assert_eq!(told.code, 3, "one of three can be reached");
    assert!(user.run(&["stats"]).with(2).contains("choose one with --source"));
}

#[test]
fn a_misspelt_key_of_the_config_stops_everything() {
    let user = User::new().configured("[sources.a]\nurl = \"sqlite:x\"\nprodution = true\n");
    let ended = user.run(&["runs"]);
    let err = ended.with(2);
    assert!(err.contains("config.toml, line 3: unknown key `prodution`; did you mean `production`?"), "{err}");
}

#[tokio::test]
async fn a_config_that_cannot_be_read_whole_stops_everything() {
    let db = harness::sqlite("half a config").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let whole = "[thresholds]\nconfirm_count = 3\n[redact]\nnames = [\"iban\"]\n".as_bytes();
    let cut = &whole[..whole.len() - 3];
    for (told, bytes) in [("cut off", cut), ("no text", b"\xff\xfe[ui]\n"), ("zeros", &[0; 64])] {
        let user = User::of(&db).configured("");
        std::fs::write(user.home().join("config/dlq-tui/config.toml"), bytes).expect("a file");
        for args in [&["list"][..], &["replay", "--all", "--yes"], &["runs"], &[]] {
            let ended = user.run(args);
            assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{told} {args:?}: {}", ended.err);
            assert!(ended.err.contains("config.toml"), "{told} {args:?}: {}", ended.err);
        }
    }
    assert_eq!(db.count("jobs_dlq").await, 5);
}

#[tokio::test]
async fn what_a_broken_adapter_file_may_be_meant_for_is_looked_at_and_not_touched() {
    let db = harness::sqlite("half an adapter").await;
    Layout::JobsDlq.seed(&db, 5).await;
    let folder = |user: &User| {
        let folder = user.home().join("config/dlq-tui/adapters");
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    };
    let of_table = "name = \"ours\"\n[layout]\ntable = \"jobs_dlq\"\nkey = [".as_bytes();
    for (told, bytes) in [("its table", of_table), ("its adapter", b"name = \"jobs_dlq\"\n["), ("no text", b"\xff\xfe")]
    {
        let user = User::of(&db);
        std::fs::write(folder(&user).join("own.toml"), bytes).expect("a file");
        let looked = user.run(&["list", "-o", "jsonl"]);
        assert!(looked.with(0).contains("own.toml") && looked.out.lines().count() == 5, "{told}: {}", looked.out);
        for verb in ["replay", "discard", "archive"] {
            let ended = user.run(&[verb, "--all", "--yes"]);
            assert!(ended.with(4).contains("fix it or move it away"), "{told}: {}", ended.err);
        }
        assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (0, 5), "{told}");
    }
    // One that speaks of something else is told of, and no hindrance.
    let user = User::of(&db);
    std::fs::write(folder(&user).join("own.toml"), "name = \"other\"\n[").expect("a file");
    assert!(user.run(&["replay", "--all", "--yes"]).with(0).contains("own.toml"));
    assert_eq!(db.count("jobs").await, 5);
}

#[test]
fn keys_of_the_console_are_checked_with_their_line_and_printed_with_their_origin() {
    for (keys, says) in [
        (
            "\n\n[keys]\nsort = \"o\"\nreplya = \"X\"\n",
            "config.toml, line 5: keys.replya: there is no command `replya` to bind; did you mean `replay`?",
        ),
        ("[keys]\nreplay = \"x\"\n", "line 2: keys.replay: `x`: a write is never a bare lowercase letter"),
        (
            "[keys]\nsort = [\"o\",\n\"w\"]\nrefresh = \"o\"\n",
            "line 2: keys.sort: `o` would be sort and refresh (job list)",
        ),
    ] {
        let ended = User::new().configured(keys).run(&["config"]);
        assert!(ended.with(2).contains(says), "{}", ended.err);
    }
    let user = User::new().configured("[keys]\nsort = \"o\"\n");
    let printed = user.run(&["config"]);
    printed.with(0);
    assert!(
        printed.out.lines().any(|l| l.starts_with("keys.sort = \"o\"  # ") && l.ends_with("config.toml")),
        "{}",
        printed.out
    );
    assert!(printed.out.contains("keys.down = [\"j\", \"Down\"]  # default"), "{}", printed.out);
    let again = User::new().configured(&printed.out).run(&["config"]);
    again.with(0);
    assert_eq!(again.out.lines().filter(|l| l.contains("default")).count(), 0, "{}", again.out);
}
