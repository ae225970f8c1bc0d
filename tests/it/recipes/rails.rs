//! The concern, in a real application on a real queue.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{copy, dead, is_on, printed};
use crate::cli::User;
use crate::harness::{Engine, TestDb, every_engine};

/// An application with the recipe in it, and the operator who works from its folder.
struct Shop {
    folder: tempfile::TempDir,
    url: String,
    user: User,
}

impl Shop {
    fn of(db: &TestDb) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        copy_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recipes/shop"), folder.path());
        let at = |place: &str| folder.path().join(place);
        copy(&["dead_letter_jobs/dead_letters.rb"], &at("app/jobs/concerns"));
        copy(&["dead_letter_jobs/dead_letter_job.rb"], &at("app/models"));
        copy(&["dead_letter_jobs/replay.rb"], &at("script"));
        let url = match db.engine {
            Engine::Postgres => db.url.clone(),
            Engine::Mysql => db.url.replacen("mysql:", "mysql2:", 1),
            Engine::Sqlite => db.url.replacen("sqlite://", "sqlite3:", 1),
        };
        let config = std::fs::read_to_string(super::recipe("dead_letter_jobs/config.toml")).expect("a file");
        Self { folder, user: User::of(db).configured(&config), url }
    }

    /// Runs a program in the application; what it printed.
    fn runs(&self, program: &str) -> String {
        let mut command = Command::new("bin/rails");
        command.args(["runner", program]).current_dir(self.folder.path()).env("DATABASE_URL", &self.url);
        printed(command.env("RAILS_ENV", "production"))
    }

    /// Runs the console's binary in the application's folder.
    fn dlq(&self, args: &[&str]) -> Value {
        let mut command = self.user.command(args);
        command.env("DATABASE_URL", &self.url).env("RAILS_ENV", "production").current_dir(self.folder.path());
        let out = printed(&mut command);
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
    }

    /// What is shown of a job.
    fn shown(&self, job: &Value) -> Value {
        let show = ["show", job["id"].as_str().expect("an id"), "-o", "json"];
        self.user.json(&[&show, STORE].concat())
    }

    fn replayed(&self) {
        self.dlq(&["--source", "shop", "replay", "--all", "--yes", "-o", "json"]);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The queue of the application keeps its jobs in the same database, and the console knows its table too.
const STORE: &[&str] = &["--store", "dead_letter_jobs"];

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_all(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("a copy");
        }
    }
}

#[tokio::test]
async fn jobs_of_an_application_are_kept_replayed_kept_again_in_the_same_row_and_at_last_done() {
    if !is_on() {
        return;
    }
    for db in every_engine("concern").await {
        let shop = Shop::of(&db);
        shop.user.run(&["init", "--yes"]).with(0);
        shop.runs("setup.rb");
        // Two attempts that are retried and one that is discarded are no failures to the queue; two errors reach it.
        assert_eq!(shop.runs("work.rb"), "3 2", "{:?}", db.engine);
        assert_eq!(db.count("delayed_jobs").await, 0, "the queue has dropped them");

        let jobs = dead(&shop.user, STORE);
        let told = |field: &str| jobs.iter().map(|job| job[field].clone()).collect::<Vec<_>>();
        assert_eq!(told("class"), ["ChargeJob", "GreetJob", "ImportJob"]);
        assert_eq!(told("error"), ["ChargeJob::Declined", "KeyError", "ArgumentError"]);
        assert_eq!(told("queue"), ["payments", "default", "default"]);
        assert_eq!(told("attempts"), [json!(3), json!(1), json!(1)]);
        let charge = shop.shown(&jobs[0]);
        assert_eq!(charge["message"], "account 12345678901234567890 has no money");
        assert_eq!(shop.shown(&jobs[2])["message"], "bad row  caf\u{fffd}");
        let backtrace = charge["backtrace"].to_string();
        assert!(backtrace.contains("app/jobs/charge_job.rb"), "{backtrace}");
        assert_as_the_framework_writes_it(&db).await;

        let before = db.column("select id from dead_letter_jobs order by id").await;
        shop.replayed();
        assert_eq!(db.column("select distinct status from dead_letter_jobs").await, ["resolved"]);
        assert_eq!(shop.runs("work.rb"), "3 2");
        assert_eq!(db.column("select id from dead_letter_jobs order by id").await, before, "the same rows");
        assert_eq!(db.column("select distinct status from dead_letter_jobs").await, ["failed"]);
        let again = shop.dlq(&["--source", "shop", "list", "-f", "replayed:1", "-o", "json"]);
        assert_eq!(again["jobs"].as_array().map(Vec::len), Some(3), "{again}");

        std::fs::write(shop.file("mended"), "").expect("a file");
        shop.replayed();
        assert_eq!(shop.runs("work.rb"), "3 0");
        assert_eq!(dead(&shop.user, STORE), [Value::Null; 0]);
        assert_eq!(db.column("select distinct status from dead_letter_jobs").await, ["resolved"]);
        let done = std::fs::read_to_string(shop.file("done")).expect("what was done");
        let mut done: Vec<&str> = done.lines().collect();
        done.sort_unstable();
        assert_eq!(
            done,
            [
                "ChargeJob [12345678901234567890, [[\"day\", Tue, 03 Feb 2026], [:kind, :visa]], 2026-01-02 00:00:00 UTC]",
                "GreetJob [\"nobody\"]",
                "ImportJob [{\"name\"=>\"Ada\"}]",
            ]
        );
        kept_when_the_worker_rolls_back(&shop, &db).await;
    }
}

#[tokio::test]
async fn a_job_that_dies_again_before_its_replay_is_acknowledged_stays_dead() {
    if !is_on() {
        return;
    }
    for db in every_engine("eager").await {
        let shop = Shop::of(&db);
        let config = std::fs::read_to_string(super::recipe("dead_letter_jobs/config.toml")).expect("a file");
        let shop = Shop { user: User::of(&db).configured(&config.replace("script/replay.rb", "eager.rb")), ..shop };
        shop.user.run(&["init", "--yes"]).with(0);
        shop.runs("setup.rb");
        shop.runs("work.rb");
        let receipt = shop.dlq(&["--source", "shop", "replay", "--all", "--yes", "-o", "json"]);
        assert_eq!(receipt["done"], 3, "{receipt}");
        assert_eq!(db.count("delayed_jobs").await, 0);
        assert_eq!(db.column("select status from dead_letter_jobs").await, ["failed"; 3], "{:?}", db.engine);
    }
}

/// The column holds the serialised arguments themselves, and not a text with them in it.
async fn assert_as_the_framework_writes_it(db: &TestDb) {
    let text = if db.engine == Engine::Postgres { "arguments::text" } else { "arguments" };
    let arguments = db.scalar(&format!("select {text} from dead_letter_jobs where job_class = 'ChargeJob'")).await;
    let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
    assert!(arguments.is_array(), "{arguments}");
    assert_eq!(arguments[0].to_string(), "12345678901234567890");
    assert_eq!(arguments[1]["kind"]["_aj_serialized"], "ActiveJob::Serializers::SymbolSerializer");
    // What this attempt changed is not in it; what earlier ones changed, the framework itself has written.
    assert_eq!(arguments[1]["changed"], 2);
}

/// The row has a transaction of its own; SQLite has only one at a time.
async fn kept_when_the_worker_rolls_back(shop: &Shop, db: &TestDb) {
    if db.engine == Engine::Sqlite {
        return;
    }
    std::fs::remove_file(shop.file("mended")).expect("a file");
    assert_eq!(shop.runs("rolled_back.rb"), "[0]", "{:?}: the queue's own work is undone", db.engine);
    assert_eq!(dead(&shop.user, &[STORE, &["-f", "args:rolled"]].concat()).len(), 1, "{:?}", db.engine);
}
