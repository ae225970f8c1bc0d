//! What an adapter file says of the verbs.

use serde::Deserialize;
use toml::Spanned;

use crate::domain::action::Action;
use crate::domain::run_options::Attempts;

/// What a Lua body can call beside the server's own functions, as source text.
pub const LUA_HELPERS: &str = include_str!("helpers.lua");

/// What a Lua body sees, with what each stands for.
pub const PARAMETERS: [(&str, &str); 18] = [
    ("prefix", "what all keys begin with"),
    ("queue", "the queue of the batch; empty where the layout has none in its keys"),
    ("dead", "the key of the dead set"),
    ("id", "the id of the job"),
    ("member", "the entry as the dead set has it: member, element, stream id, field of a hash, or key"),
    ("score", "its score as a number; nil where the set has none"),
    ("now_ms", "the present instant in milliseconds since 1970"),
    ("now_s", "the present instant in seconds since 1970, with decimals"),
    ("run", "the identity of the run"),
    ("run_after_ms", "when the replayed job may run, in milliseconds since 1970; nil for at once"),
    ("to_queue", "the queue that `--to-queue` names; nil without it"),
    ("attempts", "what becomes of used attempts: `reset` or `once`"),
    ("arguments", "the new arguments as JSON text, in a repair"),
    ("kept_score", "the score at the time of the replay, in `outcome` and in an undo"),
    ("kept", "the first of `keeps_fields` as it was before the replay, in `outcome`; nil where there is none"),
    ("cache", "a table that is empty at the start of a batch and kept for all of its jobs"),
    ("skip(word, sentence)", "leaves the job alone: `return skip(\"changed\", \"it runs again\")`"),
    ("fail(sentence)", "leaves the job alone because the data is not as it must be"),
];

/// How each action is done; an action that is left out is not offered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisVerbs {
    /// Back to the live queue.
    #[serde(default)]
    pub replay: Option<RedisVerb>,
    /// Keep in the ledger and delete.
    #[serde(default)]
    pub discard: Option<RedisVerb>,
    /// Delete for good.
    #[serde(default)]
    pub purge: Option<RedisVerb>,
    /// Change arguments.
    #[serde(default)]
    pub repair: Option<RedisVerb>,
    /// Take a replayed job back out of the live queue. What was kept of it is put back afterwards.
    #[serde(default)]
    pub recall: Option<RedisVerb>,
}

impl RedisVerbs {
    /// How an action is done. A purge is a discard of which nothing is kept, unless the file says otherwise.
    pub fn get(&self, action: Action) -> Option<&RedisVerb> {
        match action {
            Action::Replay => self.replay.as_ref(),
            Action::Discard => self.discard.as_ref(),
            Action::Purge => self.purge.as_ref().or(self.discard.as_ref()),
            Action::Repair | Action::Revert => self.repair.as_ref(),
            Action::Recall => self.recall.as_ref(),
            // A restore puts back what was kept, and needs no body.
            Action::Copy | Action::Ignore | Action::Reopen | Action::Archive | Action::Restore => None,
        }
    }

    /// All that the file speaks of, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &RedisVerb)> {
        [
            ("replay", &self.replay),
            ("discard", &self.discard),
            ("purge", &self.purge),
            ("repair", &self.repair),
            ("recall", &self.recall),
        ]
        .into_iter()
        .filter_map(|(name, verb)| Some((name, verb.as_ref()?)))
    }
}

/// How one action is done, or why it is not offered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisVerb {
    /// Why the layout has no such action; then nothing else counts.
    #[serde(default)]
    pub disabled: Option<String>,
    /// Sentences for the plan.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What becomes of used attempts where nothing was said; where the body asks with `attempts`.
    #[serde(default)]
    pub attempts: Option<Attempts>,
    /// The body for one job. It takes the job out of the dead set, and does nothing where that did not take exactly one entry
    /// out; it answers `'done'`, `skip(…)` or `fail(…)`.
    #[serde(default)]
    pub lua: Option<Spanned<String>>,
}

impl RedisVerb {
    /// The body; `None` where the action is disabled.
    pub fn body(&self) -> Option<&str> {
        self.lua.as_ref().filter(|_| self.disabled.is_none()).map(|lua| lua.get_ref().as_str())
    }

    /// Whether the body uses one of the [`PARAMETERS`].
    pub fn uses(&self, parameter: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        self.body().is_some_and(|lua| lua.split(|c| !is_part(c)).any(|word| word == parameter))
    }
}
