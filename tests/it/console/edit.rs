//! The arguments of one job in an editor, on real databases: what was typed is written, and nothing else.

use crate::fixtures::Layout;
use crate::harness::{Engine, TestDb, every_engine};
use crate::pty::Pty;

use super::{has_jobs, on, to_list};

/// Numbers that no float holds, spaces, and a secret.
const ARGUMENTS: &str = r#"{ "id": 12345678901234567890.10,  "currency": null, "password":"hunter2" }"#;

/// An editor that forgets the quotes the first time.
const EDITOR: &str =
    r#"sh -c 'if grep -q null "$1"; then sed -i s/null/EUR/ "$1"; else sed -i "s/EUR/\"EUR\"/" "$1"; fi' editor"#;

/// Puts these arguments into every row of a layout whose replay needs no other table.
async fn seed(db: &TestDb) {
    Layout::DlqEvents.seed(db, 40).await;
    db.execute(&format!("update dlq_events set payload = '{ARGUMENTS}'")).await;
}

async fn arguments(db: &TestDb) -> Vec<String> {
    let of = if db.engine == Engine::Mysql { "char" } else { "text" };
    db.column(&format!("select cast(payload as {of}) from dlq_events order by id")).await
}

async fn dead(db: &TestDb) -> u64 {
    db.count("dlq_events where status = 'FAILED_PERMANENTLY'").await
}

/// Confirms the plan that comes, and waits for the sentence about its run.
fn confirm(pty: &mut Pty, done: &str) {
    pty.wait("a plan", |screen| screen.contains("[ n No ]"));
    pty.press_until("y", done, |screen| screen.contains(done));
}

/// The console on these jobs, with the list in front.
fn start(db: &TestDb, editor: &str) -> Pty {
    let mut pty = on(db).env("VISUAL", editor).size(110, 32).start();
    pty.wait("jobs", has_jobs);
    to_list(&mut pty);
    pty
}

#[tokio::test]
async fn arguments_are_edited_saved_undone_and_replayed() {
    for db in every_engine("console edit").await {
        seed(&db).await;
        let (before, were_dead) = (arguments(&db).await, dead(&db).await);
        let mut pty = start(&db, EDITOR);
        pty.send("E");
        pty.wait("what is wrong", |screen| screen.contains("this is not JSON") && screen.contains("line 3, column 15"));
        pty.press_until("e", "the change", |screen| screen.contains("+ \"EUR\""));
        let text = pty.text();
        assert!(text.contains("- null") && text.contains(".currency") && !text.contains("hunter2"), "{text}");
        pty.press_until("s", "a plan", |screen| screen.contains("edited in an editor"));
        confirm(&mut pty, "repaired 1");
        assert_eq!(dead(&db).await, were_dead, "a job that is only saved stays dead");
        let after = arguments(&db).await;
        let changed: Vec<&String> =
            after.iter().zip(&before).filter(|(now, was)| now != was).map(|(now, _)| now).collect();
        assert_eq!(changed.len(), 1, "{after:?}");
        assert!(changed[0].contains("EUR") && changed[0].contains("hunter2"), "{changed:?}");
        if db.engine == Engine::Sqlite {
            assert_eq!(*changed[0], ARGUMENTS.replace("null", "\"EUR\""), "what was not edited keeps its bytes");
        }
        pty.send("U");
        confirm(&mut pty, "reverted 1");
        assert_eq!(arguments(&db).await, before, "not as it was");

        pty.press_until("<Esc>", "the list", |screen| !screen.contains("reverted 1") && has_jobs(screen));
        pty.send("E");
        pty.wait("what is wrong", |screen| screen.contains("this is not JSON"));
        pty.press_until("e", "the change", |screen| screen.contains("+ \"EUR\""));
        pty.press_until("r", "a plan", |screen| screen.contains("edited in an editor"));
        confirm(&mut pty, "replayed 1");
        assert_eq!(dead(&db).await, were_dead - 1);
        let of = if db.engine == Engine::Mysql { "char" } else { "text" };
        let live = format!("dlq_events where status <> 'FAILED_PERMANENTLY' and cast(payload as {of}) like '%EUR%'");
        assert_eq!(db.count(&live).await, 1, "it runs with the arguments that were typed");
        pty.signal("TERM");
        pty.wait_for_exit();
        pty.assert_terminal_left_clean();
    }
}

#[tokio::test]
async fn an_editor_that_fails_or_a_job_that_is_gone_writes_nothing() {
    for db in every_engine("console edit fails").await {
        seed(&db).await;
        let before = arguments(&db).await;
        for (editor, said) in [
            ("false", "false ended with exit status: 1"),
            ("/no/such/editor", "`/no/such/editor` did not start"),
            ("true", "nothing to write"),
        ] {
            let mut pty = start(&db, editor);
            pty.send("E");
            pty.wait_for_text(said);
            pty.send("q");
            assert!(pty.wait_for_exit().success());
            assert_eq!(arguments(&db).await, before, "{editor}");
        }
        // Another operator's repair comes between the editor and the plan: what they wrote stays.
        let mut pty = start(&db, "sed -i s/null/1/");
        pty.send("E");
        pty.wait("the change", |screen| screen.contains("+ 1"));
        db.execute("update dlq_events set payload = '{\"other\": 1}'").await;
        pty.press_until("s", "that they have changed", |screen| screen.contains("have changed since"));
        assert!(pty.text().contains("+ 1"), "what was typed is lost\n{}", pty.text());
        pty.press_until("<Esc>", "the panes", |screen| !screen.contains("Edited arguments"));
        assert!(arguments(&db).await.iter().all(|now| now.contains("other")), "written over");
        db.execute("delete from dlq_events").await;
        pty.press_until("E", "that it is gone", |screen| screen.contains("this job is gone"));
        pty.signal("TERM");
        pty.wait_for_exit();
    }
}
