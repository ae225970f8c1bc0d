//! Undoing runs on real databases: rows come back byte for byte, and what a worker has taken stays with it.

use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::run_options::{Attempts, Options};
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunId, RunTally};
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{ActionScope, Plan};

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb, every_server};
use crate::kills::kill_at_work;
use crate::run::{desk, desk_to, go, plan, resume_to_the_end, start};
use crate::store_desk::budget;

pub struct Bench {
    _folder: tempfile::TempDir,
    ledger: Ledger,
    pub desk: StoreContext,
}

impl Bench {
    pub async fn new(db: &TestDb, layout: Layout) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        Self { _folder: folder, ledger, desk: desk(&db.url, layout.table()).await }
    }

    /// Runs an action on all that a filter selects.
    pub async fn act(&self, filter: &str, action: Action) -> (RunId, RunTally) {
        let run = plan(&self.desk, &self.ledger, filter, action).await.run;
        let tally = go(&self.desk, &self.ledger, &run).await.run.tally;
        (run, tally)
    }

    pub async fn plan_undo(&self, run: &RunId, ids: &[&str]) -> Result<Plan, PlanError> {
        let action = self.ledger.runs().get(run).await.expect("a run").intent.action.undone_by().expect("a way back");
        let ids = ids.iter().map(|id| JobId::new(*id)).collect();
        let ask = Ask::new(ActionScope::Undo(run.clone(), ids), action, Timestamp::now());
        freeze(&self.desk, &self.ledger, ask, &budget(), |_| {}).await
    }

    pub async fn undo(&self, run: &RunId) -> (RunId, RunTally) {
        let plan = self.plan_undo(run, &[]).await.expect("a plan");
        let receipt = go(&self.desk, &self.ledger, &plan.run).await;
        assert_eq!(receipt.halted, None, "{:?}", receipt.run.tally);
        let tally = receipt.run.tally;
        assert!(tally.adds_up(), "{tally:?}");
        (plan.run, tally)
    }
}

fn skipped(tally: &RunTally, word: &str) -> u64 {
    tally.skipped.iter().filter(|(reason, _)| reason == word).map(|(_, n)| n).sum()
}

/// Every row of a table with every value, so that two of them are equal only where the bytes are.
pub async fn content(db: &TestDb, table: &str) -> Vec<String> {
    let sql = match db.engine {
        Engine::Postgres => format!("select t::text from {table} as t order by 1"),
        Engine::Mysql => {
            let columns = db
                .column(&format!(
                    "select concat(column_name, ' ', data_type) from information_schema.columns \
                     where table_schema = database() and table_name = '{table}' order by ordinal_position"
                ))
                .await;
            let value = |column: &String| {
                let (name, data_type) = column.rsplit_once(' ').expect("a type");
                let name = name.replace('`', "``");
                match data_type {
                    "float" | "double" => format!("ifnull(cast(`{name}` + 0e0 as char), 'NULL')"),
                    "geometry" | "point" | "multipoint" | "geometrycollection" | "geomcollection" | "vector" => {
                        format!("ifnull(hex(`{name}`), 'NULL')")
                    }
                    _ => format!("ifnull(hex(cast(`{name}` as binary)), 'NULL')"),
                }
            };
            let values: Vec<String> = columns.iter().map(value).collect();
            format!("select concat_ws('|', {}) from {table}", values.join(", "))
        }
        Engine::Sqlite => {
            let columns = db.column(&format!("select name from pragma_table_xinfo('{table}')")).await;
            let value = |name: &String| {
                let name = name.replace('"', "\"\"");
                format!(
                    "typeof(\"{name}\") || ':' || case typeof(\"{name}\") when 'real' then printf('%!.26g', \"{name}\") \
                     else coalesce(hex(\"{name}\"), '') end"
                )
            };
            let values: Vec<String> = columns.iter().map(value).collect();
            format!("select {} from {table} order by 1", values.join(" || '|' || "))
        }
    };
    // MySQL has no room to sort rows of megabytes.
    let mut rows = db.column(&sql).await;
    rows.sort_unstable();
    rows
}

/// Gives a table a column of every type that there is, and rows with what breaks on the way through anything else.
async fn every_type(db: &TestDb) {
    let sql = match db.engine {
        Engine::Postgres => {
            "create type mood as enum ('fine', 'so ''so'''); create domain small as jsonb;
             create type pair as (a int, b text);
             alter table jobs_dlq add column big numeric, add column f8 double precision, add column f4 real,
               add column bin bytea, add column j json, add column jb jsonb, add column tz timestamptz,
               add column ts timestamp, add column d date, add column iv interval, add column ip inet,
               add column bits bit(5), add column vbits bit varying, add column c5 char(5), add column ch \"char\",
               add column u uuid, add column m mood, add column dom small, add column p pair, add column ints int[],
               add column texts text[], add column jbs jsonb[], add column r int4range, add column b boolean,
               add column t time(3), add column ttz timetz, add column mo money, add column pt point,
               add column ts3 timestamp(3), add column vc varchar(9), add column \"odd \"\"name\" text, add column oids oid,
               add column made int generated always as (attempts * 2) stored,
               add column own int generated always as identity;
             insert into jobs_dlq (payload, attempts, failed_at, big, f8, f4, bin, j, jb, tz, ts, d, iv, ip, bits, vbits, c5,
               ch, u, m, dom, p, ints, texts, jbs, r, b, t, ttz, mo, pt, ts3, vc, \"odd \"\"name\", oids) values
             ('{\"n\":12345678901234567890.10}', 3, '2026-11-18 09:14:02.123456+00', 12345678901234567890123.4500, 0.1, 0.1,
              '\\x00ff', '{\"a\":1, \"a\" : 2, \"z\":\"\\u0000\\u0041\"}', '{\"b\":9007199254740993}', 'infinity', '-infinity',
              '0044-03-15 BC', '1 year -2 days 03:04:05.000006', '10.0.0.1/8', b'10101', b'1', 'ab', 'x',
              '6f1c3e0a-0000-4000-8000-000000000001', 'so ''so''', 'null', '(1,\"a,\"\"b\")', '[2:3]={1,NULL}',
              '{\"a,b\",NULL,\"NULL\",\"\\\\\"}', array['{\"k\":null}'::jsonb], '[1,5)', false, '23:59:59.999', '04:05:06.7+02',
              12.34, '(1.5,-2)', '2026-01-01 00:00:00.123', 'aé💥', E'tab\\tbreak\\n\\x01 \u{202e}', 4294967295),
             ('null', null, '-infinity', 'NaN', 'NaN', '-Infinity', '', 'null', 'null', '2026-11-18 09:14:02.000001+00',
              '2026-11-18 09:14:02.1', 'infinity', '0', '::1', b'00000', b'', '', '', null, 'fine', null, '(,)', '{}', '{}', '{}',
              'empty', true, '00:00', '00:00+00', -0.01, '(0,0)', null, '', '', 0),
             ('\"text\"', 1000000000, null, null, 1.7976931348623157e308, 1e-45, null, '\"\\u0041\"', '\"x\"', '-infinity',
              '294246-12-31 23:59:59.999999', null, null, null, null, null, null, null, null, null, null, null, null, null, null,
              null, null, null, null, null, null, null, null, null, null),
             (null, 1, '2026-11-18 09:00:00+00', 0.10, -0.0, 3.4028235e38, '\\x', '  [1,2]', '[]', null, null, null, null, null,
              null, null, null, null, null, null, '{\"deep\":[1.10]}', null, '{{1,2},{3,4}}', null, null, null, null, null, null,
              null, null, null, null, null, null)"
        }
        Engine::Mysql => {
            "alter table jobs_dlq add column big decimal(65,30), add column ub bigint unsigned, add column f4 float,
               add column f8 double, add column bits bit(9), add column vb varbinary(20), add column b4 binary(4),
               add column bl longblob, add column j json, add column l1 varchar(40) character set latin1,
               add column e enum('blob', 'a''b'), add column s set('x', 'y'), add column dt datetime(6),
               add column tsx timestamp(6) null, add column tm time(6), add column d date, add column y year,
               add column pt point, add column c10 char(10), add column tiny tinyint(1), add column dt0 datetime,
               add column `odd ``name` text, add column made int as (attempts * 2) stored,
               add column virt int as (attempts + 1) virtual;
             insert into jobs_dlq (payload, attempts, failed_at, big, ub, f4, f8, bits, vb, b4, bl, j, l1, e, s, dt, tsx, tm, d, y,
               pt, c10, tiny, dt0, `odd ``name`) values
             ('{\"n\": 12345678901234567890.10}', 3, '2026-11-18 09:14:02.123456', 12345678901234567890123.450000000000000000000000000001,
              18446744073709551615, 0.1, 0.1, b'100000001', x'00ff', x'00ff', x'ff00fe', '{\"a\":1, \"a\" : 2, \"z\":\"\\\\u0041\"}',
              convert(_utf8mb4'café' using latin1), 'blob', 'x,y', '9999-12-31 23:59:59.999999', '2026-11-18 09:14:02.000001',
              '-838:59:58.000001', '2026-02-28', 1901, point(1.5, -2), 'ab', 1, '2026-11-18 09:14:02', 'tab\\tbreak\\n\\\\ \\'q\\' 💥'),
             ('null', null, '1000-01-01 00:00:00', -0.000000000000000000000000000001, 0, -3.40282e38, 1.7976931348623157e308, b'0', '',
              '', '', 'null', '', 'a''b', '', '1000-01-01 00:00:00.000001', null, '00:00:00.000001', '1000-01-01', 0, null, '', 0, null, ''),
             ('not json', 1000000000, null, null, null, 1.17549e-38, 2.2250738585072014e-308, null, null, null, null, null, null, null,
              null, null, null, null, null, null, null, null, null, null, null)"
        }
        Engine::Sqlite => {
            "alter table jobs_dlq add column a; alter table jobs_dlq add column r real; alter table jobs_dlq add column n numeric;
             alter table jobs_dlq add column b blob; alter table jobs_dlq add column \"odd \"\"name\" text;
             alter table jobs_dlq add column made int generated always as (attempts * 2) virtual;
             insert into jobs_dlq (payload, attempts, failed_at, a, r, n, b, \"odd \"\"name\") values
             ('{\"n\":12345678901234567890.10, \"n\" : 1}', 3, '2026-11-18 09:14:02.123456', 9007199254740993, 0.1, 0.30000000000000004,
              x'00ff', 'tab' || char(9) || char(1)),
             ('not json', 'text', null, -9223372036854775808, 1.7976931348623157e308, '12345678901234567890.10', '', ''),
             (cast(x'61ff62' as text), 1.5, x'', cast(x'6100ff' as text), 9e999, -9e999, 7, cast(x'00' as text)),
             ('null', null, 17, null, 5e-324, 2.2250738585072014e-308, 'a blob column with text', null),
             (x'7b7d', 9, '', 1e300, -0.0, 1e15, 3.0, 4)"
        }
    };
    db.execute(sql).await;
}

#[tokio::test]
async fn discarded_rows_come_back_byte_for_byte_whatever_they_hold() {
    for db in every_server("restore types").await {
        Layout::JobsDlq.install(&db).await;
        every_type(&db).await;
        let before = content(&db, "jobs_dlq").await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        let (run, tally) = bench.act("", Action::Discard).await;
        assert_eq!((tally.done, db.count("jobs_dlq").await), (before.len() as u64, 0), "{:?}: {tally:?}", db.engine);
        let (_, tally) = bench.undo(&run).await;
        assert_eq!(tally.done, before.len() as u64, "{:?}: {tally:?}", db.engine);
        assert_eq!(content(&db, "jobs_dlq").await, before, "{:?}", db.engine);
    }
}

#[tokio::test]
async fn a_nasty_day_comes_back_in_every_layout() {
    for layout in Layout::ALL {
        for db in every_server("restore nasty").await {
            layout.nasty_day(&db).await;
            let before = content(&db, layout.table()).await;
            let bench = Bench::new(&db, layout).await;
            let (run, tally) = bench.act("state:dead", Action::Discard).await;
            let (undo, restored) = bench.undo(&run).await;
            assert_eq!(restored.done, tally.done, "{layout:?} on {:?}: {restored:?}", db.engine);
            assert_eq!(content(&db, layout.table()).await, before, "{layout:?} on {:?}", db.engine);
            // Once more, and once more again: an undo of the undo is the discard, and that can be undone.
            let (again, discarded) = bench.undo(&undo).await;
            assert_eq!(discarded.done, tally.done, "{layout:?} on {:?}: {discarded:?}", db.engine);
            assert_eq!(bench.undo(&again).await.1.done, tally.done);
            assert_eq!(content(&db, layout.table()).await, before, "{layout:?} on {:?}", db.engine);
        }
    }
}

#[tokio::test]
async fn a_replay_is_undone_where_no_worker_has_taken_the_job_and_the_dead_rows_stand_as_before() {
    for layout in Layout::ALL {
        for db in every_server("recall").await {
            layout.seed(&db, 60).await;
            let before = content(&db, layout.table()).await;
            let dead = layout.count_dead(&db).await;
            let bench = Bench::new(&db, layout).await;
            let (run, tally) = bench.act("state:dead", Action::Replay).await;
            assert_eq!(tally.done, dead, "{layout:?} on {:?}", db.engine);
            // A worker has taken two of them, and one has run; in a queue of its own the row is removed then.
            let three = match layout {
                Layout::DlqEvents => {
                    db.column(
                        "select cast(id as char(20)) from dlq_events where retry_after is not null order by id limit 3",
                    )
                    .await
                }
                _ => db.column("select cast(id as char(20)) from jobs order by id limit 3").await,
            };
            match layout {
                Layout::DlqEvents => {
                    let [a, b, c] = &three[..] else { panic!("{three:?}") };
                    db.execute(&format!("update dlq_events set status = 'PROCESSING' where id in ({a}, {b})")).await;
                    db.execute(&format!("update dlq_events set status = 'SUCCEEDED' where id = {c}")).await;
                }
                _ => {
                    let [a, b, c] = &three[..] else { panic!("{three:?}") };
                    db.execute(&format!("update jobs set locked_at = run_after where id in ({a}, {b})")).await;
                    db.execute(&format!("delete from jobs where id = {c}")).await;
                }
            }
            let (taken, gone) = if layout == Layout::DlqEvents { (3, 0) } else { (2, 1) };
            let plan = bench.plan_undo(&run, &[]).await.expect("a plan");
            let foreseen: Vec<u64> = plan.outlook.iter().map(|(_, n)| *n).collect();
            let wanted: Vec<u64> = [dead - 3, taken, gone].into_iter().filter(|n| *n > 0).collect();
            assert_eq!(foreseen, wanted, "{layout:?} on {:?}: {:?}", db.engine, plan.outlook);
            let (_, tally) = bench.undo(&run).await;
            let told = format!("{layout:?} on {:?}: {tally:?}", db.engine);
            assert_eq!((tally.done, skipped(&tally, "a worker has taken it")), (dead - 3, taken), "{told}");
            assert_eq!(skipped(&tally, "no longer in the queue as it was put there"), gone, "{told}");
            let after = content(&db, layout.table()).await;
            let same = after.iter().filter(|row| before.contains(row)).count() as u64;
            let others = before.len() as u64 - dead;
            assert_eq!(same, dead - 3 + others, "{told}");
            if layout != Layout::DlqEvents {
                assert_eq!(db.count("jobs").await, 2, "{told}");
            }
            // A second undo finds nothing more to do; what was taken back can be replayed, and that be undone again.
            assert_eq!(bench.undo(&run).await.1.done, 0, "{told}");
        }
    }
}

#[tokio::test]
async fn what_others_wrote_to_a_job_since_its_replay_outlives_the_undo() {
    for db in every_server("recall written").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 12).await;
        let bench = Bench::new(&db, layout).await;
        let ids = db
            .column("select cast(id as char(36)) from dead_letter_jobs where status = 'failed' order by id limit 3")
            .await;
        let row = |id: &str| format!("from dead_letter_jobs where id = '{id}'");
        // What is no object is kept inside one by a replay; what an earlier replay left is somebody else's.
        db.execute(&format!("update dead_letter_jobs set metadata = '[1]' where id in ('{}', '{}')", ids[1], ids[2]))
            .await;
        let dead = layout.count_dead(&db).await;
        let before = content(&db, layout.table()).await;
        let (run, tally) = bench.act("state:dead", Action::Replay).await;
        assert_eq!(tally.done, dead, "{:?}: {tally:?}", db.engine);
        let note = match db.engine {
            Engine::Postgres => "metadata || '{\"note\": \"by hand\"}'",
            Engine::Mysql => "json_set(metadata, '$.note', 'by hand')",
            Engine::Sqlite => "json_set(metadata, '$.note', 'by hand')",
        };
        db.execute(&format!(
            "update dead_letter_jobs set metadata = {note}, updated_at = '2030-01-02 03:04:05' where id in ('{}', '{}')",
            ids[0], ids[1]
        ))
        .await;
        let (_, tally) = bench.undo(&run).await;
        assert_eq!(tally.done, dead, "{:?}: {tally:?}", db.engine);
        for id in &ids[..2] {
            let metadata = db.scalar(&format!("select metadata {}", row(id))).await;
            assert!(metadata.contains("by hand") && !metadata.contains("replay"), "{:?}: {metadata}", db.engine);
            assert_eq!(db.scalar(&format!("select status {}", row(id))).await, "failed");
            let updated = db.scalar(&format!("select cast(updated_at as char(19)) {}", row(id))).await;
            assert_eq!(updated, "2030-01-02 03:04:05", "{:?}", db.engine);
        }
        let after = content(&db, layout.table()).await;
        let same = after.iter().filter(|row| before.contains(row)).count();
        assert_eq!(same, before.len() - 2, "{:?}: the others stand as before", db.engine);
    }
}

#[tokio::test]
async fn a_worker_that_holds_a_job_without_having_committed_keeps_it() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("recall_held").await;
    Layout::JobsDlq.seed(&db, 20).await;
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    let (run, _) = bench.act("state:dead", Action::Replay).await;
    let worker = bench_engine(&db).await;
    let mut tx = worker.begin(&budget()).await.expect("a transaction");
    let sql = "select id from jobs order by id limit 4 for update".to_owned();
    let held = tx.fetch(&dlq_tui::db::Statement { sql, binds: Vec::new() }).await.expect("rows");
    let (_, tally) = bench.undo(&run).await;
    tx.rollback().await;
    assert_eq!((held.len(), tally.done, skipped(&tally, "locked by another session")), (4, 16, 4), "{tally:?}");
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (4, 16));
}

async fn bench_engine(db: &TestDb) -> std::sync::Arc<dlq_tui::db::Engine> {
    crate::store_desk::engine(db).await
}

#[tokio::test]
async fn jobs_that_look_the_same_are_told_apart() {
    for db in every_server("twins").await {
        Layout::JobsDlq.install(&db).await;
        for n in 1..=6 {
            db.execute(&format!(
                "insert into jobs_dlq (payload, attempts, error_class, failed_at) values ('{{\"job\": \"Sweep\"}}', {n}, 'E{n}', '2026-11-18 09:00:00')"
            ))
            .await;
        }
        let before = content(&db, "jobs_dlq").await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        let (run, _) = bench.act("state:dead", Action::Replay).await;
        // The application enqueues the like by itself.
        db.execute("insert into jobs (payload, attempts, run_after) select payload, 0, run_after from (select * from jobs limit 0) q").await;
        let at = if db.engine == Engine::Postgres { "now()" } else { "'2026-11-18 09:00:00.000000'" };
        db.execute(&format!(
            "insert into jobs (payload, attempts, run_after) values ('{{\"job\": \"Sweep\"}}', 0, {at})"
        ))
        .await;
        let (_, tally) = bench.undo(&run).await;
        assert_eq!((tally.done, db.count("jobs").await), (6, 1), "{:?}: {tally:?}", db.engine);
        assert_eq!(content(&db, "jobs_dlq").await, before, "{:?}", db.engine);
    }
}

#[tokio::test]
async fn every_job_is_told_an_instant_of_its_own_also_where_one_of_them_is_refused() {
    for spread in [None, Some(600)] {
        for db in every_server("instants").await {
            Layout::JobsDlq.install(&db).await;
            let row = |n| match n {
                77 => "(null, 3, '2026-11-18 09:00:00')",
                _ => "('{\"job\": \"Sweep\"}', 3, '2026-11-18 09:00:00')",
            };
            let rows: Vec<&str> = (0..240).map(row).collect();
            db.execute(&format!("insert into jobs_dlq (payload, attempts, failed_at) values {}", rows.join(", ")))
                .await;
            let before = content(&db, "jobs_dlq").await;
            let bench = Bench::new(&db, Layout::JobsDlq).await;
            let filter = dlq_tui::domain::filter::Filter::parse("state:dead").expect("a filter");
            let pacing = dlq_tui::domain::run_options::rate::Pacing { spread, ..Default::default() };
            let ask = Ask {
                options: pacing.into(),
                ..Ask::new(ActionScope::Filter(filter), Action::Replay, Timestamp::now())
            };
            let run = freeze(&bench.desk, &bench.ledger, ask, &budget(), |_| {}).await.expect("a plan").run;
            let tally = go(&bench.desk, &bench.ledger, &run).await.run.tally;
            let told = format!("{spread:?} on {:?}: {tally:?}", db.engine);
            assert_eq!((tally.done, tally.failed_total(), db.count("jobs_dlq").await), (239, 1, 1), "{told}");
            assert_eq!(db.count("(select distinct run_after from jobs) as t").await, 239, "{told}");
            let (_, tally) = bench.undo(&run).await;
            assert_eq!((tally.done, db.count("jobs").await), (239, 0), "{told}: {tally:?}");
            assert_eq!(content(&db, "jobs_dlq").await, before, "{told}");
        }
    }
}

#[tokio::test]
async fn what_stands_there_again_is_left_alone_and_a_row_that_is_refused_costs_nobody_else() {
    for db in every_server("restore conflict").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 40).await;
        let bench = Bench::new(&db, layout).await;
        let dead = layout.count_dead(&db).await;
        let ids = db.column("select id from dead_letter_jobs where status = 'failed' order by id limit 2").await;
        let job = db.scalar(&format!("select job_id from dead_letter_jobs where id = '{}'", ids[1])).await;
        let (run, _) = bench.act("state:dead", Action::Discard).await;
        let columns = "id, job_class, job_id, error_class, failed_at, created_at, updated_at";
        let at = "'2026-11-18 09:00:00'";
        let other = "99999999-9999-4999-8999-999999999999";
        for (id, job) in [(ids[0].as_str(), "another"), (other, job.as_str())] {
            db.execute(&format!(
                "insert into dead_letter_jobs ({columns}) values ('{id}', 'New', '{job}', 'E', {at}, {at}, {at})"
            ))
            .await;
        }
        let (_, tally) = bench.undo(&run).await;
        let told = format!("{:?}: {tally:?}", db.engine);
        assert_eq!((tally.done, skipped(&tally, "already there"), tally.failed_total()), (dead - 2, 1, 1), "{told}");
        assert!(
            tally.failed[0].0.exact().to_lowercase().contains("unique")
                || tally.failed[0].0.exact().contains("Duplicate"),
            "{told}"
        );
        assert_eq!(db.scalar(&format!("select job_class from dead_letter_jobs where id = '{}'", ids[0])).await, "New");
    }
}

#[tokio::test]
async fn a_column_that_is_gone_is_named_and_one_that_is_new_gets_its_default() {
    for db in every_server("restore columns").await {
        Layout::JobsDlq.install(&db).await;
        let text = if db.engine == Engine::Mysql { "varchar(20)" } else { "text" };
        db.execute(&format!("alter table jobs_dlq add column tenant {text}")).await;
        let insert = "insert into jobs_dlq (payload, attempts, failed_at, tenant) values";
        db.execute(&format!("{insert} ('{{}}', 1, '2026-11-18 09:00:00', 'a')")).await;
        db.execute(&format!("{insert} ('{{}}', 2, '2026-11-18 09:00:00', null)")).await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        let (run, _) = bench.act("", Action::Discard).await;
        db.execute("alter table jobs_dlq drop column tenant").await;
        db.execute(&format!("alter table jobs_dlq add column region {text} not null default 'eu'")).await;
        let (_, tally) = bench.undo(&run).await;
        let told = format!("{:?}: {tally:?}", db.engine);
        assert_eq!((tally.done, tally.failed_total()), (1, 1), "{told}");
        assert!(tally.failed[0].0.exact().contains("no column tenant"), "{told}");
        assert_eq!(db.scalar("select region from jobs_dlq where attempts = 2").await, "eu");
    }
}

#[tokio::test]
async fn two_undos_at_once_bring_each_job_back_once() {
    for (layout, action) in [
        (Layout::JobsDlq, Action::Discard),
        (Layout::JobsDlq, Action::Replay),
        (Layout::DeadLetterJobs, Action::Replay),
    ] {
        for db in every_server("two undos").await {
            layout.seed(&db, 400).await;
            let before = content(&db, layout.table()).await;
            let bench = Bench::new(&db, layout).await;
            let (run, tally) = bench.act("state:dead", action).await;
            let (one, two) =
                (bench.plan_undo(&run, &[]).await.expect("a plan"), bench.plan_undo(&run, &[]).await.expect("a plan"));
            let second = desk(&db.url, layout.table()).await;
            let (a, b) = tokio::join!(go(&bench.desk, &bench.ledger, &one.run), go(&second, &bench.ledger, &two.run));
            let (a, b) = (a.run.tally, b.run.tally);
            let told = format!("{layout:?} {action} on {:?}: {a:?} {b:?}", db.engine);
            assert_eq!((a.done + b.done, a.failed_total() + b.failed_total()), (tally.done, 0), "{told}");
            assert_eq!(content(&db, layout.table()).await, before, "{told}");
            assert_eq!(db.count("jobs").await, 0, "{told}");
        }
    }
}

#[tokio::test]
async fn an_undo_that_is_killed_again_and_again_brings_each_job_back_once() {
    for (layout, action) in [
        (Layout::JobsDlq, Action::Discard),
        (Layout::JobsDlq, Action::Replay),
        (Layout::DeadLetterJobs, Action::Replay),
    ] {
        for db in every_server("undo killed").await {
            layout.seed(&db, 2_000).await;
            let before = content(&db, layout.table()).await;
            let bench = Bench::new(&db, layout).await;
            let (run, tally) = bench.act("state:dead", action).await;
            let undo = bench.plan_undo(&run, &[]).await.expect("a plan").run;
            kill_at_work(&bench.ledger, &undo, &[0, 4, 11, 23], || start(&db, layout, &bench.ledger, &undo)).await;
            resume_to_the_end(&bench.desk, &bench.ledger, &undo).await;
            let last = bench.ledger.runs().tally(&undo).await.expect("a tally");
            let told = format!("{layout:?} {action} on {:?}: {last:?}", db.engine);
            assert_eq!((last.done, last.planned), (tally.done, tally.done), "{told}");
            assert_eq!(content(&db, layout.table()).await, before, "{told}");
            assert_eq!(db.count("jobs").await, 0, "{told}");
        }
    }
}

#[tokio::test]
async fn ignore_and_reopen_are_undone_only_where_nobody_has_acted_since() {
    for db in every_server("undo ignore").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 100).await;
        let bench = Bench::new(&db, layout).await;
        let (run, tally) = bench.act("state:dead", Action::Ignore).await;
        let one =
            db.scalar("select id from dead_letter_jobs where status = 'ignored' order by failed_at desc limit 1").await;
        db.execute(&format!("update dead_letter_jobs set status = 'retrying' where id = '{one}'")).await;
        let (reopened, undone) = bench.undo(&run).await;
        let told = format!("{:?}: {undone:?}", db.engine);
        assert_eq!((undone.done, skipped(&undone, "changed meanwhile")), (tally.done - 1, 1), "{told}");
        assert_eq!(db.scalar(&format!("select status from dead_letter_jobs where id = '{one}'")).await, "retrying");
        assert_eq!(bench.undo(&reopened).await.1.done, tally.done - 1, "{told}");
        // A job that stood retrying when it was reopened has no way back to that.
        let (run, both) = bench.act("state:retrying state:ignored", Action::Reopen).await;
        let (_, undone) = bench.undo(&run).await;
        let told = format!("{:?}: {both:?} {undone:?}", db.engine);
        assert_eq!((undone.done, skipped(&undone, "it was retrying before")), (both.done - 1, 1), "{told}");
    }
}

#[tokio::test]
async fn an_undo_does_not_reach_past_what_later_runs_did() {
    for db in every_server("undo past").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, 100).await;
        let bench = Bench::new(&db, layout).await;
        let (first, tally) = bench.act("state:dead", Action::Ignore).await;
        let some = db.column("select id from dead_letter_jobs where status = 'ignored' order by id limit 10").await;
        let some = format!("id:{}", some.join(" id:"));
        bench.act(&format!("state:ignored {some}"), Action::Reopen).await;
        let (second, again) = bench.act(&some, Action::Ignore).await;
        let (_, undone) = bench.undo(&first).await;
        let told = format!("{:?}: {undone:?}", db.engine);
        assert_eq!((undone.done, skipped(&undone, "changed meanwhile")), (tally.done - 10, 10), "{told}");
        assert_eq!((again.done, bench.undo(&second).await.1.done), (10, 10), "the last one can be undone: {told}");
    }
}

#[tokio::test]
async fn what_was_undone_itself_does_not_stand_before_an_earlier_undo() {
    let db = harness::sqlite("undo in turn").await;
    Layout::DeadLetterJobs.seed(&db, 40).await;
    let bench = Bench::new(&db, Layout::DeadLetterJobs).await;
    let (ignored, tally) = bench.act("state:dead", Action::Ignore).await;
    let (reopened, both) = bench.act("state:ignored", Action::Reopen).await;
    assert_eq!(bench.undo(&reopened).await.1.done, both.done);
    assert_eq!(bench.undo(&ignored).await.1.done, tally.done);
}

#[tokio::test]
async fn only_the_jobs_that_are_named_are_brought_back() {
    let db = harness::sqlite("undo named").await;
    Layout::JobsDlq.seed(&db, 10).await;
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    let (run, _) = bench.act("", Action::Discard).await;
    let plan = bench.plan_undo(&run, &["3", "5", "77"]).await.expect("a plan");
    assert_eq!((plan.count, plan.warnings.len()), (2, 1), "{:?}", plan.warnings);
    assert!(plan.warnings[0].contains("not among what that run did"), "{:?}", plan.warnings);
    go(&bench.desk, &bench.ledger, &plan.run).await;
    assert_eq!(db.column("select id from jobs_dlq order by id").await, ["3", "5"]);
}

#[tokio::test]
async fn what_cannot_be_undone_is_refused_with_the_reason() {
    let db = harness::sqlite("undo refused").await;
    Layout::DeadLetterJobs.seed(&db, 10).await;
    let bench = Bench::new(&db, Layout::DeadLetterJobs).await;
    let why = |refused: Result<Plan, PlanError>| match refused {
        Err(PlanError::Disabled(why)) => why,
        other => panic!("{other:?}"),
    };
    let planned = plan(&bench.desk, &bench.ledger, "state:dead", Action::Ignore).await.run;
    assert!(why(bench.plan_undo(&planned, &[]).await).contains("did nothing"));
    let (run, _) = bench.act("state:dead", Action::Replay).await;
    let to_command = desk_to(&db.url, "dead_letter_jobs", ReplayDestination::Command("bin/replay".to_owned())).await;
    let ask = Ask::new(ActionScope::Undo(run.clone(), Vec::new()), Action::Recall, Timestamp::now());
    let refused = freeze(&to_command, &bench.ledger, ask, &budget(), |_| {}).await;
    let why_not = why(refused);
    for part in ["replayed into the table main.jobs", "go to the command `bin/replay` now", "Set `replay` back"] {
        assert!(why_not.contains(part), "{why_not}");
    }
    let elsewhere = StoreContext { source: "elsewhere".into(), ..bench.desk.clone() };
    let ask = Ask::new(ActionScope::Undo(run, Vec::new()), Action::Recall, Timestamp::now());
    assert!(why(freeze(&elsewhere, &bench.ledger, ask, &budget(), |_| {}).await).contains("is for test"));
}

#[tokio::test]
async fn what_was_undone_once_is_not_undone_again_whatever_became_of_it_since() {
    for db in every_server("undone_before").await {
        Layout::JobsDlq.seed(&db, 60).await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        let before = Layout::JobsDlq.count_dead(&db).await;
        let (discard, _) = bench.act("state:dead", Action::Discard).await;
        // Planned while nothing of it was undone, and carried out after another undo.
        let late = bench.plan_undo(&discard, &[]).await.expect("a plan").run;
        assert_eq!(bench.undo(&discard).await.1.done, before);
        bench.act("state:dead", Action::Replay).await;
        db.execute("delete from jobs").await;
        let tally = go(&bench.desk, &bench.ledger, &late).await.run.tally;
        assert_eq!((tally.done, tally.skipped), (0, vec![("undone before".to_owned(), before)]), "{:?}", db.engine);
        let plan = bench.plan_undo(&discard, &[]).await.expect("a plan");
        assert_eq!(plan.outlook, [("undone before".to_owned(), before)]);
        assert_eq!(Layout::JobsDlq.count_dead(&db).await, 0, "{:?}: what ran is dead again", db.engine);
    }
}

#[tokio::test]
async fn an_erasure_keeps_nothing_and_takes_back_what_earlier_runs_kept() {
    for db in every_server("erasure").await {
        Layout::JobsDlq.seed(&db, 20).await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        let (first, _) = bench.act("state:dead", Action::Discard).await;
        bench.undo(&first).await;
        let filter = dlq_tui::domain::filter::Filter::parse("args.order:7").expect("a filter");
        let ask = Ask {
            options: Options { no_archive: true, ..Options::default() },
            reason: Some("erasure request 118".into()),
            ..Ask::new(ActionScope::Filter(filter), Action::Discard, Timestamp::now())
        };
        let plan = freeze(&bench.desk, &bench.ledger, ask, &budget(), |_| {}).await.expect("a plan");
        assert_eq!(plan.count, 1);
        assert!(plan.notes.iter().any(|note| note.contains("an earlier run in this ledger kept")), "{:?}", plan.notes);
        assert!(!plan.notes.iter().any(|note| note.contains("kept whole")), "{:?}", plan.notes);
        let run = go(&bench.desk, &bench.ledger, &plan.run).await.run;
        assert_eq!((run.tally.done, db.count("jobs_dlq").await), (1, 19), "{:?}", db.engine);
        assert_eq!((run.intent.filter.as_str(), run.intent.resolved.as_str()), ("args.order:…", "args.order:…"));
        let id = db.column("select cast(id as char(20)) from jobs_dlq").await;
        let erased = (1..=20).map(|n| n.to_string()).find(|n| !id.iter().any(|id| id.trim() == n)).expect("one");
        let kept =
            async |run: &RunId| bench.ledger.snapshots().get(run, &[JobId::new(erased.clone())]).await.expect("rows");
        assert!(kept(&first).await.is_empty(), "{:?}", db.engine);
        assert!(kept(&plan.run).await.iter().all(|(_, row)| row.is_empty()));
        assert!(
            matches!(bench.plan_undo(&plan.run, &[]).await, Err(PlanError::Disabled(why)) if why.contains("--no-archive"))
        );
    }
}

#[tokio::test]
async fn an_erasure_leaves_what_was_kept_of_a_job_whose_id_was_given_anew() {
    for db in every_server("given_anew").await {
        Layout::JobsDlq.seed(&db, 20).await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        db.execute("create table later as select * from jobs_dlq").await;
        let (first, _) = bench.act("state:dead", Action::Discard).await;
        // Other jobs, as far as anybody can tell: they died later, and nobody brought the first ones back.
        db.execute("update later set failed_at = '2026-11-19 08:00:00'").await;
        db.execute("insert into jobs_dlq select * from later").await;
        let filter = dlq_tui::domain::filter::Filter::parse("args.order:7").expect("a filter");
        let options = Options { no_archive: true, ..Options::default() };
        let ask = Ask { options, ..Ask::new(ActionScope::Filter(filter), Action::Discard, Timestamp::now()) };
        let plan = freeze(&bench.desk, &bench.ledger, ask, &budget(), |_| {}).await.expect("a plan");
        let says = |what: &str| plan.notes.iter().any(|note| note.contains(what));
        assert!(says("kept nothing under the ids") && says("1 row was kept under these ids"), "{:?}", plan.notes);
        let tally = go(&bench.desk, &bench.ledger, &plan.run).await.run.tally;
        assert_eq!((tally.done, db.count("jobs_dlq").await), (1, 19), "{:?}", db.engine);
        let ids: Vec<JobId> = (1..=20).map(|n| JobId::new(n.to_string())).collect();
        let kept = bench.ledger.snapshots().get(&first, &ids).await.expect("rows");
        assert_eq!(kept.len(), 20, "{:?}", db.engine);
    }
}

/// Lets a column keep so many digits of a second's fraction; `None` where the database keeps what it is given.
async fn round_to(db: &TestDb, table: &str, column: &str, digits: u32) -> Option<()> {
    let alter = match db.engine {
        Engine::Postgres => format!("alter column {column} type timestamptz({digits})"),
        Engine::Mysql => format!("modify {column} datetime({digits})"),
        Engine::Sqlite => return None,
    };
    db.execute(&format!("alter table {table} {alter}")).await;
    Some(())
}

#[tokio::test]
async fn a_replay_is_not_said_to_be_undoable_where_the_instant_that_tells_its_jobs_is_rounded() {
    let columns = [(Layout::JobsDlq, "jobs", "run_after"), (Layout::DlqEvents, "dlq_events", "retry_after")];
    for (layout, table, column, digits) in columns.iter().flat_map(|(l, t, c)| [0, 3, 6].map(|n| (*l, *t, *c, n))) {
        for db in every_server("rounded").await {
            layout.seed(&db, 20).await;
            if round_to(&db, table, column, digits).await.is_none() {
                continue;
            }
            let bench = Bench::new(&db, layout).await;
            let told = format!("{layout:?} on {:?} with {digits} digits", db.engine);
            let planned = plan(&bench.desk, &bench.ledger, "state:dead", Action::Replay).await;
            assert!(go(&bench.desk, &bench.ledger, &planned.run).await.run.tally.done > 0, "{told}");
            let undo = bench.plan_undo(&planned.run, &[]).await;
            let promised = planned.notes.iter().any(|note| note.contains("can be taken back"));
            assert_eq!(promised, digits == 6, "nobody is promised a way that there is not: {told}");
            if digits == 6 {
                assert!(undo.is_ok(), "{told}: {undo:?}");
                continue;
            }
            let Err(PlanError::Disabled(why)) = undo else { panic!("{told}: {undo:?}") };
            assert!(why.contains(&format!("{table}.{column} is ")), "{told}: {why}");
        }
    }
}

#[tokio::test]
#[ignore = "a measurement, run by hand"]
async fn what_it_costs_to_keep_ten_thousand_wide_rows() {
    for db in every_server("wide").await {
        Layout::JobsDlq.seed(&db, 10_000).await;
        for n in 0..30 {
            db.execute(&format!("alter table jobs_dlq add column wide{n} text")).await;
        }
        let sets: Vec<String> = (0..30).map(|n| format!("wide{n} = error_msg")).collect();
        db.execute(&format!("update jobs_dlq set {}", sets.join(", "))).await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        let run = plan(&bench.desk, &bench.ledger, "state:dead", Action::Discard).await.run;
        let before = std::time::Instant::now();
        let receipt = go(&bench.desk, &bench.ledger, &run).await;
        println!("{:?}: {} rows kept in {:?}", db.engine, receipt.run.tally.done, before.elapsed());
    }
}

#[tokio::test]
async fn what_is_set_for_a_role_changes_no_value_on_its_way_through_the_ledger() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("undo settings").await;
    Layout::JobsDlq.seed(&db, 20).await;
    db.execute("alter table jobs_dlq add f float8, add r real[], add words text[], add x xml").await;
    db.execute(
        "set xmloption = content; \
         update jobs_dlq set f = 0.1 + 0.2, r = array[1e-7 / 3], words = array['a', null, 'NULL'], x = '<a/>b<c/>'",
    )
    .await;
    let before = content(&db, "jobs_dlq").await;
    for setting in
        ["extra_float_digits = -15", "array_nulls = off", "xmloption = document", "intervalstyle = sql_standard"]
    {
        db.execute(&format!("alter database {} set {setting}", db.name())).await;
    }
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    for action in [Action::Discard, Action::Replay] {
        let (run, tally) = bench.act("", action).await;
        assert_eq!((tally.done, db.count("jobs_dlq").await), (20, 0), "{action}");
        assert_eq!(bench.undo(&run).await.1.done, 20, "{action}");
        for name in ["extra_float_digits", "array_nulls", "xmloption"] {
            db.execute(&format!("alter database {} reset {name}", db.name())).await;
        }
        assert_eq!(content(&db, "jobs_dlq").await, before, "{action}");
    }
}

#[tokio::test]
async fn text_of_any_character_set_and_a_key_of_nought_come_back_as_they_were() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("undo charsets").await;
    Layout::JobsDlq.seed(&db, 3).await;
    // Each with what comes back from UTF-8 as something else.
    let odd = [
        ("cp932", "879A"),
        ("ascii", "636166C3A9"),
        ("ucs2", "D800"),
        ("gbk", "A2A1"),
        ("hebrew", "C0"),
        ("big5", "A1C3"),
    ];
    for (charset, value) in odd {
        db.execute(&format!("alter table jobs_dlq add c_{charset} text character set {charset}")).await;
        db.execute(&format!("set sql_mode = ''; update jobs_dlq set c_{charset} = x'{value}'")).await;
    }
    db.execute("set sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; update jobs_dlq set id = 0 where id = 1").await;
    let before = content(&db, "jobs_dlq").await;
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    for action in [Action::Discard, Action::Replay] {
        let (run, tally) = bench.act("", action).await;
        assert_eq!((tally.done, db.count("jobs_dlq").await), (3, 0), "{action}");
        assert_eq!(bench.undo(&run).await.1.done, 3, "{action}");
        assert_eq!(content(&db, "jobs_dlq").await, before, "{action}");
    }
}

#[tokio::test]
async fn a_job_that_ran_once_since_its_replay_is_not_taken_back_and_one_more_try_is() {
    // What a worker leaves that ran a job and puts it back for another try, two attempts before it dies.
    let layouts = [
        (Layout::JobsDlq, "update jobs_dlq set attempts = 2", "update jobs set attempts = attempts + 1"),
        (
            Layout::DlqEvents,
            "update dlq_events set retry_count = 1",
            "update dlq_events set retry_count = retry_count + 1",
        ),
    ];
    for (layout, before, ran) in layouts {
        for (attempts, runs, undone) in [(None, true, false), (None, false, true), (Some(Attempts::Once), false, true)]
        {
            for db in every_server("undo ran").await {
                layout.seed(&db, 30).await;
                db.execute(before).await;
                let dead = layout.count_dead(&db).await;
                let bench = Bench::new(&db, layout).await;
                let scope = ActionScope::Filter(Filter::parse("state:dead").expect("a filter"));
                let options = Options { attempts, ..Options::default() };
                let ask = Ask { options, ..Ask::new(scope, Action::Replay, Timestamp::now()) };
                let plan = freeze(&bench.desk, &bench.ledger, ask, &budget(), |_| {}).await.expect("a plan");
                assert_eq!(go(&bench.desk, &bench.ledger, &plan.run).await.run.tally.done, dead);
                if runs {
                    db.execute(ran).await;
                }
                let tally = bench.undo(&plan.run).await.1;
                let wanted = if undone { dead } else { 0 };
                assert_eq!(tally.done, wanted, "{layout:?} on {:?}, {attempts:?}, ran: {runs}", db.engine);
            }
        }
    }
}
