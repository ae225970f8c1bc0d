//! Adapter files and what is read by them; and the entries that real libraries wrote, read without a server.

mod libraries;
mod recorded;

use super::*;
use crate::adapter::Adapter;
use crate::domain::job::JobId;
use crate::domain::text::Untrusted;

/// A team's own list of JSON documents.
const OWN: &str = r#"
name = "orders"
engine = "redis"
title = "our dead orders"

[dead]
kind = "list"
key = "{prefix}orders:dead"
decode = ["json"]

[fields]
at = { path = "failed_at", kind = "iso" }
error_class = { path = "error", cut = "class" }
message = { path = "error", cut = "message" }
job_class = { path = "job" }
attempts = { path = "tries", kind = "int", add = 1 }
arguments = { path = "payload", kind = "json" }
backtrace = [{ path = "trace", kind = "lines" }, { path = "stack", kind = "lines" }]

[verbs.replay]
lua = "if redis.call('LREM', dead, 1, member) == 0 then return skip('gone') end redis.call('RPUSH', prefix .. 'orders', member) return 'done'"

[outcome]
unknown = "Nothing says what became of an order."
"#;

fn fault(text: &str) -> String {
    Adapter::parse(text, None).err().map(|e| e.to_string()).unwrap_or_default()
}

fn read(text: &str) -> Adapter {
    Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"))
}

fn exact(text: Option<Untrusted>) -> Option<String> {
    text.map(Untrusted::into_exact)
}

#[test]
fn an_element_of_a_list_becomes_a_job() {
    let adapter = read(OWN);
    assert_eq!(adapter.engines(), ["redis"]);
    let spec = adapter.redis().expect("of Redis");
    let member = br#"{"failed_at":"2026-11-20T08:06:06.5Z","error":"Net::ReadTimeout: after 3s","job":"Ship","tries":4,
        "payload":{"id":12345678901234567890,"price":1.50},"stack":"a\nb"}"#;
    let entry = RawEntry { member: member.to_vec(), ..RawEntry::default() };
    let detail = spec.job(&entry, ReadParts::Full).detail(JobId::new("1"));
    assert_eq!(detail.row.at.map(|at| at.to_rfc3339()).as_deref(), Some("2026-11-20T08:06:06.500000Z"));
    assert_eq!(exact(detail.row.error_class).as_deref(), Some("Net::ReadTimeout"));
    assert_eq!(exact(detail.message).as_deref(), Some("after 3s"));
    assert_eq!(detail.row.attempts, Some(5));
    assert_eq!(exact(detail.arguments).as_deref(), Some(r#"{"id":12345678901234567890,"price":1.50}"#), "digits stay");
    assert_eq!(exact(detail.backtrace).as_deref(), Some("a\nb"));
    assert!(!detail.undecodable);
}

#[test]
fn an_entry_that_cannot_be_decoded_is_a_job_all_the_same() {
    let adapter = read(OWN);
    let spec = adapter.redis().expect("of Redis");
    let entry = RawEntry { member: b"\xffnot json".to_vec(), ..RawEntry::default() };
    let detail = spec.job(&entry, ReadParts::Full).detail(JobId::new("1"));
    assert_eq!((detail.row.at, detail.arguments), (None, None));
}

#[test]
fn faults_name_the_line_and_what_was_meant() {
    let with = |from: &str, to: &str| fault(&OWN.replacen(from, to, 1));
    assert!(with("engine = \"redis\"", "engine = \"rediss\"").contains("line 3: `engine` is"));
    assert!(with("kind = \"list\"", "kind = \"lists\"").contains("line 7: unknown word `lists`; did you mean `list`?"));
    let unknown = with("decode = [\"json\"]", "decode = [\"jsn\"]");
    assert!(unknown.contains("line 9: unknown word `jsn`; did you mean `json`?"), "{unknown}");
    let hole = with("{prefix}orders:dead", "{prefx}orders:dead");
    assert!(hole.contains("line 8: unknown placeholder `{prefx}`"), "{hole}");
    let key = with("path = \"error\", cut", "pth = \"error\", cut");
    assert!(key.contains("line 13: unknown key `pth`; did you mean `path`?"), "{key}");
    let from = with("{ path = \"job\" }", "{ from = \"jobs\", path = \"job\" }");
    assert!(from.contains("line 15: there is no read `jobs`; there are entry"), "{from}");
    let at = with("kind = \"iso\"", "kind = \"text\"");
    assert!(at.contains("line 12: `fields.at` is of kind"), "{at}");
    let lua = with("lua = ", "notes = [\"x\"] #");
    assert!(lua.contains("line 20: `verbs.replay` needs `lua`"), "{lua}");
    let outcome = with("unknown = \"Nothing says what became of an order.\"", "");
    assert!(outcome.contains("`outcome` has `lua`, or says with `unknown`"), "{outcome}");
    let missing = with("title = \"our dead orders\"", "");
    assert_eq!(missing, "the key `title` is missing");
    let scored = with("kind = \"list\"", "kind = \"list\"\nscore = \"ms\"");
    assert!(scored.contains("line 8: `dead.score` is for a zset"), "{scored}");
}

#[test]
fn reads_that_lead_in_a_circle_are_refused() {
    let circle = format!("{OWN}\n[reads]\na = {{ of = \"b\" }}\nb = {{ of = \"a\" }}\n");
    assert!(fault(&circle).contains("line 27: `reads.a` leads back to itself"), "{}", fault(&circle));
    let two = format!("{OWN}\n[reads]\na = {{ hash = \"h\", string = \"s\" }}\n");
    assert!(fault(&two).contains("a read has one of"), "{}", fault(&two));
}

#[test]
fn of_a_hash_only_the_fields_are_read_that_are_needed() {
    let text = OWN
        .replace("{ path = \"job\" }", "{ from = \"job\", path = \"name\" }")
        .replace("attempts = { path", "attempts = { from = \"job\", path")
        + "\n[reads]\njob = { hash = \"{prefix}job:{id}\" }\nstack = { of = \"job\", path = \"stacktrace\", decode = [\"json\"] }\n\
         never = { string = \"x\" }\n";
    let text = text.replace("backtrace = [", "backtrace = [{ from = \"stack\", pick = \"last\" }, ");
    let adapter = read(&text);
    let spec = adapter.redis().expect("of Redis");
    let sent = |wanted| -> Vec<String> {
        let names = KeyNames { prefix: "p:", queue: "", id: b"7" };
        let shown = |command: ReadCommand| {
            command.args.iter().map(|arg| String::from_utf8_lossy(arg).into_owned()).collect::<Vec<_>>()
        };
        spec.commands(wanted, &names).into_iter().map(|(_, command)| shown(command).join(" ")).collect()
    };
    assert_eq!(sent(ReadParts::ROW), ["HMGET p:job:7 name tries"]);
    assert_eq!(sent(ReadParts::Parts(&[crate::adapter::Part::Backtrace])), ["HMGET p:job:7 stacktrace"]);
    assert_eq!(sent(ReadParts::Full), ["HGETALL p:job:7"]);
    assert_eq!(sent(ReadParts::Parts(&[crate::adapter::Part::Message])), [""; 0]);
}

#[test]
fn queues_are_named_by_the_star_of_their_pattern() {
    let queues: QueueSpec = toml::from_str("scan = \"{prefix}:*:meta\"").expect("a pattern");
    assert_eq!(queues.name_in("bull:a:b:meta", "bull"), Some("a:b"));
    assert_eq!(queues.name_in("bull::meta", "bull"), None);
    assert_eq!(queues.name_in("bulls:a:meta", "bull"), None);
}
