//! PostgreSQL behind a pooler in transaction mode, where a session is shared without anybody being told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dlq_tui::adapter::built_in;
use dlq_tui::db::target::Target;
use dlq_tui::db::{Bind, Engine, EngineOptions, Row, Statement, Value};
use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::sql::{OpenOptions, ReplayDestination, detect, open};
use dlq_tui::store::{Budget, Cursor, PageQuery, ScanMode, Sort, SourceError, Store, StoreExt};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Row as _};

use crate::engine::{LONG, sql, until_running};
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::store_desk::{apply, batch, histogram};

const CLIENTS: i64 = 40;
const QUERIES: i64 = 25;

async fn client(url: &str, connections: usize) -> Engine {
    let options = EngineOptions {
        max_connections: connections,
        connect_timeout: Duration::from_secs(30),
        ..EngineOptions::default()
    };
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
            let engine = client(&url, 1).await;
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

/// Jobs that are a client's own, of which it replays some.
const OWN: usize = 25;
const REPLAYED: usize = 5;

/// Reads and replays what is its own, for a while; returns what it was shown of others.
async fn operate(url: String, n: i64) -> Vec<String> {
    let table = if n % 2 == 0 { "dead_letter_jobs" } else { "jobs_dlq" };
    let class = format!("Own{n}");
    let (engine, budget) = (Arc::new(client(&url, 1).await), Budget::new(LONG));
    let adapters = built_in();
    let detection = detect(&engine, &adapters, &budget).await.unwrap();
    let found = detection.found.iter().find(|f| f.adapter == table).unwrap();
    let adapter = adapters.iter().find(|a| a.name == table).unwrap();
    let options = OpenOptions { destination: ReplayDestination::Table("jobs".to_owned()), ..OpenOptions::default() };
    let store = open(engine, adapter, found, &options, &budget).await.unwrap();
    let filter = Filter::parse(&format!("error:{class}")).unwrap();
    let mut wrong = Vec::new();
    let mut left = OWN;
    for round in 0..3 {
        let query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor: Cursor::Start, limit: 100 };
        let page = store.scan(query, ScanMode::List, &budget).await.unwrap();
        let ids: Vec<JobId> = page.entries.iter().map(|e| e.row.id.clone()).collect();
        let own = |class_of: Option<&str>| class_of == Some(class.as_str());
        let listed = page.entries.iter().filter(|e| own(e.row.error_class.as_ref().map(|c| c.exact()))).count();
        let counted = histogram(&store, Facet::Error, &filter).await.histogram;
        let seen = store.changes(None, Facet::Error, &filter, &budget).await.unwrap();
        let details = store.details(&ids, &budget).await.unwrap();
        let asked: BTreeSet<&JobId> = ids.iter().collect();
        let told =
            details.iter().filter(|d| asked.contains(&d.row.id) && own(d.row.error_class.as_ref().map(|c| c.exact())));
        let numbers =
            [page.entries.len(), listed, usize::try_from(counted.total.n).unwrap(), told.count(), details.len()];
        if numbers != [left; 5]
            || counted.bars.len() != 1
            || seen.cells.iter().any(|c| !own(c.value.as_ref().map(|v| v.exact())))
        {
            wrong.push(format!("{class}, round {round}: {numbers:?} of {left}"));
        }
        let some = batch(Action::Replay, ids.into_iter().take(REPLAYED));
        let done = apply(&store, some).await.values().filter(|result| **result == JobResult::Done).count();
        if done != REPLAYED {
            wrong.push(format!("{class}, round {round}: {done} replayed"));
        }
        left -= done;
    }
    wrong
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_operator_behind_a_crowded_pooler_sees_and_replays_only_what_is_asked_for() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("operators").await;
    let clients = usize::try_from(CLIENTS).unwrap();
    for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
        layout.install(&db).await;
    }
    db.execute(&format!(
        "insert into dead_letter_jobs (job_class, job_id, error_class, failed_at, created_at, updated_at, arguments) \
         select 'Job', 'd' || i, 'Own' || (i % {clients}) + 1, timestamp '2026-11-01' + i * interval '1 second', now(), now(), \
         jsonb_build_array(i) from generate_series(1, {rows}) as i; \
         insert into jobs_dlq (original_id, payload, attempts, error_class, failed_at) \
         select i, jsonb_build_object('job', i), 5, 'Own' || (i % {clients}) + 1, now() - i * interval '1 second' \
         from generate_series(1, {rows}) as i",
        rows = clients * OWN
    ))
    .await;
    let Some(pooler) = harness::pgbouncer(&db, 2) else { return };
    let operators = (1..=CLIENTS).map(|n| tokio::spawn(operate(pooler.url.clone(), n)));
    let mut wrong = Vec::new();
    for operator in operators.collect::<Vec<_>>() {
        wrong.extend(operator.await.unwrap());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let replayed = "select count(*) || ' ' || count(distinct payload) from jobs";
    assert_eq!(db.scalar(replayed).await, format!("{n} {n}", n = clients * REPLAYED * 3));
    let served = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    let served: u32 = db.scalar(served).await.parse().unwrap();
    assert!((1..=2).contains(&served), "{served} server connections");
}

/// What is sent as one message, and what is prepared.
#[tokio::test]
async fn a_cancel_through_a_pooler_stops_the_right_statement() {
    let server = harness::private_postgres_with(&["log_statement=all"], None);
    let Ok(server) = server.map_err(|why| harness::skip("postgres", &why)) else { return };
    for named in ["as", "/* */ as"] {
        let db = server.database("poolcancel").await;
        let requests = || server.log().matches("pg_cancel_backend(").count();
        let before = requests();
        cancelled_through_a_pooler(&db, named).await;
        assert_eq!(requests() - before, 2, "{named}");
    }
}

async fn cancelled_through_a_pooler(db: &TestDb, named: &str) {
    let Some(pooler) = harness::pgbouncer(db, 4) else { return };
    let (cancelled, other) = (client(&pooler.url, 1).await, client(&pooler.url, 1).await);
    let (budget, beside) = (Budget::new(LONG), Budget::new(LONG));
    let sleeping = |mark: &str| [sql(&format!("select pg_sleep(7200)::text {named} {mark}"))];
    let (endless, theirs) = (sleeping("doomed"), sleeping("beside"));
    let canceller = async {
        until_running(db, "doomed", 1).await;
        until_running(db, "beside", 1).await;
        budget.cancel.cancel();
        until_running(db, "doomed", 0).await;
        until_running(db, "beside", 1).await;
        beside.cancel.cancel();
    };
    let (result, others, ()) = tokio::join!(cancelled.read(&endless, &budget), other.read(&theirs, &beside), canceller);
    assert!(matches!(result, Err(SourceError::Cancelled)), "{result:?}");
    assert!(matches!(others, Err(SourceError::Cancelled)), "{others:?}");
    until_running(db, "beside", 0).await;
    for engine in [cancelled, other] {
        assert_eq!(engine.read(&[own(5, 7)], &Budget::new(LONG)).await.unwrap(), [[answer(5, 7)]]);
    }
}

#[tokio::test]
async fn nothing_that_we_set_is_left_to_the_next_client() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("leftovers").await;
    let Some(pooler) = harness::pgbouncer(&db, 1) else { return };
    let ours = client(&pooler.url, 1).await;
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
