//! Cutting one error text into class and message, and taking the accidental out of messages.

mod normalise;

use std::sync::LazyLock;

use regex::Regex;

pub use normalise::normalise;

/// An error text cut in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorText<'a> {
    /// The class, where the text names one.
    pub class: Option<&'a str>,
    /// The rest, without the stack that some texts carry along; may have several lines, and may be empty.
    pub message: &'a str,
}

/// Words that a class of a single word ends in.
const ENDINGS: &[&str] =
    &["Error", "Exception", "Failure", "Fault", "Timeout", "Interrupt", "Exit", "Warning", "Invalid", "NotFound"];

/// The first line of a stack behind a message: indented, `(app version) file:line: ` or `file:line: `.
static STACK_LINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\n {4}(?:\([A-Za-z0-9_.]+ [^)\n]+\) )?[^\s:]+:[0-9]+: ").ok());

/// Where a text with `Stack trace:` says in which file it was thrown.
static THROWN_IN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r" in [^\s:][^\n]*:[0-9]+$").ok());

/// Cuts `text` into class and message.
///
/// The class is what stands before the first `: `, where that looks like one: `Foo::Bar`, `foo.bar.Baz`,
/// `App\Exceptions\X`, `KeyError`, `** (KeyError)`. Where a text holds several errors, the one that was thrown last is
/// taken: the last line of a traceback, the last `Next` of a chain that prints its inner errors first.
pub fn cut(text: &str) -> ErrorText<'_> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("** (") {
        return banner(text, rest);
    }
    if text.starts_with("Traceback (most recent call last)") || text.contains("\nTraceback (most recent call last)") {
        return simple(last_of_traceback(text));
    }
    if let Some(at) = text.find("\nStack trace:\n") {
        let thrown = text.rfind("\n\nNext ").filter(|&next| next > at).map_or(text, |next| &text[next + 7..]);
        return thrown_in(thrown);
    }
    simple(text)
}

/// `** (Class) message`, then perhaps a stack.
fn banner<'a>(text: &'a str, rest: &'a str) -> ErrorText<'a> {
    let Some((class, message)) = rest.split_once(')').filter(|(class, _)| is_word(class)) else {
        return ErrorText { class: None, message: text };
    };
    let stack = STACK_LINE.as_ref().and_then(|line| line.find(message)).map_or(message.len(), |m| m.start());
    ErrorText { class: Some(class), message: message[..stack].trim() }
}

/// `Class: message in file:line`, then the stack.
fn thrown_in(text: &str) -> ErrorText<'_> {
    let head = text.split("\nStack trace:\n").next().unwrap_or(text);
    let end = THROWN_IN.as_ref().and_then(|place| place.find(head)).map_or(head.len(), |m| m.start());
    let bare = simple(&head[..end]);
    // Without a message the text is just the class.
    if bare.class.is_none() && is_class_name(&head[..end]) {
        return ErrorText { class: Some(&head[..end]), message: "" };
    }
    bare
}

/// From the last line that is not indented and follows an indented one, to the end.
fn last_of_traceback(text: &str) -> &str {
    let mut start = 0;
    let mut at = 0;
    let mut after_frame = false;
    for line in text.split_inclusive('\n') {
        let frame = line.starts_with("  ");
        if after_frame && !frame && !line.trim().is_empty() && !line.starts_with("Traceback") {
            start = at;
        }
        after_frame = frame;
        at += line.len();
    }
    text[start..].trim()
}

fn simple(text: &str) -> ErrorText<'_> {
    let text = without_lead(text.trim());
    let line = text.lines().next().unwrap_or("");
    if let Some(at) = line.find(": ").or_else(|| line.strip_suffix(':').map(str::len)) {
        let class = without_code(&line[..at]);
        if is_class_name(class) {
            return ErrorText { class: Some(class), message: text[at + 1..].trim() };
        }
    } else if line.len() == text.len() && is_class_name(line) {
        return ErrorText { class: Some(line), message: "" };
    }
    ErrorText { class: None, message: text }
}

/// Words that announce an error and are not part of its class.
fn without_lead(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix("Exception in thread \"") {
        return rest.split_once("\" ").map_or(text, |(_, error)| error);
    }
    text.strip_prefix("Uncaught ").unwrap_or(text)
}

/// `TypeError [ERR_CODE]` without the code.
fn without_code(class: &str) -> &str {
    match class.split_once(" [") {
        Some((bare, code)) if code.ends_with(']') => bare,
        _ => class,
    }
}

/// Whether `text` is written as classes are: words joined by `::`, `.` or `\` of which the last is capitalised, or one
/// word with two humps or a telling end, or an `errno`.
pub fn is_class_name(text: &str) -> bool {
    if text.len() > 200 || !is_word(text) {
        return false;
    }
    let parts: Vec<&str> = text.split("::").flat_map(|part| part.split(['.', '\\', '$'])).collect();
    let inner = if parts.first() == Some(&"") && text.starts_with(['\\', ':']) { &parts[1..] } else { &parts[..] };
    let Some(last) = inner.last() else {
        return false;
    };
    if inner.iter().any(|part| part.is_empty() || part.starts_with(|c: char| c.is_ascii_digit())) {
        return false;
    }
    let capital = last.starts_with(|c: char| c.is_uppercase());
    capital && (inner.len() > 1 || has_two_humps(last) || is_telling(last))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '\\' | '$'))
}

fn has_two_humps(word: &str) -> bool {
    let mut chars = word.chars();
    let (mut before, mut humps) = (chars.next(), 1);
    for c in chars {
        humps += usize::from(c.is_uppercase() && before.is_some_and(char::is_lowercase));
        before = Some(c);
    }
    humps > 1
}

fn is_telling(word: &str) -> bool {
    let errno = word.len() > 3 && word.starts_with('E') && word != "ERROR";
    let shouted = errno && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    shouted || ENDINGS.iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
mod tests;
