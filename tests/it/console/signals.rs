//! A console that is ended from outside while its run goes on.

use serde_json::Value;

use crate::fixtures::Layout;
use crate::harness;

use super::{command, has_jobs, on, to_list};

const JOBS: u32 = 30_000;

#[tokio::test]
async fn a_run_whose_console_is_ended_from_outside_is_resumed_and_replays_each_job_once() {
    let Some(server) = harness::postgres() else { return };
    for signal in ["TERM", "HUP", "KILL"] {
        let db = server.database(&format!("console run {signal}")).await;
        Layout::JobsDlq.seed(&db, JOBS).await;
        db.execute("delete from jobs").await;
        let mut pty = on(&db).size(100, 30).start();
        pty.wait("jobs", has_jobs);
        to_list(&mut pty);
        pty.send("A");
        pty.send("R");
        pty.wait_for_text("Type 30,000");
        // What comes along with the dialog was meant for something else, and is not taken.
        pty.press_until("<C-u>30000", "the number", |screen| screen.contains(":  30000"));
        pty.send("<Enter>");
        let began = std::time::Instant::now();
        while db.count("jobs").await == 0 {
            assert!(began.elapsed().as_secs() < 60, "the run never began\n{}", pty.text());
        }
        pty.signal(signal);
        let code = pty.wait_for_exit().exit_code();
        if signal != "KILL" {
            assert_eq!(code, 3, "{signal}");
            pty.wait_for_text("resume with `dlq-tui resume r-");
            pty.assert_terminal_left_clean();
        }
        let left = db.count("jobs_dlq").await;
        assert!(left > 0, "{signal}: it was done before it was ended");
        let runs: Value =
            serde_json::from_str(&command(&db, pty.home(), &["runs", "-o", "json"])).expect("the runs as JSON");
        let run = &runs["runs"][0];
        assert_eq!(run["planned"].as_u64(), Some(JOBS.into()), "{signal}: {run}");
        let id = run["run"].as_str().expect("a run");
        let receipt = command(&db, pty.home(), &["resume", id, "--yes", "-o", "json"]);
        let receipt: Value = serde_json::from_str(&receipt).expect("a receipt");
        assert_eq!(receipt["done"].as_u64(), Some(JOBS.into()), "{signal}: {receipt}");
        assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (JOBS.into(), 0), "{signal}");
        let once = db.count("(select distinct cast(payload as char(900)) from jobs) as p").await;
        assert_eq!(once, u64::from(JOBS), "{signal}");
    }
}
