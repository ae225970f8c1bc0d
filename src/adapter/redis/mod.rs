//! Adapters of layouts in Redis: which keys hold dead jobs, what is read for each, how it is decoded, and a Lua body a verb.
//!
//! A file with `engine = "redis"` is read here. Nothing in this folder connects: it says which commands read a job, makes a
//! [`crate::domain::job::JobRow`] of their replies, and hands out the bodies that the store runs.

mod entry;
mod field;
mod job_reader;
mod parse;
mod read;
mod spec;
mod template;
#[cfg(test)]
mod tests;
mod verb;

pub use entry::{RawEntry, Reply};
pub use field::{FieldSource, FieldValue, Pick, RedisField, RedisFields, TextCut};
pub use job_reader::JobReader;
pub(super) use parse::{read, read_again};
pub use read::{ReadCommand, ReadKind, ReadSpec, Wanted};
pub use spec::{DeadSet, KeyType, OutcomeSpec, QueueSpec, RedisDetect, RedisSpec, ScoreTime, SetKind};
pub use template::{Names, Template};
pub use verb::{LUA_HELPERS, PARAMETERS, RedisVerb, RedisVerbs};
