//! Adapters of layouts in Redis: which keys hold dead jobs, what is read for each, how it is decoded, and a Lua body a verb.
//!
//! A file with `engine = "redis"` is read here. Nothing in this folder connects: it says which commands read a job, makes a
//! [`crate::domain::job::JobRow`] of their replies, and hands out the bodies that the store runs.

mod entry;
mod entry_reader;
mod field;
mod parse;
mod read;
mod spec;
mod template;
#[cfg(test)]
mod tests;
mod verb;

pub use entry::{RawEntry, RedisReply};
pub use entry_reader::EntryReader;
pub use field::{FieldSource, FieldValue, Pick, RedisField, RedisFields, TextCut};
pub(super) use parse::{read, read_again};
pub use read::{ReadCommand, ReadKind, ReadParts, ReadSpec};
pub use spec::{DeadSet, KeyType, OutcomeSpec, QueueSpec, RedisDetect, RedisSpec, ScoreTime, SetKind};
pub use template::{KeyNames, KeyTemplate};
pub use verb::{LUA_HELPERS, PARAMETERS, RedisVerb, RedisVerbs};
