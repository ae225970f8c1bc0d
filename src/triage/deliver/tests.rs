//! Real commands: well-behaved, chatty, dying, hanging, deaf.

use super::*;

fn command(script: &str, timeout: Duration) -> CommandDestination {
    CommandDestination { argv: ["/bin/sh", "-c", script].map(str::to_owned).into(), timeout }
}

fn batch(n: usize, json: &str) -> Vec<Message> {
    (0..n)
        .map(|i| Message { id: JobId::new(i.to_string()), json: format!("{{\"id\":\"{i}\",\"payload\":{json}}}") })
        .collect()
}

const LONG: Duration = Duration::from_secs(60);

/// Answers for every line, with the id cut out of it.
const ACCEPT: &str =
    r#"while IFS= read -r line; do id=${line#*\"id\":\"}; id=${id%%\"*}; echo "{\"id\":\"$id\",\"ok\":true}"; done"#;

#[tokio::test]
async fn every_job_is_accepted_that_the_command_acknowledges() {
    let told = command(ACCEPT, LONG).deliver(batch(50, "{}")).await;
    assert_eq!(told.len(), 50);
    assert!(told.iter().all(|(_, answer)| answer.is_ok()), "{told:?}");
}

#[tokio::test]
async fn refusals_carry_the_reason_and_talk_is_no_answer() {
    let script = r#"echo starting; echo '{"id":"x","ok":true}'; echo '{"id":"y","ok":true}'; echo '{"id":0,"ok":true}'; echo '{"progress":1}'; echo '[1]';
        echo '{"id":"1","ok":false,"error":"no such queue"}'; echo '{"id":"2","ok":false}'; printf '{"id":"3","ok":true}'"#;
    let told = command(script, LONG).deliver(batch(4, "{}")).await;
    assert_eq!(told[0].1, Ok(()), "a number names the job as its text does");
    assert_eq!(told[1].1, Err("no such queue".to_owned()));
    assert!(told[2].1.is_err());
    assert_eq!(told[3].1, Ok(()), "the last line needs no end");
}

#[tokio::test]
async fn a_reason_without_end_is_cut() {
    let script = r#"printf '{"id":"0","ok":false,"error":"'; head -c 3000000 /dev/zero | tr '\0' e; echo '"}'"#;
    let told = command(script, LONG).deliver(batch(1, "{}")).await;
    assert_eq!(told[0].1, Err("e".repeat(1_000)));
}

#[tokio::test]
async fn a_command_that_dies_leaves_the_rest_with_its_status_and_last_words() {
    let script = r#"echo '{"id":"0","ok":true}'; echo 'no route to redis' >&2; exit 3"#;
    let told = command(script, LONG).deliver(batch(2, "{}")).await;
    assert_eq!(told[0].1, Ok(()));
    let reason = told[1].1.clone().unwrap_err();
    assert!(reason.contains("exit status: 3") && reason.contains("no route to redis"), "{reason}");
}

#[tokio::test]
async fn a_command_that_hangs_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let alive = folder.path().join("alive");
    let script = format!("printf '{{\"id\":\"0\",\"ok\":true}}'; (sleep 3; touch {}) & sleep 600", alive.display());
    let told = command(&script, Duration::from_millis(300)).deliver(batch(2, "{}")).await;
    assert_eq!(told[0].1, Ok(()), "an answer counts without the end of its line");
    assert!(told[1].1.clone().unwrap_err().contains("was stopped"), "{told:?}");
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!alive.exists(), "the grandchild lives on");
}

#[tokio::test]
async fn a_large_batch_does_not_block_on_full_pipes_in_any_direction() {
    let large = format!("\"{}\"", "x".repeat(20_000));
    // Answers with more than a pipe holds before it reads the first line, and talks on standard error meanwhile.
    let script = format!(
        "i=0; while [ $i -lt 300 ]; do echo \"$i {0}\"; echo {0} >&2; i=$((i+1)); done; {ACCEPT}",
        "y".repeat(500)
    );
    let told = command(&script, LONG).deliver(batch(100, &large)).await;
    assert!(told.iter().all(|(_, answer)| answer.is_ok()));
}

#[tokio::test]
async fn a_command_that_does_not_read_can_still_answer() {
    let large = format!("\"{}\"", "x".repeat(200_000));
    let script = r#"exec <&-; echo '{"id":"1","ok":true}'"#;
    let told = command(script, LONG).deliver(batch(2, &large)).await;
    assert!(told[0].1.is_err());
    assert_eq!(told[1].1, Ok(()));
}

#[tokio::test]
async fn a_command_that_cannot_be_started_refuses_every_job_by_name() {
    let nothing = CommandDestination { argv: vec!["/no/such/command".into()], timeout: LONG };
    let told = nothing.deliver(batch(2, "{}")).await;
    assert!(told.iter().all(|(_, answer)| answer.clone().unwrap_err().contains("/no/such/command")), "{told:?}");
    let empty = CommandDestination { argv: Vec::new(), timeout: LONG };
    assert!(empty.deliver(batch(1, "{}")).await[0].1.is_err());
}

#[tokio::test]
async fn no_shell_reads_the_arguments() {
    let argv = ["/bin/echo", r#"{"id":"0","ok":false,"error":"$HOME `id`"}"#].map(str::to_owned).into();
    let told = CommandDestination { argv, timeout: LONG }.deliver(batch(1, "{}")).await;
    assert_eq!(told[0].1, Err("$HOME `id`".to_owned()));
}

#[tokio::test]
async fn a_command_that_has_answered_may_still_talk_and_bring_its_work_home() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    // A pipe that is closed would kill it here, and one that nobody reads would hold it for ever.
    let script = format!(
        "{ACCEPT}; i=0; while [ $i -lt 400 ]; do echo {}; i=$((i+1)); done; sleep 3; touch {}",
        "y".repeat(500),
        home.display()
    );
    let told = command(&script, LONG).deliver(batch(2, "{}")).await;
    assert!(told.iter().all(|(_, answer)| answer.is_ok()), "{told:?}");
    assert!(home.exists(), "it was killed after its last answer");
}

#[tokio::test]
async fn what_a_command_leaves_behind_does_not_hold_the_run() {
    let script = format!("{ACCEPT}; sleep 20 & exit 0");
    let deliver = command(&script, LONG);
    let told = tokio::time::timeout(LONG / 4, deliver.deliver(batch(2, "{}"))).await.expect("an end");
    assert!(told.iter().all(|(_, answer)| answer.is_ok()), "{told:?}");
}

#[tokio::test]
async fn an_answer_may_be_as_long_as_a_job_and_hold_any_bytes() {
    let script = r#"printf '{"ok":true,"job":"'; head -c 300000 /dev/zero | tr '\0' x; printf '","id":"0"}\n'
        printf '{"id":"1","ok":true,"error":"\377"}\n'; printf '{"id":"2","ok":false,"error":"caf\351"}\n'"#;
    let told = command(script, LONG).deliver(batch(3, "{}")).await;
    assert_eq!((&told[0].1, &told[1].1), (&Ok(()), &Ok(())));
    assert_eq!(told[2].1, Err("caf\u{fffd}".to_owned()));
}

fn message(dead: &str, json: &str) -> Message {
    Message { id: JobId::new(dead), json: json.to_owned() }
}

#[tokio::test]
async fn the_id_on_a_line_means_its_job_and_no_other() {
    // Job 7 was given the id that a dead row of the same batch has.
    let crossed = vec![message("7", r#"{"id":99}"#), message("99", r#"{"id":12}"#)];
    let script = r#"echo '{"id":99,"ok":true}'; echo '{"id":12,"ok":false,"error":"no"}'"#;
    let told = command(script, LONG).deliver(crossed).await;
    assert_eq!((told[0].0.as_str(), &told[0].1), ("7", &Ok(())));
    assert_eq!((told[1].0.as_str(), &told[1].1), ("99", &Err("no".to_owned())));
    let shared = vec![message("1", r#"{"job_id":"j"}"#), message("2", r#"{"job_id":"j"}"#)];
    let told = command(r#"echo '{"id":"j","ok":true}'"#, LONG).deliver(shared).await;
    assert!(told.iter().all(|(_, answer)| answer.is_err()), "one of them was not accepted: {told:?}");
}

#[tokio::test]
async fn of_jobs_with_the_same_id_on_their_lines_only_the_first_is_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let twins = vec![message("1", r#"{"id":5}"#), message("2", r#"{"id":5}"#), message("3", r#"{"id":6}"#)];
    let script = format!(r#"cat > {}; echo '{{"id":5,"ok":true}}'; echo '{{"id":6,"ok":true}}'"#, seen.display());
    let told = command(&script, LONG).deliver(twins).await;
    assert_eq!((&told[0].1, &told[2].1), (&Ok(()), &Ok(())));
    assert!(told[1].1.clone().unwrap_err().contains("by itself"), "{told:?}");
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "{\"id\":5}\n{\"id\":6}\n");
}
