//! Searching what is displayed.

use regex::RegexBuilder;

use super::document::NodeId;
use super::highlights::Cut;
use super::string::readable;
use super::view::View;

/// Where a search hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// The value, or the member whose key it is.
    pub node: NodeId,
    /// Whether the key contains the words, and not only the value.
    pub in_key: bool,
}

impl View {
    /// Up to `limit` values from `from` on whose key or displayed text contains `words`, whatever the case.
    ///
    /// What is folded is searched; what is hidden or redacted is not. To go on, ask from the last match's node + 1.
    pub fn search(&self, words: &str, from: NodeId, limit: usize) -> Vec<SearchHit> {
        let pattern = RegexBuilder::new(&regex::escape(words)).case_insensitive(true).build();
        let (Ok(pattern), false) = (pattern, words.is_empty()) else {
            return Vec::new();
        };
        let (doc, marks) = (self.doc(), self.marks());
        let mut found = Vec::new();
        let mut node = 0;
        while node < doc.node_count() && found.len() < limit {
            let cut = marks.at(node);
            let behind = if cut.is_some() { doc.end(node) } else { node + 1 };
            if node >= from && cut != Some(&Cut::Hidden) {
                let in_key = doc.raw_key(node).is_some_and(|key| pattern.is_match(&readable(key)));
                let hit = in_key
                    || match cut {
                        Some(Cut::Shown(text, _)) => pattern.is_match(text),
                        Some(Cut::Masked(json)) => pattern.is_match(&readable(json)),
                        Some(Cut::Redacted | Cut::Hidden) => false,
                        None if doc.kind(node).is_container() => false,
                        None => pattern.is_match(&readable(doc.raw(node))),
                    };
                if hit {
                    found.push(SearchHit { node, in_key });
                }
            }
            node = behind;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Document, JsonHighlights};
    use super::*;

    fn view(text: &str, mark: impl FnOnce(&mut JsonHighlights)) -> View {
        let mut marks = JsonHighlights::default();
        mark(&mut marks);
        View::new(Document::parse(text).expect("valid"), marks)
    }

    #[test]
    fn keys_and_values_are_found_as_they_are_displayed_whatever_the_case() {
        let v = view(r#"{"Caf\u00e9":1,"b":["CAFÉ","x"],"n":1.50}"#, |_| ());
        let nodes = |words: &str| v.search(words, 0, 9).iter().map(|m| (m.node, m.in_key)).collect::<Vec<_>>();
        assert_eq!(nodes("café"), [(1, true), (3, false)]);
        assert_eq!(nodes("1.5"), [(5, false)]);
        assert_eq!(nodes(""), []);
        assert_eq!(v.search("café", 2, 9).len(), 1);
        assert_eq!(v.search("café", 0, 1).len(), 1);
    }

    #[test]
    fn what_is_redacted_or_hidden_is_not_found() {
        let v = view(r#"{"a":{"pin":"77"},"b":"77"}"#, |m| {
            m.cut(1, Cut::Redacted);
            m.cut(3, Cut::Hidden);
        });
        assert_eq!(v.search("77", 0, 9), []);
    }
}
