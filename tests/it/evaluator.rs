//! The process that evaluates expressions: it answers for many texts, in order, and keeps to its limits.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use dlq_tui::domain::repair::Evaluation;
use dlq_tui::triage::repair::{EvaluationLimits, Evaluator, EvaluatorError, EvaluatorOptions};

/// Counts as far as the text says.
const COUNT: &str = "if . > 0 then reduce range(.) as $n (0; . + 1) | [.] else . end";
/// Far more than any limit of these tests lets through.
const TOO_FAR: &str = "2000000000";

fn options() -> EvaluatorOptions {
    EvaluatorOptions {
        program: PathBuf::from(env!("CARGO_BIN_EXE_dlq-tui")),
        timeout: Duration::from_secs(60),
        max_stopped: 20,
        limits: EvaluationLimits::default(),
    }
}

async fn evaluated(code: &str, options: EvaluatorOptions, texts: &[&str]) -> Vec<Evaluation> {
    let mut evaluator = Evaluator::start(code, options).await.expect("it starts");
    evaluator.evaluate(texts).await.expect("a child")
}

fn changed(before: &str, after: &str) -> Evaluation {
    Evaluation::Changed { before: before.to_owned(), after: after.to_owned() }
}

fn reason(evaluation: &Evaluation) -> &str {
    match evaluation {
        Evaluation::Failed(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn many_texts_are_answered_for_in_order() {
    let texts: Vec<String> = (0..20_000).map(|n| format!("{{\"n\": {n}, \"pad\": \"{}\"}}", "x".repeat(200))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let code = "if .n % 3 == 0 then . elif .n % 3 == 1 then .n else error(\"odd \\(.n)\") end";
    let mut evaluator = Evaluator::start(code, options()).await.expect("it starts");
    for _ in 0..2 {
        let done = evaluator.evaluate(&texts).await.expect("a child");
        assert_eq!(done.len(), texts.len());
        for (n, evaluation) in done.iter().enumerate() {
            match (n % 3, evaluation) {
                (0, Evaluation::Unchanged) => {}
                (1, Evaluation::Changed { after, .. }) => assert_eq!(*after, n.to_string()),
                (2, Evaluation::Failed(why)) => assert_eq!(*why, format!("odd {n}")),
                other => panic!("{n}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_expression_is_refused_before_any_text() {
    let refused = Evaluator::start(".a | now", options()).await.err().expect("refused");
    assert!(matches!(refused, EvaluatorError::Expression(_)), "{refused:?}");
    assert!(refused.to_string().starts_with("the expression cannot be read at character 6: now is left out"));
}

#[tokio::test]
async fn a_text_that_takes_too_long_fails_alone() {
    let options = EvaluatorOptions { timeout: Duration::from_secs(3), ..options() };
    let done = evaluated(COUNT, options, &["1", TOO_FAR, "2", "0"]).await;
    assert!(reason(&done[1]).contains("longer than 3s"), "{done:?}");
    assert_eq!((&done[0], &done[2], &done[3]), (&changed("1", "[1]"), &changed("2", "[2]"), &Evaluation::Unchanged));
}

#[tokio::test]
async fn a_text_that_takes_too_much_memory_fails_alone() {
    let limits = EvaluationLimits { memory: 400 << 20, ..EvaluationLimits::default() };
    let large = format!("[{}0]", "0,".repeat(20 << 20));
    let done = evaluated(
        "if length > 9 then .[0] else . end",
        EvaluatorOptions { limits, ..options() },
        &["[]", &large, "[0]"],
    )
    .await;
    assert!(reason(&done[1]).contains("too much memory"), "{done:?}");
    assert_eq!((&done[0], &done[2]), (&Evaluation::Unchanged, &Evaluation::Unchanged));
}

#[tokio::test]
async fn processor_time_has_a_limit_for_one_text_and_not_for_all_of_them() {
    let limits = EvaluationLimits { cpu_seconds: 1, ..EvaluationLimits::default() };
    let done = evaluated(COUNT, EvaluatorOptions { limits, ..options() }, &["1", TOO_FAR]).await;
    assert!(reason(&done[1]).contains("processor time"), "{done:?}");
    let texts = ["60000"; 30];
    let done = evaluated(COUNT, EvaluatorOptions { limits, ..options() }, &texts).await;
    assert!(done.iter().all(|one| *one == changed("60000", "[60000]")), "{done:?}");
}

#[tokio::test]
async fn an_expression_that_is_stopped_again_and_again_is_given_up() {
    let limits = EvaluationLimits { cpu_seconds: 1, ..EvaluationLimits::default() };
    let options = EvaluatorOptions { limits, max_stopped: 2, ..options() };
    let mut evaluator = Evaluator::start(COUNT, options).await.expect("it starts");
    let done = evaluator.evaluate(&[TOO_FAR, "1"]).await.expect("a child");
    assert!(reason(&done[0]).contains("processor time") && done[1] == changed("1", "[1]"), "{done:?}");
    // Texts of an earlier call count too.
    let gave_up = evaluator.evaluate(&["1", TOO_FAR, "2", TOO_FAR]).await.expect_err("given up");
    assert!(gave_up.to_string().contains("stopped on 2 jobs"), "{gave_up}");
}

#[tokio::test]
async fn a_value_that_is_too_long_fails_alone() {
    let limits = EvaluationLimits { value_length: 100, ..EvaluationLimits::default() };
    let done = evaluated("[range(.)]", EvaluatorOptions { limits, ..options() }, &["3", "1000", "1"]).await;
    assert_eq!((&done[0], &done[2]), (&changed("3", "[0,1,2]"), &changed("1", "[0]")));
    assert!(reason(&done[1]).contains("longer than 100 bytes"), "{done:?}");
}

#[tokio::test]
async fn the_process_has_no_environment_and_its_end_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    std::fs::write(
        &program,
        "#!/bin/sh\ntr '\\0' '\\n' < /proc/$$/environ > \"$0.environment\"\necho \"$@\" > \"$0.done\"\n",
    )
    .expect("a script");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("a program");
    let refused = Evaluator::start(".", EvaluatorOptions { program: program.clone(), ..options() }).await.err();
    let refused = refused.expect("it ends without a word").to_string();
    assert!(refused.starts_with("the process that evaluates the expression cannot be started"), "{refused}");
    assert_eq!(std::fs::read_to_string(program.with_extension("done")).expect("it ran"), "evaluate-expression\n");
    assert_eq!(std::fs::read_to_string(program.with_extension("environment")).expect("it ran"), "");
}
