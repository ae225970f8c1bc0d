//! Servers that go away, come back, or say nothing.

use dlq_tui::store::SourceError;

use super::*;

async fn private_servers() -> Vec<harness::Server> {
    [harness::private_postgres(), harness::private_mariadb()].into_iter().flatten().collect()
}

#[tokio::test]
async fn a_server_that_was_restarted_is_found_again_by_the_next_call() {
    for server in private_servers().await {
        let db = server.database("restart").await;
        let engine = connect(&db).await;
        server.kill();
        let error = engine.read(&[sql("select 1")], &Budget::new(LONG)).await.unwrap_err();
        assert!(matches!(error, SourceError::Unreachable(_)) && error.retryable(), "{:?}: {error:?}", db.engine);
        assert!(!error.to_string().contains(harness::PASSWORD));
        server.start();
        assert_eq!(row(&engine, "select 7", Vec::new()).await, Row(vec![Value::Int(7)]), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_restart_between_two_calls_goes_unnoticed() {
    for server in private_servers().await {
        let db = server.database("unnoticed").await;
        db.execute("create table t (a int)").await;
        let engine = connect(&db).await;
        row(&engine, "select 1", Vec::new()).await;
        server.stop();
        server.start();
        let mut tx = engine.begin(&Budget::new(LONG)).await.unwrap_or_else(|e| panic!("{:?}: {e}", db.engine));
        tx.execute(&sql("insert into t values (1)")).await.unwrap();
        server.kill();
        assert!(matches!(tx.commit().await, Err(SourceError::Unreachable(_))), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_holds_no_call_for_ever() {
    for server in private_servers().await {
        let db = server.database("frozen").await;
        // Enough for a server that answers, on a busy machine too.
        let wait = Duration::from_secs(2);
        let patience = EngineOptions { connect_timeout: wait, ..options() };
        let engine = connect_as(&db, &patience).await.unwrap();
        let budget = Budget::new(wait);
        let mut tx = engine.begin(&budget).await.unwrap();
        server.pause();
        // The limit is only there to end a broken test.
        let asked = tokio::time::timeout(LONG, async {
            // On a busy machine it may answer once more before it stands still.
            let in_tx = loop {
                if let Err(error) = tx.fetch(&sql("select 1")).await {
                    break error;
                }
            };
            let in_read = engine.read(&[sql("select 1")], &budget).await.unwrap_err();
            let connecting = connect_as(&db, &patience).await.err();
            (in_tx, in_read, connecting)
        });
        let (in_tx, in_read, connecting) = asked.await.expect("a call hangs");
        server.resume();
        assert!(matches!(in_tx, SourceError::Timeout(_)), "{:?}: {in_tx:?}", db.engine);
        assert!(matches!(in_read, SourceError::Unreachable(_)), "{:?}: {in_read:?}", db.engine);
        assert!(matches!(connecting, Some(SourceError::Unreachable(_))), "{:?}: {connecting:?}", db.engine);
        drop(tx);
        // What was left behind on the frozen connections is no concern of the next calls.
        let wide = Budget::new(LONG);
        let rows = tokio::time::timeout(LONG, engine.read(&[sql("select 7")], &wide)).await.expect("a call hangs");
        assert_eq!(rows.unwrap(), [[Row(vec![Value::Int(7)])]], "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_sentence() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    for scheme in ["postgres", "mysql"] {
        let target = Target::from_url(&format!("{scheme}://shop:hunter2@127.0.0.1:{port}/shop")).unwrap();
        let error = Engine::connect(&target, &options()).await.err().unwrap().to_string();
        let told =
            format!("cannot reach the database: 127.0.0.1:{port}: connection refused (is the server running there?)");
        assert_eq!(error, told, "{scheme}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "remember the milk, and the bread, and the butter".repeat(100)).unwrap();
    let error = Engine::connect(&Target::sqlite(&file, false), &options()).await.err().unwrap().to_string();
    assert!(error.contains("file is not a database"), "{error}");
}

#[tokio::test]
async fn many_calls_at_once_share_two_connections() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("shared").await;
    let engine = connect(&db).await;
    let budget = Budget::new(LONG);
    let statements = [sql("select pg_backend_pid()"), sql("select pg_sleep(0.01)::text")];
    let calls = (0..40).map(|_| engine.read(&statements, &budget));
    let mut processes: Vec<_> =
        futures_util::future::join_all(calls).await.into_iter().map(|rows| format!("{:?}", rows.unwrap()[0])).collect();
    processes.sort();
    processes.dedup();
    assert!((1..=2).contains(&processes.len()), "{processes:?}");
}

#[tokio::test]
async fn calls_share_the_one_connection_that_a_server_admits() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let db = server.database("one").await;
        let role = format!("{}_one", db.name());
        let (create, nap) = match db.engine {
            harness::Engine::Mysql => (
                format!(
                    "create user {role} identified by 'one' with max_user_connections 1; \
                     grant select on {}.* to {role}",
                    db.name()
                ),
                "select sleep(0.1)",
            ),
            _ => (
                format!("create role {role} login password 'one' connection limit 1"),
                "select coalesce(pg_sleep(0.1)::text, '')",
            ),
        };
        for statement in create.split("; ") {
            db.execute(statement).await;
        }
        let (scheme, rest) = db.url.split_once("://").expect("a URL");
        let (_, place) = rest.split_once('@').expect("a URL with a user");
        let target = Target::from_url(&format!("{scheme}://{role}:one@{place}")).expect("a target");
        let engine = Engine::connect(&target, &options()).await.unwrap_or_else(|error| panic!("{error}"));
        let (statements, budget) = ([sql(nap)], Budget::new(LONG));
        let calls = (0..5).map(|_| engine.read(&statements, &budget));
        for rows in futures_util::future::join_all(calls).await {
            rows.unwrap_or_else(|error| panic!("{scheme}: {error}"));
        }
    }
}

#[tokio::test]
async fn a_file_that_was_put_in_the_place_of_another_is_the_one_that_is_read_and_written() {
    let mut db = harness::sqlite("replaced").await;
    db.execute("create table t (a int)").await;
    let (file, plain) = (db.file().expect("a file"), db.url.clone());
    db.url = format!("{plain}?mode=rwc");
    let engine = connect(&db).await;
    db.url = plain;
    let count = async || row(&engine, "select count(*) from t", Vec::new()).await;
    let insert = async || {
        let mut tx = engine.begin(&Budget::new(LONG)).await.expect("a transaction");
        tx.execute(&sql("insert into t values (1)")).await.expect("a row");
        tx
    };
    insert().await.commit().await.expect("a commit");
    let late = insert().await;
    crate::faults::replace(&db).await;
    // It was written to a file that is nowhere any more.
    let error = late.commit().await.unwrap_err();
    assert!(matches!(error, SourceError::Unreachable(_)) && error.retryable(), "{error}");
    assert_eq!(count().await, Row(vec![Value::Int(1)]));
    insert().await.commit().await.expect("a commit");
    assert_eq!((count().await, db.count("t").await), (Row(vec![Value::Int(2)]), 2));
    std::fs::remove_file(&file).expect("a file");
    let error = engine.read(&[sql("select count(*) from t")], &Budget::new(LONG)).await.unwrap_err();
    assert!(matches!(error, SourceError::Unreachable(_)), "{error}");
    assert!(!file.exists(), "an empty one was made in its place");
}
