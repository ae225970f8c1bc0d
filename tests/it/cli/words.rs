//! Prose fits the terminal, and help says what can be chosen.

use super::{Ended, User};
use crate::fixtures::Layout;
use crate::harness;

/// The words of a text, however its lines are broken.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[tokio::test]
async fn plans_receipts_and_sentences_are_broken_between_words() {
    let db = harness::sqlite("cli prose").await;
    Layout::JobsDlq.seed(&db, 40).await;
    let user = User::of(&db);
    let reason = "the payment provider was down from two to three and everything that it refused can be tried again";
    let run =
        user.json(&["discard", "--all", "--limit", "3", "--yes", "--reason", reason, "-o", "json"])["run"].clone();
    let run = run.as_str().expect("a run");
    let at = |args: &[&str], width: Option<usize>| {
        let mut command = user.command(args);
        if let Some(width) = width {
            command.env("COLUMNS", width.to_string());
        }
        Ended::from(command.output().expect("it starts"))
    };
    for args in [
        &["replay", "--all", "--dry-run"][..],
        &["discard", "--all", "--dry-run"],
        &["runs", run],
        &["replay", "--all"],
    ] {
        let whole = at(args, None);
        for width in [80, 40] {
            let ended = at(args, Some(width));
            for (broken, whole) in [(&ended.out, &whole.out), (&ended.err, &whole.err)] {
                // Each plan has a name and a moment of its own, both one word.
                assert_eq!(words(broken).len(), words(whole).len(), "{args:?} at {width}: {broken}");
                for line in broken.lines().filter(|line| line.chars().count() > width) {
                    let (_, text) = line.rsplit_once("  ").unwrap_or(("", line));
                    let is_title = line.starts_with("plan ") || line.starts_with("run ");
                    assert!(
                        is_title || !text.trim().contains(' ') || text.contains('`'),
                        "{args:?} at {width}: {line:?}"
                    );
                }
            }
        }
    }
    let narrow = at(&["runs", run], Some(40)).out;
    assert!(
        narrow.contains("\n  reason       the payment provider was\n               down from two to three\n"),
        "{narrow}"
    );
}

#[tokio::test]
async fn init_lists_its_presets_and_says_what_comes_next() {
    let db = harness::sqlite("cli init words").await;
    let user = User::of(&db);
    let help = user.run(&["init", "--help"]).out;
    for preset in ["dead_letter_jobs is one table", "jobs_dlq a", "dlq_events events"] {
        assert!(words(&help).join(" ").contains(preset), "{preset}: {help}");
    }
    let made = user.run(&["init", "--preset", "jobs_dlq", "--yes"]);
    let said = made.with(0);
    assert!(
        said.contains("created ") && said.contains("\nnext: ") && said.contains("`dlq-tui docs capture`"),
        "{said}"
    );
    let next = said.lines().last().expect("a command").trim();
    assert_eq!(next, "dlq-tui --store jobs_dlq");
    let stats = next.replacen("dlq-tui", "stats", 1);
    user.run(&stats.split(' ').collect::<Vec<_>>()).with(0);
}
