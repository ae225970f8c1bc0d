//! What a command writes: answers among its own talk, and the end of its complaints.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::request::DeliveryRequest;
use crate::domain::text::head;

/// Bytes of a line beyond which it cannot be an answer. A command may send the whole job back with its answer.
const LINE: usize = 64 << 20;
/// Bytes of standard error that are kept, and characters of the reason for a refusal: one is kept for each job.
const TAIL: usize = 1_000;

/// The answers to the jobs of a batch; the first for a job counts.
#[derive(Debug, Default)]
pub(super) struct DeliveryAnswers {
    /// Which job a name means.
    names: HashMap<String, usize>,
    told: Vec<Option<Result<(), String>>>,
    line: Vec<u8>,
    too_long: bool,
}

#[derive(Deserialize)]
struct DeliveryResponse {
    id: Value,
    ok: bool,
    #[serde(default)]
    error: Option<Value>,
}

impl DeliveryAnswers {
    /// Waits for answers to these jobs. The `id` of a line means that line's job; any other name means a job only where
    /// it means no other.
    pub(super) fn to(batch: &[DeliveryRequest]) -> Self {
        let mut names = HashMap::new();
        for (job, line) in batch.iter().enumerate() {
            names.insert(line.id.clone(), job);
        }
        let mut aliases: HashMap<&str, Option<usize>> = HashMap::new();
        for (job, line) in batch.iter().enumerate() {
            for name in &line.aliases {
                let meant = aliases.entry(name).or_insert(Some(job));
                *meant = meant.filter(|other| *other == job);
            }
        }
        for (name, job) in aliases {
            if let Some(job) = job.filter(|_| !names.contains_key(name)) {
                names.insert(name.to_owned(), job);
            }
        }
        Self { names, told: vec![None; batch.len()], ..Self::default() }
    }

    /// Jobs that were answered for.
    pub(super) fn len(&self) -> usize {
        self.told.iter().flatten().count()
    }

    /// Takes in what was read.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(at);
            self.add(line);
            self.end();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.add(bytes);
    }

    /// Ends a line, also one that the command did not end itself.
    pub(super) fn end(&mut self) {
        if !self.too_long
            && let Some(answer) = read(&self.line)
        {
            let job = self.names.get(&text(answer.id)).and_then(|job| self.told.get_mut(*job));
            if let Some(told) = job.filter(|told| told.is_none()) {
                *told = Some(if answer.ok { Ok(()) } else { Err(refusal(answer.error)) });
            }
        }
        self.line.clear();
        self.too_long = false;
    }

    /// The answers in the order of the batch.
    pub(super) fn into_answers(self) -> Vec<Option<Result<(), String>>> {
        self.told
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > LINE {
            self.too_long = true;
            self.line.clear();
        }
        if !self.too_long {
            self.line.extend_from_slice(bytes);
        }
    }
}

/// An answer, whatever bytes it carries beside its meaning.
fn read(line: &[u8]) -> Option<DeliveryResponse> {
    let exact = serde_json::from_slice(line).ok();
    exact.or_else(|| serde_json::from_str(&String::from_utf8_lossy(line)).ok())
}

fn refusal(error: Option<Value>) -> String {
    match error {
        None | Some(Value::Null) => "refused without a reason".to_owned(),
        Some(error) => head(&text(error), TAIL).to_owned(),
    }
}

/// A JSON string's text; a number as it is written.
pub(super) fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    /// Takes in what was read.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let excess = self.0.len().saturating_sub(TAIL);
        self.0.drain(..excess);
    }

    /// What is kept, without the space around it.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).trim().to_owned()
    }
}
