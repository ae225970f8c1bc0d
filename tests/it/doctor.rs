//! `doctor`: what it says is so, and what it advises helps.

mod bundle;
mod followers;
mod sections;

use std::sync::{Arc, Mutex};

use dlq_tui::adapter::built_in;
use dlq_tui::db::target::Target;
use dlq_tui::db::{Engine as Connection, EngineOptions, Listener, Statement, Value as Cell};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::store::sql::{OpenOptions, detect, open};
use serde_json::Value;

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb, every_engine};
use crate::store_desk::{budget, histogram};

/// More than are read from end to end without a thought (50,000), by far: MariaDB guesses rows from a sample of pages, and
/// of 60,000 it took one time in 400 for fewer than that many.
const ROWS: u32 = 90_000;

fn findings(user: &User) -> Vec<Value> {
    user.json(&["doctor", "-o", "json"])["findings"].as_array().expect("findings").clone()
}

fn about<'a>(findings: &'a [Value], what: &str) -> &'a Value {
    let named = |f: &&Value| f["about"].as_str().is_some_and(|about| about.contains(what));
    findings.iter().find(named).unwrap_or_else(|| panic!("nothing about {what}: {findings:#?}"))
}

async fn settle(db: &TestDb) {
    match db.engine {
        Engine::Postgres => db.execute("vacuum analyze dead_letter_jobs").await,
        Engine::Mysql => drop(db.column("analyze table dead_letter_jobs").await),
        Engine::Sqlite => db.execute("analyze").await,
    }
}

/// Bytes of all indexes of the table; on SQLite of the whole file.
async fn extent(db: &TestDb) -> f64 {
    let sql = match db.engine {
        Engine::Postgres => "select pg_indexes_size('dead_letter_jobs')::text".to_owned(),
        Engine::Mysql => format!(
            "select cast(sum(stat_value) * @@innodb_page_size as char) from mysql.innodb_index_stats where stat_name = 'size' \
             and database_name = '{}' and table_name = 'dead_letter_jobs' and index_name <> 'PRIMARY'",
            db.name()
        ),
        Engine::Sqlite => {
            "select cast(page_count * page_size as text) from pragma_page_count(), pragma_page_size()".to_owned()
        }
    };
    db.scalar(&sql).await.parse().expect("a number")
}

/// How the database gets at the counts by error class: the words of its plan.
async fn plan(db: &TestDb) -> String {
    let heard: Arc<Mutex<Vec<Statement>>> = Arc::default();
    let hears = Arc::clone(&heard);
    let listener = Listener::new(move |statement| hears.lock().expect("a lock").push(statement.clone()));
    let target = Target::from_url(&db.url).expect("a target");
    let options = EngineOptions { listener: Some(listener), ..EngineOptions::default() };
    let engine = Arc::new(Connection::connect(&target, &options).await.expect("an engine"));
    let adapters = built_in();
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    let found = detection.found.iter().find(|f| f.adapter == "dead_letter_jobs").expect("the layout");
    let adapter = adapters.iter().find(|a| a.name == "dead_letter_jobs").expect("the adapter");
    let store = open(Arc::clone(&engine), adapter, found, &OpenOptions::default(), &budget()).await.expect("a store");
    heard.lock().expect("a lock").clear();
    histogram(&store, Facet::Error, &Filter::all()).await;
    let statements = std::mem::take(&mut *heard.lock().expect("a lock"));
    let explain = match db.engine {
        Engine::Postgres => "EXPLAIN",
        Engine::Mysql => "EXPLAIN FORMAT=JSON",
        Engine::Sqlite => "EXPLAIN QUERY PLAN",
    };
    let mut plans = String::new();
    // The last counts everything; those before it, the recent past.
    for statement in statements.iter().rev().filter(|s| s.sql.contains("GROUP BY")).take(1) {
        let explained = Statement { sql: format!("{explain} {}", statement.sql), binds: statement.binds.clone() };
        for row in engine.read(&[explained], &budget()).await.expect("a plan").remove(0) {
            let words =
                row.0.iter().filter_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None });
            plans.push_str(&words.collect::<Vec<_>>().join(" "));
            plans.push('\n');
        }
    }
    plans
}

#[tokio::test]
async fn the_index_that_it_advises_is_as_big_as_it_says_and_serves_what_it_says() {
    for db in every_engine("doctor").await {
        Layout::DeadLetterJobs.seed(&db, ROWS).await;
        settle(&db).await;
        let user = User::of(&db);
        let before = findings(&user);
        assert!(before.iter().all(|f| f["level"] != "fail"), "{before:#?}");
        assert_eq!(about(&before, "the list by time")["level"], "ok", "{:?}", db.engine);
        let advised = about(&before, "replays by error");
        let (level, ddl) = (&advised["level"], advised["ddl"].as_str().unwrap_or_default());
        assert!(level == "warn" && ddl.starts_with("CREATE INDEX"), "{:?}: {advised}", db.engine);
        assert_eq!(ddl.contains("CONCURRENTLY"), db.engine == Engine::Postgres);
        let empty = extent(&db).await;
        db.execute(ddl).await;
        settle(&db).await;
        let built = extent(&db).await - empty;
        let told = advised["bytes"].as_f64().expect("bytes");
        assert!((1.0 / 1.5..1.5).contains(&(told / built)), "{:?}: {told} told, {built} built", db.engine);
        let after = findings(&user);
        let served = about(&after, "replays by error");
        assert_eq!((&served["level"], &served["ddl"]), (&Value::from("ok"), &Value::Null), "{served}");
        let plan = plan(&db).await;
        assert!(plan.contains("error_class"), "{:?}: {plan}", db.engine);
    }
}

#[tokio::test]
async fn it_writes_nothing_and_says_the_same_where_it_could_not() {
    let ago = regex::Regex::new(r"\d+s ago").expect("an expression");
    for db in every_engine("doctor reads").await {
        Layout::DeadLetterJobs.seed(&db, 100).await;
        settle(&db).await;
        let user = User::of(&db);
        let rest = |out: &str| {
            let differs = |line: &&str| ["latency", "writes", "clock"].iter().any(|about| line.contains(about));
            let lines = out.lines().filter(|line| !differs(line)).collect::<Vec<_>>().join("\n");
            // The second one is a moment later.
            ago.replace_all(&lines, "just now").into_owned()
        };
        let free = user.run(&["doctor", "-o", "jsonl"]);
        let bound = user.run(&["--read-only", "doctor", "-o", "jsonl"]);
        assert_eq!((free.code, bound.code), (0, 0), "{}{}", free.err, bound.err);
        assert_eq!(rest(&free.out), rest(&bound.out), "{:?}", db.engine);
        assert!(!free.out.contains("CREATE INDEX"), "a hundred rows need no index: {}", free.out);
    }
}

#[tokio::test]
async fn a_source_that_cannot_be_reached_or_holds_nothing_of_ours_fails_with_the_reason() {
    let empty = harness::sqlite("doctor empty").await;
    let user = User::of(&empty);
    let ended = user.run(&["doctor"]);
    assert!(ended.code == 1 && ended.out.contains("fail  adapters"), "{}", ended.out);
    let nowhere = User::new().configured("[sources.gone]\nurl = \"postgres://127.0.0.1:1/gone\"\n");
    let ended = nowhere.run(&["doctor"]);
    assert!(ended.code == 1 && ended.out.contains("fail  reach") && ended.out.contains("refused"), "{}", ended.out);
}

#[tokio::test]
async fn a_server_that_may_forget_what_it_committed_is_told_of_and_so_is_its_clock() {
    for db in every_engine("doctor forgets").await {
        Layout::DeadLetterJobs.seed(&db, 20).await;
        let told = findings(&User::of(&db));
        let fact = |about: &str| told.iter().find(|f| f["about"] == about).and_then(|f| f["fact"].as_str());
        // Servers of tests keep nothing on disk.
        let setting = match db.engine {
            Engine::Postgres => Some("(fsync = off)"),
            Engine::Mysql => Some("(innodb_flush_log_at_trx_commit = 0)"),
            Engine::Sqlite => None,
        };
        assert_eq!(fact("durability").map(|fact| fact.ends_with(setting.unwrap_or("?"))), setting.map(|_| true));
        assert_eq!(fact("clock").is_some(), db.engine != Engine::Sqlite);
        assert!(fact("clock").is_none_or(|fact| fact.contains("this machine's")));
    }
}

#[tokio::test]
async fn a_pooler_in_between_and_missing_statistics_are_told() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("doctor pooler").await;
    Layout::DeadLetterJobs.seed(&db, 100).await;
    // Else the server's own cleaner, which comes once a minute, may gather the statistics first.
    db.execute("alter table dead_letter_jobs set (autovacuum_enabled = false)").await;
    let Some(pooler) = harness::pgbouncer(&db, 2) else { return };
    let through = User::new().configured(&format!("[sources.pooled]\nurl = \"{}\"\n", pooler.url));
    let told = findings(&through);
    assert!(about(&told, "pooler")["fact"].as_str().is_some_and(|fact| fact.contains("itself listens on port")));
    assert!(!findings(&User::of(&db)).iter().any(|f| f["about"] == "pooler"));
    let rows = about(&told, "rows");
    assert_eq!(
        (rows["level"].as_str(), rows["ddl"].as_str()),
        (Some("warn"), Some(r#"ANALYZE "public"."dead_letter_jobs";"#))
    );
}
