//! Where arguments stand in what a column holds, and what it holds with other arguments in their place.

use std::ops::Range;

use crate::domain::job::JobId;
use crate::domain::json::{Document, splice};

/// What a column holds: the arguments by themselves, or a document that has them at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentsDocument {
    text: String,
    path: String,
    span: Range<usize>,
}

impl ArgumentsDocument {
    /// The document with its arguments at `path`, as members and elements with dots between them; an empty path is all of
    /// the document. `None` where nothing stands there, more than one value does, or it is no JSON.
    pub fn at(text: impl Into<String>, path: &str) -> Option<Self> {
        let document = Document::parse(text).ok()?;
        let nodes = if path.is_empty() { vec![0] } else { document.at(path) };
        let [node] = nodes.as_slice() else { return None };
        let span = document.span(*node);
        Some(Self { text: document.text().to_owned(), path: path.to_owned(), span })
    }

    /// The same at the first of these paths where the arguments stand as they are `shown`: an adapter may put together what it
    /// shows from several places, which nobody could write back.
    pub fn locate(text: &str, paths: &[String], shown: &str) -> Option<Self> {
        paths.iter().find_map(|path| Self::at(text, path).filter(|found| is_same(found.arguments(), shown)))
    }

    /// The whole document.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the arguments stand in it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The arguments, as they are written in it.
    pub fn arguments(&self) -> &str {
        self.text.get(self.span.clone()).unwrap_or_default()
    }

    /// The document with other arguments; all else keeps its bytes.
    pub fn with_arguments(&self, arguments: &str) -> String {
        let (before, after) = (self.text.get(..self.span.start), self.text.get(self.span.end..));
        [before.unwrap_or_default(), arguments, after.unwrap_or_default()].concat()
    }

    /// What is written of the job whose document this is, so that the column holds `edited`.
    pub fn edit(&self, id: &JobId, edited: String) -> ArgumentsEdit {
        ArgumentsEdit { id: id.clone(), path: self.path.clone(), original: self.text.clone(), edited }
    }
}

/// What is written of one job, as it was computed before anything was confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentsEdit {
    /// The job.
    pub id: JobId,
    /// Where the arguments stand in what the column holds.
    pub path: String,
    /// What the column must hold still.
    pub original: String,
    /// What it is to hold.
    pub edited: String,
}

impl ArgumentsEdit {
    /// The same the other way round.
    pub fn reversed(self) -> Self {
        Self { original: self.edited, edited: self.original, ..self }
    }

    /// Bytes of both texts.
    pub fn bytes(&self) -> usize {
        self.original.len() + self.edited.len()
    }
}

/// Whether two texts are the same JSON, however they are spaced and their strings are escaped.
fn is_same(text: &str, other: &str) -> bool {
    if text == other.trim_ascii() {
        return true;
    }
    let (Ok(document), Ok(other)) = (Document::parse(text), Document::parse(other)) else { return false };
    splice(&document, &document, &other).is_ok_and(|spliced| spliced.changes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths<const N: usize>(paths: [&str; N]) -> Vec<String> {
        paths.map(str::to_owned).into()
    }

    #[test]
    fn only_the_arguments_of_a_document_change() {
        let text = r#"{"job_id" : "a", "arguments": [ 12345678901234567890.10 ], "executions":0}"#;
        let document =
            ArgumentsDocument::locate(text, &paths(["arguments"]), "[12345678901234567890.10]").expect("found");
        assert_eq!((document.path(), document.arguments()), ("arguments", "[ 12345678901234567890.10 ]"));
        assert_eq!(document.with_arguments("[1]"), r#"{"job_id" : "a", "arguments": [1], "executions":0}"#);
        let element = ArgumentsDocument::at(r#"[{"arguments":[1]},2]"#, "0.arguments").expect("found");
        assert_eq!(element.with_arguments("[]"), r#"[{"arguments":[]},2]"#);
        let all = ArgumentsDocument::at(" [1]\n", "").expect("found");
        assert_eq!((all.arguments(), all.with_arguments("2").as_str()), ("[1]", " 2\n"));
    }

    #[test]
    fn what_is_shown_and_what_is_written_are_one_value_or_nothing_is_found() {
        let either = paths(["0.arguments", ""]);
        let found = |text, shown| ArgumentsDocument::locate(text, &either, shown).map(|found| found.path().to_owned());
        assert_eq!(found(r#"[{"arguments":[1]}]"#, "[1]").as_deref(), Some("0.arguments"));
        assert_eq!(found(r#"[{"arguments":[1]}]"#, r#"[ { "arguments" : [1] } ]"#).as_deref(), Some(""));
        // Keyword arguments that stand elsewhere are shown behind the others.
        assert_eq!(found("[1]", r#"[1,{"a":2}]"#), None);
        assert_eq!(found("[1.0]", "[1]"), None);
        assert_eq!(found("no JSON", "no JSON"), None);
        // Which of the two is read nobody knows.
        assert_eq!(ArgumentsDocument::at(r#"{"a":1,"a":2}"#, "a"), None);
    }
}
