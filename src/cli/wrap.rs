//! Prose on a terminal, broken between words.

use unicode_width::UnicodeWidthStr;

/// Columns by which a sentence that goes on is indented.
const INDENT: usize = 2;

/// A text of several lines. Sentences are broken between words; a line that is indented is a command or a quotation, and stays as
/// it is. Without a width everything stays.
pub fn text(text: &str, width: Option<usize>) -> String {
    let line = |line: &str| match line.starts_with([' ', '\t']) {
        true => line.to_owned(),
        false => hanging("", line, width),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A line that begins with a head, under whose end the text goes on. A single word that is too long, and what stands between
/// backticks, is not broken: it can be copied.
pub fn hanging(head: &str, text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return format!("{head}{text}") };
    let indent = match head.width() {
        0 => INDENT,
        columns if columns * 2 > width => INDENT * 2,
        columns => columns,
    };
    let (mut out, mut column, mut is_first) = (head.to_owned(), head.width(), true);
    for word in words(text) {
        let columns = word.width();
        if !is_first && column + 1 + columns > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += columns;
        is_first = false;
    }
    out
}

/// The words of a line; what stands between two backticks is one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in text.split(' ') {
        match words.last_mut().filter(|_| is_open) {
            Some(word) => {
                word.push(' ');
                word.push_str(part);
            }
            None => words.push(part.to_owned()),
        }
        is_open ^= part.matches('`').count() % 2 == 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_go_on_below_the_text() {
        let printed = hanging("  warning    ", "2 of those that were named were not found: 7, 8", Some(30));
        let expected = "  warning    2 of those that\n             were named were\n             not found: 7, 8";
        assert_eq!(printed, expected);
        assert!(
            hanging("  filter     ", "a-filter-that-is-far-too-long-for-it b", Some(20)).contains("-too-long-for-it\n")
        );
        assert_eq!(hanging("head ", "a b", None), "head a b");
    }

    #[test]
    fn commands_and_indented_lines_are_left_as_they_are() {
        let long = "run `dlq-tui adapters init --table x` and see:\n  dlq-tui --url sqlite:/a/very/long/path stats";
        let expected =
            "run\n  `dlq-tui adapters init --table x`\n  and see:\n  dlq-tui --url sqlite:/a/very/long/path stats";
        assert_eq!(text(long, Some(20)), expected);
    }
}
