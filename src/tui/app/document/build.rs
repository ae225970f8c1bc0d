//! From what the store has to what is shown: decoding, masking, notation, the application's frames first.

use super::highlight::Grammar;
use super::json::JsonText;
use super::lines::{LinesText, Tone};
use super::tab_text::{TabText, Text};
use super::text_roles::TextRole;
use crate::domain::backtrace::{Backtrace, BacktraceEntry, EntryKind, FrameOrigins};
use crate::domain::display_rules::Notation;
use crate::domain::job::JobDetail;
use crate::domain::json::{Document, JsonHighlights, View, decode_double, quote};
use crate::domain::redact::{REDACTED, Redactor};
use crate::domain::text::Untrusted;
use crate::ledger::HistoryEntry;

/// How a layout's payloads are read.
#[derive(Clone, Copy)]
pub(super) struct PayloadRules<'a> {
    pub notation: &'a Notation,
    pub redactor: &'a Redactor,
    pub origins: &'a FrameOrigins,
}

impl PayloadRules<'_> {
    /// Arguments: JSON where they are JSON, with the framework's notation; else as they stand.
    pub fn arguments(self, detail: &JobDetail) -> TabText {
        let Some(stored) = present(detail.arguments.as_ref()) else {
            return absent("the row has no arguments");
        };
        if detail.undecodable && !self.redactor.reveals() {
            return TabText {
                bytes: stored.len(),
                ..absent("hidden: the arguments cannot be decoded; --reveal shows them")
            };
        }
        match self.json(stored, self.notation) {
            Ok(text) => TabText { text: Text::Json(text), bytes: stored.len(), remark: None },
            Err(reason) => {
                let mut text = LinesText::default();
                text.push(Tone::Seen(Grammar::Json), &self.redactor.prose(stored));
                let remark = Some(format!("shown as stored: {reason}"));
                TabText { text: Text::Lines(text), bytes: stored.len(), remark }
            }
        }
    }

    /// The backtrace: the application's own frames, then all of it.
    pub fn backtrace(self, detail: &JobDetail) -> TabText {
        let Some(stored) = present(detail.backtrace.as_ref()) else {
            return absent("no backtrace was recorded");
        };
        let trace = Backtrace::parse(&self.redactor.text(stored), self.origins);
        let own: Vec<&BacktraceEntry> =
            trace.application_first().into_iter().filter(|entry| entry.is_application()).collect();
        let mut text = LinesText::default();
        if !own.is_empty() && own.len() < trace.original().len() {
            text.push(Tone::Flat(TextRole::Heading), &format!("The application's frames: {}", own.len()));
            own.iter().for_each(|entry| text.push(Tone::Application, entry.text.exact()));
            text.gap();
            text.push(Tone::Flat(TextRole::Heading), "The whole backtrace");
        }
        for entry in trace.original() {
            let tone = match entry.kind {
                EntryKind::Frame if entry.is_application() => Tone::Application,
                // Where no frame is known to be the application's own, none is dimmed.
                EntryKind::Frame if !own.is_empty() => Tone::Flat(TextRole::LibraryFrame),
                EntryKind::Frame => Tone::Seen(Grammar::Backtrace),
                EntryKind::Note => Tone::Seen(Grammar::Message),
            };
            text.push(tone, entry.text.exact());
        }
        let remark = (text.len() == 0).then(|| "the backtrace is empty".to_owned());
        TabText { text: Text::Lines(text), bytes: stored.len(), remark }
    }

    /// The error: its class, and the whole message.
    pub fn error(self, detail: &JobDetail) -> TabText {
        let class = detail.row.error_class.as_ref().map_or("", Untrusted::exact);
        let message = detail.message.as_ref().map_or("", Untrusted::exact);
        if class.is_empty() && message.is_empty() {
            return absent("no error was recorded");
        }
        let mut text = LinesText::default();
        if !class.is_empty() {
            text.push(Tone::Flat(TextRole::ErrorClass), &self.redactor.prose(class));
            text.gap();
        }
        text.push(Tone::Seen(Grammar::Message), &self.redactor.prose(message));
        TabText { text: Text::Lines(text), bytes: message.len(), remark: None }
    }

    /// All other columns as one object: values that hold JSON are shown as JSON.
    pub fn metadata(self, detail: &JobDetail) -> TabText {
        if detail.metadata.is_empty() {
            return absent("the layout has no other columns");
        }
        // Where a secret stands in what the arguments were read from, only their readable form tells.
        let hides = self.redactor.hides_arguments(detail);
        let member = |(name, value): &(String, Option<Untrusted>)| match hides && detail.decoded_from.contains(name) {
            true => format!("{}: {}", quote(name), quote(REDACTED)),
            false => format!("{}: {}", quote(name), column(value.as_ref())),
        };
        let members: Vec<String> = detail.metadata.iter().map(member).collect();
        let object = format!("{{{}}}", members.join(", "));
        let bytes = detail.metadata.iter().filter_map(|(_, value)| value.as_ref()).map(|v| v.exact().len()).sum();
        match self.json(&object, self.notation) {
            Ok(text) => TabText { text: Text::Json(text), bytes, remark: None },
            Err(reason) => absent(&reason),
        }
    }

    fn json(self, stored: &str, notation: &Notation) -> Result<JsonText, String> {
        let doc = Document::parse(decode_double(stored)).map_err(|e| e.to_string())?;
        let mut marks = JsonHighlights::default();
        // Secrets first: no notation may show what is masked.
        self.redactor.mark(&doc, &mut marks);
        notation.mark(&doc, &mut marks);
        Ok(JsonText::new(View::new(doc, marks)))
    }
}

/// What the ledger knows, latest first.
pub(super) fn history(entries: &[HistoryEntry], redactor: &Redactor) -> TabText {
    if entries.is_empty() {
        return absent("nothing was done to this job from here");
    }
    let mut text = LinesText::default();
    for entry in entries {
        let operator = &entry.operator;
        text.push(Tone::Flat(TextRole::Key), &format!("{}  {}  {}", entry.at, entry.action, entry.outcome.exact()));
        let from = operator.ssh_client.as_ref().map(|client| format!(" from {client}")).unwrap_or_default();
        text.push(
            Tone::Flat(TextRole::Plain),
            &format!("  run {} by {}@{}{from}", entry.run, operator.user, operator.host),
        );
        if let Some(reason) = &entry.reason {
            text.push(Tone::Flat(TextRole::Plain), &format!("  because: {}", redactor.prose(reason)));
        }
    }
    let bytes = text.text().len();
    TabText { text: Text::Lines(text), bytes, remark: None }
}

/// A column's value as JSON: containers as they are, even where they are encoded twice; everything else as a string.
fn column(value: Option<&Untrusted>) -> String {
    let Some(value) = value else { return "null".into() };
    let decoded = decode_double(value.exact());
    match Document::parse(&*decoded) {
        Ok(doc) if doc.kind(0).is_container() => decoded.into_owned(),
        _ => quote(value.exact()),
    }
}

fn present(text: Option<&Untrusted>) -> Option<&str> {
    text.map(Untrusted::exact).filter(|text| !text.trim().is_empty())
}

fn absent(remark: &str) -> TabText {
    TabText { text: Text::Lines(LinesText::default()), bytes: 0, remark: Some(remark.to_owned()) }
}
