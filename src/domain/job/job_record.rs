//! A job as JSON: field for field, exact. What commands print of it, and what a validator reads.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::domain::job::{JobDetail, JobRow};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// A job as lists have it.
#[derive(Serialize)]
pub struct RowRecord<'a> {
    id: &'a str,
    at: Option<String>,
    state: &'static str,
    native_state: &'a str,
    error: Option<&'a str>,
    message: Option<&'a str>,
    class: Option<&'a str>,
    queue: Option<&'a str>,
    worker: Option<&'a str>,
    attempts: Option<i64>,
    max_attempts: Option<i64>,
}

impl<'a> From<&'a JobRow> for RowRecord<'a> {
    fn from(row: &'a JobRow) -> Self {
        let text = |value: &'a Option<Untrusted>| value.as_ref().map(Untrusted::exact);
        Self {
            id: row.id.as_str(),
            at: row.at.map(Timestamp::to_rfc3339),
            state: row.state.word(),
            native_state: row.native_state.exact(),
            error: text(&row.error_class),
            message: text(&row.message),
            class: text(&row.job_class),
            queue: text(&row.queue),
            worker: text(&row.worker),
            attempts: row.attempts,
            max_attempts: row.max_attempts,
        }
    }
}

/// A job with everything.
#[derive(Serialize)]
pub struct DetailRecord<'a> {
    #[serde(flatten)]
    row: RowRecord<'a>,
    arguments: Option<Payload>,
    backtrace: Option<&'a str>,
    lineage: Option<&'a str>,
    metadata: serde_json::Map<String, serde_json::Value>,
}

/// A payload: as JSON where it is valid JSON, numbers untouched; as a string where it is not.
#[derive(Serialize)]
#[serde(untagged)]
enum Payload {
    Json(Box<RawValue>),
    Text(String),
}

impl From<&Untrusted> for Payload {
    fn from(text: &Untrusted) -> Self {
        // Outside of strings a line break is only space; a document a line must not have any.
        let one_line = text.exact().replace(['\n', '\r'], " ");
        match RawValue::from_string(one_line) {
            Ok(json) => Payload::Json(json),
            Err(_) => Payload::Text(text.exact().to_owned()),
        }
    }
}

impl<'a> From<&'a JobDetail> for DetailRecord<'a> {
    fn from(detail: &'a JobDetail) -> Self {
        let text = |value: &'a Option<Untrusted>| value.as_ref().map(Untrusted::exact);
        let mut row = RowRecord::from(&detail.row);
        // The whole message stands in the place of its start.
        row.message = text(&detail.message).or(row.message);
        let metadata = detail.metadata.iter().map(|(name, value)| {
            let value = value.as_ref().map_or(serde_json::Value::Null, |v| v.exact().into());
            (name.clone(), value)
        });
        Self {
            row,
            arguments: detail.arguments.as_ref().map(Payload::from),
            backtrace: text(&detail.backtrace),
            lineage: text(&detail.lineage),
            metadata: metadata.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> String {
        serde_json::to_string(&Payload::from(&Untrusted::from(text))).expect("serialisable")
    }

    #[test]
    fn payloads_keep_their_numbers_and_fit_a_line() {
        assert_eq!(payload("{\"n\":\n 12345678901234567890.10}"), "{\"n\":  12345678901234567890.10}");
        assert_eq!(payload("not\njson"), "\"not\\njson\"");
    }
}
