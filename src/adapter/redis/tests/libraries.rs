//! What the built-in adapters read of entries that real libraries wrote.

use super::recorded::Recorded;
use crate::adapter::redis::ReadParts;
use crate::adapter::{Adapter, built_in};
use crate::domain::job::{JobDetail, JobId};
use crate::domain::text::Untrusted;

fn adapter(name: &str) -> Adapter {
    built_in().into_iter().find(|adapter| adapter.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The dead jobs of a queue; read twice, the second time with no more than a light row needs.
fn jobs(name: &str, file: &str, queue: &str) -> Vec<JobDetail> {
    let (adapter, recorded) = (adapter(name), Recorded::read(file));
    let spec = adapter.redis().expect("of Redis");
    let read = |wanted| {
        let entries = recorded.entries(spec, queue, wanted);
        let job = |entry| {
            let reader = spec.job(entry, wanted);
            let id = || reader.own_id().unwrap_or_else(|| String::from_utf8_lossy(&entry.member).into_owned());
            (reader.is_dead() && reader.is_of_layout()).then(|| reader.detail(JobId::new(id())))
        };
        entries.iter().filter_map(job).collect::<Vec<JobDetail>>()
    };
    let (light, full) = (read(ReadParts::ROW), read(ReadParts::Full));
    let rows = |jobs: &[JobDetail]| jobs.iter().map(|job| job.row.clone()).collect::<Vec<_>>();
    assert_eq!(rows(&light), rows(&full), "a light row is the same however it was read");
    full
}

fn text(text: &Option<Untrusted>) -> &str {
    text.as_ref().map_or("-", |text| text.exact())
}

/// Class, message, job class, queue, worker, attempts and arguments in one line.
fn line(job: &JobDetail) -> String {
    let row = &job.row;
    let attempts = row.attempts.map_or("-".to_owned(), |n| n.to_string());
    let parts = [&row.error_class, &job.message, &row.job_class, &row.queue, &row.worker].map(text);
    format!("{} | {attempts} | {}", parts.join(" | "), text(&job.arguments))
}

fn job<'a>(jobs: &'a [JobDetail], id: &str) -> &'a JobDetail {
    jobs.iter().find(|job| job.row.id.as_str() == id).unwrap_or_else(|| panic!("{id}"))
}

fn first_line(job: &JobDetail) -> &str {
    text(&job.backtrace).lines().next().unwrap_or_default()
}

#[test]
fn bullmq() {
    let jobs = jobs("bullmq", "bullmq.jsonl", "orders");
    assert_eq!(
        line(job(&jobs, "4")),
        "PaymentDeclined | declined for 9001\nline two | charge | orders | worker-eu-1 | 2 | {\"order_id\":9001,\"note\":\"ключ 💥\"}"
    );
    assert_eq!(job(&jobs, "4").row.at.map(|at| at.0), Some(1_795_161_759_105_000));
    assert_eq!(text(&Some(job(&jobs, "4").row.native_state.clone())), "failed");
    assert_eq!(first_line(job(&jobs, "4")), "PaymentDeclined: declined for 9001");
    // A text was thrown: there is no stack, and so no class.
    assert_eq!(line(job(&jobs, "8")), "- | null | string | orders | worker-eu-1 | 1 | {\"n\":1}");
    // An error without a message: its class stands alone above the stack.
    let mut recorded = Recorded::read("bullmq.jsonl");
    recorded.set("bull:orders:1", "stacktrace", "[\"Error\\n    at f (/app/job.js:1:1)\"]");
    let (adapter, wanted) = (adapter("bullmq"), ReadParts::ROW);
    let spec = adapter.redis().expect("of Redis");
    let entry = &recorded.entries(spec, "orders", wanted)[0];
    assert_eq!(text(&spec.job(entry, wanted).text(crate::adapter::Part::Error)), "Error");
    // Its hash is gone: the id is listed, and nothing of it is known.
    assert_eq!(line(job(&jobs, "2")), "- | - | - | orders | - | - | -");
    let more = &job(&jobs, "4").metadata;
    let value = |name: &str| more.iter().find(|(known, _)| known == name).map(|(_, value)| text(value));
    assert_eq!((value("priority"), value("failedReason"), value("stacktrace")), (Some("3"), None, None));
}

#[test]
fn sidekiq() {
    for (file, at) in [("sidekiq-6.jsonl", 1_795_162_183_997_811), ("sidekiq-8.jsonl", 1_795_163_561_266_894)] {
        let jobs = jobs("sidekiq", file, "");
        let found = jobs.iter().find(|job| text(&job.arguments).starts_with("[9001,")).expect(file);
        assert_eq!(
            line(found),
            "PaymentDeclined | declined for 9001\nline two | ChargeWorker | payments | - | 2 | [9001,{\"note\":\"ключ 💥\"}]"
        );
        assert_eq!((found.row.at.map(|at| at.0), found.row.max_attempts), (Some(at), Some(2)), "{file}");
        assert!(text(&found.backtrace).starts_with("[\""), "{file}: {}", text(&found.backtrace));
        assert_eq!(found.row.id.as_str().len(), 24, "{file}");
    }
}

#[test]
fn a_member_of_sidekiqs_set_that_is_no_json_is_a_job_without_parts() {
    use crate::adapter::redis::RawEntry;
    let adapter = adapter("sidekiq");
    let spec = adapter.redis().expect("of Redis");
    let entry = RawEntry { member: b"oops".to_vec(), score: Some(1.5e9), ..RawEntry::default() };
    let reader = spec.job(&entry, ReadParts::Full);
    assert_eq!((reader.own_id(), reader.is_of_layout()), (None, true));
    assert_eq!(line(&reader.detail(JobId::new("x"))), "- | - | - | - | - | - | -");
}

#[test]
fn rq() {
    let mails = jobs("rq", "rq.jsonl", "mailers");
    let charge = job(&mails, "710cb07a-c54c-4377-8b7e-bbda2e7399c1");
    assert_eq!(
        line(charge),
        "rq_jobs.PaymentDeclined | declined for 9001\nline two | rq_jobs.charge | mailers | worker-eu-1 | - | \
         {\"args\":[9001],\"kwargs\":{\"note\":\"ключ 💥\"}}"
    );
    assert_eq!(charge.row.at.map(|at| at.0), Some(1_795_161_966_351_184), "and not the score, which is the expiry");
    assert_eq!(first_line(charge), "Traceback (most recent call last):");
    let json = jobs("rq", "rq.jsonl", "payments");
    assert_eq!(text(&json[0].arguments), "{\"args\":[9002],\"kwargs\":{}}", "of the JSON serializer");
}

#[test]
fn dramatiq() {
    let jobs = jobs("dramatiq", "dramatiq.jsonl", "default");
    let charge = job(&jobs, "1100e2cf-f141-462d-83b6-d4afdcddbec7");
    assert_eq!(text(&charge.row.error_class), "actors.PaymentDeclined");
    assert_eq!((text(&charge.row.job_class), charge.row.attempts), ("charge", Some(2)));
    assert_eq!(
        text(&charge.arguments),
        "{\"args\":[9001],\"kwargs\":{\"note\":\"\\u043a\\u043b\\u044e\\u0447 \\ud83d\\udca5\"}}"
    );
    assert_eq!(text(&charge.lineage), "0e3bc62e-a84e-424d-b00c-7957dc0f3bd4");
    let old = job(&jobs, "74df82d4-729d-46fc-a477-8af85dcc4512");
    assert_eq!(line(old), "- | - | too_old | default | - | 1 | {\"args\":[],\"kwargs\":{}}");
}

#[test]
fn chasquimq() {
    let jobs = jobs("chasquimq", "chasquimq.jsonl", "orders");
    let shown = |id: &str| (text(&job(&jobs, id).row.reason).to_owned(), line(job(&jobs, id)));
    let (reason, charge) = shown("1795161920212-0");
    assert_eq!(
        (reason.as_str(), charge.as_str()),
        ("retries_exhausted", "- | - | charge | orders | - | 2 | {\"order_id\":9002}")
    );
    assert_eq!(shown("1795161920005-0").1, "- | - | fatal | orders | - | 1 | [1,2,null]");
    assert_eq!(shown("1795161944737-0"), ("decode_failed".to_owned(), "- | - | - | orders | - | - | -".to_owned()));
    assert_eq!(shown("1795161944737-1").1, "- | missing or non-bytes payload field | - | orders | - | - | -");
    assert_eq!(jobs[0].row.at.map(|at| at.0), Some(1_795_161_920_002_000));
}

#[test]
fn asynq() {
    let jobs = jobs("asynq", "asynq.jsonl", "billing");
    assert_eq!(
        line(&jobs[0]),
        "- | card declined: insufficient_funds | charge:card | billing | - | 26 | {\"account_id\":42,\"amount\":1999}"
    );
    assert_eq!((jobs[0].row.max_attempts, jobs[0].row.at.map(|at| at.0)), (Some(26), Some(1_767_430_801_000_000)));
}

#[test]
fn celery() {
    let jobs = jobs("celery", "celery.jsonl", "");
    assert_eq!(jobs.len(), 5, "the one that succeeded is none");
    let charge = job(&jobs, "celery-task-meta-038db2c1-c290-46f2-b146-b5302fb3c2f8");
    assert_eq!(text(&charge.row.error_class), "PaymentDeclined");
    assert_eq!(text(&charge.message), "declined for 9001\nline two");
    assert!(charge.row.at.is_some() && text(&charge.row.job_class) == "shop.charge");
}
