//! What is kept of a job before it is acted on: its entry, and the keys and fields that are its own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::adapter::redis::{RawEntry, RedisReply};
use crate::db::redis::RedisCommand;
use crate::store::redis::context::RedisContext;
use crate::store::redis::job_id::score_text;
use crate::store::redis::walk::{EntryPlace, number};
use crate::store::{Budget, Result, SourceError};

/// Jobs whose keys are copied at a time.
const AT_ONCE: usize = 200;

/// A copy, as it stands in the ledger. Bytes are base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobCopy {
    queue: String,
    id: Base64Bytes,
    member: Base64Bytes,
    score: String,
    /// Fields of an entry that has some itself, as those of a stream do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    content: Vec<(Base64Bytes, Base64Bytes)>,
    /// Keys as the server dumps them, with the milliseconds that they had left; 0 for no end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<(Base64Bytes, i64, Base64Bytes)>,
    /// Fields of hashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<(Base64Bytes, Base64Bytes, Base64Bytes)>,
}

/// Bytes as base64.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Base64Bytes(pub(crate) Vec<u8>);

impl Serialize for Base64Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Base64Bytes).map_err(serde::de::Error::custom)
    }
}

impl JobCopy {
    /// What was kept.
    ///
    /// # Errors
    /// When it is no copy of such a store.
    pub(crate) fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|_| SourceError::Input("what was kept of a job cannot be read".to_owned()))
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The entry.
    pub(crate) fn entry(&self) -> RawEntry {
        RawEntry {
            queue: Some(self.queue.clone()).filter(|queue| !queue.is_empty()),
            member: self.member.0.clone(),
            score: self.score.parse().ok(),
            ..RawEntry::default()
        }
    }

    /// The name by which keys know the job.
    pub(crate) fn name(&self) -> &[u8] {
        &self.id.0
    }

    /// The value of its first field of a hash; empty where none was kept.
    pub(crate) fn first_field(&self) -> &[u8] {
        self.fields.first().map_or(&[], |(_, _, value)| value.0.as_slice())
    }

    /// Its keys.
    pub(crate) fn key_names(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|(key, _, _)| key.0.as_slice())
    }

    /// Keys and fields as the script takes them.
    pub(crate) fn words(&self) -> Vec<Vec<u8>> {
        let number = |n: usize| n.to_string().into_bytes();
        let mut words = vec![number(self.keys.len())];
        for (key, left, dump) in &self.keys {
            words.extend([key.0.clone(), left.to_string().into_bytes(), dump.0.clone()]);
        }
        words.push(number(self.fields.len()));
        for (key, field, value) in &self.fields {
            words.extend([key.0.clone(), field.0.clone(), value.0.clone()]);
        }
        words
    }
}

/// A copy that has yet to get what was read: the names of its keys, and of its fields with their hashes.
struct Unfilled {
    copy: JobCopy,
    keys: Vec<Vec<u8>>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl RedisContext {
    /// Copies of these jobs, in their order.
    pub(crate) async fn copies(&self, entries: &[RawEntry], budget: &Budget) -> Result<Vec<JobCopy>> {
        let mut copies = Vec::with_capacity(entries.len());
        for entries in entries.chunks(AT_ONCE) {
            let (mut commands, mut bare) = (Vec::new(), Vec::new());
            for entry in entries {
                let copy = self.copied(entry, &mut commands)?;
                bare.push(copy);
            }
            let mut replies = self.engine.read(&commands, budget).await?.into_iter();
            for Unfilled { mut copy, keys, fields } in bare {
                for key in keys {
                    let (dump, left) = (replies.next().unwrap_or_default(), replies.next().unwrap_or_default());
                    if let RedisReply::Bytes(dump) = dump {
                        copy.keys.push((Base64Bytes(key), number(&left).unwrap_or(0).max(0), Base64Bytes(dump)));
                    }
                }
                for (key, field) in fields {
                    if let Some(RedisReply::Bytes(value)) = replies.next() {
                        copy.fields.push((Base64Bytes(key), Base64Bytes(field), Base64Bytes(value)));
                    }
                }
                copies.push(copy);
            }
        }
        Ok(copies)
    }

    /// A copy of the entry alone, with the names of what belongs to it, which the commands read.
    fn copied(&self, entry: &RawEntry, commands: &mut Vec<RedisCommand>) -> Result<Unfilled> {
        let (dead, id) = (&self.spec()?.dead, self.name_of(entry)?);
        let queue = entry.queue.clone().unwrap_or_default();
        let names = self.names(&queue, &id);
        let keys: Vec<Vec<u8>> = dead.keeps.iter().map(|key| key.fill(&names)).collect();
        let fields: Vec<(Vec<u8>, Vec<u8>)> =
            dead.keeps_fields.iter().map(|[key, field]| (key.fill(&names), field.fill(&names))).collect();
        for key in &keys {
            commands.push(vec![b"DUMP".to_vec(), key.clone()]);
            commands.push(vec![b"PTTL".to_vec(), key.clone()]);
        }
        commands.extend(fields.iter().map(|(key, field)| vec![b"HGET".to_vec(), key.clone(), field.clone()]));
        let score = score_text(EntryPlace::of(entry).score);
        let content = entry.fields.iter().flatten();
        let copy = JobCopy {
            queue,
            id: Base64Bytes(id),
            member: Base64Bytes(entry.member.clone()),
            score,
            content: content.map(|(name, value)| (Base64Bytes(name.clone()), Base64Bytes(value.clone()))).collect(),
            ..JobCopy::default()
        };
        Ok(Unfilled { copy, keys, fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_reads_back_as_it_was_whatever_bytes_it_holds() {
        let copy = JobCopy {
            queue: "orders".into(),
            id: Base64Bytes(vec![0xff]),
            member: Base64Bytes(b"7".to_vec()),
            score: "1795795178.0140002".into(),
            content: vec![(Base64Bytes(b"d".to_vec()), Base64Bytes(vec![0x95]))],
            keys: vec![(Base64Bytes(b"k".to_vec()), 0, Base64Bytes(vec![0, 10, 13]))],
            fields: vec![(Base64Bytes(b"h".to_vec()), Base64Bytes(b"7".to_vec()), Base64Bytes(b"{}".to_vec()))],
        };
        assert_eq!(JobCopy::read(&copy.to_json()).unwrap(), copy);
        assert_eq!(copy.entry().score, Some(1_795_795_178.014_000_2));
        assert_eq!(copy.words().len(), 1 + 3 + 1 + 3);
        assert!(JobCopy::read("{\"id\":7}").is_err());
    }
}
