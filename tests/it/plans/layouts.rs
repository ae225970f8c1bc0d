//! The tables of every adapter, with the rows of its fixtures many times over.

use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::framework_rows::bench::fixture;
use crate::framework_rows::{delayed_job, laravel, oban, oban_python, solid_queue};
use crate::harness::{Engine, TestDb};

/// Keys of copies lie as far apart.
const STRIDE: u32 = 1_000;
/// Copies of each dead row, and of each one that lives beside them: of those there are to be some times as many.
const DEAD: u32 = 300;
const LIVE: u32 = 2_500;

/// A layout on some databases.
pub struct Case {
    pub name: &'static str,
    pub adapter: &'static str,
    pub engines: &'static [Engine],
    /// Whether replayed jobs go to the table `jobs`.
    pub to_table: bool,
    tables: for<'a> fn(&'a TestDb) -> BoxFuture<'a, ()>,
    copies: &'static [Copies],
    /// What is still missing then.
    more: &'static str,
}

/// A table whose rows are copied.
struct Copies {
    table: &'static str,
    /// Rows that live, in a table that keeps them with the dead.
    live: &'static str,
    /// Copies of each of the others.
    times: u32,
    /// Columns whose values differ: `id` is a whole number that counts on, `at` an instant that lies earlier, `uuid`,
    /// `text` and `payload` are derived from what stands there, `none` is NULL, `default` is up to the table; anything else is SQL.
    differ: &'static [(&'static str, &'static str)],
}

use Engine::{Mysql, Postgres, Sqlite};

macro_rules! tables {
    ($db:ident => $body:expr) => {
        |$db| Box::pin(async move { $body })
    };
}

pub const CASES: &[Case] = &[
    Case {
        name: "dead_letter_jobs",
        adapter: "dead_letter_jobs",
        engines: &[Postgres, Mysql, Sqlite],
        to_table: true,
        tables: tables!(db => Layout::DeadLetterJobs.seed(db, 15_000).await),
        copies: &[],
        more: "insert into jobs (payload) select arguments from dead_letter_jobs",
    },
    Case {
        name: "dlq_events",
        adapter: "dlq_events",
        engines: &[Postgres, Mysql, Sqlite],
        to_table: false,
        tables: tables!(db => Layout::DlqEvents.seed(db, 15_000).await),
        copies: &[],
        more: "",
    },
    Case {
        name: "jobs_dlq",
        adapter: "jobs_dlq",
        engines: &[Postgres, Mysql, Sqlite],
        to_table: false,
        tables: tables!(db => Layout::JobsDlq.seed(db, 15_000).await),
        copies: &[],
        more: "insert into jobs (payload) select payload from jobs_dlq",
    },
    Case {
        name: "delayed_job",
        adapter: "delayed_job",
        engines: &[Postgres, Mysql],
        to_table: false,
        tables: tables!(db => drop(delayed_job::seed(db).await)),
        copies: &[Copies {
            table: "delayed_jobs",
            live: "t.failed_at is null",
            times: DEAD,
            differ: &[("id", "id"), ("failed_at", "at"), ("run_at", "at"), ("updated_at", "at"), ("created_at", "at")],
        }],
        more: "",
    },
    Case {
        name: "good_job",
        adapter: "good_job",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => both(db, ["good_job/postgres.sql", "good_job/rows.sql"]).await),
        copies: &[
            Copies {
                table: "good_jobs",
                live: "t.finished_at is null or t.error is null",
                times: DEAD,
                differ: &[
                    ("id", "uuid"),
                    ("active_job_id", "uuid"),
                    ("cron_key", "none"),
                    ("finished_at", "at"),
                    ("created_at", "at"),
                    ("performed_at", "at"),
                    ("scheduled_at", "at"),
                    ("updated_at", "at"),
                    (
                        "serialized_params",
                        "jsonb_set(t.serialized_params, '{job_id}', to_jsonb(md5(t.active_job_id::text || n)::uuid))",
                    ),
                ],
            },
            Copies {
                table: "good_job_executions",
                live: "",
                times: DEAD,
                differ: &[("id", "uuid"), ("active_job_id", "uuid"), ("created_at", "at"), ("finished_at", "at")],
            },
        ],
        more: "",
    },
    Case {
        name: "graphile-worker",
        adapter: "graphile-worker",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => one(db, "graphile-worker/tables.sql").await),
        copies: &[Copies {
            table: "work._private_jobs",
            live: "t.attempts < t.max_attempts",
            times: DEAD,
            differ: &[("id", "id"), ("key", "none"), ("run_at", "at"), ("created_at", "at"), ("updated_at", "at")],
        }],
        more: "",
    },
    Case {
        name: "laravel",
        adapter: "laravel",
        engines: &[Postgres, Mysql, Sqlite],
        to_table: false,
        tables: tables!(db => drop(laravel::seed(db).await)),
        copies: &[Copies {
            table: "failed_jobs",
            live: "",
            times: 1_500,
            differ: &[("id", "id"), ("uuid", "text"), ("payload", "payload"), ("failed_at", "at")],
        }],
        more: "insert into jobs (queue, payload, attempts, available_at, created_at) \
               select 'default', replace(payload, '\"uuid\"', '\"of\"'), 0, 1, 1 from failed_jobs",
    },
    Case {
        name: "oban",
        adapter: "oban",
        engines: &[Postgres, Mysql, Sqlite],
        to_table: false,
        tables: tables!(db => drop(oban::seed(db).await)),
        copies: OBAN,
        more: "",
    },
    Case {
        name: "oban for Python",
        adapter: "oban",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => drop(oban_python::seed_into(db).await)),
        copies: OBAN,
        more: "",
    },
    Case {
        name: "pg-boss 12",
        adapter: "pg-boss",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => both(db, ["pg-boss/tables.sql", "pg-boss/rows.sql"]).await),
        copies: PG_BOSS,
        more: "",
    },
    Case {
        name: "pg-boss 10",
        adapter: "pg-boss",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => one(db, "pg-boss/tables10.sql").await),
        copies: PG_BOSS_10,
        more: "",
    },
    Case {
        name: "procrastinate",
        adapter: "procrastinate",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => one(db, "procrastinate/tables.sql").await),
        copies: &[
            Copies {
                table: "tasks.procrastinate_jobs",
                live: "t.status <> 'failed'",
                times: DEAD,
                differ: &[("id", "id"), ("lock", "none"), ("queueing_lock", "none")],
            },
            Copies {
                table: "tasks.procrastinate_events",
                live: "",
                times: DEAD,
                differ: &[("id", "default"), ("job_id", "id"), ("at", "at")],
            },
        ],
        more: "",
    },
    Case {
        name: "que",
        adapter: "que",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => both(db, ["que/postgres.sql", "que/rows.sql"]).await),
        copies: &[Copies {
            table: "que_jobs",
            live: "t.expired_at is null",
            times: DEAD,
            differ: &[("id", "id"), ("run_at", "at"), ("expired_at", "at"), ("finished_at", "at")],
        }],
        more: "",
    },
    Case {
        name: "river",
        adapter: "river",
        engines: &[Postgres],
        to_table: false,
        tables: tables!(db => both(db, ["river/postgres.sql", "river/rows.sql"]).await),
        copies: &[Copies {
            table: "river_job",
            live: "t.state <> 'discarded'",
            times: DEAD,
            differ: &[("id", "id"), ("unique_key", "none"), ("created_at", "at"), ("finalized_at", "at")],
        }],
        more: "",
    },
    Case {
        name: "solid_queue",
        adapter: "solid_queue",
        engines: &[Postgres, Mysql, Sqlite],
        to_table: false,
        tables: tables!(db => solid_queue::seed_into(db).await),
        copies: &[
            Copies {
                table: "solid_queue_jobs",
                live: "t.id not in (select job_id from solid_queue_failed_executions)",
                times: DEAD,
                differ: &[
                    ("id", "id"),
                    ("active_job_id", "text"),
                    ("finished_at", "at"),
                    ("created_at", "at"),
                    ("updated_at", "at"),
                ],
            },
            Copies {
                table: "solid_queue_failed_executions",
                live: "",
                times: DEAD,
                differ: &[("id", "id"), ("job_id", "id"), ("created_at", "at")],
            },
            Copies {
                table: "solid_queue_ready_executions",
                live: "",
                times: DEAD,
                differ: &[("id", "id"), ("job_id", "id")],
            },
            Copies {
                table: "solid_queue_scheduled_executions",
                live: "",
                times: DEAD,
                differ: &[("id", "id"), ("job_id", "id")],
            },
            Copies {
                table: "solid_queue_blocked_executions",
                live: "",
                times: DEAD,
                differ: &[("id", "id"), ("job_id", "id")],
            },
        ],
        more: "",
    },
];

const OBAN: &[Copies] = &[Copies {
    table: "oban_jobs",
    live: "t.state <> 'discarded'",
    times: DEAD,
    differ: &[
        ("id", "id"),
        ("inserted_at", "at"),
        ("attempted_at", "at"),
        ("discarded_at", "at"),
        ("cancelled_at", "at"),
        ("completed_at", "at"),
    ],
}];

const PG_BOSS: &[Copies] = &[Copies {
    table: "boss.job",
    live: "t.state <> 'failed'",
    times: DEAD,
    differ: &[
        ("id", "uuid"),
        ("source_id", "uuid"),
        ("singleton_key", "none"),
        ("policy", "'standard'"),
        ("created_on", "at"),
        ("completed_on", "at"),
    ],
}];

const PG_BOSS_10: &[Copies] = &[Copies {
    table: "boss.job",
    live: "t.state <> 'failed'",
    times: DEAD,
    differ: &[("id", "uuid"), ("singleton_key", "none"), ("created_on", "at"), ("completed_on", "at")],
}];

async fn one(db: &TestDb, path: &str) {
    db.execute(&fixture(path)).await;
}

async fn both(db: &TestDb, paths: [&str; 2]) {
    for path in paths {
        one(db, path).await;
    }
}

impl Case {
    /// Makes the tables, fills them, and has the database look at them.
    pub async fn install(&self, db: &TestDb) {
        (self.tables)(db).await;
        for copies in self.copies {
            copies.insert(db).await;
        }
        if !self.more.is_empty() {
            db.execute(self.more).await;
        }
        self.analyze(db).await;
    }

    /// Makes the tables, with no rows but those of the fixtures.
    pub async fn make(&self, db: &TestDb) {
        (self.tables)(db).await;
    }

    /// Has the database look at what its tables hold.
    pub async fn analyze(&self, db: &TestDb) {
        match db.engine {
            Postgres => db.execute("vacuum analyze").await,
            Sqlite => db.execute("analyze").await,
            Mysql => {
                let tables = "select table_name from information_schema.tables where table_schema = database()";
                for table in db.column(tables).await {
                    db.column(&format!("analyze table {table}")).await;
                }
            }
        }
    }
}

impl Copies {
    async fn insert(&self, db: &TestDb) {
        let columns = self.columns(db).await;
        let values: Vec<String> = columns.iter().map(|column| self.value(db.engine, column)).collect();
        let (lead, overriding) = match db.engine {
            // Neither triggers nor foreign keys, whose rows are copied one after the other.
            Postgres => ("set session_replication_role = replica; ", "overriding system value "),
            Mysql => ("set foreign_key_checks = 0; set max_recursive_iterations = 1000000; ", ""),
            Sqlite => ("pragma foreign_keys = off; ", ""),
        };
        // A condition that is neither true nor false says that a row is dead.
        let is_live = if self.live.is_empty() { "1 = 0" } else { self.live };
        let quoted: Vec<String> = columns.iter().map(|column| quote(db.engine, column)).collect();
        db.execute(&format!(
            "{lead}insert into {table} ({columns}) {overriding}\
             with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < {most}) \
             select {values} from {table} as t join numbers on n <= case when {is_live} then {LIVE} else {times} end",
            table = self.table,
            columns = quoted.join(", "),
            values = values.join(", "),
            times = self.times,
            most = LIVE.max(self.times),
        ))
        .await;
        if db.engine == Postgres && self.differ.contains(&("id", "id")) {
            let (table, last) = (self.table, format!("(select max(id) from {})", self.table));
            db.column(&format!("select setval(pg_get_serial_sequence('{table}', 'id'), {last})::text")).await;
        }
    }

    /// The columns that take a value.
    async fn columns(&self, db: &TestDb) -> Vec<String> {
        let (schema, table) = self.table.split_once('.').unwrap_or(("", self.table));
        let sql = match db.engine {
            Sqlite => format!("select name from pragma_table_info('{table}')"),
            engine => {
                let generated =
                    if engine == Postgres { "is_generated = 'NEVER'" } else { "extra not like '%GENERATED%'" };
                let schema = match (engine, schema) {
                    (Mysql, _) => "database()".to_owned(),
                    (_, "") => "'public'".to_owned(),
                    (_, schema) => format!("'{schema}'"),
                };
                format!(
                    "select column_name from information_schema.columns \
                     where table_schema = {schema} and table_name = '{table}' and {generated}"
                )
            }
        };
        let defaults: Vec<&str> =
            self.differ.iter().filter(|(_, how)| *how == "default").map(|(name, _)| *name).collect();
        let columns = db.column(&sql).await;
        columns.into_iter().filter(|column| !defaults.contains(&column.as_str())).collect()
    }

    fn value(&self, engine: Engine, column: &str) -> String {
        let how = self.differ.iter().find(|(name, _)| *name == column).map(|(_, how)| *how);
        let t = format!("t.{}", quote(engine, column));
        match (how, engine) {
            (None, _) => t,
            (Some("id"), _) => format!("{t} + n * {STRIDE}"),
            (Some("none"), _) => "null".to_owned(),
            (Some("uuid"), _) => format!("md5({t}::text || n)::uuid"),
            // The copy of a job has its own name in what it carries too.
            (Some("payload"), Postgres) => {
                format!("regexp_replace({t}, '\"uuid\": ?\"[^\"]*\"', '\"uuid\":\"' || t.uuid || '-' || n || '\"')")
            }
            (Some("payload"), Mysql) => {
                format!("case when json_valid({t}) then json_set({t}, '$.uuid', concat(t.uuid, '-', n)) else {t} end")
            }
            (Some("payload"), Sqlite) => {
                format!("case when json_valid({t}) then json_set({t}, '$.uuid', t.uuid || '-' || n) else {t} end")
            }
            (Some("text"), Mysql) => format!("concat({t}, '-', n)"),
            (Some("text"), _) => format!("{t} || '-' || n"),
            (Some("at"), Postgres) => format!("{t} - n * interval '7 seconds'"),
            (Some("at"), Mysql) => format!("{t} - interval (n * 7) second"),
            (Some("at"), Sqlite) => {
                let at = |format: &str| format!("strftime('{format}', {t}, '-' || (n * 7) || ' seconds')");
                let (iso, plain) = (at("%Y-%m-%dT%H:%M:%fZ"), at("%Y-%m-%d %H:%M:%f"));
                format!("case when {t} like '%Z' then {iso} else {plain} end")
            }
            (Some(sql), _) => sql.to_owned(),
        }
    }
}

fn quote(engine: Engine, name: &str) -> String {
    let mark = if engine == Mysql { '`' } else { '"' };
    format!("{mark}{name}{mark}")
}
