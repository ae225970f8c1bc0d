//! What can be wrong with a config, as sentences that name the place.

use thiserror::Error;

/// A fault of the config. Its `Display` never holds a secret.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// A file is no TOML, has a key that nobody knows, or a value of the wrong kind.
    #[error("{path}, line {line}: {reason}")]
    Wrong {
        /// The file.
        path: String,
        /// Line of the fault, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The merged config contradicts itself.
    #[error("{place}: {reason}")]
    Contradiction {
        /// The key, dotted.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A source that was named is not configured.
    #[error("there is no source `{name}` in the config{}", suggestion(name, known))]
    NoSuchSource {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The address of a source cannot be had.
    #[error("source `{source_name}`: {reason}")]
    NoAddress {
        /// The source.
        source_name: String,
        /// Why.
        reason: String,
    },
}

/// How `known` words continue a sentence about an unknown one.
pub(crate) fn suggestion(word: &str, known: &[String]) -> String {
    match nearest(word, known.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there is {}", known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// The word that is so near to `word` that it was probably meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count() / 3 + 1;
    known
        .into_iter()
        .map(|k| (distance(word, k), k))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Letters to insert, delete or exchange to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// `text` with whatever stands as a password in a URL or behind `password=` taken out.
///
/// Messages of parsers quote what they could not read, and what they could not read may be a connection string.
pub fn mask_secrets(text: &str) -> String {
    static URL: std::sync::LazyLock<Option<regex::Regex>> =
        std::sync::LazyLock::new(|| regex::Regex::new(r#"(?P<user>[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:@/]*):\S*@"#).ok());
    static KEY: std::sync::LazyLock<Option<regex::Regex>> =
        std::sync::LazyLock::new(|| regex::Regex::new(r#"(?i)(?P<key>passw(or)?d|pwd)=[^\s&"']+"#).ok());
    let masked = match &*URL {
        Some(url) => url.replace_all(text, "$user:***@"),
        None => text.into(),
    };
    match &*KEY {
        Some(key) => key.replace_all(&masked, "$key=***").into_owned(),
        None => masked.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_found_and_a_far_one_is_not() {
        assert_eq!(nearest("produktion", ["production", "read_only"]), Some("production"));
        assert_eq!(nearest("read-only", ["production", "read_only"]), Some("read_only"));
        assert_eq!(nearest("colour", ["production", "read_only"]), None);
    }

    #[test]
    fn passwords_are_taken_out_of_connection_strings() {
        assert_eq!(mask_secrets("at postgres://ann:s3/cr@et@db/app now"), "at postgres://ann:***@db/app now");
        assert_eq!(mask_secrets("at postgres://ann:s3cr@et@db/app now"), "at postgres://ann:***@db/app now");
        assert_eq!(mask_secrets("host=db password=s3cret user=ann"), "host=db password=*** user=ann");
        assert_eq!(mask_secrets("postgres://db/app?password=s3cret&x=1"), "postgres://db/app?password=***&x=1");
        assert_eq!(mask_secrets("sqlite:///var/lib/app.db"), "sqlite:///var/lib/app.db");
    }
}
