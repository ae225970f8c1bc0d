//! Text that jobs bring, and the one sanitiser between it and every screen, table and terminal line.

mod clean;
mod sanitise;

use std::fmt;

pub use clean::Clean;

/// Text from a job, a payload or a database: it may hold anything, so it has no `Display`.
///
/// [`Untrusted::exact`] is for JSON output, binds and files; a screen takes [`Untrusted::line`] or
/// [`Untrusted::lines`], which go through the sanitiser.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Untrusted {
    text: String,
    altered: bool,
}

impl Untrusted {
    /// Wraps text as it was read.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), altered: false }
    }

    /// Wraps bytes that should be UTF-8.
    ///
    /// Bytes that are not stand in the text as `⟨xFF⟩`, one mark a byte. That form is not the original any more, and
    /// [`Untrusted::is_exact`] says so: whatever must write the value back has to keep the bytes itself.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Self::new(text),
            Err(error) => error.into_bytes(),
        };
        let mut text = String::with_capacity(bytes.len() + 16);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                text.push_str(&format!("⟨x{byte:02X}⟩"));
            }
        }
        Self { text, altered: true }
    }

    /// The same text as [`Untrusted::exact`].
    pub fn into_exact(self) -> String {
        self.text
    }

    /// The text as it was read; never for a terminal.
    pub fn exact(&self) -> &str {
        &self.text
    }

    /// Whether [`Untrusted::exact`] is what was read, to the byte; false only where bytes were not UTF-8.
    pub fn is_exact(&self) -> bool {
        !self.altered
    }

    /// One line for a screen: line breaks become visible marks too.
    pub fn line(&self) -> Clean<'_> {
        Clean::line(&self.text)
    }

    /// Lines for a screen: line breaks stay, everything else that could act is made visible.
    pub fn lines(&self) -> Clean<'_> {
        Clean::lines(&self.text)
    }

    /// The first `max_chars` characters, so that a text of any size costs no more than what is shown of it.
    pub fn head(&self, max_chars: usize) -> Untrusted {
        Self { text: head(&self.text, max_chars).to_owned(), altered: self.altered }
    }

    /// The first `max_chars` characters as one line for a screen; work and memory are bounded by `max_chars`.
    pub fn line_head(&self, max_chars: usize) -> Clean<'_> {
        Clean::line(head(&self.text, max_chars))
    }
}

/// The first `max_chars` characters of `text`.
pub fn head(text: &str, max_chars: usize) -> &str {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

impl From<&str> for Untrusted {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Untrusted {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_utf8_stay_exact() {
        let text = Untrusted::from_bytes("café 💥\n".into());
        assert_eq!(text.exact(), "café 💥\n");
        assert!(text.is_exact());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_marked_one_by_one_and_the_text_says_it_was_altered() {
        let text = Untrusted::from_bytes(b"a\xff\xfeb\xe2\x82".to_vec());
        assert_eq!(text.exact(), "a⟨xFF⟩⟨xFE⟩b⟨xE2⟩⟨x82⟩");
        assert_eq!(&*text.line(), "a⟨xFF⟩⟨xFE⟩b⟨xE2⟩⟨x82⟩");
        assert!(!text.is_exact());
        assert_ne!(text, Untrusted::new(text.exact()));
    }

    #[test]
    fn a_head_counts_characters_and_not_bytes() {
        let text = Untrusted::new("äöü\u{1b}x");
        assert_eq!(text.head(2).exact(), "äö");
        assert_eq!(text.head(9).exact(), text.exact());
        assert_eq!(&*text.line_head(4), "äöü␛");
    }
}
