//! What a draft leaves to be written: a file is not used before.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::line_of;

/// What stands for a value that has to be written.
const OPEN: &str = "…";

/// Where the first of them stands, and all of them as a sentence; nothing where the file is whole.
pub(super) fn unfilled_places(text: &str, root: &DeTable<'_>) -> Option<(usize, String)> {
    let mut places = Vec::new();
    table(root, "", &mut places);
    places.sort();
    let first = places.first()?.0;
    let named: Vec<String> =
        places.iter().map(|(at, path)| format!("`{path}` (line {})", line_of(text, *at))).collect();
    Some((first, format!("a draft, and not used before this is written: {}", named.join(", "))))
}

fn table(root: &DeTable<'_>, path: &str, places: &mut Vec<(usize, String)>) {
    for (key, below) in root {
        let whole = ["column", "sql"].contains(&key.get_ref().as_ref()) && !path.is_empty();
        let path = match path {
            _ if whole => path.to_owned(),
            "" => key.get_ref().to_string(),
            _ => format!("{path}.{}", key.get_ref()),
        };
        value(below, &path, places);
    }
}

fn value(spanned: &Spanned<DeValue<'_>>, path: &str, places: &mut Vec<(usize, String)>) {
    match spanned.get_ref() {
        DeValue::String(text) if text == OPEN => places.push((spanned.span().start, path.to_owned())),
        DeValue::Array(items) => items.iter().for_each(|item| value(item, path, places)),
        DeValue::Table(below) => table(below, path, places),
        _ => {}
    }
}
