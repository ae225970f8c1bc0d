//! PostgreSQL behind a pooler in transaction mode, where a session is shared without anybody being told.

use std::time::Duration;

use dlq_tui::store::sql::engine::{Bind, Engine, EngineOptions, Row, Statement, Value};
use dlq_tui::store::sql::target::Target;
use dlq_tui::store::{Budget, StoreError};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Row as _};

use crate::engine::{LONG, sql, until_running};
use crate::harness;

const CLIENTS: i64 = 40;
const QUERIES: i64 = 25;

async fn client(url: &str) -> Engine {
    let options =
        EngineOptions { max_connections: 1, connect_timeout: Duration::from_secs(30), ..EngineOptions::default() };
    Engine::connect(&Target::from_url(url).unwrap(), &options).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A statement whose text and value both tell whose it is.
fn own(client: i64, query: i64) -> Statement {
    Statement {
        sql: format!("select {client}::bigint, $1, count(*) from generate_series(1, {client})"),
        binds: vec![Bind::Int(Some(query))],
    }
}

fn answer(client: i64, query: i64) -> Row {
    Row(vec![Value::Int(client), Value::Int(query), Value::Int(client)])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_client_of_a_crowded_pooler_gets_its_own_rows() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("crowded").await;
    let Some(pooler) = harness::pgbouncer(&db, 2) else { return };
    let clients = (1..=CLIENTS).map(|n| {
        let url = pooler.url.clone();
        tokio::spawn(async move {
            let engine = client(&url).await;
            let budget = Budget::new(LONG);
            let mut wrong = 0;
            for query in 0..QUERIES {
                let rows = engine.read(&[own(n, query), own(n, -query)], &budget).await.unwrap();
                wrong += usize::from(rows != [[answer(n, query)], [answer(n, -query)]]);
                let mut tx = engine.begin(&budget).await.unwrap();
                wrong += usize::from(tx.fetch(&own(n, query)).await.unwrap() != [answer(n, query)]);
                tx.commit().await.unwrap();
            }
            wrong
        })
    });
    let mut wrong = 0;
    for client in clients.collect::<Vec<_>>() {
        wrong += client.await.unwrap();
    }
    assert_eq!(wrong, 0, "of {}", CLIENTS * QUERIES * 2);
}

#[tokio::test]
async fn a_cancel_through_a_pooler_stops_the_right_statement() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("poolcancel").await;
    let Some(pooler) = harness::pgbouncer(&db, 3) else { return };
    let (cancelled, other) = (client(&pooler.url).await, client(&pooler.url).await);
    let budget = Budget::new(LONG);
    let endless = [sql("select pg_sleep(7200)::text /* doomed */")];
    let canceller = async {
        until_running(&db, "doomed", 1).await;
        budget.cancel.cancel();
    };
    let (result, ()) = tokio::join!(cancelled.read(&endless, &budget), canceller);
    assert!(matches!(result, Err(StoreError::Cancelled)), "{result:?}");
    until_running(&db, "doomed", 0).await;
    for engine in [cancelled, other] {
        assert_eq!(engine.read(&[own(5, 7)], &Budget::new(LONG)).await.unwrap(), [[answer(5, 7)]]);
    }
}

#[tokio::test]
async fn nothing_that_we_set_is_left_to_the_next_client() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("leftovers").await;
    let Some(pooler) = harness::pgbouncer(&db, 1) else { return };
    let ours = client(&pooler.url).await;
    ours.read(&[own(1, 1)], &Budget::new(LONG)).await.unwrap();
    ours.begin(&Budget::new(LONG)).await.unwrap().commit().await.unwrap();
    // The same server connection, as another program finds it.
    let mut next = pooler.url.parse::<PgConnectOptions>().unwrap().extra_float_digits(None).connect().await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "a simple query, because the pooler would mix up a prepared one")]
    let question = sqlx::raw_sql(
        "select current_setting('statement_timeout') || current_setting('lock_timeout') || current_setting('jit') \
         || (select count(*) from pg_prepared_statements)",
    );
    let found: String = question.fetch_one(&mut next).await.unwrap().get(0);
    assert_eq!(found, "00on0");
}
