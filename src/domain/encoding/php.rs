//! What PHP's `serialize` writes: values with their types, texts with their lengths in bytes.
//!
//! An object becomes an object whose first member names the class; the marks that PHP puts around the names of private
//! and protected members are left out. A reference names the value by its number, counted from 1 in the order of writing.

use std::ops::Range;

use super::{CLASS, DEPTH, JsonWriter, REFERENCE, VALUE};

/// The value as JSON; `None` where the text is something else.
pub(super) fn read(text: &str) -> Option<String> {
    let mut reader = PhpReader { text, at: 0, to: JsonWriter::new() };
    reader.value(0)?;
    (reader.at == text.len()).then_some(reader.to.out)
}

struct PhpReader<'a> {
    text: &'a str,
    /// A place between two characters.
    at: usize,
    to: JsonWriter,
}

impl<'a> PhpReader<'a> {
    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        let kind = self.byte()?;
        if kind == b'N' {
            self.to.bare("null");
            return self.expect(";");
        }
        self.expect(":")?;
        match kind {
            b'b' => {
                let word = if self.until(";")? == "1" { "true" } else { "false" };
                self.to.bare(word);
            }
            b'i' | b'd' => {
                let number = self.until(";")?;
                self.to.number(number);
            }
            b's' => {
                let text = self.counted()?;
                self.expect(";")?;
                self.to.text(text);
            }
            b'E' => {
                let case = self.counted()?.replacen(':', "::", 1);
                self.expect(";")?;
                self.to.text(&case);
            }
            b'r' | b'R' => {
                let number = self.until(";")?;
                self.to.open('{');
                self.to.key(REFERENCE);
                self.to.number(number);
                self.to.close('}');
            }
            b'a' => {
                let many = self.count(":{")?;
                self.array(many, depth)?;
            }
            b'O' => self.object(depth)?,
            b'C' => {
                // The class writes itself as it likes.
                let class = self.counted()?;
                self.expect(":")?;
                let length = self.count(":{")?;
                let data = self.take(length)?;
                self.expect("}")?;
                self.to.open('{');
                self.to.key(CLASS);
                self.to.text(class);
                self.to.key(VALUE);
                self.to.text(data);
                self.to.close('}');
            }
            _ => return None,
        }
        Some(())
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        let class = self.counted()?;
        self.expect(":")?;
        let many = self.count(":{")?;
        self.to.open('{');
        self.to.key(CLASS);
        self.to.text(class);
        self.members(many, depth)
    }

    /// A list where the keys are 0, 1, 2 and so on; else an object. Which of them is known at its end, and reading all of
    /// it again would double at each level: so keys of a list are taken out again.
    fn array(&mut self, many: usize, depth: usize) -> Option<()> {
        let start = self.to.out.len();
        self.to.open('{');
        let mut keys: Vec<Range<usize>> = Vec::new();
        let mut list = true;
        for n in 0..many {
            let name = self.name()?;
            list &= *name == *n.to_string();
            self.to.comma();
            let from = self.to.out.len();
            self.to.due = false;
            self.to.key(name);
            if list {
                keys.push(from..self.to.out.len());
            }
            self.value(depth + 1)?;
        }
        self.to.close('}');
        if list {
            let old = self.to.out.split_off(start);
            let mut at = 1;
            self.to.out.push('[');
            for key in keys {
                self.to.out.push_str(old.get(at..key.start - start)?);
                at = key.end - start;
            }
            self.to.out.push_str(old.get(at..old.len() - 1)?);
            self.to.out.push(']');
        }
        self.expect("}")
    }

    fn members(&mut self, many: usize, depth: usize) -> Option<()> {
        for _ in 0..many {
            let name = self.name()?;
            self.to.key(name);
            self.value(depth + 1)?;
        }
        self.to.close('}');
        self.expect("}")
    }

    /// A key. `\0*\0name` is protected, `\0Class\0name` private.
    fn name(&mut self) -> Option<&'a str> {
        let kind = self.byte()?;
        self.expect(":")?;
        let key = match kind {
            b'i' => self.until(";")?,
            b's' => {
                let key = self.counted()?;
                self.expect(";")?;
                key
            }
            _ => return None,
        };
        Some(key.strip_prefix('\0').and_then(|rest| rest.split_once('\0')).map_or(key, |(_, name)| name))
    }

    /// A text behind its length: `5:"hello"`.
    fn counted(&mut self) -> Option<&'a str> {
        let length = self.count(":\"")?;
        let text = self.take(length)?;
        self.expect("\"")?;
        Some(text)
    }

    fn count(&mut self, end: &str) -> Option<usize> {
        let digits = self.until(end)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    /// That many bytes, if they are whole characters.
    fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let end = self.at.checked_add(bytes)?;
        let text = self.text.get(self.at..end)?;
        self.at = end;
        Some(text)
    }

    /// What stands before a mark that comes soon: no number is longer.
    fn until(&mut self, mark: &str) -> Option<&'a str> {
        let rest = self.text.get(self.at..)?;
        let length = rest.bytes().take(400).position(|b| mark.as_bytes().first() == Some(&b))?;
        let text = self.take(length)?;
        self.expect(mark)?;
        Some(text)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        byte.is_ascii().then_some(byte)
    }

    fn expect(&mut self, mark: &str) -> Option<()> {
        let there = self.text.as_bytes().get(self.at..)?.starts_with(mark.as_bytes());
        self.at += mark.len();
        there.then_some(())
    }
}
