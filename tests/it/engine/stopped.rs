//! A statement that is cancelled, late or abandoned ends on the server, and the connection is as good as before.

use std::cell::Cell;

use dlq_tui::store::SourceError;

use super::*;

/// One connection only, so that the next call must get the one whose statement was stopped.
async fn connect_once(db: &TestDb) -> Engine {
    connect_as(db, &EngineOptions { max_connections: 1, ..options() }).await.unwrap()
}

#[tokio::test]
async fn cancelling_stops_the_statement_on_the_server() {
    for db in harness::every_engine("cancel").await {
        let engine = connect_once(&db).await;
        let budget = Budget::new(LONG);
        let statements = [endless(&db)];
        let canceller = async {
            until_running(&db, db.name(), 1).await;
            budget.cancel.cancel();
        };
        let (result, ()) = tokio::join!(engine.read(&statements, &budget), canceller);
        assert!(matches!(result, Err(SourceError::Cancelled)), "{:?}: {result:?}", db.engine);
        until_running(&db, db.name(), 0).await;
        assert_eq!(row(&engine, "select 7", Vec::new()).await, Row(vec![Value::Int(7)]), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn dropping_the_future_stops_the_statement_on_the_server() {
    for db in harness::every_engine("dropped").await {
        let engine = connect_once(&db).await;
        let budget = Budget::new(LONG);
        let statements = [endless(&db)];
        tokio::select! {
            result = engine.read(&statements, &budget) => panic!("{:?}: ended: {result:?}", db.engine),
            () = until_running(&db, db.name(), 1) => {}
        }
        until_running(&db, db.name(), 0).await;
        assert_eq!(row(&engine, "select 7", Vec::new()).await, Row(vec![Value::Int(7)]), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_deadline_stops_the_statement_on_the_server() {
    for db in harness::every_engine("deadline").await {
        let engine = connect_once(&db).await;
        let limit = Duration::from_millis(200);
        let result = engine.read(&[endless(&db)], &Budget::new(limit)).await;
        let Err(error) = result else { panic!("{:?}: no error", db.engine) };
        assert!(matches!(error, SourceError::Timeout(after) if after == limit), "{:?}: {error:?}", db.engine);
        assert!(error.retryable());
        until_running(&db, db.name(), 0).await;
        assert_eq!(row(&engine, "select 7", Vec::new()).await, Row(vec![Value::Int(7)]), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn cancelling_a_write_undoes_it_and_frees_its_locks() {
    for db in harness::every_engine("cancelwrite").await {
        db.execute("create table t (a int); insert into t values (1)").await;
        let engine = connect_once(&db).await;
        let budget = Budget::new(LONG);
        let mut tx = engine.begin(&budget).await.unwrap();
        tx.execute(&sql("update t set a = 2")).await.unwrap();
        let canceller = async {
            until_running(&db, db.name(), 1).await;
            budget.cancel.cancel();
        };
        let statement = endless(&db);
        let (result, ()) = tokio::join!(tx.fetch(&statement), canceller);
        assert!(matches!(result, Err(SourceError::Cancelled)), "{:?}: {result:?}", db.engine);
        assert!(tx.commit().await.is_err(), "{:?}: a cancelled transaction was committed", db.engine);
        let mut tx = engine.begin(&Budget::new(LONG)).await.unwrap();
        assert_eq!(tx.execute(&sql("update t set a = 3 where a = 1")).await.unwrap(), 1, "{:?}", db.engine);
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_budget_that_is_cancelled_already_runs_nothing() {
    for db in harness::every_engine("early").await {
        let engine = connect_once(&db).await;
        let budget = Budget::new(LONG);
        budget.cancel.cancel();
        assert!(matches!(engine.read(&[sql("select 1")], &budget).await, Err(SourceError::Cancelled)));
        assert!(matches!(engine.begin(&budget).await.err(), Some(SourceError::Cancelled)));
        row(&engine, "select 1", Vec::new()).await;
    }
}

#[tokio::test]
async fn a_statement_stopped_by_an_administrator_is_no_timeout() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("admin").await;
    let engine = connect_once(&db).await;
    let statements = [endless(&db)];
    let budget = Budget::new(LONG);
    let administrator = async {
        until_running(&db, db.name(), 1).await;
        db.execute(
            "select pg_cancel_backend(pid) from pg_stat_activity \
             where datname = current_database() and query like '%7200%' and pid <> pg_backend_pid()",
        )
        .await;
    };
    let (result, ()) = tokio::join!(engine.read(&statements, &budget), administrator);
    let error = result.unwrap_err();
    assert!(matches!(error, SourceError::Interrupted), "{error}");
}

#[tokio::test]
async fn a_stopped_statement_does_not_cost_the_connection() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("kept").await;
    let engine = connect(&db).await;
    let process = row(&engine, "select pg_backend_pid()", Vec::new()).await;
    for _ in 0..3 {
        let budget = Budget::new(LONG);
        let statements = [endless(&db)];
        let canceller = async {
            until_running(&db, db.name(), 1).await;
            budget.cancel.cancel();
        };
        let (result, ()) = tokio::join!(engine.read(&statements, &budget), canceller);
        assert!(matches!(result, Err(SourceError::Cancelled)), "{result:?}");
    }
    let [Value::Int(process)] = process.0[..] else { panic!("{process:?}") };
    assert_eq!(db.scalar(&format!("select count(*) from pg_stat_activity where pid = {process}")).await, "1");
}

#[tokio::test]
async fn whatever_moment_a_statement_is_stopped_at_the_next_one_runs() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("hammered").await;
    let engine = connect_once(&db).await;
    let budget = Budget::new(LONG);
    // Also before the first answer of a statement has come, when nobody can know yet whether it had begun.
    let everybody = format!(
        "do $$ begin for i in 1..500 loop perform pg_cancel_backend(pid) from pg_stat_activity \
         where datname = '{}' and pid <> pg_backend_pid() and application_name like 'dlq-tui%'; perform pg_sleep(0.0005); \
         end loop; end $$",
        db.name()
    );
    let (one, stopped) = ([sql("select 1")], Cell::new(0));
    // A busy machine may let each of the two run only while the other does not, and then few are hit.
    let hammer = async {
        while stopped.get() < 10 {
            db.execute(&everybody).await;
        }
    };
    let reads = async {
        loop {
            let read = engine.read(&one, &budget).await;
            stopped.set(stopped.get() + u32::from(read.is_err()));
            tokio::task::yield_now().await;
        }
    };
    let hit = tokio::time::timeout(LONG, async { tokio::select!(() = hammer => {}, () = reads => {}) }).await;
    assert!(hit.is_ok(), "{} statements were stopped", stopped.get());
    for _ in 0..3 {
        let read = engine.read(&one, &budget).await;
        assert!(read.is_ok(), "{read:?}");
    }
}

#[test]
fn leaving_stops_what_still_runs_on_the_server() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        stopped_by_leaving(server);
    }
}

fn stopped_by_leaving(server: &harness::Server) {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let db = runtime().block_on(server.database("leaving"));
    runtime().block_on(async {
        let engine = connect(&db).await;
        let budget = Budget::new(LONG);
        let statements = [endless(&db)];
        tokio::select! {
            result = engine.read(&statements, &budget) => panic!("{:?}: ended: {result:?}", db.engine),
            () = until_running(&db, db.name(), 1) => {}
        }
        engine.close(LONG).await;
        assert!(matches!(engine.read(&[sql("select 1")], &budget).await, Err(SourceError::Unreachable(_))));
    });
    // The runtime is gone, and with it whatever could still have stopped the statement.
    runtime().block_on(until_running(&db, db.name(), 0));
}
