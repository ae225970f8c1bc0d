//! The sanitiser: what is left after it can be read, and cannot act.
//!
//! Nothing is dropped, because two different payloads must not look alike: what may not pass is replaced by something
//! visible.
//!
//! | in | out |
//! |---|---|
//! | C0 controls, DEL | their pictures, `␀` to `␡` |
//! | C1 controls, format characters (bidi, zero width, tags), line and paragraph separators, private use, unassigned | `⟨202E⟩` |
//! | letters that show nothing | `⟨3164⟩` |
//! | joiners, variation selectors, skin tones, letters of flags | `⟨200D⟩` |
//! | marks on one base | the first four kept, else `⟨0301⟩`, as is a mark without a base |
//! | tab | spaces up to the next multiple of 4 columns |
//! | CR LF, LF | `\n`, or `⏎` on a single line |
//!
//! Emoji that are put together from several are taken apart, because terminals do not agree on how many columns they
//! take, and a row that is wider than it was measured shifts everything behind it.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks that one base may carry.
const MAX_MARKS: u8 = 4;
/// Columns between tab stops.
const TAB: usize = 4;

/// What becomes of line breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breaks {
    /// They stay, as `\n`.
    Kept,
    /// They become `⏎`.
    Shown,
}

/// Makes `text` safe for a terminal. Borrows where there is nothing to change.
pub(super) fn sanitise(text: &str, breaks: Breaks) -> Cow<'_, str> {
    let plain = text.bytes().position(|b| !(matches!(b, 0x20..=0x7E) || b == b'\n' && breaks == Breaks::Kept));
    let Some(ascii) = plain else {
        return Cow::Borrowed(text);
    };
    // The scan starts over one character early: a mark right after the ASCII part needs its base.
    let start = ascii.saturating_sub(1);
    let mut scan = CharScan::new(text, breaks);
    let mut chars = text[start..].char_indices().map(|(i, c)| (start + i, c)).peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, c)| c);
        match scan.classify(c, next) {
            CharVerdict::Pass => scan.pass(c),
            CharVerdict::Swallow => scan.replace(at, c, |_| ()),
            CharVerdict::Picture(picture) => scan.replace(at, c, |out| out.push(picture)),
            CharVerdict::Code => scan.replace(at, c, |out| {
                // Writing to a String cannot fail.
                let _ = write!(out, "⟨{:04X}⟩", u32::from(c));
            }),
            CharVerdict::Tab => scan.tab(at),
        }
    }
    scan.finish()
}

enum CharVerdict {
    Pass,
    /// The CR of a CR LF.
    Swallow,
    Picture(char),
    Code,
    Tab,
}

struct CharScan<'a> {
    text: &'a str,
    breaks: Breaks,
    out: String,
    /// How much of `text` is in `out`.
    copied: usize,
    /// Whether there is something that a mark would sit on.
    has_base: bool,
    marks: u8,
    /// Bytes of `out` whose columns are added up in `column`, which counts from the last line break.
    measured: usize,
    column: usize,
}

impl<'a> CharScan<'a> {
    fn new(text: &'a str, breaks: Breaks) -> Self {
        Self { text, breaks, out: String::new(), copied: 0, has_base: false, marks: 0, measured: 0, column: 0 }
    }

    fn classify(&mut self, c: char, next: Option<char>) -> CharVerdict {
        match c {
            ' '..='~' => CharVerdict::Pass,
            '\n' if self.breaks == Breaks::Kept => CharVerdict::Pass,
            '\n' => CharVerdict::Picture('⏎'),
            '\r' if next == Some('\n') => CharVerdict::Swallow,
            '\t' => CharVerdict::Tab,
            '\0'..='\u{1F}' => CharVerdict::Picture(char::from_u32(0x2400 + u32::from(c)).unwrap_or('␀')),
            '\u{7F}' => CharVerdict::Picture('␡'),
            _ if is_plain(c) => CharVerdict::Pass,
            _ if is_invisible(c) || is_part_of_emoji(c) => CharVerdict::Code,
            _ if extends(c) => self.classify_mark(),
            _ => CharVerdict::Pass,
        }
    }

    fn classify_mark(&mut self) -> CharVerdict {
        if !self.has_base {
            return CharVerdict::Code;
        }
        self.marks = self.marks.saturating_add(1);
        if self.marks <= MAX_MARKS { CharVerdict::Pass } else { CharVerdict::Code }
    }

    fn pass(&mut self, c: char) {
        if self.has_base && extends(c) {
            return;
        }
        self.has_base = c != '\n';
        self.marks = 0;
    }

    fn replace(&mut self, at: usize, c: char, write: impl FnOnce(&mut String)) {
        self.out.push_str(&self.text[self.copied..at]);
        self.copied = at + c.len_utf8();
        write(&mut self.out);
        // What was written is a base, but the rest of a tower of marks is not set upon it.
        self.has_base = true;
        if !extends(c) {
            self.marks = 0;
        }
    }

    fn tab(&mut self, at: usize) {
        self.replace(at, '\t', |_| ());
        let piece = &self.out[self.measured..];
        match piece.rfind('\n') {
            Some(newline) => self.column = UnicodeWidthStr::width(&piece[newline + 1..]),
            None => self.column += UnicodeWidthStr::width(piece),
        }
        let spaces = TAB - self.column % TAB;
        self.out.extend(std::iter::repeat_n(' ', spaces));
        self.column += spaces;
        self.measured = self.out.len();
    }

    fn finish(mut self) -> Cow<'a, str> {
        if self.copied == 0 {
            return Cow::Borrowed(self.text);
        }
        self.out.push_str(&self.text[self.copied..]);
        Cow::Owned(self.out)
    }
}

/// Letters that need no lookup in the tables: most characters of payloads in any language.
fn is_plain(c: char) -> bool {
    matches!(c,
        '\u{A1}'..='\u{AC}' | '\u{AE}'..='\u{2FF}' | '\u{400}'..='\u{482}' | '\u{3041}'..='\u{3096}'
        | '\u{30A0}'..='\u{30FF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Skin tones and the letters of flags: next to another character they may become one picture with it, or not.
fn is_part_of_emoji(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}' | '\u{1F1E6}'..='\u{1F1FF}')
}

/// Characters that sit on the one before instead of taking a place of their own.
fn extends(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    if c.is_ascii() || is_plain(c) {
        return false;
    }
    c.width() == Some(0) || matches!(c.general_category(), EnclosingMark | NonspacingMark | SpacingMark)
}

/// Characters that show nothing, or that act instead.
fn is_invisible(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, Surrogate, Unassigned};
    let blank = matches!(
        c,
        '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'
            ..='\u{180F}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}'
    );
    blank
        || is_selector(c)
        || matches!(
            c.general_category(),
            Control | Format | LineSeparator | ParagraphSeparator | PrivateUse | Surrogate | Unassigned
        )
}

#[cfg(test)]
mod tests;
