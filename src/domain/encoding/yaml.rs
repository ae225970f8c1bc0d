//! YAML, with the tags that Ruby writes.
//!
//! A tagged mapping becomes an object whose first member names the class. A symbol keeps its colon where it is a value,
//! and loses it where it is a key. An alias is written out again, as long as it is no part of itself and the text does not
//! grow beyond measure.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::{CLASS, DEPTH, JsonWriter, REFERENCE, VALUE};

/// How often its own size a text may grow to by what its aliases stand for, beside a little that every text may.
const GROWTH: usize = 4;
const SPARE: usize = 64 << 10;

/// The value as JSON; `None` where the text is something else, is a scalar alone, or has several documents.
pub(super) fn read(text: &str) -> Option<String> {
    let mut events = Vec::new();
    let mut anchors = HashMap::new();
    for event in Parser::new_from_str(text) {
        let event = event.ok()?.0;
        match &event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => continue,
            Event::DocumentEnd if !events.is_empty() && matches!(events.last(), Some(Event::DocumentEnd)) => {
                return None;
            }
            Event::StreamEnd => break,
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if matches!(events.last(), Some(Event::DocumentEnd)) {
                    return None;
                }
                if *anchor != 0 {
                    anchors.insert(*anchor, events.len());
                }
            }
            _ => {}
        }
        events.push(event);
    }
    if !matches!(events.first(), Some(Event::MappingStart(..) | Event::SequenceStart(..))) {
        return None;
    }
    let most = text.len().saturating_mul(GROWTH).saturating_add(SPARE);
    let mut tree = Tree { events: &events, anchors, open: Vec::new(), most, outside: None, to: JsonWriter::new() };
    tree.value(0, 0)?;
    Some(tree.to.out)
}

struct Tree<'a, 'i> {
    events: &'a [Event<'i>],
    anchors: HashMap<usize, usize>,
    /// Where those begin that are being written and have an anchor.
    open: Vec<usize>,
    /// Bytes beyond which no alias is written out.
    most: usize,
    /// While a key is written, how many bytes stand before it.
    outside: Option<usize>,
    to: JsonWriter,
}

impl Tree<'_, '_> {
    /// Writes the value that begins at an event, and returns what comes behind it.
    fn value(&mut self, at: usize, depth: usize) -> Option<usize> {
        if depth > DEPTH {
            return None;
        }
        match self.events.get(at)? {
            Event::Scalar(text, style, _, tag) => {
                self.scalar(text, *style, tag.as_deref());
                Some(at + 1)
            }
            Event::Alias(anchor) => {
                self.alias(*anchor, depth)?;
                Some(at + 1)
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                if *anchor != 0 {
                    self.open.push(at);
                }
                let end = self.container(at, depth, tag.as_deref().and_then(class_of));
                if *anchor != 0 {
                    self.open.pop();
                }
                end
            }
            _ => None,
        }
    }

    fn container(&mut self, at: usize, depth: usize, class: Option<String>) -> Option<usize> {
        let list = matches!(self.events.get(at)?, Event::SequenceStart(..));
        let Some(class) = class else {
            return if list { self.sequence(at + 1, depth) } else { self.mapping(at + 1, depth, None) };
        };
        if !list {
            return self.mapping(at + 1, depth, Some(&class));
        }
        self.to.open('{');
        self.to.key(CLASS);
        self.to.text(&class);
        self.to.key(VALUE);
        let end = self.sequence(at + 1, depth)?;
        self.to.close('}');
        Some(end)
    }

    fn sequence(&mut self, mut at: usize, depth: usize) -> Option<usize> {
        self.to.open('[');
        while !matches!(self.events.get(at)?, Event::SequenceEnd) {
            self.to.comma();
            at = self.value(at, depth + 1)?;
        }
        self.to.close(']');
        Some(at + 1)
    }

    fn mapping(&mut self, mut at: usize, depth: usize, class: Option<&str>) -> Option<usize> {
        self.to.open('{');
        if let Some(class) = class {
            self.to.key(CLASS);
            self.to.text(class);
        }
        while !matches!(self.events.get(at)?, Event::MappingEnd) {
            let (key, value) = self.key(at, depth)?;
            self.to.key(&key);
            at = self.value(value, depth + 1)?;
        }
        self.to.close('}');
        Some(at + 1)
    }

    /// The key that begins at an event, and what comes behind it. One that is no scalar is written as JSON.
    fn key(&mut self, at: usize, depth: usize) -> Option<(String, usize)> {
        let scalar = match self.events.get(at)? {
            Event::Alias(anchor) => self.anchors.get(anchor).and_then(|at| self.events.get(*at)),
            event => Some(event),
        };
        if let Some(Event::Scalar(text, style, ..)) = scalar {
            let plain = *style == ScalarStyle::Plain;
            let name = text.strip_prefix(':').filter(|name| !name.is_empty() && !name.starts_with(':'));
            let bare = name.and_then(|name| name.strip_prefix('"')?.strip_suffix('"')).filter(|_| plain);
            return Some((bare.or(name).unwrap_or(text).to_owned(), at + 1));
        }
        // Within another key it would be quoted twice, and so on: each time its quotes double.
        if self.outside.is_some() {
            return None;
        }
        self.outside = Some(self.to.out.len());
        let outer = std::mem::replace(&mut self.to, JsonWriter::new());
        let end = self.value(at, depth + 1);
        let key = std::mem::replace(&mut self.to, outer);
        self.outside = None;
        Some((key.out, end?))
    }

    fn alias(&mut self, anchor: usize, depth: usize) -> Option<()> {
        let room = self.outside.unwrap_or(0) + self.to.out.len() < self.most;
        match self.anchors.get(&anchor).copied().filter(|at| room && !self.open.contains(at)) {
            Some(at) => self.value(at, depth + 1).map(|_| ()),
            None => {
                self.to.open('{');
                self.to.key(REFERENCE);
                self.to.number(&anchor.to_string());
                self.to.close('}');
                Some(())
            }
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>) {
        let plain = style == ScalarStyle::Plain;
        match tag.map(|tag| (tag.is_yaml_core_schema(), tag.suffix.as_str())) {
            None if plain => self.resolved(text),
            Some((true, "int" | "float" | "bool" | "null")) => self.resolved(text),
            None | Some((true, _) | (false, "" | "!" | "binary" | "ruby/class" | "ruby/module" | "ruby/regexp")) => {
                self.to.text(text);
            }
            Some((false, "ruby/symbol" | "ruby/sym")) => self.to.text(&format!(":{text}")),
            Some((false, suffix)) => {
                self.to.open('{');
                self.to.key(CLASS);
                self.to.text(&name(suffix));
                self.to.key(VALUE);
                self.to.text(text);
                self.to.close('}');
            }
        }
    }

    /// A plain scalar: what Ruby takes for nothing, a truth value or a number, as far as JSON has it; else text.
    fn resolved(&mut self, text: &str) {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => self.to.bare("null"),
            _ if ["true", "yes", "on"].iter().any(|word| text.eq_ignore_ascii_case(word)) => self.to.bare("true"),
            _ if ["false", "no", "off"].iter().any(|word| text.eq_ignore_ascii_case(word)) => self.to.bare("false"),
            text => self.to.number(text),
        }
    }
}

/// The class that a tag names; YAML's own types have none.
fn class_of(tag: &Tag) -> Option<String> {
    (!tag.is_yaml_core_schema() && !matches!(tag.suffix.as_str(), "" | "!")).then(|| name(&tag.suffix))
}

/// The class behind what kind of thing it is: `ruby/object:Shop::Card`.
fn name(suffix: &str) -> String {
    let bare = suffix.strip_prefix("ruby/").unwrap_or(suffix);
    match bare.split_once(':') {
        Some((_, class)) if !class.starts_with(':') => class.to_owned(),
        _ => bare.to_owned(),
    }
}
