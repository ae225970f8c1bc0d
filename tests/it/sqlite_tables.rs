//! Tables of SQLite that are declared otherwise than migrations write them: `STRICT`, `WITHOUT ROWID`, generated columns, JSON
//! that is JSONB. Jobs in them are listed, counted, replayed and discarded, and come back byte for byte.

use dlq_tui::domain::action::Action;

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::undo::{Bench, content};

/// One way to declare the tables of a layout. `dead` replaces the declaration of its columns.
struct Declared {
    what: &'static str,
    layout: Layout,
    columns: &'static str,
    /// What follows the columns.
    options: &'static str,
    /// Turns the JSON into JSONB.
    jsonb: &'static str,
}

const DEAD_LETTER_JOBS: &str = "id text not null primary key, job_class text not null, job_id text not null, queue_name text, \
    arguments any not null, error_class text not null, error_message text, error_backtrace any not null default '[]', \
    failed_at text not null, status text not null default 'failed', metadata any not null default '{}', created_at text not null, \
    updated_at text not null";

const GENERATED: &str = "family text generated always as (substr(job_class, 1, 4)) virtual, id text not null primary key, \
    job_class text not null, job_id text not null, queue_name text, arguments any not null, error_class text not null, \
    error_message text, tries integer generated always as (metadata->>'$.executions') stored, error_backtrace any not null default '[]', \
    failed_at text not null, status text not null default 'failed', metadata any not null default '{}', created_at text not null, \
    updated_at text not null, day text as (substr(failed_at, 1, 10))";

const JOBS_DLQ: &str = "id integer primary key, original_id integer, payload any, attempts integer, error_class text, error_msg text, \
    stacktrace text, failed_by text, failed_at text, class text as (payload->>'$.class')";

const DLQ_EVENTS: &str = "id integer primary key, event_type text, payload any, error_reason text, error_stacktrace text, \
    status text default 'PENDING', retry_count integer default 0, retry_after text, created_at text, updated_at text, \
    at text generated always as (coalesce(retry_after, created_at)) stored";

const ALL: &[Declared] = &[
    Declared {
        what: "strict",
        layout: Layout::DeadLetterJobs,
        columns: DEAD_LETTER_JOBS,
        options: "strict",
        jsonb: "",
    },
    Declared {
        what: "strict without rowid, JSONB",
        layout: Layout::DeadLetterJobs,
        columns: DEAD_LETTER_JOBS,
        options: "strict, without rowid",
        jsonb: "arguments = jsonb(arguments), metadata = jsonb(metadata)",
    },
    Declared {
        what: "generated columns, JSONB",
        layout: Layout::DeadLetterJobs,
        columns: GENERATED,
        options: "strict, without rowid",
        jsonb: "arguments = jsonb(arguments), error_backtrace = jsonb(error_backtrace), metadata = jsonb(metadata)",
    },
    Declared { what: "strict", layout: Layout::JobsDlq, columns: JOBS_DLQ, options: "strict", jsonb: "" },
    Declared {
        what: "without rowid, JSONB",
        layout: Layout::JobsDlq,
        columns: JOBS_DLQ,
        options: "without rowid",
        jsonb: "payload = jsonb(payload)",
    },
    Declared {
        what: "strict, generated, JSONB",
        layout: Layout::DlqEvents,
        columns: DLQ_EVENTS,
        options: "strict",
        jsonb: "payload = jsonb(payload)",
    },
    Declared {
        what: "strict without rowid",
        layout: Layout::DlqEvents,
        columns: DLQ_EVENTS,
        options: "strict, without rowid",
        jsonb: "",
    },
];

const COUNT: u32 = 60;

impl Declared {
    /// A database with jobs in tables that are declared so; the live table is strict too.
    async fn seeded(&self) -> TestDb {
        let (db, table) = (harness::sqlite("declared").await, self.layout.table());
        self.layout.seed(&db, COUNT).await;
        let columns = db.column(&format!("select name from pragma_table_info('{table}')")).await.join(", ");
        let (declared, options) = (self.columns, self.options);
        db.execute(&format!(
            "alter table {table} rename to had; create table {table} ({declared}) {options}; \
             insert into {table} ({columns}) select {columns} from had; drop table had; drop table if exists jobs; \
             create table jobs (id integer primary key, payload any not null, attempts integer not null default 0, \
                max_attempts integer not null default 5, run_after text not null default (strftime('%Y-%m-%d %H:%M:%f000', 'now')), \
                locked_at text, locked_by text, class text as (payload->>'$.class'), \
                created_at text not null default (strftime('%Y-%m-%d %H:%M:%f000', 'now'))) strict"
        ))
        .await;
        if !self.jsonb.is_empty() {
            db.execute(&format!("update {table} set {}", self.jsonb)).await;
        }
        db
    }
}

#[tokio::test]
async fn every_declaration_is_listed_counted_replayed_discarded_and_undone() {
    for declared in ALL {
        let (layout, db) = (declared.layout, declared.seeded().await);
        let named = format!("{} {}", layout.table(), declared.what);
        let (table, dead) = (layout.table(), layout.count_dead(&db).await);
        let (before, user) = (content(&db, table).await, User::of(&db));

        let listed = user.json(&["list", "--limit", "100", "-o", "json"]);
        let count = dead.try_into().expect("a count");
        assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(count), "{named}: {listed}");
        assert!(listed["jobs"][0]["class"].is_string() || layout == Layout::DlqEvents, "{named}: {listed}");
        let stats = user.json(&["stats", "-o", "json"]);
        assert_eq!(stats["total"]["n"].as_u64(), Some(dead), "{named}: {stats}");

        let bench = Bench::new(&db, layout).await;
        let (run, tally) = bench.act("", Action::Replay).await;
        assert_eq!(tally.done, dead, "{named}: {tally:?}");
        let (_, tally) = bench.undo(&run).await;
        assert_eq!((tally.done, layout.count_dead(&db).await), (dead, dead), "{named}: {tally:?}");
        assert_eq!(content(&db, table).await, before, "{named}: after the undo of a replay");

        let (run, tally) = bench.act("", Action::Discard).await;
        assert_eq!((tally.done, layout.count_dead(&db).await), (dead, 0), "{named}: {tally:?}");
        let (_, tally) = bench.undo(&run).await;
        assert_eq!(tally.done, dead, "{named}: {tally:?}");
        assert_eq!(content(&db, table).await, before, "{named}: after the undo of a discard");
    }
}
