//! The presets on live databases.

use dlq_tui::store::sql::install::{PRESETS, Preset};
use dlq_tui::store::{Budget, SourceError};

use crate::engine::{LONG, connect, connect_as, options};
use crate::harness;

#[tokio::test]
async fn a_preset_installs_what_is_missing_and_a_second_time_nothing() {
    for preset in PRESETS {
        for db in harness::every_server("preset").await {
            let engine = connect(&db).await;
            let budget = Budget::new(LONG);
            let planned = preset.plan(&engine, None, &budget).await.unwrap();
            assert_eq!(planned.ddl, preset.ddl(engine.kind()));
            planned.install(&engine, &budget).await.unwrap_or_else(|e| panic!("{:?}: {e}", db.engine));
            for table in &planned.created {
                assert_eq!(db.count(table).await, 0);
            }
            let again = preset.plan(&engine, None, &budget).await.unwrap();
            assert_eq!((again.created.len(), again.kept, again.ddl.as_str()), (0, planned.created.clone(), ""));
            assert_eq!(again.misfits, [""; 0]);
            // Who planned at the same time is told, and what is there stays.
            assert!(planned.install(&engine, &budget).await.unwrap_err().to_string().contains("exists"));
        }
    }
}

#[tokio::test]
async fn a_table_that_is_there_is_left_as_it_is() {
    for db in harness::every_server("kept").await {
        let (engine, budget) = (connect(&db).await, Budget::new(LONG));
        let preset = Preset::named("jobs_dlq").unwrap();
        db.execute("create table jobs (mine int, payload text, attempts int, run_after timestamp)").await;
        let plan = preset.plan(&engine, None, &budget).await.unwrap();
        assert_eq!((&plan.kept, &plan.created), (&vec!["jobs"], &vec!["jobs_dlq"]));
        plan.install(&engine, &budget).await.unwrap();
        db.execute("insert into jobs (mine) values (1)").await;
    }
}

#[tokio::test]
async fn beside_a_table_that_is_something_else_nothing_is_created() {
    for db in harness::every_server("misfit").await {
        db.execute("create table jobs (mine int)").await;
        let (engine, budget) = (connect(&db).await, Budget::new(LONG));
        let plan = Preset::named("jobs_dlq").unwrap().plan(&engine, None, &budget).await.unwrap();
        assert!(plan.misfits.contains(&"jobs has no column payload".to_owned()), "{:?}", plan.misfits);
        plan.install(&engine, &budget).await.unwrap_err();
        let plan = Preset::named("jobs_dlq").unwrap().plan(&engine, None, &budget).await.unwrap();
        assert_eq!(plan.created, ["jobs_dlq"], "{:?}", db.engine);
    }
}

#[tokio::test]
async fn in_another_schema_the_same_tables_are_made_and_the_schema_with_them() {
    for db in harness::every_server("schema").await {
        let (engine, budget) = (connect(&db).await, Budget::new(LONG));
        for preset in PRESETS {
            let planned = preset.plan(&engine, Some("Dead ones"), &budget).await;
            if db.engine != harness::Engine::Postgres {
                assert!(matches!(planned, Err(SourceError::Input(_))), "{planned:?}");
                let own = if db.engine == harness::Engine::Sqlite { "main" } else { db.name() };
                assert_eq!(preset.plan(&engine, Some(own), &budget).await.unwrap().misfits, [""; 0]);
                continue;
            }
            let planned = planned.unwrap();
            assert_eq!(planned.schema.is_some(), preset.name == PRESETS[0].name, "only the first has to make it");
            planned.install(&engine, &budget).await.unwrap();
            for table in &planned.created {
                assert_eq!(db.count(&format!("\"Dead ones\".{table}")).await, 0);
            }
            let again = preset.plan(&engine, Some("Dead ones"), &budget).await.unwrap();
            assert_eq!((again.created.len(), again.schema, again.kept), (0, None, planned.created));
            assert!(!preset.plan(&engine, None, &budget).await.unwrap().created.is_empty());
        }
    }
}

#[tokio::test]
async fn the_archive_of_events_is_the_one_that_archiving_asks_for() {
    for db in harness::every_server("archive").await {
        let (engine, budget) = (connect(&db).await, Budget::new(LONG));
        let preset = Preset::named("dlq_events").unwrap();
        preset.plan(&engine, None, &budget).await.unwrap().install(&engine, &budget).await.unwrap();
        let user = crate::cli::User::of(&db);
        db.execute(
            "insert into dlq_events (event_type, error_reason, status) values ('paid', 'E: x', 'FAILED_PERMANENTLY')",
        )
        .await;
        let plan = user.run(&["archive", "--all", "--dry-run"]);
        plan.with(0);
        assert!(!format!("{}{}", plan.out, plan.err).contains("CREATE TABLE"), "{}{}", plan.out, plan.err);
        user.run(&["archive", "--all", "--yes"]).with(0);
        assert_eq!((db.count("dlq_events").await, db.count("dlq_events_archive").await), (0, 1), "{:?}", db.engine);
        // Without it the archive is made by the first who archives, whatever the table has become meanwhile.
        db.execute("drop table dlq_events_archive").await;
        let plan = preset.plan(&engine, None, &budget).await.unwrap();
        assert_eq!((plan.created.len(), plan.kept), (0, vec!["dlq_events"]));
    }
}

#[tokio::test]
async fn lists_of_a_state_and_counts_by_error_are_served_by_an_index() {
    for db in harness::every_server("indexes").await {
        let (engine, budget) = (connect(&db).await, Budget::new(LONG));
        for preset in PRESETS {
            preset.plan(&engine, None, &budget).await.unwrap().install(&engine, &budget).await.unwrap();
        }
        let explain = match db.engine {
            harness::Engine::Sqlite => "explain query plan",
            _ => "explain format=json",
        };
        let explain = if db.engine == harness::Engine::Postgres { "explain (format json)" } else { explain };
        if db.engine == harness::Engine::Postgres {
            // Empty tables are read whole; what can be served at all is what counts here.
            db.execute(
                "do $$ begin execute 'alter database ' || current_database() || ' set enable_seqscan = off'; \
                        execute 'alter database ' || current_database() || ' set enable_sort = off'; end $$",
            )
            .await;
        }
        for (index, sql) in [
            (
                "index_dead_letter_jobs_on_status_and_failed_at",
                "select id from dead_letter_jobs where status = 'failed' order by failed_at desc, id desc limit 50",
            ),
            (
                "index_dead_letter_jobs_on_status_and_error_class",
                "select error_class, count(*), min(failed_at), max(failed_at) from dead_letter_jobs \
                 where status = 'failed' group by error_class",
            ),
            (
                "dlq_events_status_created_at",
                "select id from dlq_events where status = 'FAILED_PERMANENTLY' order by created_at desc, id desc limit 50",
            ),
        ] {
            let column = if db.engine == harness::Engine::Sqlite { 3 } else { 0 };
            let plan = db.column_at(&format!("{explain} {sql}"), column).await.join("\n");
            assert!(plan.contains(index), "{:?}: {sql}\n{plan}", db.engine);
            let sorts = ["\"Node Type\": \"Sort\"", "USE TEMP B-TREE", "filesort"];
            assert!(!sorts.iter().any(|sort| plan.contains(sort)), "{:?}: {sql}\n{plan}", db.engine);
        }
    }
}

#[tokio::test]
async fn a_row_with_only_what_must_be_given_becomes_a_failed_job() {
    for db in harness::every_server("defaults").await {
        let (engine, budget) = (connect(&db).await, Budget::new(LONG));
        PRESETS[0].plan(&engine, None, &budget).await.unwrap().install(&engine, &budget).await.unwrap();
        db.execute(
            "insert into dead_letter_jobs (job_class, job_id, error_class, failed_at) \
             values ('A', 'j1', 'E', '2026-11-18 09:14:02')",
        )
        .await;
        let exact = "{\"n\":12345678901234567890.10}";
        if db.engine != harness::Engine::Postgres {
            db.execute(&format!("update dead_letter_jobs set arguments = '{exact}'")).await;
            assert_eq!(db.scalar("select arguments from dead_letter_jobs").await, exact, "{:?}", db.engine);
        }
        assert_eq!(db.scalar("select status from dead_letter_jobs").await, "failed", "{:?}", db.engine);
        let id = uuid::Uuid::parse_str(&db.scalar("select cast(id as char(36)) from dead_letter_jobs").await)
            .expect("a UUID");
        assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
    }
}

#[tokio::test]
async fn nothing_is_installed_where_nothing_may_be_written() {
    for db in harness::every_server("roinstall").await {
        let read_only = dlq_tui::db::EngineOptions { read_only: true, ..options() };
        let engine = connect_as(&db, &read_only).await.unwrap();
        let plan = PRESETS[0].plan(&engine, None, &Budget::new(LONG)).await.unwrap();
        let error = plan.install(&engine, &Budget::new(LONG)).await.unwrap_err();
        assert!(matches!(error, SourceError::Denied(_)), "{error:?}");
    }
}
