//! The script that does a batch: what the adapter says of one job, for each of them, with the evidence of what was done.

use crate::adapter::redis::{LUA_HELPERS, RedisReply};
use crate::db::redis::LuaScript;
use crate::domain::action::{JobResult, SkipReason};
use crate::domain::text::{Clean, Untrusted};

/// What stands around the body of a verb.
const FRAME: &str = include_str!("batch_script.lua");
/// A verb without a body of its own: what was kept is all that it takes.
const NO_BODY: &str = "  return 'done'";

/// The script of a verb.
pub(crate) fn script(body: Option<&str>) -> LuaScript {
    LuaScript::new(FRAME.replace("--HELPERS--", LUA_HELPERS).replace("--BODY--", body.unwrap_or(NO_BODY)))
}

/// What the script answered for a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptAnswer {
    /// It is settled.
    Result(JobResult),
    /// Its steps failed, and the script went on with none of the jobs behind it.
    Broke(String),
    /// It was not looked at.
    Left,
}

/// The answers for the jobs of a script, in their order.
pub(crate) fn answers(reply: &RedisReply) -> Vec<ScriptAnswer> {
    let RedisReply::List(answers) = reply else { return Vec::new() };
    answers.iter().map(answer).collect()
}

fn answer(reply: &RedisReply) -> ScriptAnswer {
    let RedisReply::List(words) = reply else { return ScriptAnswer::Left };
    let word = |at: usize| words.get(at).and_then(RedisReply::bytes).map(String::from_utf8_lossy).unwrap_or_default();
    match word(0).as_ref() {
        "d" => ScriptAnswer::Result(JobResult::Done),
        "s" => ScriptAnswer::Result(JobResult::Skipped(skipped(&word(1), &word(2)))),
        "f" => ScriptAnswer::Result(JobResult::Failed(Untrusted::new(word(1).into_owned()))),
        "b" => ScriptAnswer::Broke(word(1).into_owned()),
        _ => ScriptAnswer::Left,
    }
}

fn skipped(word: &str, sentence: &str) -> SkipReason {
    match (word, sentence) {
        ("changed", "") => SkipReason::Changed,
        ("gone", "") => SkipReason::Gone,
        ("there", "") => SkipReason::AlreadyThere,
        ("taken" | "started", _) => SkipReason::Taken,
        ("locked", _) => SkipReason::Locked,
        ("not_queued", _) => SkipReason::NotQueued,
        (word, "") => SkipReason::Unfit(Clean::line(word).to_string()),
        ("gone", _) => SkipReason::Gone,
        (_, sentence) => SkipReason::Unfit(Clean::line(sentence).to_string()),
    }
}

/// What the script of outcomes answered for a job: a word, and an error class or text.
pub(crate) fn outcome_words(reply: &RedisReply) -> (String, Option<String>) {
    let text = |reply: &RedisReply| reply.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match reply {
        RedisReply::List(words) => {
            let word = words.first().and_then(text).unwrap_or_default();
            (word, words.get(1).and_then(text).filter(|class| !class.is_empty()))
        }
        reply => (text(reply).unwrap_or_default(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> RedisReply {
        RedisReply::List(words.iter().map(|word| RedisReply::Bytes(word.as_bytes().to_vec())).collect())
    }

    #[test]
    fn answers_are_read_as_what_became_of_each_job() {
        let reply = RedisReply::List(vec![
            words(&["d"]),
            words(&["s", "changed", ""]),
            words(&["s", "busy", "its parent runs"]),
            words(&["b", "WRONGTYPE"]),
            words(&["l"]),
        ]);
        let told = answers(&reply);
        assert_eq!(told[0], ScriptAnswer::Result(JobResult::Done));
        assert_eq!(told[1], ScriptAnswer::Result(JobResult::Skipped(SkipReason::Changed)));
        assert_eq!(told[2], ScriptAnswer::Result(JobResult::Skipped(SkipReason::Unfit("its parent runs".into()))));
        assert_eq!(told[3..], [ScriptAnswer::Broke("WRONGTYPE".into()), ScriptAnswer::Left]);
    }

    #[test]
    fn an_outcome_is_a_word_with_or_without_an_error() {
        assert_eq!(outcome_words(&words(&["died_again", "KeyError"])), ("died_again".into(), Some("KeyError".into())));
        assert_eq!(outcome_words(&RedisReply::Bytes(b"gone".to_vec())), ("gone".into(), None));
    }
}
