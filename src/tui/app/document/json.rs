//! A tab whose text is JSON: pretty-printed by window, foldable, searchable, coloured.

use std::borrow::Cow;
use std::ops::Range;

use super::highlight::{self, Grammar};
use super::search::{Direction, Needle};
use super::styled::Styled;
use super::text_roles::TextRole;
use crate::domain::filter::Key;
use crate::domain::json::{JsonLine, NodeId, NodeKind, TokenKind, View};

/// Deeper levels are not indented any further: they would stand beyond every right edge.
const DEEPEST_INDENT: u32 = 40;

/// One JSON text. The view below stays unfolded, so that its lines are ours.
#[derive(Debug)]
pub(super) struct JsonText(View);

impl JsonText {
    pub fn new(view: View) -> Self {
        Self(view)
    }

    pub fn len(&self) -> usize {
        self.0.total_lines()
    }

    /// One line with its roles; `folded` when it stands for the part that begins there.
    pub fn line(&self, line: usize, folded: bool) -> Styled {
        let Some(shown) = self.shown(line) else { return Styled::default() };
        let mut styled = indent(&shown);
        tokens(&shown, &mut styled);
        let mut styled = coloured(&styled);
        if folded {
            self.fold(&shown, line, &mut styled);
        }
        styled
    }

    /// The same line without colours.
    pub fn plain(&self, line: usize, folded: bool) -> String {
        let Some(shown) = self.shown(line) else { return String::new() };
        let mut styled = indent(&shown);
        tokens(&shown, &mut styled);
        if folded {
            self.fold(&shown, line, &mut styled);
        }
        styled.text().to_owned()
    }

    /// First and last line of the container that begins or ends on `line`, or else of the one around it.
    pub fn part(&self, line: usize) -> Option<(usize, usize)> {
        let node = self.0.node_at(line)?;
        let node = if self.is_container(node) { node } else { self.0.doc().parent(node)? };
        Some(self.extent(node))
    }

    pub fn is_part(&self, line: usize) -> bool {
        self.shown(line).is_some_and(|shown| shown.fold.is_some() && !shown.closing)
    }

    /// Every container that lies `level` containers deep.
    pub fn parts(&self, level: usize) -> Vec<(usize, usize)> {
        let doc = self.0.doc();
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        let (mut node, mut depth) = (0, 0);
        let mut parts = Vec::new();
        while node < doc.node_count() {
            let container = self.is_container(node);
            if container && depth == level {
                parts.push(self.extent(node));
            }
            node = if container && depth < level { node + 1 } else { doc.end(node) };
            depth = if node < doc.node_count() { doc.depth(node) } else { 0 };
        }
        parts
    }

    /// The value that begins on `line`, for copying.
    pub fn value(&self, line: usize) -> String {
        self.0.value_at(line).unwrap_or_default()
    }

    /// The filter key of the value on `line`, and the value; none for `null` and what is empty.
    ///
    /// # Errors
    /// Why no filter term selects it, as a sentence.
    pub fn filter_term(&self, line: usize) -> Result<(Key, Option<String>), &'static str> {
        let doc = self.0.doc();
        let node = self.0.node_at(line).ok_or("there is no value on this line")?;
        if self.0.marks().is_redacted(node) {
            return Err("the value is masked");
        }
        if doc.kind(node).is_container() && !doc.is_leaf(node) {
            return Err("this line has no single value: go to one in it");
        }
        let above = std::iter::successors(Some(node), |&node| doc.parent(node));
        let mut keys: Vec<String> = above.filter_map(|node| doc.key(node)).map(Cow::into_owned).collect();
        keys.reverse();
        if keys.is_empty() {
            return Err("the value has no key to filter by");
        }
        let value = doc.scalar(node).map(Cow::into_owned).filter(|value| !value.is_empty());
        Ok((Key::Arg(keys), value.filter(|_| doc.kind(node) != NodeKind::Null)))
    }

    /// The next line with a hit from `from` on: in a name or a value, else across them, as in `"id": 42`.
    pub fn find(&self, needle: &Needle, from: usize, direction: Direction) -> Option<usize> {
        self.find_node(needle, from, direction).or_else(|| self.find_line(needle, from, direction))
    }

    /// Looks at the lines as they are shown.
    fn find_line(&self, needle: &Needle, from: usize, direction: Direction) -> Option<usize> {
        // No name and no value holds these as they are shown; without them every hit was found before.
        if !needle.words().contains(['"', ':', ',', '{', '}', '[', ']']) {
            return None;
        }
        let hits = |range: Range<usize>| {
            let numbers = range.clone();
            numbers.zip(self.0.lines(range)).filter(|(_, line)| {
                let mut shown = Styled::default();
                tokens(line, &mut shown);
                needle.is_in(shown.text())
            })
        };
        let from = from.min(self.len());
        let found = match direction {
            Direction::Forward => hits(from..self.len()).next().or_else(|| hits(0..from).next()),
            Direction::Backward => {
                let here = (from + 1).min(self.len());
                hits(0..here).last().or_else(|| hits(here..self.len()).last())
            }
        };
        found.map(|(line, _)| line)
    }

    fn find_node(&self, needle: &Needle, from: usize, direction: Direction) -> Option<usize> {
        let words = needle.words();
        let lines = |start: NodeId, limit: usize| {
            self.0.search(words, start, limit).into_iter().map(|m| self.0.line_of(m.node))
        };
        match direction {
            Direction::Forward => {
                let here = self.shown(from)?;
                let start = if here.closing { self.0.doc().end(here.node) } else { here.node };
                lines(start, 1).next().or_else(|| lines(0, 1).next())
            }
            Direction::Backward => {
                let all: Vec<usize> = lines(0, usize::MAX).collect();
                let before = all.partition_point(|&line| line <= from);
                before.checked_sub(1).and_then(|at| all.get(at)).or(all.last()).copied()
            }
        }
    }

    fn shown(&self, line: usize) -> Option<JsonLine<'_>> {
        self.0.lines(line..line.saturating_add(1)).next()
    }

    fn is_container(&self, node: NodeId) -> bool {
        self.0.marks().at(node).is_none() && self.0.doc().kind(node).is_container() && !self.0.doc().is_leaf(node)
    }

    fn extent(&self, node: NodeId) -> (usize, usize) {
        let doc = self.0.doc();
        let end = doc.end(node);
        let behind = if end < doc.node_count() { self.0.line_of(end) } else { self.0.total_lines() };
        // Containers around this one that end with it have their last lines behind its own.
        let around = std::iter::successors(doc.parent(node), |&above| doc.parent(above));
        let closing = around.take_while(|&above| doc.end(above) == end).count();
        (self.0.line_of(node), behind.saturating_sub(1 + closing))
    }

    fn fold(&self, opening: &JsonLine<'_>, line: usize, styled: &mut Styled) {
        const COUNTED: usize = 1_000;
        let Some((_, last)) = self.part(line) else { return };
        let doc = self.0.doc();
        let visible = doc.children(opening.node).filter(|&child| !self.0.marks().is_hidden(child));
        let n = visible.take(COUNTED + 1).count();
        let count = if n > COUNTED { format!("{COUNTED}+") } else { n.to_string() };
        styled.push(TextRole::Note, &format!(" … {count} "));
        if let Some(closing) = self.shown(last) {
            tokens(&closing, styled);
        }
    }
}

fn indent(line: &JsonLine<'_>) -> Styled {
    Styled::new(TextRole::Plain, "  ".repeat(line.indent.min(DEEPEST_INDENT) as usize))
}

fn tokens(line: &JsonLine<'_>, styled: &mut Styled) {
    for token in &line.tokens {
        styled.push(text_role(token.kind), &token.clean());
    }
}

fn text_role(kind: TokenKind) -> TextRole {
    match kind {
        TokenKind::Key => TextRole::Key,
        TokenKind::String => TextRole::String,
        TokenKind::Number => TextRole::Number,
        TokenKind::Bool | TokenKind::Null => TextRole::Literal,
        TokenKind::Symbol => TextRole::Marker,
        TokenKind::Punct => TextRole::Punctuation,
        TokenKind::Marker => TextRole::Note,
    }
}

/// The line with what the grammar sees inside it; our own words and the framework's notation keep their roles.
fn coloured(line: &Styled) -> Styled {
    let mut fine = Styled::default();
    let text = line.text();
    let seen = highlight::line(Grammar::Json, text);
    let mut seen = seen.iter().copied().peekable();
    let mut at = 0;
    for (end, own) in line.runs() {
        while at < end {
            let (until, ink) = seen.peek().copied().unwrap_or((text.len(), None));
            let piece = until.min(end);
            let keeps = matches!(own, TextRole::Marker | TextRole::Note | TextRole::Plain);
            fine.push(if keeps { own } else { ink.unwrap_or(own) }, text.get(at..piece).unwrap_or(""));
            if until <= end {
                seen.next();
            }
            at = piece.max(at + 1);
        }
    }
    fine
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::{Document, JsonHighlights};

    fn json(text: &str) -> JsonText {
        JsonText::new(View::new(Document::parse(text).expect("valid"), JsonHighlights::default()))
    }

    const SAMPLE: &str = r#"{"user":{"id":1.10,"tags":["a",{"deep":[]}]},"ok":true}"#;

    #[test]
    fn folded_parts_name_what_they_hold_and_keep_their_comma() {
        let text = json(SAMPLE);
        assert_eq!(text.plain(1, false), "  \"user\": {");
        assert_eq!(text.plain(1, true), "  \"user\": { … 2 },");
        assert_eq!(text.line(1, true).text(), "  \"user\": { … 2 },");
        assert_eq!(text.plain(0, true), "{ … 2 }");
    }

    #[test]
    fn a_part_reaches_from_its_bracket_to_the_bracket_that_closes_it() {
        let text = json(SAMPLE);
        let shown: Vec<String> = (0..text.len()).map(|line| text.plain(line, false)).collect();
        for first in (0..text.len()).filter(|&line| text.is_part(line)) {
            let (from, last) = text.part(first).expect("a part");
            assert_eq!(from, first);
            let indent = |line: &str| line.len() - line.trim_start().len();
            assert_eq!(indent(&shown[first]), indent(&shown[last]), "{first}");
            assert!(shown[last].trim_start().starts_with(['}', ']']), "{first}");
        }
        assert_eq!(text.part(2), text.part(1), "a scalar folds what is around it");
        assert_eq!(text.parts(1).len(), 1);
        assert_eq!(text.parts(0), [(0, text.len() - 1)]);
    }

    #[test]
    fn colours_change_no_character() {
        let text = json("{\"k\\u001b\": \"a\\nb\u{202e} https://x.test/é\", \"n\": [-1.5e3, null, \"\", {}]}");
        for line in 0..text.len() {
            assert_eq!(text.line(line, false).text(), text.plain(line, false));
        }
    }

    #[test]
    fn a_search_goes_round_in_both_directions() {
        let text = json(r#"["x","needle","y","NEEDLE","z"]"#);
        let needle = Needle::new("needle").expect("words");
        let find = |from, direction| text.find(&needle, from, direction);
        assert_eq!(find(0, Direction::Forward), Some(2));
        assert_eq!(find(3, Direction::Forward), Some(4));
        assert_eq!(find(5, Direction::Forward), Some(2));
        assert_eq!(find(6, Direction::Forward), Some(2), "from the closing bracket");
        assert_eq!(find(3, Direction::Backward), Some(2));
        assert_eq!(find(1, Direction::Backward), Some(4));
        let pair = json(r#"{"a":{"id":1},"b":{"id":42},"c":{"id":42}}"#);
        let needle = Needle::new("\"id\": 42").expect("words");
        assert_eq!(pair.find(&needle, 0, Direction::Forward), Some(5), "a name with its value");
        assert_eq!(pair.find(&needle, 6, Direction::Forward), Some(8));
        assert_eq!(pair.find(&needle, 9, Direction::Forward), Some(5));
        assert_eq!(pair.find(&needle, 4, Direction::Backward), Some(8));
        assert_eq!(text.find(&Needle::new("absent").expect("words"), 0, Direction::Forward), None);
    }
}
