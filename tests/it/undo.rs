//! Undoing runs on real databases: rows come back byte for byte, and what a worker has taken stays with it.

use std::time::Duration;

use dlq_tui::domain::action::Action;
use dlq_tui::domain::job::JobId;
use dlq_tui::domain::options::Options;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, RunId, RunState, Tally};
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::triage::Desk;
use dlq_tui::triage::freeze::{Ask, PlanError, freeze};
use dlq_tui::triage::plan::{Plan, Scope};
use dlq_tui::triage::run::{RunControl, resume};

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb, every_engine};
use crate::run::{desk, desk_to, go, options, plan, progress, start};
use crate::store_desk::budget;

struct Bench {
    _folder: tempfile::TempDir,
    ledger: Ledger,
    desk: Desk,
}

impl Bench {
    async fn new(db: &TestDb, layout: Layout) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        Self { _folder: folder, ledger, desk: desk(&db.url, layout.table()).await }
    }

    /// Runs an action on all that a filter selects.
    async fn act(&self, filter: &str, action: Action) -> (RunId, Tally) {
        let run = plan(&self.desk, &self.ledger, filter, action).await.run;
        let tally = go(&self.desk, &self.ledger, &run).await.run.tally;
        (run, tally)
    }

    async fn plan_undo(&self, run: &RunId, ids: &[&str]) -> Result<Plan, PlanError> {
        let action = self.ledger.run(run).await.expect("a run").intent.action.undone_by();
        let ids = ids.iter().map(|id| JobId::new(*id)).collect();
        let ask = Ask::new(Scope::Undo(run.clone(), ids), action, Timestamp::now());
        freeze(&self.desk, &self.ledger, ask, &budget(), |_| {}).await
    }

    async fn undo(&self, run: &RunId) -> (RunId, Tally) {
        let plan = self.plan_undo(run, &[]).await.expect("a plan");
        let tally = go(&self.desk, &self.ledger, &plan.run).await.run.tally;
        assert!(tally.adds_up(), "{tally:?}");
        (plan.run, tally)
    }
}

fn skipped(tally: &Tally, word: &str) -> u64 {
    tally.skipped.iter().filter(|(reason, _)| reason == word).map(|(_, n)| n).sum()
}

/// Every row of a table with every value, so that two of them are equal only where the bytes are.
async fn content(db: &TestDb, table: &str) -> Vec<String> {
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
                    "point" => format!("ifnull(hex(`{name}`), 'NULL')"),
                    _ => format!("ifnull(hex(cast(`{name}` as binary)), 'NULL')"),
                }
            };
            let values: Vec<String> = columns.iter().map(value).collect();
            format!("select concat_ws('|', {}) from {table} order by 1", values.join(", "))
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
    db.column(&sql).await
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
              '-838:59:59.000001', '2026-02-28', 1901, point(1.5, -2), 'ab', 1, '2026-11-18 09:14:02', 'tab\\tbreak\\n\\\\ \\'q\\' 💥'),
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
    for db in every_engine("restore types").await {
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
        for db in every_engine("restore nasty").await {
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
