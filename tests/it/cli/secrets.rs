//! Secrets that jobs hold, and everything that commands print and keep of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb, process};

/// Planted values: by a well-known key, by path rules of every kind, in prose, in the backtrace, in a column, behind
/// escapes, in options, pairs and JSON within JSON, and by how they look.
const PLANTED: [&str; 24] = [
    "s3cret-password",
    "4111-card-number",
    "ann@customer.example",
    "deep-pin-1",
    "deep-pin-2",
    "prose-token-77",
    "trace-password-8",
    "meta-apikey-9",
    "twice-encoded-pin",
    "newline-token-10",
    "escaped-amp-token-11",
    "slashed-password-12",
    "element-password-13",
    "quoted-otp-14",
    "letters-password-15",
    "nested-cookie-16",
    "percent-password-17",
    "option-value-18",
    "listed-option-19",
    "paired-value-20",
    "stripe-token-21",
    "sk_live_0123456789abcdef",
    "PEM-BODY-22",
    "trace-line-pin-23",
];
const RULES: &str = "[redaction]\nextra = [\"card.*\", \"customer.email\", \"**.pin\"]\n";

async fn plant(db: &TestDb) {
    Layout::DeadLetterJobs.seed(db, 3).await;
    let arguments = r#"{"password":"s3cret-password","card":{"number":"4111-card-number"},"customer":{"email":"ann@customer.example"},"a":[{"b":{"pin":"deep-pin-1"}},[{"pin":"deep-pin-2"}]],"inner":"{\"pin\":\"twice-encoded-pin\"}",
        "raw":"x\ntoken=newline-token-10","get":"/a?b=1\u0026token=escaped-amp-token-11","db":"mysql:\/\/root:slashed-password-12@h\/d",
        "xml":"\u003cpassword\u003eelement-password-13\u003c/password\u003e","said":"\u0022otp\u0022:\u0022quoted-otp-14\u0022",
        "form":"passw\u006frd=\u00e9letters-password-15","deep":"{\"inner\":\"{\\\"raw\\\":\\\"x\\\\ncookie: nested-cookie-16\\\"}\"}",
        "query":"a%3D1%26password%3Dpercent-password-17","line":"x --api-key option-value-18 -v","argv":["x","--token","listed-option-19"],
        "headers":[{"name":"X-Auth-Token","value":"paired-value-20"}],"stripe_token":"stripe-token-21","note":"paid by sk_live_0123456789abcdef",
        "pem":"-----BEGIN PRIVATE KEY-----\nPEM-BODY-22\n-----END PRIVATE KEY-----"}"#;
    let message = "refused: access_token=prose-token-77 for card";
    let trace = r#"["a.rb:1 password=trace-password-8","b.rb:2","sent:\npin=trace-line-pin-23"]"#;
    let metadata = r#"{"api_key":"meta-apikey-9"}"#;
    db.execute(&format!(
        "update dead_letter_jobs set status = 'failed', arguments = '{arguments}', error_message = '{message}', \
         error_backtrace = '{trace}', metadata = '{metadata}'"
    ))
    .await;
}

fn assert_hidden(what: &str, text: &str) {
    for planted in PLANTED {
        assert!(!text.contains(planted), "{what} shows {planted}: {text}");
    }
}

#[tokio::test]
async fn nothing_that_is_printed_or_kept_holds_a_secret() {
    let db = harness::sqlite("cli secrets").await;
    plant(&db).await;
    let config = format!("{RULES}[sources.app]\nurl = \"{}\"\nreplay = {{ table = \"jobs\" }}\n", db.url);
    let user = User::new().configured(&config);
    let id = db.scalar("select min(id) from dead_letter_jobs").await;
    let commands: &[&[&str]] = &[
        &["show", &id],
        &["show", &id, "-o", "json"],
        &["show", &id, "-o", "jsonl"],
        &["list"],
        &["list", "-o", "json"],
        &["list", "-o", "jsonl"],
        &["list", "-o", "csv"],
        &["export"],
        &["export", "-o", "csv"],
        &["export", "-o", "markdown"],
        &["stats"],
        &["stats", "--by", "fp", "-o", "json"],
        &["sources", "-o", "json"],
        &["check", "--max", "error=*:0", "-o", "json"],
        &["replay", "--all", "--dry-run"],
        &["replay", "--all", "--dry-run", "-o", "json"],
        &["ignore", &id, "--yes", "-o", "json"],
        &["reopen", &id, "--yes"],
        // What is kept to be put back is kept as it is: in a file that only the operator can read.
        &["replay", &id, "--yes", "--no-archive", "-o", "json"],
        &["runs", "-o", "json"],
        &["runs"],
        &["adapters", "check"],
        &["config"],
    ];
    for command in commands {
        let ended = user.run(command);
        assert!([0, 3, 5].contains(&ended.code), "{command:?}: {}", ended.err);
        assert_hidden(&format!("{command:?}"), &(ended.out + &ended.err));
    }
    // Classes alone: neither arguments nor messages are in the record. A discard keeps the row whole, by its purpose.
    let mut kept = 0;
    for entry in std::fs::read_dir(user.home().join("state/dlq-tui")).expect("the state folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            kept += 1;
            assert_hidden(
                &path.display().to_string(),
                &String::from_utf8_lossy(&std::fs::read(&path).expect("a file")),
            );
        }
    }
    assert!(kept > 0, "there is a ledger");

    let mut watch = user
        .command(&["watch", "--interval", "1s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut said = String::new();
    BufReader::new(watch.stderr.take().expect("a pipe")).read_line(&mut said).expect("a line");
    db.execute("delete from dead_letter_jobs").await;
    let mut line = String::new();
    BufReader::new(watch.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    process::signal(&[watch.id()], "INT");
    watch.wait().expect("it ends");
    assert_hidden("watch", &(said + &line));
}

#[tokio::test]
async fn a_reason_that_is_the_class_of_its_error_shows_its_secrets_nowhere() {
    let db = harness::sqlite("cli secret classes").await;
    Layout::DlqEvents.seed(&db, 3).await;
    db.execute(
        "update dlq_events set status = 'FAILED_PERMANENTLY', error_reason = 'login of ann failed password=hunterSECRET', \
         event_type = 'login token=hunterSECRET'",
    )
    .await;
    let user = User::of(&db);
    let id = db.scalar("select min(id) from dlq_events").await;
    let mut commands: Vec<Vec<&str>> = Vec::new();
    for form in ["table", "json", "jsonl", "csv"] {
        commands.extend([
            vec!["list", "-o", form],
            vec!["stats", "-o", form],
            vec!["check", "--max", "error=*:0", "-o", form],
        ]);
        commands.push(vec!["stats", "--by", "class", "-o", form]);
    }
    commands.extend(["table", "json", "jsonl"].map(|form| vec!["show", id.as_str(), "-o", form]));
    commands.extend(["jsonl", "csv", "markdown"].map(|form| vec!["export", "-o", form]));
    commands.extend(["table", "json"].map(|form| vec!["replay", "--all", "--dry-run", "-o", form]));
    commands.push(vec!["discard", &id, "--yes", "-o", "json"]);
    for command in &commands {
        let ended = user.run(command);
        assert!([0, 5].contains(&ended.code), "{command:?}: {}", ended.err);
        let said = ended.out + &ended.err;
        assert!(!said.contains("hunterSECRET"), "{command:?} shows it: {said}");
    }
    assert!(user.run(&["list", "--reveal"]).out.contains("hunterSECRET"));
    // What is masked is found by its true value all the same.
    let found = user.json(&["list", "-f", "error:\"login of ann failed password=hunterSECRET\"", "-o", "json"]);
    assert_eq!(found["jobs"].as_array().map(Vec::len), Some(2), "{found}");
    let found = user.json(&["list", "-f", "error:\"login of ann failed password=*\"", "-o", "json"]);
    assert_eq!(found["jobs"].as_array().map(Vec::len), Some(2), "{found}");
}

#[tokio::test]
async fn what_an_operator_typed_and_configured_shows_its_secrets_nowhere() {
    let db = harness::sqlite("cli secret reasons").await;
    Layout::DeadLetterJobs.seed(&db, 3).await;
    db.execute(r#"update dead_letter_jobs set status = 'failed', arguments = '{"token":"typedSECRET"}'"#).await;
    let words = r#"["true", "--token", "typedSECRET", "--api-key=typedSECRET"]"#;
    let source = format!("[sources.app]\nurl = \"{}\"\nvalidate = {{ command = {words} }}\n", db.url);
    let user = User::new().configured(&source);
    let reason = "typed: password=typedSECRET --token typedSECRET";
    let mut said = Vec::new();
    let filter = ["-f", "args.token:typedSECRET", "--reason", reason];
    for form in ["table", "json"] {
        let dry: Vec<&str> = ["ignore", "--dry-run", "-o", form].into_iter().chain(filter).collect();
        said.push(user.run(&dry));
        let ignore: Vec<&str> = ["ignore", "--yes", "-o", form].into_iter().chain(filter).collect();
        said.push(user.run(&ignore));
        said.push(user.run(&["reopen", "-f", "state:ignored", "--yes", "--reason", reason, "-o", form]));
    }
    let kept = user.json(&["runs", "-o", "json"]);
    let run =
        kept["runs"].as_array().and_then(|runs| runs.last()).expect("a run")["run"].as_str().expect("an id").to_owned();
    for form in ["table", "json", "jsonl", "csv"] {
        said.push(user.run(&["runs", "-o", form]));
        said.push(user.run(&["runs", &run, "-o", form]));
        said.push(user.run(&["config", "-o", form]));
    }
    said.push(user.run(&["export", "-o", "markdown"]));
    for ended in said {
        assert_eq!(ended.code, 0, "{}", ended.err);
        let said = ended.out + &ended.err;
        assert!(!said.contains("typedSECRET"), "{said}");
    }
    assert!(kept.to_string().contains("typed: password=[redacted]"), "{kept}");
}

#[tokio::test]
async fn the_health_of_a_source_is_told_in_words_of_our_own() {
    let db = harness::sqlite("cli healthz").await;
    plant(&db).await;
    let user = User::of(&db);
    let mut child = user
        .command(&["metrics", "--listen", "127.0.0.1:0", "--cache", "1s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut said = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut said).expect("a line");
    let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned();
    db.execute("alter table dead_letter_jobs rename to renamed_for_ann_at_customer").await;
    let get = || {
        let mut stream = std::net::TcpStream::connect(&address).expect("it listens");
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    harness::eventually("the fault is told", || get().starts_with("HTTP/1.1 503"));
    let answer = get();
    process::signal(&[child.id()], "TERM");
    child.wait().expect("it ends");
    assert!(answer.trim_end().ends_with("the database refused a statement"), "{answer}");
}

#[tokio::test]
async fn what_is_revealed_is_recorded_first_or_not_revealed() {
    let db = harness::sqlite("cli reveal").await;
    plant(&db).await;
    let user = User::of(&db).configured(RULES);
    let id = db.scalar("select min(id) from dead_letter_jobs").await;
    let shown = user.run(&["show", &id, "--reveal"]);
    shown.with(0);
    assert!(
        PLANTED.iter().all(|planted| *planted == "twice-encoded-pin" || shown.out.contains(planted)),
        "{}",
        shown.out
    );
    user.run(&["--reveal", "list", "-f", "args.x:1"]).with(0);
    assert_hidden("without it", &user.run(&["show", &id]).out);
    let kept = user.json(&["runs", "--reveals", "-o", "json"]);
    let kept = kept["reveals"].as_array().expect("a list");
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[1]["command"].as_str().expect("a command").ends_with(&format!("show {id} --reveal")), "{kept:?}");
    assert!(kept[0]["user"].is_string() && kept[0]["host"].is_string() && kept[0]["source"].is_string());
    for form in ["table", "csv", "jsonl"] {
        assert!(user.run(&["runs", "--reveals", "-o", form]).out.contains("--reveal"));
    }

    let blind = User::of(&db).configured(RULES);
    std::fs::write(blind.home().join("state"), "a file where the folder should be").expect("a file");
    for command in [["show", id.as_str(), "--reveal"], ["export", "--limit=1", "--reveal"]] {
        let ended = blind.run(&command);
        assert!(
            ended.with(1).contains("nothing is revealed, because that cannot be kept in the ledger"),
            "{}",
            ended.err
        );
        assert_eq!(ended.out, "");
    }
}

#[tokio::test]
async fn a_note_lays_out_arguments_and_backtrace() {
    let db = harness::sqlite("cli note").await;
    plant(&db).await;
    let note = User::of(&db).configured(RULES).run(&["export", "-o", "markdown"]);
    note.with(0);
    assert!(note.out.contains("\n    b.rb:2\n"), "{}", note.out);
    let arguments =
        note.out.split("arguments:\n").nth(1).and_then(|rest| rest.split("backtrace:").next()).expect("a part");
    assert!(arguments.trim().lines().count() > 3, "{}", note.out);
}
