//! Secrets in text that has no structure: messages, headers, queries, addresses, JSON cut off in the middle.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::escapes::Escapes;
use super::{REDACTED, credential_patterns};
use crate::domain::bounded_regex::{BoundedRegex, MatchRange};

// A bounded repetition of a class is compiled once for each time that it may be repeated: where the class cannot run past what
// follows it, there is no bound.

/// A word and what joins it to its value. The word may be quoted, the quotes escaped, and stand in brackets.
static KEY: LazyLock<Option<BoundedRegex>> = LazyLock::new(|| {
    BoundedRegex::new(
        r#"(?:[cC](?:ontraseña|ONTRASEÑA)|[A-Za-z_][A-Za-z0-9_.\-]{1,63})(?:\\{0,4}["'])?\]?<space>{0,4}(?:=>|[=:])<space>{0,4}"#,
    )
});

/// A scheme with what it announces, which is one value.
static SCHEMED: LazyLock<Option<BoundedRegex>> =
    LazyLock::new(|| BoundedRegex::new(r#"^(?i:bearer|basic|digest|token)<space>+[^\s,;"'\\]+"#));

/// The password of an address. One that holds an `@` ends at the last of them; one that holds a `/` is none where a port
/// may stand before it.
static ADDRESS: LazyLock<Option<BoundedRegex>> = LazyLock::new(|| {
    BoundedRegex::new(
        r#"(?x) ://[^\s/:@"'\\\[]*: (?:
            (?P<secret>[^\s/"'\\]+) @
          | (?P<slashed>[^\s@"'\\,]+ @ (?:[^\s/"'\\,]+@)?)
          | (?P<cut>[^\s/?\#@"'\\]+) $
        )"#,
    )
});

/// A credential that only its scheme announces.
static SCHEME: LazyLock<Option<BoundedRegex>> =
    LazyLock::new(|| BoundedRegex::new(r"(?i)\b(?:bearer|basic)<space>+(?P<secret>[A-Za-z0-9._~+/=\-]{16,})"));

/// The beginning of an element.
static ELEMENT: LazyLock<Option<BoundedRegex>> =
    LazyLock::new(|| BoundedRegex::new(r"<(?P<name>[A-Za-z_][A-Za-z0-9_.:\-]{1,63})(?:<space>[^<>]*)?>"));

/// What databases say of a row that breaks a constraint: `Key (email, token)=(a, b) already exists`.
static CONSTRAINT: LazyLock<Option<BoundedRegex>> = LazyLock::new(|| {
    BoundedRegex::new(r"(?s)\((?P<names>[^()=]+)\)=\((?P<secret>.*?)(?:\)(?: already | is | conflicts |[.,;\r\n]|$)|$)")
});

/// The same elsewhere: `Duplicate entry 'x' for key 'users.index_users_on_token'`.
static DUPLICATE: LazyLock<Option<BoundedRegex>> =
    LazyLock::new(|| BoundedRegex::new(r"(?s)Duplicate entry '(?P<secret>.*?)' for key '(?P<names>[^']+)'"));

const DUPLICATE_BEGINS: &str = "Duplicate entry '";

/// A whole row, whose values have no names.
static ROW: LazyLock<Option<BoundedRegex>> =
    LazyLock::new(|| BoundedRegex::new(r"(?s)Failing row contains \((?P<secret>.*?)(?:\)(?:[.,;\r\n]|$)|$)"));

/// What stands for a password in an address of the config.
const STARS: &str = "***";

/// How often a text may have been encoded again and is still searched: as JSON in JSON, and in an address.
const JSON_LEVELS: usize = 4;
const PERCENT_LEVELS: usize = 2;

/// `text` with the values of secret keys replaced, and passwords in addresses. Borrows where there are none.
///
/// What is cut off in the middle of a secret is taken for a secret to its end. Escapes are looked behind, and stay as they
/// are where nothing is replaced.
pub(super) fn redact(text: &str, is_secret: impl Fn(&str) -> bool) -> Cow<'_, str> {
    match replaced(text, secret_ranges(text, &is_secret, JSON_LEVELS, PERCENT_LEVELS)) {
        Some(masked) => Cow::Owned(masked),
        None => Cow::Borrowed(text),
    }
}

/// The same for the inside of a JSON string, whose escapes are no part of its text; `None` where there are none.
pub(super) fn redact_string(inside: &str, is_secret: impl Fn(&str) -> bool) -> Option<String> {
    let Some(text) = Escapes::Json.taken_off(inside) else {
        return replaced(inside, secret_ranges(inside, &is_secret, 0, PERCENT_LEVELS));
    };
    let mut found = secret_ranges(&text, &is_secret, JSON_LEVELS - 1, PERCENT_LEVELS);
    Escapes::Json.put_back(inside, &mut found);
    replaced(inside, found)
}

fn replaced(text: &str, mut spans: Vec<MatchRange>) -> Option<String> {
    // What was replaced before is left as it is.
    spans.retain(|(start, end)| ![REDACTED, STARS].contains(&&text[*start..*end]));
    if spans.is_empty() {
        return None;
    }
    spans.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut first = true;
    for (start, end) in spans {
        // The same secret may be seen with its escapes and without them.
        if first || start > copied {
            out.push_str(text.get(copied..start).unwrap_or(""));
            out.push_str(REDACTED);
        }
        copied = copied.max(end);
        first = false;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Where secrets lie in `text`, in no order: as it stands, and behind its escapes.
fn secret_ranges(text: &str, is_secret: &dyn Fn(&str) -> bool, json: usize, percent: usize) -> Vec<MatchRange> {
    let mut found = unescaped_secret_ranges(text, is_secret);
    // What ends where its quotes do ends there: behind its escapes, quotes within it look like those around it.
    let told: Vec<MatchRange> =
        found.iter().copied().filter(|(_, end)| is_quote(text[*end..].trim_start_matches('\\'))).collect();
    let mut behind = |escapes: Escapes, json: usize, percent: usize| {
        if let Some(plain) = escapes.taken_off(text) {
            let mut spans = secret_ranges(&plain, is_secret, json, percent);
            escapes.put_back(text, &mut spans);
            spans.retain(|(at, _)| !told.iter().any(|(start, end)| start <= at && at < end));
            found.extend(spans);
        }
    };
    if percent > 0 {
        behind(Escapes::Percent, 0, percent - 1);
    }
    if json > 0 {
        behind(Escapes::Json, json - 1, percent);
    }
    found
}

fn is_quote(text: &str) -> bool {
    text.starts_with(['"', '\''])
}

fn unescaped_secret_ranges(text: &str, is_secret: impl Fn(&str) -> bool) -> Vec<MatchRange> {
    let mut hits: Vec<MatchRange> = Vec::new();
    if text.contains([':', '=']) {
        pairs(text, &is_secret, &mut hits);
    }
    if text.contains('<') {
        elements(text, &is_secret, &mut hits);
    }
    if text.contains(")=(") {
        named(&CONSTRAINT, text, &is_secret, &mut hits);
    }
    if text.contains(DUPLICATE_BEGINS) {
        named(&DUPLICATE, text, &is_secret, &mut hits);
        hits.extend(cut_duplicate(text));
    }
    if text.contains("Failing row") {
        bare(&ROW, text, &mut hits);
    }
    if text.contains("://") {
        addresses(text, &mut hits);
    }
    if mentions_scheme(text) {
        bare(&SCHEME, text, &mut hits);
    }
    if text.contains("--") {
        credential_patterns::options(text, &is_secret, &mut hits);
    }
    credential_patterns::credentials(text, &mut hits);
    hits
}

/// Whether `bearer` or `basic` stands anywhere: a cheap check, and most texts have neither.
fn mentions_scheme(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins = |at: usize, word: &[u8]| bytes.get(at..at + word.len()).is_some_and(|b| b.eq_ignore_ascii_case(word));
    let b = bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'b' | b'B'));
    b.map(|(at, _)| at).any(|at| begins(at, b"bearer") || begins(at, b"basic"))
}

fn bare(pattern: &Option<BoundedRegex>, text: &str, hits: &mut Vec<MatchRange>) {
    let Some(pattern) = pattern else {
        return;
    };
    hits.extend(pattern.all(text).filter_map(|found| found.span_of("secret")));
}

/// Values whose columns, or the index over them, are named with them; an index is named after its columns.
fn named(pattern: &Option<BoundedRegex>, text: &str, is_secret: impl Fn(&str) -> bool, hits: &mut Vec<MatchRange>) {
    let secret_name = |name: &str| {
        let words: Vec<&str> = name.split('_').collect();
        let from = |start: usize| (start + 1..=words.len()).map(move |end| (start, end));
        (0..words.len()).flat_map(from).any(|(start, end)| is_secret(&words[start..end].join("_")))
    };
    let part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    for found in pattern.iter().flat_map(|pattern| pattern.all(text)) {
        let (Some(names), Some(secret)) = (found.get("names"), found.span_of("secret")) else { continue };
        if names.split(|c| !part_of_name(c)).any(secret_name) {
            hits.push(secret);
        }
    }
}

/// The value of a harmless key is not skipped: it may hold a pair itself.
fn pairs(text: &str, is_secret: impl Fn(&str) -> bool, hits: &mut Vec<MatchRange>) {
    let Some(key) = &*KEY else {
        return;
    };
    let mut from = 0;
    while let Some((start, end)) = key.find_at(text, from) {
        from = end;
        let part_of_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        let name = text[start..end].split(|c| !part_of_key(c)).next().unwrap_or("");
        let last = name.rsplit('.').next().unwrap_or("");
        if !is_secret(last) && (last == name || !is_secret(name)) {
            continue;
        }
        // A module, behind which a class stands.
        if text[from..].strip_prefix(':').is_some_and(|class| class.starts_with(|c: char| c.is_ascii_uppercase())) {
            continue;
        }
        if let Some((start, end)) = value(&text[from..]) {
            hits.push((from + start, from + end));
            from += end;
        }
    }
}

/// Where the value lies that `text` begins with: quoted, a scheme with its credential, a group in brackets, or up to the
/// next separator. Quotes are no part of it, so that what was JSON is JSON still.
fn value(text: &str) -> Option<MatchRange> {
    if let Some((start, end)) = quoted(text) {
        return Some((start, end));
    }
    if let Some(found) = SCHEMED.as_ref().and_then(|schemed| schemed.find_at(text, 0)) {
        return Some(found);
    }
    let end = plain(text);
    (end > 0).then_some((0, end))
}

/// The inside of the quotes that `text` begins with, themselves escaped or not; where they do not end, all of it that is
/// within the quotes around them. `None` without quotes, and where nothing stands behind the first.
pub(super) fn quoted(text: &str) -> Option<MatchRange> {
    let depth = text.len() - text.trim_start_matches('\\').len();
    let quote = text[depth..].chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let start = depth + 1;
    let mut slashes = 0;
    for (at, c) in text.char_indices().skip(start) {
        if c == '\\' {
            slashes += 1;
            continue;
        }
        // Each level of quotes doubles the slashes and adds one: two of its own stand for a slash within.
        if c == quote && slashes >= depth && (slashes - depth).is_multiple_of(2 * (depth + 1)) {
            return Some((start, at - depth));
        }
        // The quotes around these end: the text within them is cut off.
        if c == '"' && slashes < depth {
            return (at - slashes > start).then_some((start, at - slashes));
        }
        slashes = 0;
    }
    (text.len() > start).then_some((start, text.len()))
}

/// The end of the value without quotes that `text` begins with. Brackets that open in it belong to it to where they
/// close; where it begins with one, so does all that is in it.
fn plain(text: &str) -> usize {
    let mut whole = text.starts_with(['(', '[', '{']);
    let (mut depth, mut slashes, mut skip) = (0_usize, 0, 0);
    for (at, c) in text.char_indices() {
        if at < skip {
            continue;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => {
                depth -= 1;
                whole = whole && depth > 0;
            }
            '"' if whole => {
                // A bracket in quotes closes nothing.
                let inside = quoted(&text[at - slashes..]);
                skip = inside.map_or(0, |(_, end)| (at + end + 1).min(text.len()));
            }
            _ if whole => {}
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            ')' | ']' | '}' | '>' | ',' | ';' | '&' | '"' | '\'' | '\\' => return at,
            c if c.is_whitespace() => return at,
            _ => {}
        }
        slashes = if c == '\\' { slashes + 1 } else { 0 };
    }
    text.len()
}

/// What stands in elements with a secret name: `<password>…</password>`.
fn elements(text: &str, is_secret: impl Fn(&str) -> bool, hits: &mut Vec<MatchRange>) {
    for found in ELEMENT.iter().flat_map(|element| element.all(text)) {
        let ((opens, begins), Some(name)) = (found.span(), found.get("name")) else { continue };
        if !is_secret(name.rsplit([':', '.']).next().unwrap_or(name)) {
            continue;
        }
        let inside = &text[begins..];
        let end = inside.find(&format!("</{name}")).or_else(|| {
            // Not closed: cut off, or none at all, such as the type of a value or a word to be filled in.
            let typed = text[..opens].ends_with(|c: char| c.is_alphanumeric());
            let cut = inside.find(|c: char| c == '<' || c.is_whitespace()).unwrap_or(inside.len());
            (!typed).then_some(cut)
        });
        if let Some(end) = end.filter(|end| *end > 0) {
            hits.push((begins, begins + end));
        }
    }
}

/// The passwords of addresses.
fn addresses(text: &str, hits: &mut Vec<MatchRange>) {
    let port = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut from = 0;
    while let Some(found) = ADDRESS.as_ref().and_then(|address| address.first_from(text, from)) {
        let of = |group| found.span_of(group).map(|(start, end)| (start, end, &text[start..end]));
        from = found.span().1;
        if let Some((start, end, _)) = of("secret") {
            hits.push((start, end));
        } else if let Some((start, end, secret)) = of("slashed") {
            match port(secret.split(['/', '?', '#']).next().unwrap_or("")) {
                // What follows a port may reach into another address.
                true => from = start,
                false => hits.push((start, end - 1)),
            }
        } else if let Some((start, end, secret)) = of("cut") {
            match port(secret.trim_end_matches(|c: char| !c.is_alphanumeric())) {
                true => from = start,
                false => hits.push((start, end)),
            }
        }
    }
}

/// The value of a row that is there already, cut off before it says under which key.
fn cut_duplicate(text: &str) -> Option<MatchRange> {
    let start = text.rfind(DUPLICATE_BEGINS)? + DUPLICATE_BEGINS.len();
    let told = DUPLICATE.as_ref().is_some_and(|told| told.is_in(&text[start - DUPLICATE_BEGINS.len()..]));
    (!told && start < text.len()).then_some((start, text.len()))
}
