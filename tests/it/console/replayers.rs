//! Two operators who have the same idea.

use crate::fixtures::Layout;
use crate::harness;

#[tokio::test]
async fn two_commands_that_replay_everything_at_once_enqueue_each_job_once() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let db = server.database("two replayers").await;
        Layout::JobsDlq.seed(&db, 3_000).await;
        let jobs = db.column("select payload from jobs_dlq order by id").await;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let home = tempfile::tempdir().expect("a folder");
                    let output = std::process::Command::new(env!("CARGO_BIN_EXE_dlq-tui"))
                        .args(["replay", "--all", "--yes"])
                        .env_clear()
                        .env("HOME", home.path())
                        .env("DATABASE_URL", &db.url)
                        .stdin(std::process::Stdio::null())
                        .output()
                        .expect("the binary starts");
                    // Done, partly done because the other was quicker, or nothing left to do.
                    let code = output.status.code();
                    let said = String::from_utf8_lossy(&output.stderr);
                    assert!(matches!(code, Some(0 | 3)), "ended with {code:?}: {said}");
                });
            }
        });
        assert_eq!(db.count("jobs_dlq").await, 0, "{:?}", db.engine);
        let mut live = db.column("select payload from jobs").await;
        let mut expected = jobs;
        live.sort();
        expected.sort();
        assert_eq!(live.len(), expected.len(), "{:?}", db.engine);
        assert!(live == expected, "{:?}: the live jobs are not the dead ones", db.engine);
    }
}
