//! What happens under an open console: the server goes, others act.

use crate::fixtures::Layout;
use crate::harness;

use super::{command, has_bars, has_jobs, on, row_under_cursor, text_under_cursor, to_list};

#[tokio::test]
async fn a_server_that_goes_leaves_the_data_in_view_and_its_return_is_noticed() {
    let Some(server) = harness::private_postgres() else { return };
    let db = server.database("console lost").await;
    Layout::DeadLetterJobs.seed(&db, 500).await;
    let mut pty = on(&db).size(140, 45).start();
    pty.wait("bars and jobs, live", |screen| has_bars(screen) && has_jobs(screen) && screen.contains("● live"));
    to_list(&mut pty);
    server.stop();
    pty.wait("that the server is gone, and the data of before", |screen| {
        screen.contains("DISCONNECTED") && screen.contains("retry") && has_bars(screen) && has_jobs(screen)
    });
    pty.wait("how old the data is", |screen| screen.contains("as of"));
    let before = pty.text();
    pty.send("jj");
    pty.wait("the keyboard at work", |screen| screen.text() != before && has_jobs(screen));
    server.start();
    pty.wait("that it is live again", |screen| screen.contains("● live") && !screen.contains("DISCONNECTED"));
    pty.send("q");
    assert!(pty.wait_for_exit().success());
    pty.assert_terminal_left_clean();
}

#[tokio::test]
async fn the_cursor_stays_on_its_job_while_another_session_replays_and_new_jobs_die() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("console others").await;
    Layout::JobsDlq.seed(&db, 300).await;
    let mut pty = on(&db).size(140, 45).start();
    pty.wait("jobs", has_jobs);
    to_list(&mut pty);
    pty.send("jjjjj");
    // The newest has the id 300, and the cursor went down by five.
    pty.send("<Enter>");
    pty.wait_for_text("id 295");
    pty.send("<Esc>");
    pty.wait("the list again", |screen| screen.contains("[Jobs]") && row_under_cursor(screen).is_some());
    let row = text_under_cursor(&pty);
    let home = tempfile::tempdir().expect("a folder");
    command(&db, home.path(), &["replay", "300", "299", "298", "--yes"]);
    let late = "('{}', 5, 'Late', 'new', now())";
    db.execute(&format!("insert into jobs_dlq (payload, attempts, error_class, error_msg, failed_at) values {late}"))
        .await;
    pty.wait("what is new and what is gone", |screen| screen.contains("new: g") && screen.contains("gone"));
    assert_eq!(text_under_cursor(&pty), row);
    pty.send("<Enter>");
    pty.wait_for_text("id 295");
}

#[tokio::test]
async fn columns_that_come_under_an_open_console_are_read_again_before_anything_is_deleted() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("console columns").await;
    Layout::JobsDlq.seed(&db, 30).await;
    let mut pty = on(&db).size(140, 45).start();
    pty.wait("jobs", has_jobs);
    to_list(&mut pty);
    db.execute("alter table jobs_dlq add column sla text default 'gold'").await;
    pty.press_until("D", "that its columns were read again", |screen| {
        screen.contains("public.jobs_dlq has other columns now (sla): reloaded")
    });
    pty.send("D");
    pty.wait("the plan", |screen| screen.contains("discard 1 job") && screen.contains("[ n No ]"));
    // Once more, under the plan.
    db.execute("alter table jobs_dlq drop column sla").await;
    pty.press_until("y", "why the run was stopped", |screen| {
        screen.contains("(sla): reloaded; L R resumes the run") && screen.contains("not reached")
    });
    assert_eq!(db.count("jobs_dlq").await, 30);
    pty.press_until("<Esc>", "the list", |screen| !screen.contains("Receipt of") && screen.contains("[Jobs]"));
    pty.send("L");
    pty.wait("the run", |screen| screen.contains("Runs:") && screen.contains("stopped"));
    pty.send("R");
    pty.wait("what is asked", |screen| screen.contains("Left: 1."));
    pty.press_until("y", "that it goes on", |screen| !screen.contains("Left: 1."));
    pty.wait("what became of it", |screen| screen.contains("discarded 1"));
    assert_eq!(db.count("jobs_dlq").await, 29);
    pty.send("q");
    assert!(pty.wait_for_exit().success());
}

#[tokio::test]
async fn a_column_that_goes_under_an_open_console_keeps_no_job_from_being_opened() {
    for db in harness::every_engine("console column gone").await {
        Layout::JobsDlq.seed(&db, 30).await;
        db.execute("alter table jobs_dlq add column old varchar(40)").await;
        let mut pty = on(&db).size(140, 45).start();
        pty.wait("jobs", has_jobs);
        to_list(&mut pty);
        db.execute("alter table jobs_dlq drop column old").await;
        pty.send("j<Enter>");
        pty.wait("that the table was read again", |screen| screen.contains("has changed: reloaded"));
        pty.wait("the job", |screen| screen.contains("id 29"));
        pty.send("q");
        assert!(pty.wait_for_exit().success());
    }
}
