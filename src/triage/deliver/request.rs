//! A job as the command reads it: its message on one line, with the `id` by which the command answers.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use crate::store::Message;

/// A job on its way.
#[derive(Debug)]
pub(super) struct DeliveryRequest {
    /// What is written, with its line break.
    pub(super) text: String,
    /// The `id` that stands on it: the message's own, or else the dead job's.
    pub(super) id: String,
    /// Other ids of the job; an answer may name it by them too.
    pub(super) aliases: Vec<String>,
}

/// What of a message can be taken for its identity.
#[derive(Deserialize, Default)]
struct MessageIdentity {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    job_id: Option<Value>,
}

impl DeliveryRequest {
    /// The line of a message. The message's text stays as it is, so that its numbers stay exact; an `id` is put before
    /// it where it has none.
    pub(super) fn new(message: &Message) -> Self {
        let json = message.json.trim();
        let head: Option<MessageIdentity> = if json.starts_with('{') { serde_json::from_str(json).ok() } else { None };
        let id = Value::String(message.id.as_str().to_owned());
        let text = match (&head, json.strip_prefix('{').map(str::trim_start)) {
            (Some(MessageIdentity { id: Some(_), .. }), _) => format!("{json}\n"),
            (Some(_), Some("}")) => format!("{{\"id\":{id}}}\n"),
            (Some(_), Some(rest)) => format!("{{\"id\":{id},{rest}\n"),
            _ => format!("{{\"id\":{id},\"job\":{json}}}\n"),
        };
        let head = head.unwrap_or_default();
        let dead = message.id.as_str().to_owned();
        let id = head.id.map_or_else(|| dead.clone(), super::response::text);
        let aliases = head.job_id.map(super::response::text).into_iter().chain((id != dead).then_some(dead)).collect();
        Self { text, id, aliases }
    }
}

/// The lines of a batch, and which of its jobs have none: those with the `id` of one before them, for which no answer
/// could be told to be.
pub(super) fn unique_keys(batch: &[Message]) -> (Vec<DeliveryRequest>, Vec<bool>) {
    let mut ids = HashSet::new();
    let (mut lines, mut duplicates) = (Vec::new(), Vec::new());
    for line in batch.iter().map(DeliveryRequest::new) {
        let is_new = ids.insert(line.id.clone());
        duplicates.push(!is_new);
        lines.extend(is_new.then_some(line));
    }
    (lines, duplicates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::JobId;

    fn line(json: &str) -> DeliveryRequest {
        DeliveryRequest::new(&Message { id: JobId::new("7"), json: json.to_owned() })
    }

    #[test]
    fn a_message_without_an_id_is_given_the_dead_jobs() {
        let made = line("{\"job_id\":\"new\",\"n\":12345678901234567890.10}");
        assert_eq!(made.text, "{\"id\":\"7\",\"job_id\":\"new\",\"n\":12345678901234567890.10}\n");
        assert_eq!((made.id.as_str(), made.aliases), ("7", vec!["new".to_owned()]));
        assert_eq!(line("{ }").text, "{\"id\":\"7\"}\n");
    }

    #[test]
    fn a_message_with_an_id_of_its_own_is_answered_for_by_either() {
        let made = line("{\"id\":99}");
        assert_eq!((made.text.as_str(), made.id.as_str()), ("{\"id\":99}\n", "99"));
        assert_eq!(made.aliases, ["7"]);
    }

    #[test]
    fn what_is_no_object_is_wrapped() {
        assert_eq!(line("[1]").text, "{\"id\":\"7\",\"job\":[1]}\n");
    }
}
