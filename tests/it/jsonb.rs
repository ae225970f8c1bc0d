//! JSON that SQLite stores as JSONB reads, filters, hides its secrets and comes back as the same JSON that is text.

use dlq_tui::domain::action::Action;

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::undo::{Bench, content};

const JOB: &str =
    r#"{"class": "Charge", "job_class": "Charge", "queue": "billing", "user": {"id": 7, "password": "hunter2"}}"#;

/// A dead job whose payload is text, and one that is alike but for being JSONB.
async fn twins(name: &str, layout: Layout) -> TestDb {
    let db = harness::sqlite(name).await;
    layout.install(&db).await;
    for (n, form) in ["json", "jsonb"].into_iter().enumerate() {
        let at = format!("'2026-11-20 10:00:0{n}.000000'");
        db.execute(&match layout {
            Layout::JobsDlq => format!(
                "insert into jobs_dlq (payload, attempts, error_class, error_msg, failed_at) values ({form}('{JOB}'), 3, 'Boom', 'no', {at})"
            ),
            Layout::DeadLetterJobs => format!(
                "insert into dead_letter_jobs (id, job_class, job_id, queue_name, arguments, error_class, failed_at, metadata, created_at, \
                 updated_at) values ('00000000-0000-4000-8000-00000000000{n}', 'Charge', 'job{n}', 'billing', {form}('[{JOB}]'), 'Boom', {at}, \
                 {form}('{{\"executions\": 4, \"hostname\": \"web-1\"}}'), {at}, {at})"
            ),
            Layout::DlqEvents => unreachable!("its payload is read like the others"),
        })
        .await;
    }
    db
}

const LAYOUTS: [Layout; 2] = [Layout::JobsDlq, Layout::DeadLetterJobs];

#[tokio::test]
async fn jsonb_reads_and_hides_like_text() {
    for layout in LAYOUTS {
        let db = twins("jsonb_read", layout).await;
        let user = User::of(&db);
        for filter in ["class:Charge queue:billing", "args:hunter2", "attempts:>2"] {
            let listed = user.json(&["list", "-f", filter, "-o", "json"]);
            assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(2), "{layout:?} {filter}: {listed}");
        }
        let path = if layout == Layout::JobsDlq { "args.user.id:7" } else { "args.0.user.id:7" };
        let listed = user.json(&["list", "-f", path, "-o", "json"]);
        let ids: Vec<String> = listed["jobs"]
            .as_array()
            .expect("jobs")
            .iter()
            .map(|job| job["id"].as_str().expect("an id").to_owned())
            .collect();
        assert_eq!(ids.len(), 2, "{layout:?}: {listed}");
        let shown: Vec<String> =
            ids.iter().map(|id| user.json(&["show", id, "-o", "json"])["arguments"].to_string()).collect();
        assert_eq!(shown[0].replace(' ', ""), shown[1].replace(' ', ""), "{layout:?}");
        assert!(!shown[0].contains("hunter2") && shown[0].contains("billing"), "{layout:?}: {shown:?}");
    }
}

#[tokio::test]
async fn a_replay_of_jsonb_and_its_undo_leave_it_jsonb() {
    for layout in LAYOUTS {
        let db = twins("jsonb_replay", layout).await;
        let before = content(&db, layout.table()).await;
        let bench = Bench::new(&db, layout).await;
        let (run, tally) = bench.act("", Action::Replay).await;
        assert_eq!(tally.done, 2, "{layout:?}: {tally:?}");
        if layout == Layout::JobsDlq {
            assert_eq!(db.column("select typeof(payload) from jobs order by run_after desc").await, ["text", "blob"]);
        } else {
            let marked =
                "select typeof(metadata) from dead_letter_jobs where metadata->>'$.replay_run' is not null order by id";
            assert_eq!(db.column(marked).await, ["text", "blob"]);
        }
        let (_, tally) = bench.undo(&run).await;
        assert_eq!((tally.done, db.count("jobs").await), (2, 0), "{layout:?}: {tally:?}");
        let after = content(&db, layout.table()).await;
        // The table gives the rows their ids anew, in whatever order.
        assert_eq!(after.len(), 2);
        if layout == Layout::DeadLetterJobs {
            assert_eq!(after, before);
        }
        let (run, tally) = bench.act("", Action::Discard).await;
        assert_eq!((tally.done, db.count(layout.table()).await), (2, 0));
        bench.undo(&run).await;
        assert_eq!(content(&db, layout.table()).await, after, "{layout:?}");
    }
}

#[tokio::test]
async fn another_queue_is_written_into_jsonb() {
    let db = twins("jsonb_queue", Layout::JobsDlq).await;
    let done = User::of(&db).run(&["replay", "--all", "--yes", "--to-queue", "slow"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let told = "select typeof(payload) || ' ' || (payload->>'$.queue') from jobs order by typeof(payload)";
    assert_eq!(db.column(told).await, ["blob slow", "text slow"]);
}

#[tokio::test]
async fn arguments_that_cannot_be_decoded_are_hidden_whole() {
    let db = twins("jsonb_broken", Layout::JobsDlq).await;
    let user = User::of(&db);
    for broken in [
        "substr(jsonb(payload), 1, length(jsonb(payload)) - 3)",
        "substr(payload, 1, 90)",
        "cast('password hunter2' as blob)",
    ] {
        db.execute(&format!(
            "update jobs_dlq set payload = '{JOB}'; update jobs_dlq set payload = {broken} where id = 1"
        ))
        .await;
        for args in [
            &["show", "1"][..],
            &["show", "1", "-o", "json"],
            &["export", "-f", "id:1", "-o", "jsonl"],
            &["export", "-f", "id:1", "-o", "markdown"],
        ] {
            let shown = user.run(args);
            assert_eq!(shown.code, 0, "{args:?}: {}", shown.err);
            assert!(!shown.out.contains("hunter"), "{broken} {args:?}: {}", shown.out);
            assert!(shown.out.contains("[redacted]"), "{broken} {args:?}: {}", shown.out);
        }
        let revealed = user.run(&["show", "1", "--reveal"]);
        assert!(revealed.out.contains("hunter2") || revealed.out.contains("Charge"), "{broken}: {}", revealed.out);
    }
}
