//! A shop whose jobs a real framework runs: its database, and the program that drives the framework.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;

use super::rows::Rows;
use crate::harness::{self, Engine, TestDb};

/// Generous, because it only bounds how long a worker that never comes to an end takes to be noticed.
const LONGEST: Duration = Duration::from_secs(180);

/// Where the programs stand.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks")
}

/// Where packages are installed: outside the tree, beside what cargo builds.
fn cache() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    target.join("frameworks")
}

/// `framework.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framework {
    /// With its version, for messages.
    pub title: String,
    /// `npm`, `pypi`, `ruby` or `php`.
    runtime: String,
    /// Where its program is, if not in `program.*` beside the file.
    program: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    pub engines: Vec<String>,
    /// The kinds of jobs that its program knows.
    kinds: Vec<String>,
    dead: DeadRows,
    /// The tables that a retry touches, each with its key.
    tables: BTreeMap<String, String>,
    pub keeps: Keeps,
    /// Kinds of which a second job may not wait beside the first.
    #[serde(default)]
    pub clashes: Vec<String>,
    /// Kinds whose replay the adapter has to refuse.
    #[serde(default)]
    pub refused: BTreeSet<String>,
    /// In what a replay differs from the framework's own retry on purpose, as `table.column` or `table.column.key`, each with
    /// the reason.
    #[serde(default)]
    pub differs: BTreeMap<String, String>,
    /// Makes dead jobs old, so that the framework's maintenance would take those that it takes for forgotten; its program
    /// knows the verb `maintain` then.
    pub ages: Option<String>,
    #[serde(skip)]
    name: String,
}

/// Dead rows in plain SQL: what the retry of the framework takes, a text with the job's marker, and where they are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeadRows {
    key: String,
    text: String,
    from: String,
}

/// What the framework keeps of an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keeps {
    pub class: bool,
    pub message: bool,
    /// Kinds of which something else is kept than what the job threw.
    #[serde(default)]
    pub odd: BTreeSet<String>,
}

impl Framework {
    /// Reads the framework's file.
    pub fn read(name: &str) -> Self {
        let file = folder().join(name).join("framework.toml");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let read: Self = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        Self { name: name.to_owned(), ..read }
    }

    /// The framework, ready to run; nothing where these tests are switched off. What cannot be installed fails the test.
    pub fn installed(name: &str) -> Option<Self> {
        switched_on().then_some(())?;
        Some(Self::made_ready(name).unwrap_or_else(|reason| panic!("{reason}")))
    }

    /// The same whether or not these tests are switched on; a sentence where it cannot be installed.
    pub fn made_ready(name: &str) -> Result<Self, String> {
        let framework = Self::read(name);
        install(&framework.runtime)?;
        Ok(framework)
    }

    /// The name of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program's command line, without verb.
    fn command(&self) -> Command {
        let installed = cache().join(&self.runtime);
        let path = |suffix: &str| match &self.program {
            Some(program) => format!("{}/{program}", self.name),
            None => format!("{}/program.{suffix}", self.name),
        };
        match self.runtime.as_str() {
            "npm" => {
                let mut command = Command::new(installed.join("node"));
                command.args(["--preserve-symlinks", "--preserve-symlinks-main"]);
                command.arg(installed.join("programs").join(path("mjs")));
                command
            }
            "pypi" => {
                let mut command = Command::new(installed.join("venv/bin/python"));
                command.arg("-B").arg(folder().join(path("py"))).env("PYTHONPATH", folder().join("pypi"));
                command
            }
            "ruby" => {
                let mut command = Command::new("ruby");
                command.arg("-W0").arg(folder().join(path("rb")));
                command
            }
            "php" => {
                let mut command = Command::new("php");
                command.arg(folder().join(path("php")));
                command
            }
            other => panic!("{}: no such runtime: {other}", self.name),
        }
    }
}

/// Whether tests with real workers run at all.
pub fn switched_on() -> bool {
    let is_on = std::env::var_os("DLQ_TEST_FRAMEWORKS").is_some_and(|value| !value.is_empty());
    if !is_on {
        harness::skip("frameworks", "real workers run with scripts/test --frameworks only");
    }
    is_on
}

/// The folder of a runtime, with what it needs in it; a sentence where it cannot be installed.
#[cfg(feature = "redis")]
pub fn installed_in(runtime: &str) -> Result<PathBuf, String> {
    install(runtime).map(|()| cache().join(runtime))
}

/// Installs what a runtime needs, once for all tests; its one sentence is the failure's.
fn install(runtime: &str) -> Result<(), String> {
    static INSTALLED: OnceLock<Mutex<HashMap<String, Result<(), String>>>> = OnceLock::new();
    let mut installed = INSTALLED.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let result = installed.entry(runtime.to_owned()).or_insert_with(|| {
        let mut script = Command::new(folder().join("install"));
        let output = script.arg(cache()).arg(runtime).stdin(Stdio::null()).output().expect("a shell");
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
    });
    result.clone()
}

/// Whether jobs fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// Each job throws what its kind throws.
    Broken,
    /// Each job throws a `LookupError`, which is none of theirs.
    BrokenOtherwise,
    /// Each job succeeds.
    Mended,
}

/// A job that was put in.
#[derive(Clone, Debug)]
pub struct Job {
    pub kind: String,
    /// By what it is known everywhere: a word that is part of its arguments.
    pub marker: String,
}

/// What a worker said of one attempt.
#[derive(Clone, Debug, Deserialize)]
pub struct Ran {
    #[serde(rename = "ran")]
    pub marker: String,
    pub kind: String,
    pub ok: bool,
    /// The class of what it threw, where it has one.
    pub class: Option<String>,
    pub message: Option<String>,
}

/// A dead row.
#[derive(Clone, Debug)]
pub struct Dead {
    key: String,
    /// Not known where the arguments are encrypted.
    marker: Option<String>,
}

/// What has a marker.
pub trait Marked {
    fn markers(&self) -> BTreeSet<String>;
}

impl Marked for [Job] {
    fn markers(&self) -> BTreeSet<String> {
        self.iter().map(|job| job.marker.clone()).collect()
    }
}

impl Marked for [Ran] {
    fn markers(&self) -> BTreeSet<String> {
        self.iter().map(|ran| ran.marker.clone()).collect()
    }
}

impl Marked for [Dead] {
    fn markers(&self) -> BTreeSet<String> {
        self.iter().filter_map(|dead| dead.marker.clone()).collect()
    }
}

/// The first marker in a text.
pub fn marker_in(text: &str) -> Option<String> {
    static MARKER: OnceLock<Regex> = OnceLock::new();
    let marker = MARKER.get_or_init(|| Regex::new(r"mk-[a-z]+-[a-z]+-end").expect("a regex"));
    marker.find(text).map(|found| found.as_str().to_owned())
}

/// A database with a framework's tables, made by the framework itself.
pub struct Shop {
    pub framework: Framework,
    pub db: TestDb,
}

impl fmt::Display for Shop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.framework.title, self.db.engine.name())
    }
}

impl Shop {
    /// Makes a database, and lets the framework make its tables in it.
    pub async fn open(framework: Framework, engine: Engine, purpose: &str) -> Option<Self> {
        let name = format!("{} {purpose}", framework.name);
        let db = match engine {
            Engine::Postgres => harness::postgres()?.database(&name).await,
            Engine::Mysql => harness::mariadb()?.database(&name).await,
            Engine::Sqlite => harness::sqlite(&name).await,
        };
        Some(Self::on(framework, db).await)
    }

    /// Lets the framework make its tables in an empty database.
    pub async fn on(framework: Framework, db: TestDb) -> Self {
        let shop = Self { framework, db };
        shop.run("install", &[]).await;
        shop
    }

    /// The same shop once more: its database copied as it stands.
    pub async fn twin(&self) -> Self {
        Self { framework: Framework::read(&self.framework.name), db: self.db.twin().await }
    }

    /// A job of each kind, with markers that hold this word.
    pub fn one_of_each(&self, word: &str) -> Vec<Job> {
        let job = |kind: &String| Job { kind: kind.clone(), marker: format!("mk-{word}-{kind}-end") };
        self.framework.kinds.iter().map(job).collect()
    }

    /// Puts jobs in, in this order.
    pub async fn enqueue(&self, jobs: &[Job]) {
        let words: Vec<String> = jobs.iter().map(|job| format!("{}/{}", job.kind, job.marker)).collect();
        let said = self.run("enqueue", &words).await;
        assert_eq!(said.len(), jobs.len(), "{self}: {said:?}");
    }

    /// Lets the framework's worker work until nothing is left that may run. Says each attempt.
    pub async fn work(&self, world: World) -> Vec<Ran> {
        let words: &[&str] = match world {
            World::Broken => &["failing"],
            World::BrokenOtherwise => &["failing", "otherwise"],
            World::Mended => &[],
        };
        let said = self.run("work", &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).await;
        let ran = |line: &String| serde_json::from_str(line).unwrap_or_else(|e| panic!("{self}: {e}: {line}"));
        said.iter().map(ran).collect()
    }

    /// The framework's own retry.
    pub async fn retry(&self, dead: &[Dead]) {
        let keys: Vec<String> = dead.iter().map(|one| one.key.clone()).collect();
        let said = self.run("retry", &keys).await;
        assert_eq!(said.len(), dead.len(), "{self}: {said:?}");
    }

    /// The framework's own way to put back all that is dead, as quickly as it can; how many that were, and in what time.
    #[allow(dead_code, reason = "the bench measures against it")]
    pub async fn retry_all(&self) -> (u64, Duration) {
        #[derive(Deserialize)]
        struct Retried {
            retried: u64,
            ms: f64,
        }
        let said = self.run("retry-all", &[]).await;
        let line = said.last().map_or("", String::as_str);
        let told: Retried = serde_json::from_str(line).unwrap_or_else(|e| panic!("{self}: {e}: {line}"));
        (told.retried, Duration::from_secs_f64(told.ms / 1_000.0))
    }

    /// Makes `times` rows of each that is dead, as they stand but for their key.
    #[allow(dead_code, reason = "the bench wants thousands")]
    pub async fn multiply(&self, times: u32) {
        let DeadRows { key, from, .. } = &self.framework.dead;
        let table = from.split(' ').next().unwrap_or_default();
        let (schema, name) = table.split_once('.').unwrap_or(("public", table));
        let columns = format!(
            "select quote_ident(column_name) from information_schema.columns where table_schema = '{schema}' \
             and table_name = '{name}' and column_name <> '{key}' and is_generated = 'NEVER' order by ordinal_position"
        );
        let columns = self.db.column(&columns).await.join(", ");
        let copies = format!("insert into {table} ({columns}) select {columns} from (select * from {from}) as dead");
        self.db.execute(&format!("{copies} cross join generate_series(2, {times})")).await;
        self.db.execute("vacuum (analyze)").await;
    }

    /// The framework's own maintenance, over jobs that were put back.
    pub async fn maintain(&self) {
        self.run("maintain", &[]).await;
    }

    /// The rows that are dead by the framework's own rules.
    pub async fn dead(&self) -> Vec<Dead> {
        let DeadRows { key, text, from } = &self.framework.dead;
        let keys = self.db.column(&format!("select {key} from {from} order by {key}")).await;
        let texts = self.db.column(&format!("select {text} from {from} order by {key}")).await;
        keys.into_iter().zip(texts).map(|(key, text)| Dead { key, marker: marker_in(&text) }).collect()
    }

    /// All rows of the tables that a retry touches.
    pub async fn rows(&self) -> Rows {
        Rows::read(&self.db, &self.framework.tables).await
    }

    /// Runs the program; each line that it prints is an answer.
    async fn run(&self, verb: &str, words: &[String]) -> Vec<String> {
        let home = tempfile::tempdir().expect("a folder");
        let mut command = self.framework.command();
        command.arg(verb).args(words);
        let own: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home.path());
        command.env("TMPDIR", home.path()).env("LC_ALL", "C.UTF-8").env("DATABASE_URL", &self.db.url);
        // Workers live where nobody expects them to: what is not kept in UTC shows.
        command.env("TZ", "Asia/Kathmandu").envs(&self.framework.env);
        command.envs(own.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))));
        let mut command = tokio::process::Command::from(command);
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
        let output = tokio::time::timeout(LONGEST, output).await;
        let output = output.unwrap_or_else(|_| panic!("{self}: {verb} does not end")).expect("the program starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{self}: {verb} {words:?} failed: {out}\n{err}");
        out.lines().map(str::to_owned).collect()
    }
}
