//! The sections beside connection and indexes, in their good and their bad state, and that each comes whatever became of
//! the others.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use dlq_tui::db::Statement;
use dlq_tui::store::{Diagnose, Oldest};
use serde_json::Value;

use super::{about, findings};
use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb, every_engine};
use crate::pty::Pty;
use crate::retention::aged;
use crate::store_desk::{budget, engine, store};

/// All findings, also where some fail.
fn all(user: &User, args: &[&str]) -> (i32, Vec<Value>) {
    let ended = user.run(&[&["doctor", "-o", "json"], args].concat());
    let told: Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}{}", ended.out, ended.err));
    (ended.code, told["findings"].as_array().expect("findings").clone())
}

fn level<'a>(found: &'a [Value], section: &str, what: &str) -> &'a str {
    let of = |f: &&Value| f["section"] == section && f["about"] == what;
    let found = found.iter().find(of).unwrap_or_else(|| panic!("nothing about {what} in {section}: {found:#?}"));
    found["level"].as_str().expect("a level")
}

#[tokio::test]
async fn whatever_is_broken_is_a_finding_and_the_other_sections_come() {
    let db = harness::sqlite("doctor broken").await;
    Layout::JobsDlq.seed(&db, 20).await;
    let everywhere = |found: &[Value]| {
        for (section, what) in [("ledger", "file"), ("terminal", "terminal"), ("config", "program")] {
            assert!(!level(found, section, what).is_empty());
        }
    };

    let broken = User::of(&db).configured("[sources.a]\nurl = \"sqlite:x\"\nprodution = true\n");
    let (code, found) = all(&broken, &[]);
    assert_eq!((code, level(&found, "config", "files")), (1, "fail"));
    assert!(about(&found, "files")["fact"].as_str().is_some_and(|f| f.contains("line 3: unknown key `prodution`")));
    assert_eq!(level(&found, "connection", "server"), "ok", "the environment names a database all the same");
    everywhere(&found);

    let (code, found) = all(&User::new(), &[]);
    assert_eq!((code, level(&found, "connection", "database")), (1, "fail"));
    assert!(about(&found, "database")["advice"].as_str().is_some_and(|a| a.contains("DATABASE_URL")));
    everywhere(&found);

    let away = User::new().configured("[sources.gone]\nurl = \"postgres://127.0.0.1:1/gone\"\n");
    let (code, found) = all(&away, &[]);
    assert_eq!((code, level(&found, "connection", "reach")), (1, "fail"));
    everywhere(&found);

    let damaged = User::of(&db);
    let folder = damaged.home().join("state/dlq-tui");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("ledger.sqlite3"), "no database at all, and far from one ".repeat(200)).expect("a file");
    let (code, found) = all(&damaged, &[]);
    assert_eq!((code, level(&found, "ledger", "health")), (1, "fail"));
    assert_eq!(level(&found, "ledger", "modes"), "warn", "others can read what somebody laid there");
    everywhere(&found);

    let blocked = User::of(&db);
    std::fs::write(blocked.home().join("state"), "a file where the folder should be").expect("a file");
    let (code, found) = all(&blocked, &[]);
    assert_eq!((code, level(&found, "ledger", "file")), (1, "fail"));

    let (code, found) = all(&User::of(&db).with_adapter(&folder.join("ledger.sqlite3")), &[]);
    assert_eq!(code, 1);
    assert!(found.iter().any(|f| f["about"] == "adapters" && f["level"] == "fail"), "{found:#?}");
}

/// Every file below a folder with what stands in it, but for what SQLite keeps in memory that processes share.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.insert(path.display().to_string(), Vec::new());
            all.append(&mut files(&path));
        } else if !path.to_string_lossy().ends_with("-shm") {
            all.insert(path.display().to_string(), std::fs::read(&path).expect("a file"));
        }
    }
    all
}

#[tokio::test]
async fn a_run_that_was_left_is_told_with_what_goes_on_with_it_and_nothing_is_touched() {
    let db = harness::sqlite("doctor left").await;
    Layout::JobsDlq.seed(&db, 400).await;
    let user =
        User::new().configured(&format!("[sources.shop]\nurl = \"{}\"\nreplay = {{ table = \"jobs\" }}\n", db.url));
    let nothing = files(user.home());
    all(&user, &[]);
    assert_eq!(files(user.home()), nothing, "the doctor makes nothing");

    let mut child = user.replaying(&db, &["--rate", "20/s"]).await;
    let (_, found) = all(&user, &[]);
    let going = about(&found, "runs");
    assert!(going["level"] == "ok" && going["fact"].as_str().is_some_and(|f| f.contains("being executed")), "{going}");
    child.kill().expect("killed");
    child.wait().expect("an end");
    let before = files(user.home());
    let (code, found) = all(&user, &[]);
    let left = about(&found, "runs");
    assert_eq!((code, left["level"].as_str()), (0, Some("warn")), "{left}");
    let advice = left["advice"].as_str().expect("advice");
    assert!(left["fact"].as_str().is_some_and(|f| f.contains("on shop: ") && f.contains("of 400 jobs left")), "{left}");
    assert_eq!(files(user.home()), before, "and mends nothing");

    let run = advice.split(['`', ' ']).find(|word| word.starts_with("r-")).expect("an id");
    user.run(&["resume", run, "--yes", "--rate", "10000/s"]).with(0);
    let (_, found) = all(&user, &[]);
    assert_eq!((level(&found, "ledger", "runs"), level(&found, "ledger", "health")), ("ok", "ok"));
}

#[tokio::test]
async fn a_ledger_in_the_source_is_told() {
    for db in every_engine("doctor shared").await {
        Layout::JobsDlq.seed(&db, 20).await;
        let user = User::of(&db);
        assert!(about(&findings(&user), "in the source")["fact"].as_str().is_some_and(|f| f.starts_with("none")));
        user.run(&["init", "--ledger", "--yes"]).with(0);
        let found = findings(&user);
        let told = about(&found, "in the source");
        assert!(told["level"] == "ok" && told["fact"].as_str().is_some_and(|f| f.contains("share")), "{told}");
        assert_eq!(level(&found, "ledger", "shared runs"), "ok");
    }
}

#[tokio::test]
async fn bloat_is_told_on_every_database_and_so_is_what_holds_cleaning_up_back() {
    for db in every_engine("doctor bloat").await {
        Layout::DeadLetterJobs.seed(&db, 15_000).await;
        assert_eq!(about(&findings(&User::of(&db)), "bloat")["level"], "ok", "{:?}", db.engine);
        match db.engine {
            Engine::Postgres => {
                db.execute("alter table dead_letter_jobs set (autovacuum_enabled = false)").await;
                db.execute("update dead_letter_jobs set metadata = metadata").await;
                let user = User::of(&db);
                // Reads tidy up some of the 15,000 on the way.
                harness::eventually("the server has counted", || {
                    about(&findings(&user), "bloat")["fact"].as_str().is_some_and(|f| f.starts_with("~1"))
                });
                let found = findings(&user);
                let told = about(&found, "bloat");
                assert_eq!(told["level"], "warn", "{told}");
                assert!(told["ddl"].as_str().is_some_and(|ddl| ddl.contains("RESET (autovacuum_enabled)")), "{told}");
                db.execute("vacuum dead_letter_jobs").await;
                db.execute(told["ddl"].as_str().expect("a statement")).await;
                harness::eventually("it is well", || about(&findings(&user), "bloat")["level"] == "ok");
            }
            Engine::Sqlite => {
                db.execute("create table big (x)").await;
                db.execute("insert into big values (zeroblob(40000000))").await;
                db.execute("drop table big").await;
                let found = findings(&User::of(&db));
                let told = about(&found, "bloat");
                assert_eq!((told["level"].as_str(), told["ddl"].as_str()), (Some("warn"), Some("VACUUM;")), "{told}");
                db.execute("vacuum").await;
                assert_eq!(about(&findings(&User::of(&db)), "bloat")["level"], "ok");
            }
            // Free room of a table comes in pieces that take longer to fill than a test may last.
            Engine::Mysql => {}
        }
        holder(&db).await;
    }
}

/// A transaction of somebody else's is seen while it is open.
async fn holder(db: &TestDb) {
    let store = store(db, Layout::DeadLetterJobs).await;
    if db.engine == Engine::Sqlite {
        assert_eq!(store.bloat(&budget()).await.expect("bloat").oldest, Oldest::None);
        return;
    }
    let other = engine(db).await;
    let mut tx = other.begin(&budget()).await.expect("a transaction");
    let write = Statement { sql: "update dead_letter_jobs set metadata = metadata".to_owned(), binds: Vec::new() };
    tx.execute(write).await.expect("written");
    // MariaDB tells what it saw up to 0.1 s ago, and longer while others ask.
    let deadline = Instant::now() + Duration::from_secs(20);
    let (prepared, known_as, age, show) = loop {
        match store.bloat(&budget()).await.expect("bloat").oldest {
            Oldest::Transaction { prepared, known_as, age, show } => break (prepared, known_as, age, show),
            other => assert!(Instant::now() < deadline, "{:?}: nothing is seen: {other:?}", db.engine),
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
    };
    assert!(!prepared && known_as.parse::<u64>().is_ok() && show.contains(&known_as), "{known_as}: {show}");
    assert!(age.as_secs() < 600, "{:?}: clocks are taken for one another: {age:?}", db.engine);
    tx.rollback().await;
    // MariaDB shows those of all databases, among them other tests'.
    if db.engine == Engine::Postgres {
        assert_eq!(store.bloat(&budget()).await.expect("bloat").oldest, Oldest::None);
    }
}

#[tokio::test]
async fn the_rule_of_a_layout_and_its_oldest_dead_job_are_told_before_that_one_vanishes() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own.toml");
    let text = include_str!("../../../assets/adapters/dead_letter_jobs.toml");
    let rule = text.lines().find(|line| line.starts_with("retention = ")).expect("a rule");
    let theirs = "retention = { note = \"The cleaner takes them.\", after = \"7d\" }";
    std::fs::write(&own, text.replace(rule, theirs)).expect("a file");
    for db in every_engine("doctor retention").await {
        Layout::DeadLetterJobs.seed(&db, 50).await;
        let (plain, user) = (User::of(&db), User::of(&db).with_adapter(&own));
        aged(&db, Layout::DeadLetterJobs, 6).await;
        let found = findings(&user);
        assert_eq!(about(&found, "retention")["fact"], "The cleaner takes them.");
        let oldest = about(&found, "oldest dead job");
        assert_eq!(oldest["level"], "warn", "{:?}: {oldest}", db.engine);
        assert!(oldest["fact"].as_str().is_some_and(|f| f.contains("about to be deleted, in 2")), "{oldest}");
        assert_eq!(about(&findings(&plain), "oldest dead job")["level"], "ok", "nothing deletes these");

        aged(&db, Layout::DeadLetterJobs, 30).await;
        let found = findings(&user);
        let oldest = about(&found, "oldest dead job");
        let advice = oldest["advice"].as_str().unwrap_or_default();
        assert!(oldest["level"] == "ok" && advice.starts_with("older than the usual 7d"), "{oldest}");
        db.execute("delete from dead_letter_jobs").await;
        assert_eq!(about(&findings(&user), "oldest dead job")["fact"], "there is none");
    }
}

#[test]
fn a_config_with_a_password_that_others_can_read_is_told_with_what_to_do() {
    let user = User::new().configured("[sources.far]\nurl = \"postgres://ann:s3cret@127.0.0.1:1/app\"\n");
    let file = user.home().join("config/dlq-tui/config.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("opened");
    let loose = |found: &[Value]| {
        found.iter().any(|f| f["level"] == "warn" && f["fact"].as_str().is_some_and(|f| f.contains("holds a password")))
    };
    let (_, found) = all(&user, &[]);
    assert!(loose(&found), "{found:#?}");
    assert!(!format!("{found:?}").contains("s3cret"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("closed");
    assert!(!loose(&all(&user, &[]).1));
}

#[tokio::test]
async fn a_terminal_is_asked_what_it_can_do_and_left_as_it_was() {
    let db = harness::sqlite("doctor terminal").await;
    Layout::JobsDlq.seed(&db, 20).await;
    let mut asked = Pty::console(&["doctor"]).env("DATABASE_URL", &db.url).size(80, 120).start();
    harness::eventually("it is asked", || asked.raw().windows(9).any(|bytes| bytes == b"\x1b[?2026$p"));
    asked.send("\x1b[?2026;2$y\x1b[?62;22c");
    assert!(asked.wait_for_exit().success(), "{}", asked.text());
    let text = asked.text();
    assert!(text.contains("yes: a frame is shown at once") && text.contains("80x120"), "{text}");
    assert!(asked.raw().windows(10).any(|bytes| bytes == b"\x1b[32mok  \x1b"), "levels have colours");
    asked.assert_terminal_left_clean();

    let mut silent = Pty::console(&["doctor"]).env("DATABASE_URL", &db.url).env("NO_COLOR", "1").size(60, 160).start();
    assert!(silent.wait_for_exit().success(), "{}", silent.text());
    assert!(silent.text().contains("no answer: assumed no"), "{}", silent.text());
    assert!(!silent.raw().windows(4).any(|bytes| bytes == b"\x1b[32"), "{}", silent.text());
    silent.assert_terminal_left_clean();
}
