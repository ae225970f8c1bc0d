//! Key patterns: text with `{prefix}`, `{queue}` and `{id}`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::adapter::template::{Piece, pieces};

/// What the holes of a [`KeyTemplate`] stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyNames<'a> {
    /// What all keys begin with, as the config or the adapter says.
    pub prefix: &'a str,
    /// The queue at hand; empty where the layout has none in its keys.
    pub queue: &'a str,
    /// The job at hand, as its dead set names it.
    pub id: &'a [u8],
}

/// The holes that a key pattern can have.
const HOLES: [&str; 3] = ["prefix", "queue", "id"];

/// A key, or a pattern of keys. Braces that do not enclose one of the names are part of the key, as the hash tags of a
/// cluster are: `jobs:{{queue}}:dead`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyTemplate(String);

impl KeyTemplate {
    /// As it is written in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key, with the names put in.
    pub fn fill(&self, names: &KeyNames<'_>) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.0.len() + names.id.len());
        for piece in pieces(&self.0) {
            key.extend_from_slice(match piece {
                Piece::Sql(text) => text.as_bytes(),
                Piece::Hole("prefix") => names.prefix.as_bytes(),
                Piece::Hole("queue") => names.queue.as_bytes(),
                Piece::Hole(_) => names.id,
            });
        }
        key
    }

    /// Whether it has a hole of that name.
    pub fn names(&self, hole: &str) -> bool {
        pieces(&self.0).contains(&Piece::Hole(hole))
    }
}

impl fmt::Debug for KeyTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyTemplate({:?})", self.0)
    }
}

impl<'de> Deserialize<'de> for KeyTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let unknown = pieces(&text).into_iter().find_map(|piece| match piece {
            Piece::Hole(word) if !HOLES.contains(&word) => Some(word.to_owned()),
            _ => None,
        });
        match unknown {
            Some(word) => Err(D::Error::custom(format!(
                "unknown placeholder `{{{word}}}`; a key has {{prefix}}, {{queue}} and {{id}}"
            ))),
            None if text.is_empty() => Err(D::Error::custom("a key is not empty")),
            None => Ok(Self(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let names = KeyNames { prefix: "bull", queue: "orders", id: b"7" };
        String::from_utf8(KeyTemplate(text.to_owned()).fill(&names)).expect("text")
    }

    #[test]
    fn names_are_put_in_and_braces_of_a_cluster_stay() {
        assert_eq!(filled("{prefix}:{queue}:{id}"), "bull:orders:7");
        assert_eq!(filled("asynq:{{queue}}:t:{id}"), "asynq:{orders}:t:7");
        assert_eq!(filled("{chasqui:{queue}}:dlq"), "{chasqui:orders}:dlq");
        assert_eq!(filled("{Tag}:dead"), "{Tag}:dead");
    }

    #[test]
    fn an_id_that_is_no_text_stays_what_it_is() {
        let names = KeyNames { id: &[0xff, 0], ..KeyNames::default() };
        assert_eq!(KeyTemplate("t:{id}".to_owned()).fill(&names), [b't', b':', 0xff, 0]);
    }
}
