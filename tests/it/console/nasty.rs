//! Jobs that try to act on the terminal: through the console and through the command line.

use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::pty::Pty;

use super::{has_jobs, on, to_list};

/// What the console itself may do to a terminal beside drawing.
fn allowed(effect: &str) -> bool {
    // The window's title is set, and restored at the end.
    effect.starts_with("title ") && !effect.contains("pwned")
}

fn assert_untouched(pty: &Pty, what: &str) {
    let acted: Vec<String> = pty.side_effects().into_iter().filter(|effect| !allowed(effect)).collect();
    assert!(acted.is_empty(), "{what}: a job acted on the terminal: {acted:#?}");
}

/// PostgreSQL where there is one, and SQLite, which takes what PostgreSQL refuses.
async fn databases(name: &str) -> Vec<TestDb> {
    let mut databases = vec![harness::sqlite(name).await];
    if let Some(server) = harness::postgres() {
        databases.push(server.database(name).await);
    }
    databases
}

#[tokio::test]
async fn no_job_acts_on_the_terminal_of_the_console() {
    for db in databases("console nasty").await {
        for layout in [Layout::JobsDlq, Layout::DeadLetterJobs] {
            let rows = layout.nasty_day(&db).await;
            let mut pty = on(&db).size(140, 45).start();
            pty.wait("jobs", has_jobs);
            to_list(&mut pty);
            walk(&mut pty, rows);
            // From whichever pane a slow machine has come to by then.
            pty.send(":quit<Enter>");
            pty.wait_for_exit();
            pty.assert_terminal_left_clean();
            assert_untouched(&pty, &format!("{layout:?} on {:?}", db.engine));
            // The next layout has the database to itself.
            db.execute(&format!("drop table {}; drop table jobs", layout.table())).await;
        }
    }
}

/// Opens every job with every tab, then looks at every facet.
fn walk(pty: &mut Pty, rows: u64) {
    for _ in 0..rows {
        pty.send("<Enter>");
        pty.wait("the open job", |screen| screen.contains("[Job]"));
        pty.send("23451");
        pty.press_until("<Esc>", "the list", |screen| screen.contains("[Jobs]"));
        pty.send("j");
    }
    // Wherever the last Esc has led: in the open job the digits would walk through its long arguments instead.
    pty.press_until("<Tab>", "the bars", |screen| screen.contains("[1 error class]"));
    for facet in ["1", "2", "3", "4", "5", "6"] {
        pty.send(facet);
        pty.send("Gg");
    }
}

#[tokio::test]
async fn no_job_acts_on_the_terminal_of_the_command_line() {
    for db in databases("commands nasty").await {
        Layout::JobsDlq.nasty_day(&db).await;
        for args in [&["list", "--limit", "0"][..], &["stats"], &["stats", "--by", "class"], &["list", "-o", "csv"]] {
            let mut pty = Pty::console(args).env("DATABASE_URL", &db.url).size(140, 45).start();
            assert!(pty.wait_for_exit().success(), "{args:?}\n{}", pty.text());
            assert_untouched(&pty, &format!("{args:?} on {:?}", db.engine));
        }
        for id in db.column("select id from jobs_dlq").await.iter().step_by(7) {
            let mut pty = Pty::console(&["show", id]).env("DATABASE_URL", &db.url).size(140, 45).start();
            assert!(pty.wait_for_exit().success(), "show {id}\n{}", pty.text());
            assert_untouched(&pty, &format!("show {id} on {:?}", db.engine));
        }
    }
}
