//! `adapters check --deep` calls the built-in layouts right, whatever rows they hold.

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

const CONFIG: &str = "[sources.shop]\nurl = \"URL\"\nreplay = { table = \"jobs\" }\n";

fn checked(db: &TestDb, layout: Layout) -> (i32, String) {
    let user = User::of(db).configured(&CONFIG.replace("URL", &db.url));
    let ended = user.run(&["--source", "shop", "adapters", "check", layout.table(), "--deep"]);
    (ended.code, format!("{}{}", ended.out, ended.err))
}

#[tokio::test]
async fn built_in_layouts_are_called_right_on_every_engine() {
    for layout in Layout::ALL {
        for db in harness::every_server("deep_built_in").await {
            layout.seed(&db, 60).await;
            // As often as a lock of the connection before could still be there.
            for _ in 0..3 {
                let (code, told) = checked(&db, layout);
                assert!(code == 0 && !told.contains("WRONG"), "{layout:?} on {}:\n{told}", db.engine.name());
            }
        }
    }
}

#[tokio::test]
async fn a_job_without_a_time_of_death_is_told_and_not_called_wrong() {
    for db in harness::every_server("deep_untimed").await {
        Layout::JobsDlq.seed(&db, 20).await;
        db.execute("update jobs_dlq set failed_at = null where id in (3, 7)").await;
        let (code, told) = checked(&db, Layout::JobsDlq);
        assert!(code == 0 && told.contains("2 without a time of death"), "{}:\n{told}", db.engine.name());
    }
}
