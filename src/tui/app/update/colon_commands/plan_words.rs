//! The words that may stand behind a verb after `:`. They are understood or refused: a limit that was taken for a reason would
//! replay something else than what was meant.

use std::time::Duration;

use crate::domain::action::Action;
use crate::domain::repair::EditedArguments;
use crate::domain::rollout::{Rollout, parse_canary, parse_share};
use crate::domain::run_options::pick::{Pick, parse_pick};
use crate::domain::run_options::rate::parse_rate;
use crate::domain::run_options::validator::VALIDATOR_OFF;
use crate::domain::run_options::{Options, parse_attempts, parse_batch, parse_limit, parse_queue};
use crate::domain::time::parse_wait;
use crate::store::COPY_NEEDS_QUEUE;

/// What was asked for behind a verb.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanWords {
    /// All that the filter selects, whatever is marked.
    pub all: bool,
    /// Jobs at the most.
    pub limit: Option<u64>,
    /// Which jobs these are.
    pub pick: Pick,
    /// Pace, queue and attempts.
    pub options: Options,
    /// Why.
    pub reason: Option<String>,
    /// Whether the automatic stop of large replays is switched off.
    pub is_unguarded: bool,
    /// Whether the validator of the source is switched off.
    pub is_unvalidated: bool,
    /// Whether copies go to the other queue, and the dead rows stay.
    pub copies: bool,
    /// What an editor has made of the arguments of the one job.
    pub edited: Option<EditedArguments>,
}

/// The options of every verb, and those of a replay.
const OPTIONS: [&str; 5] = ["--limit", "--pick", "--rate", "--batch", "--reason"];
const REPLAY_OPTIONS: [&str; 9] =
    ["--spread", "--to-queue", "--copy", "--attempts", "--canary", "--settle", "--stop-above", "--ramp", "--validate"];

/// How a replay is to prove itself, while its words are read.
#[derive(Default)]
struct RuleWords {
    canary: Option<u64>,
    stop_above: Option<f64>,
    ramp: bool,
    gate_wait: Option<Duration>,
}

impl PlanWords {
    /// Reads `[all] [N [newest|oldest|spread]] [OPTIONS] [REASON]`.
    ///
    /// # Errors
    /// Says which word is not understood, and what would be.
    pub fn parse(action: Action, text: &str) -> Result<Self, String> {
        let words = shell_words::split(text).map_err(|_| "a quote is not closed".to_owned())?;
        let mut words = words.into_iter().peekable();
        let mut read = Self { all: words.next_if(|word| word == "all").is_some(), ..Self::default() };
        if let Some(count) = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            read.limit = Some(parse_limit(&count.replace(['_', ','], "")).map_err(|_| not_a_count(action, &count))?);
        }
        if let Some(pick) = words.peek().and_then(|word| Pick::from_word(word)) {
            if read.limit.is_none() {
                return Err(no_count(action, pick));
            }
            read.pick = pick;
            words.next();
        }
        let mut reason: Vec<String> = Vec::new();
        let mut rule = RuleWords::default();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                reason.push(word);
                continue;
            }
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            if !options(action).any(|known| known == name) {
                let known: Vec<&str> = options(action).collect();
                return Err(format!("`{name}` is no option of {action} here: {} are", known.join(", ")));
            }
            if let Some(switch) = read.switch(&name, &mut rule) {
                *switch = true;
                continue;
            }
            let value = value.or_else(|| words.next()).ok_or_else(|| format!("`{name}` takes a value"))?;
            read.set(&name, value, &mut rule).map_err(|why| format!("{name}: {why}"))?;
        }
        if let Some(why) = read.pick.refusal(read.limit) {
            return Err(why);
        }
        read.options.rollout = Rollout::new(rule.canary, rule.stop_above, rule.ramp, rule.gate_wait);
        read.check_copy()?;
        if read.is_unguarded && read.options.rollout.is_some() {
            return Err("`--stop-above off` is for a replay without --canary and --ramp".to_owned());
        }
        if read.reason.is_none() && !reason.is_empty() {
            read.reason = Some(reason.join(" "));
        } else if !reason.is_empty() {
            return Err(format!("`{}` is not understood beside --reason", reason.join(" ")));
        }
        Ok(read)
    }

    /// What a word without a value switches on.
    fn switch<'a>(&'a mut self, name: &str, rule: &'a mut RuleWords) -> Option<&'a mut bool> {
        match name {
            "--ramp" => Some(&mut rule.ramp),
            "--copy" => Some(&mut self.copies),
            _ => None,
        }
    }

    fn check_copy(&self) -> Result<(), String> {
        match self.copies {
            true if self.options.to_queue.is_none() => Err(COPY_NEEDS_QUEUE.to_owned()),
            true if self.options.rollout.is_some() || self.is_unguarded => {
                Err("`--copy` goes without --canary, --ramp and --stop-above: copies are no replay".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn set(&mut self, name: &str, value: String, rule: &mut RuleWords) -> Result<(), String> {
        let Options { pacing, to_queue, attempts, .. } = &mut self.options;
        match name {
            "--limit" => self.limit = Some(parse_limit(&value)?),
            "--pick" => self.pick = parse_pick(&value)?,
            "--rate" => pacing.rate = Some(parse_rate(&value)?),
            "--batch" => pacing.batch = Some(parse_batch(&value)?),
            "--spread" => pacing.spread = Some(parse_wait(&value)?.as_secs()),
            "--to-queue" => *to_queue = Some(parse_queue(&value)?),
            "--attempts" => *attempts = Some(parse_attempts(&value)?),
            "--canary" => rule.canary = Some(parse_canary(&value)?),
            "--settle" => rule.gate_wait = Some(parse_wait(&value)?),
            "--stop-above" if value == "off" => self.is_unguarded = true,
            "--validate" if value == VALIDATOR_OFF => self.is_unvalidated = true,
            "--validate" => return Err("only `off` can be said here; the config names the validator".to_owned()),
            "--stop-above" => rule.stop_above = Some(parse_share(&value)?),
            _ => self.reason = Some(value),
        }
        Ok(())
    }
}

fn options(action: Action) -> impl Iterator<Item = &'static str> {
    let of_replay = if action == Action::Replay { &REPLAY_OPTIONS[..] } else { &[] };
    OPTIONS.into_iter().chain(of_replay.iter().copied())
}

fn not_a_count(action: Action, word: &str) -> String {
    format!(
        "`{word}` is no number of jobs: write `:{action} 10` for the newest ten, and a reason that begins with a digit as --reason TEXT"
    )
}

fn no_count(action: Action, pick: Pick) -> String {
    format!("say how many: write `:{action} 10 {pick}`, and a reason that begins with that word as --reason TEXT")
}

/// Words that complete what is typed behind a verb.
pub fn completions(action: Action) -> Vec<&'static str> {
    std::iter::once("all").chain(options(action)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run_options::Attempts;
    use crate::domain::run_options::rate::Pacing;

    fn parse(text: &str) -> Result<PlanWords, String> {
        PlanWords::parse(Action::Replay, text)
    }

    #[test]
    fn words_behind_a_verb_are_a_limit_options_or_a_reason() {
        assert_eq!(parse(""), Ok(PlanWords::default()));
        assert_eq!(parse("all"), Ok(PlanWords { all: true, ..PlanWords::default() }));
        assert_eq!(parse("10"), Ok(PlanWords { limit: Some(10), ..PlanWords::default() }));
        let all = PlanWords {
            all: true,
            limit: Some(1_000),
            pick: Pick::Newest,
            options: Options {
                pacing: Pacing { rate: Some(50.0), spread: Some(600), batch: Some(20) },
                to_queue: Some("low prio".into()),
                attempts: Some(Attempts::Once),
                ..Options::default()
            },
            reason: Some("fixed in 4.2".into()),
            ..PlanWords::default()
        };
        let text = "all 1,000 --rate 50/s --spread=10m --batch 20 --to-queue 'low prio' --attempts once fixed in 4.2";
        assert_eq!(parse(text), Ok(all));
        let reason = |text: &str| parse(text).map(|read| (read.limit, read.reason));
        assert_eq!(reason("--reason '10 of them'"), Ok((None, Some("10 of them".into()))));
        assert_eq!(reason("allow it"), Ok((None, Some("allow it".into()))));
    }

    #[test]
    fn which_jobs_a_number_takes_is_a_word_behind_it() {
        let picked = |text: &str| parse(text).map(|read| (read.limit, read.pick, read.reason));
        assert_eq!(picked("10 oldest"), Ok((Some(10), Pick::Oldest, None)));
        assert_eq!(picked("all 10 spread it is fixed"), Ok((Some(10), Pick::Spread, Some("it is fixed".into()))));
        assert_eq!(picked("10 --pick oldest"), Ok((Some(10), Pick::Oldest, None)));
        assert!(picked("oldest").is_err_and(|why| why.contains("`:replay 10 oldest`")), "never a reason for all jobs");
        assert!(picked("--pick oldest").is_err_and(|why| why.contains("say how many")));
        assert!(picked("501 spread").is_err_and(|why| why.contains("at most 500")));
        assert!(picked("10 --pick first").is_err_and(|why| why.contains("newest, oldest or spread")));
    }

    #[test]
    fn the_rule_of_a_replay_is_read() {
        let rule = |text: &str| parse(text).map(|read| (read.options.rollout, read.is_unguarded));
        let wait = Some(Duration::from_secs(120));
        assert_eq!(rule("--canary 20 --settle 2m --ramp"), Ok((Rollout::new(Some(20), None, true, wait), false)));
        assert_eq!(rule("--stop-above 7%"), Ok((Rollout::new(None, Some(0.07), false, None), false)));
        assert_eq!(rule("--stop-above off"), Ok((None, true)));
        assert!(parse("--validate off").is_ok_and(|read| read.is_unvalidated && read.options.validate.is_none()));
        assert!(rule("--stop-above off --ramp").is_err_and(|why| why.contains("without --canary")));
    }

    #[test]
    fn copies_name_their_queue_and_have_no_rule() {
        let read = parse("10 --to-queue q --copy a rehearsal").expect("words");
        assert!(read.copies && read.reason.as_deref() == Some("a rehearsal") && read.limit == Some(10));
        assert!(parse("10 --copy").is_err_and(|why| why == COPY_NEEDS_QUEUE));
        for rule in ["--canary 2", "--ramp", "--stop-above off"] {
            assert!(
                parse(&format!("--to-queue q --copy {rule}")).is_err_and(|why| why.contains("goes without")),
                "{rule}"
            );
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, part) in [
            ("10%", "no number of jobs"),
            ("0", "no number of jobs"),
            ("--ratte 5", "`--ratte` is no option of replay"),
            ("--rate", "takes a value"),
            ("--rate fast", "--rate: `fast` is no rate"),
            ("--limit 0", "--limit"),
            ("--validate true", "only `off` can be said here"),
            ("'open", "not closed"),
            ("--reason a b", "not understood"),
        ] {
            let refused = parse(text).expect_err(text);
            assert!(refused.contains(part), "{text}: {refused}");
        }
        let ignore = PlanWords::parse(Action::Ignore, "--spread 5m").expect_err("of a replay only");
        assert!(ignore.contains("no option of ignore"), "{ignore}");
    }
}
