//! A key with its modifiers, in the form that the table and the reference write it.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key press without what terminals report differently: Shift is part of the character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    control: bool,
}

/// Names of keys that are no characters.
const NAMED: &[(&str, KeyCode)] = &[
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Shift-Tab", KeyCode::BackTab),
    ("Space", KeyCode::Char(' ')),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
];

impl Chord {
    /// Reads `j`, `G`, `Space`, `PgDn` or `Ctrl-d`.
    pub fn parse(text: &str) -> Option<Chord> {
        let (control, name) = match text.strip_prefix("Ctrl-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if let Some((_, code)) = NAMED.iter().find(|(n, _)| *n == name) {
            return Some(Chord { code: *code, control });
        }
        let mut chars = name.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Some(Chord { code: KeyCode::Char(c), control }),
            _ => None,
        }
    }

    /// The chord of a key event; `None` for keys with Alt or Super, which are bound to nothing.
    pub fn of(event: &KeyEvent) -> Option<Chord> {
        let shift_or_control = KeyModifiers::SHIFT | KeyModifiers::CONTROL;
        if !(event.modifiers - shift_or_control).is_empty() {
            return None;
        }
        Some(Chord { code: event.code, control: event.modifiers.contains(KeyModifiers::CONTROL) })
    }

    /// Whether a terminal without any keyboard protocol can send it.
    pub fn is_legacy(self) -> bool {
        match (self.control, self.code) {
            // Ctrl-i is Tab, Ctrl-j and Ctrl-m are Enter, Ctrl-h is Backspace there.
            (true, KeyCode::Char(c)) => c.is_ascii_lowercase() && !"hijm".contains(c),
            (true, _) => false,
            (false, _) => true,
        }
    }

    /// Names of keys that are no characters.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// Whether it is a lowercase letter by itself.
    pub fn is_bare_lowercase(self) -> bool {
        matches!((self.control, self.code), (false, KeyCode::Char(c)) if c.is_lowercase())
    }

    /// The digit, where it is one.
    pub fn digit(self) -> Option<u8> {
        match (self.control, self.code) {
            (false, KeyCode::Char(c)) => c.to_digit(10).and_then(|d| u8::try_from(d).ok()),
            _ => None,
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.control {
            f.write_str("Ctrl-")?;
        }
        match (NAMED.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, other) => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_sends_is_what_the_table_names() {
        let upper = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(Chord::of(&upper), Chord::parse("G"));
        let control = KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL);
        assert_eq!(Chord::of(&control), Chord::parse("Ctrl-d"));
        assert_eq!(Chord::of(&KeyEvent::new(KeyCode::Char('x'), KeyModifiers::ALT)), None);
    }

    #[test]
    fn a_chord_prints_as_it_is_read() {
        for text in ["j", "Ctrl-d", "Space", "Shift-Tab", "PgDn"] {
            assert_eq!(Chord::parse(text).map(|c| c.to_string()).as_deref(), Some(text));
        }
    }
}
