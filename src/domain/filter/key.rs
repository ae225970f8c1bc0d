//! The one table of keys, read by the parser, completion, help and the documentation.

use std::borrow::Cow;

use super::{Key, quote};
use crate::domain::facet::Facet;

/// What may stand after a key's colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Text: the whole of it, a glob or a regular expression.
    Text,
    /// Text that is searched: contained pieces or a regular expression.
    Search,
    /// One of the four states.
    State,
    /// The first digits of a hexadecimal number.
    Hex,
    /// The id of a run, or `last`.
    Run,
    /// One of the outcomes of a replayed job.
    Outcome,
    /// A whole number, a comparison or a range.
    Number,
    /// A span before now, or a moment, from which on.
    Since,
    /// A span before now, or a moment, before which.
    Until,
    /// A moment, a comparison or a range of time.
    Time,
    /// One hour in UTC.
    Hour,
    /// A span, a range of spans, or what they resolve to.
    Idle,
    /// Arguments: searched as a whole; by path text, or a comparison or range of decimals.
    Argument,
}

/// One row of the key table.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct KeyInfo {
    /// The word before the colon; empty for free words, which have none.
    pub word: &'static str,
    /// Other words that are read as this one.
    pub aliases: &'static [&'static str],
    /// What the key tests, in one line.
    pub help: &'static str,
    /// What may follow.
    pub kind: ValueKind,
    /// A whole term that parses.
    pub example: &'static str,
    /// What the tree calls it.
    key: Key,
}

impl KeyInfo {
    /// The row for the word before a colon: a key, an alias, or `args` with a path.
    pub fn from_word(word: &str) -> Option<&'static KeyInfo> {
        let first = word.split_once('.').map_or(word, |(first, _)| first);
        let info = KEYS.iter().find(|info| !info.word.is_empty() && info.names().any(|name| name == first))?;
        (first.len() == word.len() || info.kind == ValueKind::Argument).then_some(info)
    }

    /// The word and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        std::iter::once(self.word).chain(self.aliases.iter().copied())
    }

    /// The key of the tree; for arguments the one without a path.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The row for free words.
    pub(super) fn words() -> &'static KeyInfo {
        &WORDS
    }

    /// The row that spells `key` itself: `at` for a time, and not `since`.
    pub(super) fn of(key: &Key) -> &'static KeyInfo {
        let spells = |info: &&KeyInfo| match key {
            Key::At => info.kind == ValueKind::Time,
            Key::Arg(_) => info.kind == ValueKind::Argument,
            key => info.key == *key,
        };
        KEYS.iter().find(spells).unwrap_or(&WORDS)
    }
}

static WORDS: KeyInfo = KeyInfo {
    word: "",
    aliases: &[],
    help: "error class, job class or message contain the word",
    kind: ValueKind::Search,
    example: "\"card declined\"",
    key: Key::Word,
};

/// Every key, in the order of help and completion; free words come last.
pub static KEYS: [KeyInfo; 20] = [
    row(Key::Error, "error", &["error_class"], ValueKind::Text, "error:Net::ReadTimeout", "error class"),
    row(Key::Class, "class", &["job", "job_class"], ValueKind::Text, "class:Billing*", "job class"),
    row(Key::Queue, "queue", &[], ValueKind::Text, "-queue:low", "queue"),
    row(Key::Message, "msg", &["message"], ValueKind::Search, "msg:\"card declined\"", "error message contains"),
    row(Key::At, "since", &["after"], ValueKind::Since, "since:2h", "died that long ago or later"),
    row(Key::At, "until", &["before"], ValueKind::Until, "until:30m", "died longer ago than that"),
    row(Key::At, "at", &[], ValueKind::Time, "at:2026-11-20T01:00..2026-11-20T02:00", "time of death"),
    row(Key::At, "hour", &[], ValueKind::Hour, "hour:2026-11-20T03", "hour of death, in UTC"),
    row(Key::Arg(Vec::new()), "args", &["arguments", "payload"], ValueKind::Argument, "args.user.id:42", ARGS),
    row(Key::Attempts, "attempts", &[], ValueKind::Number, "attempts:>=5", "attempts made"),
    row(Key::State, "state", &[], ValueKind::State, "state:ignored", "dead, retrying, resolved or ignored"),
    row(Key::Fingerprint, "fp", &["fingerprint"], ValueKind::Hex, "fp:1f3a", "fingerprint, by its first digits"),
    row(Key::Reason, "reason", &[], ValueKind::Text, "reason:timeout*", "reason as stored"),
    row(Key::Worker, "worker", &["host"], ValueKind::Text, "worker:/^web-[0-9]+$/", "host or process that failed"),
    row(Key::Native, "native", &["status"], ValueKind::Text, "native:discarded", "state in the framework's own word"),
    row(Key::Id, "id", &[], ValueKind::Text, "id:10442", "primary key"),
    row(Key::Replayed, "replayed", &[], ValueKind::Number, "replayed:>0", "how often it was replayed before"),
    row(Key::Run, "run", &[], ValueKind::Run, "run:last", "run that acted on it, by its id; last is the last replay"),
    row(Key::Outcome, "outcome", &[], ValueKind::Outcome, "outcome:died", "its outcome since that run replayed it"),
    row(Key::Idle, "idle", &[], ValueKind::Idle, "idle:15m", "not touched for that long"),
];

const ARGS: &str = "value in the arguments by path; without a path their text contains";

const fn row(
    key: Key,
    word: &'static str,
    aliases: &'static [&'static str],
    kind: ValueKind,
    example: &'static str,
    help: &'static str,
) -> KeyInfo {
    KeyInfo { word, aliases, help, kind, example, key }
}

impl Key {
    /// The word before the colon, with the path of an argument; empty for free words.
    pub fn word(&self) -> Cow<'static, str> {
        let word = KeyInfo::of(self).word;
        match self {
            Key::Arg(path) if !path.is_empty() => Cow::Owned(quote::path(word, path)),
            _ => Cow::Borrowed(word),
        }
    }

    /// The key that a word stands for: `since` and `hour` are `At`, `args.user.id` is a path.
    pub fn from_word(word: &str) -> Option<Key> {
        let info = KeyInfo::from_word(word)?;
        match &info.key {
            Key::Arg(_) => super::parse::path(word, 0).ok().map(Key::Arg),
            key => Some(key.clone()),
        }
    }

    /// Whether only the ledger can judge a term of this key: a store lets everything through.
    pub fn is_of_ledger(&self) -> bool {
        matches!(self, Key::Replayed | Key::Run | Key::Outcome)
    }

    /// The facet that counts by this key, where there is one.
    pub fn facet(&self) -> Option<Facet> {
        Facet::ALL.into_iter().find(|facet| Key::of_facet(*facet) == *self)
    }

    /// The key that a facet counts by.
    pub fn of_facet(facet: Facet) -> Key {
        match facet {
            Facet::Error => Key::Error,
            Facet::Fingerprint => Key::Fingerprint,
            Facet::Class => Key::Class,
            Facet::Queue => Key::Queue,
            Facet::Reason => Key::Reason,
            Facet::Worker => Key::Worker,
            Facet::State => Key::State,
            Facet::Hour => Key::At,
        }
    }
}

/// The keys as a Markdown table, for the documentation.
pub fn reference() -> String {
    let mut out = String::from("| key | also | looks at | example |\n|---|---|---|---|\n");
    for info in KEYS.iter().chain([KeyInfo::words()]) {
        let word = if info.word.is_empty() { "free words".to_owned() } else { format!("`{}:`", info.word) };
        let aliases: Vec<String> = info.aliases.iter().map(|alias| format!("`{alias}:`")).collect();
        let row = format!("| {word} | {} | {} | `{}` |\n", aliases.join(", "), info.help, info.example);
        out.push_str(&row);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::filter::Filter;

    #[test]
    fn every_example_of_the_table_parses_to_its_own_key() {
        for info in KEYS.iter().chain([KeyInfo::words()]) {
            let filter = Filter::parse(info.example).unwrap();
            let key = &filter.clauses()[0].key;
            match &info.key {
                Key::Arg(_) => assert_eq!(*key, Key::Arg(vec!["user".into(), "id".into()])),
                expected => assert_eq!(key, expected, "{}", info.example),
            }
        }
    }

    #[test]
    fn words_and_aliases_are_unique_and_lead_back_to_their_key() {
        let mut seen = std::collections::HashSet::new();
        for info in &KEYS {
            for name in info.names() {
                assert!(seen.insert(name), "{name}");
                assert_eq!(Key::from_word(name), Some(info.key.clone()), "{name}");
            }
        }
        assert_eq!(Key::from_word("Error"), None);
        assert_eq!(Key::from_word("error.x"), None);
        assert_eq!(Key::from_word(""), None);
    }

    #[test]
    fn a_path_is_part_of_the_word_and_reads_back() {
        for path in [vec!["user", "id"], vec!["a.b", "c"], vec!["with space", "co:lon", "qu\"ote", "*", ""]] {
            let key = Key::Arg(path.into_iter().map(str::to_owned).collect());
            assert_eq!(Key::from_word(&key.word()), Some(key.clone()), "{}", key.word());
        }
    }

    #[test]
    fn every_facet_has_the_key_of_its_own_word() {
        for facet in Facet::ALL {
            assert_eq!(Key::from_word(facet.word()), Some(Key::of_facet(facet)));
            assert_eq!(Key::of_facet(facet).facet(), Some(facet));
        }
    }

    #[test]
    fn the_reference_has_a_row_for_every_key() {
        let reference = reference();
        assert_eq!(reference.lines().count(), KEYS.len() + 3);
        assert!(reference.contains("| `fp:` | `fingerprint:` | fingerprint, by its first digits | `fp:1f3a` |"));
    }
}
