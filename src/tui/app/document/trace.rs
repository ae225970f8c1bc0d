//! The frames of a backtrace, whatever form the framework stores them in.

use crate::domain::json::{Document, Kind, decode_double};

/// One frame, as one or more lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub text: String,
    /// Whether the application's own code stands there.
    pub application: bool,
}

/// The frames of `stored`: a JSON array of them (encoded twice too), or plain lines.
pub(super) fn frames(stored: &str) -> Vec<Frame> {
    let decoded = decode_double(stored);
    let lines: Vec<String> = match Document::parse(&*decoded) {
        Ok(doc) if doc.kind(0) == Kind::Array => doc
            .children(0)
            .map(|child| doc.scalar(child).map_or_else(|| doc.raw(child).to_owned(), |text| text.into_owned()))
            .collect(),
        Ok(doc) if doc.kind(0) == Kind::String => {
            doc.scalar(0).map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_default()
        }
        _ => decoded.lines().map(str::to_owned).collect(),
    };
    lines.into_iter().map(|text| Frame { application: is_application(&text), text }).collect()
}

/// To be decided by the domain's reading of frames.
fn is_application(_line: &str) -> bool {
    false
}
