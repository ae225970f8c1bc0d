//! Which jobs are taken where more match than were asked for.

use std::fmt;

use crate::domain::rollout::MAX_CANARY;

/// The most jobs that can be picked with [`Pick::Spread`]: all candidates are compared with those that were picked.
pub const MAX_SPREAD: u64 = MAX_CANARY;

/// Which jobs a limit takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pick {
    /// Those that died last.
    #[default]
    Newest,
    /// Those that died first.
    Oldest,
    /// Some of each kind of error, job class, queue and age.
    Spread,
}

impl Pick {
    /// All, the usual one first.
    pub const ALL: [Pick; 3] = [Pick::Newest, Pick::Oldest, Pick::Spread];

    /// The word that commands take.
    pub fn word(self) -> &'static str {
        match self {
            Pick::Newest => "newest",
            Pick::Oldest => "oldest",
            Pick::Spread => "spread",
        }
    }

    /// The one with that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pick| pick.word() == word)
    }

    /// The next one, behind the last the first.
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|pick| *pick == self).unwrap_or_default();
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// What is taken, to stand behind a number of jobs: `the newest first`.
    pub fn phrase(self) -> &'static str {
        match self {
            Pick::Newest => "the newest first",
            Pick::Oldest => "the oldest first",
            Pick::Spread => "spread over errors, classes, queues and age",
        }
    }

    /// Why so many jobs cannot be picked like this; `None` where they can.
    pub fn refusal(self, limit: Option<u64>) -> Option<String> {
        match (self, limit) {
            (Pick::Newest, _) => None,
            (pick, None) => Some(format!("without a limit all jobs are taken: say how many of them `{pick}` picks")),
            (Pick::Spread, Some(limit)) if limit > MAX_SPREAD => Some(format!(
                "at most {MAX_SPREAD} jobs can be picked `spread`: lower the limit, or pick newest or oldest"
            )),
            _ => None,
        }
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Reads the word of a [`Pick`].
///
/// # Errors
/// Says what the words are.
pub fn parse_pick(word: &str) -> Result<Pick, String> {
    Pick::from_word(word).ok_or_else(|| "write newest, oldest or spread".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_each_follows_another() {
        for pick in Pick::ALL {
            assert_eq!(parse_pick(pick.word()), Ok(pick));
            assert_eq!(pick.next().next().next(), pick);
            assert_ne!(pick.next(), pick);
        }
        assert!(parse_pick("first").is_err());
    }

    #[test]
    fn a_pick_needs_a_limit_and_a_spread_one_a_small_one() {
        assert_eq!(Pick::Newest.refusal(None), None);
        assert!(Pick::Oldest.refusal(None).is_some() && Pick::Oldest.refusal(Some(u64::MAX)).is_none());
        assert!(
            Pick::Spread.refusal(Some(MAX_SPREAD)).is_none() && Pick::Spread.refusal(Some(MAX_SPREAD + 1)).is_some()
        );
    }
}
