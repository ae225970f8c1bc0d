//! The heavy parts of a job as people read them: arguments over several lines, a backtrace by its lines.

use crate::domain::display_rules::Notation;
use crate::domain::json::{Document, JsonHighlights, JsonLine, View, decode_double};
use crate::domain::text::{Clean, Untrusted};

/// Arguments over several lines, numbers untouched; as they stand where they are no JSON.
pub fn pretty(text: &Untrusted, notation: &Notation) -> String {
    let decoded = decode_double(text.exact());
    let Ok(document) = Document::parse(decoded.as_ref()) else { return text.lines().to_string() };
    let mut marks = JsonHighlights::default();
    notation.mark(&document, &mut marks);
    let mut view = View::new(document, marks);
    view.set_cap(usize::MAX);
    let indented = |line: JsonLine<'_>| format!("{}{}", "  ".repeat(line.indent.min(40) as usize), line.clean());
    view.lines(0..view.total_lines()).map(indented).collect::<Vec<_>>().join("\n")
}

/// A backtrace's lines, out of a JSON array where it is one.
pub fn backtrace(text: &Untrusted) -> String {
    let decoded = decode_double(text.exact());
    match serde_json::from_str::<Vec<String>>(&decoded) {
        Ok(lines) => Clean::lines(&lines.join("\n")).to_string(),
        Err(_) => text.lines().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_laid_out_and_cannot_act_on_a_terminal() {
        let text = Untrusted::from("[{\"n\":12345678901234567890.10,\"s\":\"a\u{1b}[2J\"}]");
        let laid_out = pretty(&text, &Notation::default());
        assert!(laid_out.contains("12345678901234567890.10"), "{laid_out}");
        assert!(!laid_out.contains('\u{1b}'), "{laid_out}");
        assert_eq!(backtrace(&Untrusted::from("[\"a.rb:1\",\"b.rb:2\"]")), "a.rb:1\nb.rb:2");
        assert_eq!(backtrace(&Untrusted::from("a.rb:1\nb.rb:2")), "a.rb:1\nb.rb:2");
    }
}
