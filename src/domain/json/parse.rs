//! The checker and indexer: RFC 8259, strictly, with a stack of its own.

use thiserror::Error;

use super::document::{NO_KEY, Node, NodeId};

/// Why a text is not JSON. The caller shows the text as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not JSON at byte {at}: {reason}")]
pub struct JsonError {
    /// Offset of the first byte that does not fit.
    pub at: usize,
    /// What would have fitted.
    pub reason: &'static str,
}

/// Checks `text` without keeping anything.
pub(super) fn is_valid(text: &str) -> bool {
    index(text).is_ok()
}

/// Checks `text` and lists its values in the order in which they begin.
pub(super) fn index(text: &str) -> Result<Vec<Node>, JsonError> {
    // NO_KEY is the one offset that cannot be used.
    if text.len() >= NO_KEY as usize {
        return Err(JsonError { at: 0, reason: "larger than 4 GiB" });
    }
    Parser { bytes: text.as_bytes(), at: 0, nodes: Vec::with_capacity(text.len() / 16) }.run()
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
}

impl Parser<'_> {
    fn run(mut self) -> Result<Vec<Node>, JsonError> {
        // The container that is being filled; containers above it are found through their nodes.
        let mut inside: Option<NodeId> = None;
        loop {
            let key = match inside {
                Some(container) if self.is_object(container) => self.key()?,
                _ => NO_KEY,
            };
            self.space();
            let opened = self.value(key, inside)?;
            if let Some(container) = opened {
                inside = Some(container);
                if !self.closes(container) {
                    continue;
                }
                inside = self.close(container);
            }
            // Behind a value: a comma and the next value, or the end of as many containers as close here.
            loop {
                let Some(container) = inside else {
                    return self.finish();
                };
                self.space();
                if self.eat(b',') {
                    break;
                }
                if !self.closes(container) {
                    return Err(self.wrong("expected a comma or the end of the container"));
                }
                inside = self.close(container);
            }
        }
    }

    fn finish(mut self) -> Result<Vec<Node>, JsonError> {
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.wrong("expected the end of the text"));
        }
        self.nodes.shrink_to_fit();
        Ok(self.nodes)
    }

    fn is_object(&self, container: NodeId) -> bool {
        let start = self.nodes.get(container as usize).map_or(0, |n| n.start as usize);
        self.bytes.get(start) == Some(&b'{')
    }

    /// Takes the closing bracket of `container` if it is what comes next.
    fn closes(&mut self, container: NodeId) -> bool {
        self.space();
        self.eat(if self.is_object(container) { b'}' } else { b']' })
    }

    /// Ends `container` and returns the one around it.
    fn close(&mut self, container: NodeId) -> Option<NodeId> {
        let end = self.count();
        let node = self.nodes.get_mut(container as usize)?;
        node.end = end;
        (container != 0).then_some(node.parent)
    }

    /// Reads a key and its colon; returns the offset of the key.
    fn key(&mut self) -> Result<u32, JsonError> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(self.wrong("expected a key in double quotes"));
        }
        let start = self.offset();
        self.string()?;
        self.space();
        if !self.eat(b':') {
            return Err(self.wrong("expected a colon"));
        }
        Ok(start)
    }

    /// Reads a scalar, or the opening bracket of a container, which is then returned.
    fn value(&mut self, key: u32, inside: Option<NodeId>) -> Result<Option<NodeId>, JsonError> {
        let id = self.count();
        self.nodes.push(Node { start: self.offset(), key, end: id + 1, parent: inside.unwrap_or(0) });
        match self.peek() {
            Some(b'{' | b'[') => {
                self.at += 1;
                return Ok(Some(id));
            }
            Some(b'"') => self.string()?,
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'n') => self.word(b"null")?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return Err(self.wrong("expected a value")),
        }
        Ok(None)
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(());
        }
        Err(self.wrong("expected true, false or null"))
    }

    fn number(&mut self) -> Result<(), JsonError> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _signed = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.wrong("expected a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0..=0x1F) => return Err(self.wrong("control characters must be escaped")),
                Some(_) => self.at += 1,
                None => return Err(self.wrong("the string does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 1..self.at + 5).unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.wrong("expected four hexadecimal digits"));
                }
                self.at += 5;
            }
            _ => return Err(self.wrong("no such escape")),
        }
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    // Neither conversion can fail: `index` refuses texts that long.
    fn offset(&self) -> u32 {
        u32::try_from(self.at).unwrap_or(NO_KEY)
    }

    fn count(&self) -> NodeId {
        u32::try_from(self.nodes.len()).unwrap_or(NO_KEY)
    }

    fn wrong(&self, reason: &'static str) -> JsonError {
        JsonError { at: self.at, reason }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_json_is_refused_with_the_place() {
        for (text, at) in [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("{\"a\" 1}", 5),
            ("{a:1}", 1),
            ("{,}", 1),
            ("[}", 1),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("1e", 2),
            ("tru", 0),
            ("\"a\nb\"", 2),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 2),
            ("\"a", 2),
            ("1 2", 2),
            ("'a'", 0),
            ("{\"a\":1,}", 7),
        ] {
            assert_eq!(index(text).map(|n| n.len()).map_err(|e| e.at), Err(at), "{text}");
        }
    }

    #[test]
    fn depth_costs_memory_and_no_stack() {
        let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(index(&deep).map(|nodes| nodes.len()), Ok(200_001));
        assert!(index(&"{\"a\":".repeat(200_000)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn it_accepts_exactly_what_another_parser_accepts(text in "[\\[\\]{}:,\" 0-9.eE+truefalsn\\\\-]{0,12}") {
            let other = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(is_valid(&text), other, "{}", text);
        }

        #[test]
        fn any_text_is_accepted_or_refused_without_a_panic(text in any::<String>()) {
            let _ = index(&text);
        }
    }
}
