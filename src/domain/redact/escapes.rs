//! Escapes in text: taken off, and what was found without them found again where it was written.

use std::ops::Range;

use crate::domain::bounded_regex::MatchRange;

/// How the escapes of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// As in a JSON string: `\n`, `\"`, `\u00e9`.
    Json,
    /// As in an address: `%3D`. Only for characters of ASCII, which is what separates keys from values.
    Percent,
}

impl Escapes {
    fn mark(self) -> char {
        match self {
            Escapes::Json => '\\',
            Escapes::Percent => '%',
        }
    }

    /// The text without one level of escapes, or `None` where it has none. What only looks like one stays.
    pub(super) fn taken_off(self, text: &str) -> Option<String> {
        if !text.contains(self.mark()) {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut escaped = false;
        for (written, stands_for) in self.pieces(text) {
            match stands_for {
                Some(c) => out.push(c),
                None => out.push_str(&text[written]),
            }
            escaped |= stands_for.is_some();
        }
        escaped.then_some(out)
    }

    /// From where `spans` lie in the text without escapes to where they lie in `text`.
    pub(super) fn put_back(self, text: &str, spans: &mut [MatchRange]) {
        let mut places: Vec<usize> = spans.iter().flat_map(|&(start, end)| [start, end]).collect();
        places.sort_unstable();
        places.dedup();
        let mut found = Vec::with_capacity(places.len());
        let mut next = places.iter().copied().peekable();
        let mut at = 0;
        for (written, stands_for) in self.pieces(text) {
            let end = at + stands_for.map_or(written.len(), char::len_utf8);
            while let Some(place) = next.next_if(|place| *place < end) {
                found.push(if stands_for.is_some() { written.start } else { written.start + place - at });
            }
            at = end;
        }
        let place_of = |place: usize| {
            let nth = places.binary_search(&place).ok();
            nth.and_then(|nth| found.get(nth)).copied().unwrap_or(text.len())
        };
        for span in spans {
            *span = (place_of(span.0), place_of(span.1));
        }
    }

    /// The text in order: what stands for itself, and each escape with the character that it stands for.
    fn pieces(self, text: &str) -> impl Iterator<Item = (Range<usize>, Option<char>)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
            let start = at;
            if let Some((c, length)) = self.escape(rest) {
                at += length;
                return Some((start..at, Some(c)));
            }
            let from = if rest.starts_with(self.mark()) { 1 } else { 0 };
            at += rest[from..].find(self.mark()).map_or(rest.len(), |mark| from + mark);
            Some((start..at, None))
        })
    }

    /// The character that the escape at the start of `text` stands for, and the bytes it takes.
    fn escape(self, text: &str) -> Option<(char, usize)> {
        let inside = text.strip_prefix(self.mark())?;
        match self {
            Escapes::Percent => {
                let byte = inside.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                byte.filter(u8::is_ascii).map(|byte| (char::from(byte), 3))
            }
            Escapes::Json => match inside.chars().next()? {
                'n' => Some(('\n', 2)),
                't' => Some(('\t', 2)),
                'r' => Some(('\r', 2)),
                'b' => Some(('\u{8}', 2)),
                'f' => Some(('\u{C}', 2)),
                c @ ('"' | '\\' | '/') => Some((c, 2)),
                'u' => unicode(text),
                _ => None,
            },
        }
    }
}

fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| text.get(at..at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let high = unit(2)?;
    let low = text.get(6..8).filter(|mark| *mark == "\\u").and_then(|_| unit(8));
    Some(match char::decode_utf16([high].into_iter().chain(low)).next() {
        Some(Ok(c)) if c.len_utf16() == 2 => (c, 12),
        Some(Ok(c)) => (c, 6),
        _ => ('\u{FFFD}', 6),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::json::{quote, unquote};

    #[test]
    fn what_only_looks_like_an_escape_stays() {
        assert_eq!(Escapes::Json.taken_off(r#"a\n\"\u00e9\ud83d\udca5\/"#).as_deref(), Some("a\n\"é💥/"));
        assert_eq!(Escapes::Json.taken_off(r"App\Jobs\Kernel \u12 \"), None);
        assert_eq!(Escapes::Percent.taken_off("a%3Db%C3%A9 100%").as_deref(), Some("a=b%C3%A9 100%"));
        assert_eq!(Escapes::Percent.taken_off("100% %é"), None);
    }

    #[test]
    fn what_is_found_lies_where_it_was_written() {
        let text = r"é\ntoken=ab\u00e9c\ud83d\udca5 x";
        let plain = Escapes::Json.taken_off(text).expect("escapes");
        let start = plain.find("ab").expect("there");
        let end = plain.find(" x").expect("there");
        let mut spans = [(start, end), (end, plain.len())];
        Escapes::Json.put_back(text, &mut spans);
        assert_eq!(spans.map(|(start, end)| &text[start..end]), [r"ab\u00e9c\ud83d\udca5", " x"]);
    }

    proptest! {
        #[test]
        fn a_json_string_reads_as_elsewhere_and_every_place_is_found(text in any::<String>()) {
            let quoted = quote(&text);
            let inside = &quoted[1..quoted.len() - 1];
            let plain = Escapes::Json.taken_off(inside).unwrap_or_else(|| inside.to_owned());
            prop_assert_eq!(&plain, &unquote(&quoted));
            for (at, _) in plain.char_indices() {
                let mut spans = [(at, plain.len())];
                Escapes::Json.put_back(inside, &mut spans);
                let behind = format!("\"{}\"", &inside[spans[0].0..]);
                prop_assert_eq!(unquote(&behind), &plain[at..]);
            }
        }

        #[test]
        fn no_text_panics(text in "[\\\\%u0-9a-fné\"/]{0,14}") {
            for escapes in [Escapes::Json, Escapes::Percent] {
                let plain = escapes.taken_off(&text).unwrap_or_else(|| text.clone());
                let mut spans = [(0, plain.len())];
                escapes.put_back(&text, &mut spans);
                prop_assert_eq!(spans[0], (0, text.len()));
            }
        }
    }
}
