//! Where the jobs of a replay go, as it is put on record.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::redact::{REDACTED, Redactor};
use crate::domain::text::Clean;

/// Where replayed jobs go. It is kept with the run, so that the rest of it goes where its beginning went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// Where the layout itself says.
    Own,
    /// A live table of the same database, with its schema.
    Table(String),
    /// A command: its line, with what looks like a secret masked.
    Command(String),
}

impl Destination {
    /// The line of a command as it may be put on record. Word by word first: in the line, a secret may be quoted in pieces.
    pub fn line(words: &[String], redactor: &Redactor) -> String {
        let names_secret = |word: &String| {
            let name = word.trim_start_matches('-');
            name.len() < word.len() && redactor.is_secret_name(name)
        };
        let after = std::iter::once(false).chain(words.iter().map(names_secret));
        let shown = words.iter().zip(after).map(|(word, hidden)| if hidden { REDACTED } else { word });
        redactor.prose(&shell_words::join(shown)).into_owned()
    }

    /// The word for its kind.
    pub fn word(&self) -> &'static str {
        match self {
            Destination::Own => "own",
            Destination::Table(_) => "table",
            Destination::Command(_) => "command",
        }
    }

    /// The table, or the line of the command.
    pub fn name(&self) -> Option<&str> {
        match self {
            Destination::Own => None,
            Destination::Table(name) | Destination::Command(name) => Some(name),
        }
    }

    /// What is to be done so that replayed jobs go there, as the beginning of a sentence.
    pub fn setting(&self) -> &'static str {
        match self {
            Destination::Own => "Take `replay` out of the source's section of the config",
            Destination::Table(_) | Destination::Command(_) => {
                "Set `replay` back in the source's section of the config"
            }
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Own => f.write_str("the layout's own queue"),
            Destination::Table(name) => write!(f, "the table {}", Clean::line(name)),
            Destination::Command(line) => write!(f, "the command `{}`", Clean::line(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_put_on_record_without_its_secrets() {
        let line = |words: &[&str]| {
            Destination::line(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), &Redactor::default())
        };
        assert_eq!(line(&["bin/replay", "--queue", "a b"]), "bin/replay --queue 'a b'");
        for words in [
            &["bin/replay", "--password", "hunter2"][..],
            &["bin/replay", "--password=hunter2"],
            &["env", "PASSWORD=hunter2", "bin/replay"],
            &["bin/replay", "redis://app:hunter2@cache/0"],
        ] {
            assert!(!line(words).contains("hunter2"), "{}", line(words));
        }
        assert!(!Destination::Command("a \u{1b}[2J".into()).to_string().contains('\u{1b}'));
    }

    #[test]
    fn it_is_kept_and_read_back() {
        for (destination, kept) in [
            (Destination::Own, r#""own""#),
            (Destination::Table("public.jobs".into()), r#"{"table":"public.jobs"}"#),
            (Destination::Command("bin/replay".into()), r#"{"command":"bin/replay"}"#),
        ] {
            assert_eq!(serde_json::to_string(&destination).expect("JSON"), kept);
            assert_eq!(serde_json::from_str::<Destination>(kept).expect("a destination"), destination);
        }
    }
}
