//! Counts while jobs die, change state and go, some of them in transactions that end late, against what the database
//! says in the end.

use std::collections::BTreeMap;
use std::time::Duration;

use dlq_tui::db::{DatabaseKind, Engine, Statement, Tx};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::Exactness;
use dlq_tui::store::sql::SqlStore;
use dlq_tui::store::{HistogramQuery, Store, Token};
use dlq_tui::triage::live::LiveCounts;

use crate::fixtures::{Layout, sql};
use crate::harness::{self, TestDb};
use crate::store_desk::*;

const FACET: Facet = Facet::Class;
const ROUNDS: u32 = 40;
/// Rounds that a late transaction stays open.
const LATE: u32 = 5;

/// The counts as whoever watches keeps them.
struct Watch {
    store: SqlStore,
    counts: LiveCounts,
    mark: Option<Token>,
    unfinished: Option<Token>,
    steps: u32,
}

impl Watch {
    async fn begin(db: &TestDb) -> Self {
        let store = gentle_store(db, Layout::DlqEvents).await;
        let step = histogram(&store, FACET, &Filter::all()).await;
        let (counts, mark) = (LiveCounts::new(&step), step.token);
        Self { store, counts, mark, unfinished: None, steps: 0 }
    }

    async fn look(&mut self) {
        let changes = self.store.changes(self.mark.as_ref(), FACET, &Filter::all(), &budget()).await.expect("a look");
        self.counts.take_poll(&changes);
        self.mark = Some(changes.token);
    }

    /// The next step of a recount; whether that was the last one.
    async fn step(&mut self) -> bool {
        let query = HistogramQuery::exact(FACET, Filter::all(), self.unfinished.take());
        let step = self.store.count(query, &budget()).await.expect("a step");
        self.unfinished = step.resume.clone();
        self.steps += 1;
        if self.unfinished.is_some() {
            return false;
        }
        self.mark = self.counts.take_full_count(&step, self.mark.as_ref());
        true
    }

    /// Brings a recount that is under way to its end, looking meanwhile.
    async fn finish(&mut self) {
        while !self.step().await {
            self.look().await;
        }
        self.look().await;
    }

    fn numbers(&self) -> BTreeMap<Option<String>, u64> {
        bars(&self.counts.histogram())
    }
}

async fn truth(db: &TestDb) -> BTreeMap<Option<String>, u64> {
    let sql = "select event_type, count(*) from dlq_events where status = 'FAILED_PERMANENTLY' group by event_type \
               order by event_type";
    let (values, counts) = (db.column_at(sql, 0).await, db.column_at(sql, 1).await);
    let counts = counts.into_iter().map(|n| n.parse().expect("a number"));
    values.into_iter().map(Some).zip(counts).collect()
}

fn deaths(round: u32, jobs: u32) -> String {
    let row = |job| format!("('soak.{}', 'Broke: {round}', 'FAILED_PERMANENTLY')", (round + job) % 3);
    let rows: Vec<String> = (0..jobs).map(row).collect();
    format!("insert into dlq_events (event_type, error_reason, status) values {}", rows.join(", "))
}

/// Deaths in transactions that stay open for some rounds, one at a time.
struct Late<'a> {
    engine: &'a Engine,
    open: Option<(u32, Tx<'a>)>,
}

impl<'a> Late<'a> {
    fn new(engine: &'a Engine) -> Self {
        Self { engine, open: None }
    }

    /// Ends the transaction that was open for long enough, and begins one where there is none.
    async fn turn(&mut self, round: u32) {
        if self.open.as_ref().is_some_and(|(begun, _)| round - begun >= LATE) {
            self.end().await;
        }
        // SQLite has one writer at a time: there nothing can be late.
        if self.open.is_none() && self.engine.kind() != DatabaseKind::Sqlite {
            let mut tx = self.engine.begin(&budget()).await.expect("a transaction");
            let statement = Statement { sql: deaths(round, 3), binds: Vec::new() };
            tx.execute(&statement).await.expect("late deaths");
            self.open = Some((round, tx));
        }
    }

    async fn end(&mut self) {
        if let Some((_, tx)) = self.open.take() {
            tx.commit().await.expect("a commit");
        }
    }
}

#[tokio::test]
async fn looks_alone_count_every_death_however_late_it_is_committed() {
    for db in harness::every_engine("late deaths").await {
        Layout::DlqEvents.seed(&db, 2_000).await;
        let mut watch = Watch::begin(&db).await;
        let others = engine(&db).await;
        let mut late = Late::new(&others);
        for round in 0..ROUNDS {
            late.turn(round).await;
            db.execute(&deaths(round, 5)).await;
            watch.look().await;
            assert_eq!(watch.numbers(), truth(&db).await, "{} in round {round}", db.engine.name());
        }
        late.end().await;
        watch.look().await;
        assert_eq!(watch.numbers(), truth(&db).await, "{}", db.engine.name());
        // What only looks have counted is right, and not known to be: a recount says so, where nobody writes meanwhile. On
        // PostgreSQL that is also who writes in another database of the server, as other tests do.
        for _ in 0..100 {
            watch.finish().await;
            if !watch.counts.is_in_doubt() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(watch.counts.histogram().total.exactness, Exactness::Exact, "{}", db.engine.name());
    }
}

#[tokio::test]
async fn a_recount_in_windows_amid_deaths_flips_and_deletes_leads_to_what_the_database_says() {
    for db in harness::every_engine("soak").await {
        Layout::DlqEvents.seed(&db, 3_000).await;
        // What a count takes for recent, and looks do not read again.
        for group in 0..10 {
            let at = sql::ago(db.engine, 15 + 8 * group);
            db.execute(&format!("update dlq_events set created_at = {at} where id % 12 = {group}")).await;
        }
        let mut watch = Watch::begin(&db).await;
        let others = engine(&db).await;
        let mut late = Late::new(&others);
        let mut recounts = 0;
        for round in 0..ROUNDS {
            late.turn(round).await;
            db.execute(&deaths(round, 5)).await;
            // Far apart, so that old and new, counted and uncounted windows are all met.
            let ids =
                |from: u32| (0..7).map(|n| (from + n * 431 + round * 17).to_string()).collect::<Vec<_>>().join(", ");
            let set = |status: &str, from: u32| {
                format!("update dlq_events set status = '{status}' where id in ({})", ids(from))
            };
            db.execute(&set("SUCCEEDED", 1)).await;
            db.execute(&set("FAILED_PERMANENTLY", 101)).await;
            db.execute(&format!("delete from dlq_events where id in ({})", ids(211))).await;
            watch.look().await;
            recounts += u32::from(watch.step().await);
        }
        late.end().await;
        assert!(watch.steps > recounts + 10, "{}: windows were {} of {recounts}", db.engine.name(), watch.steps);
        // The one that is under way saw some rows before they changed; the next one sees them all.
        watch.finish().await;
        watch.finish().await;
        assert_eq!(watch.numbers(), truth(&db).await, "{}", db.engine.name());
        db.execute(&deaths(1_000, 9)).await;
        watch.look().await;
        assert_eq!(watch.numbers(), truth(&db).await, "{}: looks go on from the right place", db.engine.name());
    }
}
