//! The presets on live databases.

use dlq_tui::store::install::{PRESETS, Preset};
use dlq_tui::store::{Budget, StoreError};

use crate::engine::{LONG, connect, connect_as, options};
use crate::harness;

#[tokio::test]
async fn a_preset_installs_what_is_missing_and_a_second_time_nothing() {
    for preset in PRESETS {
        for db in harness::every_engine("preset").await {
            let engine = connect(&db).await;
            let budget = Budget::new(LONG);
            let planned = preset.plan(&engine, &budget).await.unwrap();
            assert_eq!(planned.ddl, preset.ddl(engine.dialect()));
            let done = preset.install(&engine, &budget).await.unwrap_or_else(|e| panic!("{:?}: {e}", db.engine));
            assert_eq!(done, planned);
            for table in &done.created {
                assert_eq!(db.count(table).await, 0);
            }
            let again = preset.install(&engine, &budget).await.unwrap();
            assert_eq!((again.created.len(), again.kept, again.ddl.as_str()), (0, done.created, ""));
        }
    }
}

#[tokio::test]
async fn a_table_that_is_there_is_left_as_it_is() {
    for db in harness::every_engine("kept").await {
        db.execute("create table jobs (mine int)").await;
        let engine = connect(&db).await;
        let done = Preset::named("jobs_dlq").unwrap().install(&engine, &Budget::new(LONG)).await.unwrap();
        assert_eq!((done.kept, done.created), (vec!["jobs"], vec!["jobs_dlq"]));
        db.execute("insert into jobs (mine) values (1)").await;
    }
}

#[tokio::test]
async fn a_row_with_only_what_must_be_given_becomes_a_failed_job() {
    for db in harness::every_engine("defaults").await {
        PRESETS[0].install(&connect(&db).await, &Budget::new(LONG)).await.unwrap();
        db.execute(
            "insert into dead_letter_jobs (id, job_class, job_id, error_class, failed_at) \
             values ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'A', 'j1', 'E', '2026-11-18 09:14:02')",
        )
        .await;
        let exact = "{\"n\":12345678901234567890.10}";
        if db.engine != harness::Engine::Postgres {
            db.execute(&format!("update dead_letter_jobs set arguments = '{exact}'")).await;
            assert_eq!(db.scalar("select arguments from dead_letter_jobs").await, exact, "{:?}", db.engine);
        }
        assert_eq!(db.scalar("select status from dead_letter_jobs").await, "failed", "{:?}", db.engine);
    }
}

#[tokio::test]
async fn nothing_is_installed_where_nothing_may_be_written() {
    for db in harness::every_engine("roinstall").await {
        let read_only = dlq_tui::store::sql::engine::EngineOptions { read_only: true, ..options() };
        let engine = connect_as(&db, &read_only).await.unwrap();
        let error = PRESETS[0].install(&engine, &Budget::new(LONG)).await.unwrap_err();
        assert!(matches!(error, StoreError::Denied(_)), "{error:?}");
    }
}
