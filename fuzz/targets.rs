//! What is tried with any bytes at all: the readers of text that operators, jobs and servers write.
//!
//! `scripts/fuzz` searches for bytes that break one of them, guided by coverage; `tests/it/fuzz.rs` tries the seeds and what
//! comes of them by chance, in a second, with every test.

#![allow(dead_code, reason = "each fuzz target is a program that uses one of these")]

use std::collections::BTreeMap;

use dlq_tui::adapter::Adapter;
use dlq_tui::config::{Config, mask_secrets};
use dlq_tui::db::target;
use dlq_tui::domain::encoding::{self, Encoding};
use dlq_tui::domain::error_text;
use dlq_tui::domain::filter::{Filter, complete};
use dlq_tui::domain::fingerprint::Fingerprint;
use dlq_tui::domain::json::{Document, splice};
use dlq_tui::domain::redact::{RedactConfig, Redactor};
use dlq_tui::domain::text::{Clean, Untrusted};

/// A reader, under the name of its program, and the folder where its seeds lie.
pub struct Target {
    pub name: &'static str,
    pub seeds: &'static str,
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "filter", seeds: "fuzz/seeds/filter", run: filter },
    Target { name: "text", seeds: "fuzz/seeds/text", run: text },
    Target { name: "error_text", seeds: "fuzz/seeds/error_text", run: errors },
    Target { name: "json", seeds: "fuzz/seeds/json", run: json },
    Target { name: "adapter", seeds: "assets/adapters", run: adapter },
    Target { name: "config", seeds: "fuzz/seeds/config", run: config },
    Target { name: "url", seeds: "fuzz/seeds/url", run: url },
];

/// A filter says what it selects in words that read as the same filter.
pub fn filter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for cursor in [0, text.chars().count() / 2, text.chars().count(), usize::MAX] {
        complete(&text, cursor);
    }
    let Ok(filter) = Filter::parse(&text) else { return };
    let written = filter.to_string();
    let again = Filter::parse(&written).unwrap_or_else(|e| panic!("{text:?} is written as {written:?}: {e}"));
    assert_eq!(again, filter, "{text:?} is written as {written:?}");
}

/// Nothing that could act on a terminal passes the sanitiser, and what is cut to a width has it.
pub fn text(bytes: &[u8]) {
    let untrusted = Untrusted::from_bytes(bytes.to_vec());
    assert_eq!(untrusted.is_exact(), std::str::from_utf8(bytes).is_ok());
    for (clean, may_break) in [(untrusted.line(), false), (untrusted.lines(), true), (untrusted.line_head(9), false)] {
        for c in clean.chars() {
            let is_break = may_break && c == '\n';
            assert!(is_break || !acts(c), "{c:?} is left of {bytes:?}");
        }
        assert_eq!(Clean::lines(&clean), clean, "what is clean stays as it is");
        for width in [1, 7, 80] {
            assert!(clean.truncate(width, "…").width() <= width, "{bytes:?}");
            assert!(clean.truncate_name(width, "…").width() <= width, "{bytes:?}");
            assert!(clean.window(width / 2, width).width() <= width, "{bytes:?}");
            // What is one to a reader has a row of its own where it is wider: a letter with its marks may take three columns.
            let rows = clean.wrap(width);
            assert!(rows.iter().all(|row| row.width() <= width || row.wrap(width).len() == 1), "{bytes:?}");
            assert_eq!(rows.iter().map(|row| row.len()).sum::<usize>(), clean.replace('\n', "").len(), "{bytes:?}");
        }
    }
}

/// Controls, and what changes the direction of the text around it.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// An error's text is cut into pieces of itself, and what is accidental in it is taken out once and for all.
pub fn errors(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let cut = error_text::cut(&text);
    assert!(text.contains(cut.message) && cut.class.is_none_or(|class| text.contains(class)), "{text:?}");
    error_text::normalise(cut.message);
    let of = || Fingerprint::of(cut.class, Some(cut.message));
    assert_eq!(of(), of());
    let redactor = Redactor::new(&RedactConfig::default());
    redactor.prose(&redactor.prose(&text));
}

/// What is JSON to others is JSON to us; nothing of it is lost, and secrets by name are masked in any of it.
pub fn json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let ours = Document::parse(text.as_ref());
    if serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok() {
        assert!(ours.is_ok(), "{text:?}");
    }
    if let Ok(document) = &ours {
        assert_eq!(document.text(), text);
        assert_eq!(document.replace(&[]), text);
    }
    let redactor = Redactor::new(&RedactConfig::default());
    let shown = redactor.text(&text);
    assert!(ours.is_err() || Document::parse(shown.as_ref()).is_ok(), "{text:?} is shown as {shown:?}");
    if let (Ok(original), Ok(edited)) = (Document::parse(&*text), Document::parse(&*shown))
        && let Ok(spliced) = splice(&original, &original, &edited)
    {
        let written =
            Document::parse(spliced.text).unwrap_or_else(|e| panic!("{text:?} is spliced to what is no JSON: {e}"));
        let again = splice(&written, &written, &edited).expect("no key is there twice now");
        assert!(again.changes.is_empty(), "{text:?} has not the values of {shown:?}");
    }
    for one in [Encoding::Yaml, Encoding::Php, Encoding::Json] {
        encoding::decode(&text, &BTreeMap::from([(String::new(), one)]));
    }
}

/// An adapter file is read or refused with a sentence.
pub fn adapter(bytes: &[u8]) {
    if let Err(error) = Adapter::parse(&String::from_utf8_lossy(bytes), None) {
        assert!(!error.to_string().is_empty());
    }
}

/// A config is read or refused with a sentence, which holds no secret.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = Config::parse(&text) {
        let said = mask_secrets(&error.to_string());
        assert!(!said.is_empty());
        assert_eq!(mask_secrets(&said), said);
    }
}

/// An address is read or refused with a sentence, and whatever is shown of it has no password.
pub fn url(bytes: &[u8]) {
    const PASSWORD: &str = "correct-horse";
    let text = String::from_utf8_lossy(bytes);
    for url in [
        text.to_string(),
        format!("postgres://shop:{PASSWORD}@{text}"),
        format!("mysql://h/d?password={PASSWORD}&{text}"),
    ] {
        let shown = match target::Target::from_url(&url) {
            Ok(target) => format!("{target} {target:?} {}", target.label()),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(PASSWORD) || !shown.contains(PASSWORD), "{url:?}: {shown}");
    }
}
