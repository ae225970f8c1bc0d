use dlq_tui::store::SourceError;

use super::*;

#[tokio::test]
async fn what_is_committed_stays_and_what_is_rolled_back_or_dropped_does_not() {
    for db in harness::every_engine("commit").await {
        db.execute("create table t (a int)").await;
        let engine = connect(&db).await;
        let budget = Budget::new(LONG);
        for (n, ending) in ["commit", "rollback", "drop"].iter().enumerate() {
            let mut tx = engine.begin(&budget).await.unwrap();
            assert_eq!(tx.execute(&sql(&format!("insert into t values ({n}), ({n})"))).await.unwrap(), 2);
            assert_eq!(tx.fetch(&sql("select count(*) from t where a > 0")).await.unwrap().len(), 1);
            match *ending {
                "commit" => tx.commit().await.unwrap(),
                "rollback" => tx.rollback().await,
                _ => drop(tx),
            }
        }
        let left = row(&engine, "select count(*), max(a) from t", Vec::new()).await;
        assert_eq!(left, Row(vec![Value::Int(2), Value::Int(0)]), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn the_database_itself_refuses_to_write_in_a_read() {
    for db in harness::every_engine("readonly").await {
        db.execute("create table t (a int)").await;
        let engine = connect(&db).await;
        let error = engine.read(&[sql("insert into t values (1)")], &Budget::new(LONG)).await.unwrap_err();
        assert!(matches!(error, SourceError::Denied(_)), "{:?}: {error:?}", db.engine);
        assert_eq!(db.count("t").await, 0);
        // The connection that refused is as good as before.
        row(&engine, "select 1", Vec::new()).await;
    }
}

#[tokio::test]
async fn an_engine_opened_read_only_begins_no_writing_transaction() {
    for db in harness::every_engine("openedro").await {
        let engine = connect_as(&db, &EngineOptions { read_only: true, ..options() }).await.unwrap();
        assert_eq!(engine.read_only(), Some("opened read-only"));
        let begun = engine.begin(&Budget::new(LONG)).await;
        assert!(matches!(begun.err(), Some(SourceError::Denied(_))), "{:?}", db.engine);
        row(&engine, "select 1", Vec::new()).await;
    }
}

#[tokio::test]
async fn a_database_that_is_read_only_by_itself_is_noticed() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("selfro").await;
    db.execute(&format!("alter database {} set default_transaction_read_only = on", db.name())).await;
    assert_eq!(connect(&db).await.read_only(), Some("default_transaction_read_only is on"));
}

#[tokio::test]
async fn all_statements_of_a_read_see_the_same_rows() {
    for db in harness::every_engine("snapshot").await {
        db.execute("create table t (a int); insert into t values (1)").await;
        let engine = connect(&db).await;
        let pause = match db.engine {
            harness::Engine::Postgres => "select pg_sleep(0.3)::text",
            harness::Engine::Mysql => "select sleep(0.3)",
            harness::Engine::Sqlite => {
                "with recursive t(n) as (select 1 union all select n + 1 from t limit 1000000) select max(n) from t"
            }
        };
        let statements = [sql("select count(*) from t"), sql(pause), sql("select count(*) from t")];
        let budget = Budget::new(LONG);
        let writer = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            db.execute("insert into t values (2)").await;
        };
        let (rows, ()) = tokio::join!(engine.read(&statements, &budget), writer);
        let rows = rows.unwrap();
        assert_eq!(rows[0], rows[2], "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_lock_of_another_session_is_an_error_that_can_be_tried_again() {
    for db in harness::every_engine("locked").await {
        db.execute("create table t (id int primary key, a int); insert into t values (1, 1)").await;
        let first = connect(&db).await;
        let quick = EngineOptions { lock_timeout: Duration::from_millis(50), ..options() };
        let second = connect_as(&db, &quick).await.unwrap();
        let budget = Budget::new(LONG);
        let mut holder = first.begin(&budget).await.unwrap();
        holder.execute(&sql("update t set a = 2")).await.unwrap();
        let error = match second.begin(&budget).await {
            Ok(mut waiter) => waiter.execute(&sql("update t set a = 3")).await.unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, SourceError::Locked(_)) && error.retryable(), "{:?}: {error:?}", db.engine);
        holder.commit().await.unwrap();
        let mut tx = second.begin(&budget).await.unwrap();
        assert_eq!(tx.execute(&sql("update t set a = 3")).await.unwrap(), 1);
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_missing_right_is_told_from_other_refusals() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("rights").await;
    let role = format!("{}_reader", db.name());
    db.execute(&format!("create table t (a int); create role {role} login; grant select on t to {role}")).await;
    let url = db.url.replacen(&format!("//{}:", harness::USER), &format!("//{role}:"), 1);
    if url == db.url {
        return; // a server given by URL may ask our role for a password that it does not have
    }
    let engine = Engine::connect(&Target::from_url(&url).unwrap(), &options()).await.unwrap();
    assert_eq!(engine.user(), role);
    let mut tx = engine.begin(&Budget::new(LONG)).await.unwrap();
    let error = tx.execute(&sql("delete from t")).await.unwrap_err();
    assert!(matches!(error, SourceError::Denied(_)), "{error:?}");
    let error = engine.read(&[sql("select nope from t")], &Budget::new(LONG)).await.unwrap_err();
    assert_eq!(error.to_string(), "the database refused: column \"nope\" does not exist (42703)");
}

#[tokio::test]
async fn after_a_failed_statement_nothing_more_runs_and_nothing_is_committed() {
    for db in harness::every_engine("failed").await {
        db.execute("create table t (id int primary key)").await;
        let engine = connect(&db).await;
        let mut tx = engine.begin(&Budget::new(LONG)).await.unwrap();
        tx.execute(&sql("insert into t values (1)")).await.unwrap();
        let error = tx.execute(&sql("insert into t values (1)")).await.unwrap_err();
        assert!(matches!(error, SourceError::Refused { .. }) && !error.retryable(), "{:?}: {error:?}", db.engine);
        assert!(tx.execute(&sql("insert into t values (2)")).await.is_err(), "{:?}", db.engine);
        assert!(tx.commit().await.is_err(), "{:?}: a failed transaction was committed", db.engine);
        let found = row(&engine, "select count(*) from t", Vec::new()).await;
        assert_eq!(found, Row(vec![Value::Int(0)]), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_deadlock_is_an_error_that_can_be_tried_again() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let db = server.database("deadlock").await;
        db.execute("create table t (id int primary key, a int); insert into t values (1, 0), (2, 0)").await;
        let engine = connect_as(&db, &EngineOptions { lock_timeout: LONG, ..options() }).await.unwrap();
        let budget = Budget::new(LONG);
        let (mut a, mut b) = (engine.begin(&budget).await.unwrap(), engine.begin(&budget).await.unwrap());
        let (one, two) = (sql("update t set a = 1 where id = 1"), sql("update t set a = 2 where id = 2"));
        a.execute(&one).await.unwrap();
        b.execute(&two).await.unwrap();
        let crossing = tokio::join!(a.execute(&two), async {
            let result = b.execute(&one).await;
            // The loser's locks must go before the winner can go on.
            b.rollback().await;
            result
        });
        let errors: Vec<_> = [crossing.0, crossing.1].into_iter().filter_map(Result::err).collect();
        assert_eq!(errors.len(), 1, "{:?}: {errors:?}", db.engine);
        assert!(matches!(&errors[0], SourceError::Locked(_)) && errors[0].retryable(), "{:?}: {errors:?}", db.engine);
    }
}

#[tokio::test]
async fn a_reading_transaction_is_one_message_on_mariadb() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("one message").await;
    let engine = connect(&db).await;
    let bound = |sql: &str| Statement { sql: sql.to_owned(), binds: vec![Bind::Text(Some("it's".to_owned()))] };
    for _ in 0..3 {
        engine.read(&[bound("select ?"), bound("select concat('?', ?)")], &Budget::new(LONG)).await.expect("an answer");
    }
    let prepared = row(&engine, "show session status like 'Com_stmt_prepare'", Vec::new()).await;
    assert_eq!(prepared, Row(vec![text("Com_stmt_prepare"), text("0")]));
    // What cannot be written out safely is prepared, and means the same.
    let odd = row(&engine, r"select concat('\\', ?)", vec![Bind::Text(Some("x".to_owned()))]).await;
    assert_eq!(odd, Row(vec![text(r"\x")]));
    let prepared = row(&engine, "show session status like 'Com_stmt_prepare'", Vec::new()).await;
    assert_eq!(prepared, Row(vec![text("Com_stmt_prepare"), text("1")]));
}
