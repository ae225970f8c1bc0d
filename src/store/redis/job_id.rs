//! The ids of jobs: `queue/id`, or `queue/score/id` where the entry is a document that names its job; without the queue where the
//! layout has one dead set for all.
//!
//! What is no plain text in a name is percent-encoded: a `%`, control characters, bytes that are no UTF-8, and `/` where more
//! follows.

use sha2::{Digest, Sha256};

use crate::domain::job::JobId;

/// Digits of the hash that stands for an entry which names no job.
const HASH_DIGITS: usize = 16;

/// What an id says of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobKey {
    /// The queue; empty where the layout has none in its keys.
    pub(super) queue: String,
    /// Which of the entries of its dead set.
    pub(super) name: JobName,
}

/// How an entry is known in its dead set.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JobName {
    /// By itself: it is the id.
    Entry(Vec<u8>),
    /// By its score and by the id in it.
    Scored(f64, String),
}

/// How the ids of a layout are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdForm {
    /// Whether each queue has its own dead set.
    pub(super) has_queues: bool,
    /// Whether entries are documents that name their jobs.
    pub(super) is_scored: bool,
}

impl IdForm {
    /// The id of an entry; `own` is what a document names its job.
    pub(super) fn id(self, queue: &str, member: &[u8], score: Option<f64>, own: Option<&str>) -> JobId {
        let name = match self.is_scored {
            true => format!("{}/{}", score_text(score.unwrap_or(0.0)), document_name(member, own)),
            false => encoded(member, false),
        };
        JobId::new(match self.has_queues {
            true => format!("{}/{name}", encoded(queue.as_bytes(), true)),
            false => name,
        })
    }

    /// What an id says; `None` where it is none of this layout.
    pub(super) fn key(self, id: &JobId) -> Option<JobKey> {
        let (queue, name) = match self.has_queues {
            true => id.as_str().split_once('/')?,
            false => ("", id.as_str()),
        };
        let queue = String::from_utf8(decoded(queue)?).ok()?;
        let name = match self.is_scored {
            true => {
                let (score, name) = name.split_once('/')?;
                JobName::Scored(score.parse().ok()?, name.to_owned())
            }
            false => JobName::Entry(decoded(name)?),
        };
        Some(JobKey { queue, name })
    }
}

/// What a document is known by beside its score: the id in it, or a hash of all of it.
pub(super) fn document_name(member: &[u8], own: Option<&str>) -> String {
    match own.filter(|own| !own.is_empty()) {
        Some(own) => encoded(own.as_bytes(), false),
        None => {
            let digits: String = Sha256::digest(member).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("sha256-{}", &digits[..HASH_DIGITS])
        }
    }
}

/// A score as text that reads back as the same number. Servers spell scores in different ways, so none of theirs is kept.
pub(super) fn score_text(score: f64) -> String {
    if score == f64::INFINITY {
        "+inf".to_owned()
    } else if score == f64::NEG_INFINITY {
        "-inf".to_owned()
    } else {
        score.to_string()
    }
}

fn encoded(bytes: &[u8], more_follows: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '%' => text.push_str("%25"),
                '/' if more_follows => text.push_str("%2F"),
                c if c.is_control() => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
                }
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
    }
    text
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high << 4 | low).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_back_to_what_it_was_made_of() {
        let queues = IdForm { has_queues: true, is_scored: false };
        for (queue, member) in [("orders", &b"7"[..]), ("a/b%", b"x/y"), ("q", &[0xff, 0, b'%'])] {
            let id = queues.id(queue, member, Some(1.0), None);
            let key = JobKey { queue: queue.to_owned(), name: JobName::Entry(member.to_vec()) };
            assert_eq!(queues.key(&id), Some(key), "{id:?}");
        }
        assert_eq!(queues.id("a/b", b"7", None, None).as_str(), "a%2Fb/7");
        assert!(queues.key(&JobId::new("7")).is_none() && queues.key(&JobId::new("q/%zz")).is_none());
    }

    #[test]
    fn a_document_is_known_by_its_score_and_the_id_in_it() {
        let form = IdForm { has_queues: false, is_scored: true };
        let score = 1_795_795_178.014_000_2;
        let id = form.id("", b"{}", Some(score), Some("b4a5"));
        assert_eq!(id.as_str(), "1795795178.0140002/b4a5");
        let Some(JobKey { name: JobName::Scored(read, name), .. }) = form.key(&id) else { panic!("{id:?}") };
        assert!(read == score && name == "b4a5");
        let nameless = form.id("", b"no json", Some(2.0), None);
        assert!(nameless.as_str().starts_with("2/sha256-") && nameless.as_str().len() == 25, "{nameless:?}");
    }
}
