//! What `stats` counts by.

use crate::domain::facet::Facet;
use crate::domain::filter::Key;

/// What jobs are counted by.
#[derive(Clone, Debug)]
pub enum CountBy {
    /// A facet.
    Facet(Facet),
    /// The value at a path of the arguments, given by its keys.
    Argument(Vec<String>),
}

/// Reads the word of a facet, or a path of the arguments.
///
/// # Errors
/// As [`facet`]; and for a word of the arguments without a path.
pub fn count_by(word: &str) -> Result<CountBy, String> {
    match Key::from_word(word) {
        Some(Key::Arg(keys)) if keys.is_empty() => Err("name a path in the arguments: args.user.id".to_owned()),
        Some(Key::Arg(keys)) => Ok(CountBy::Argument(keys)),
        _ => facet(word).map(CountBy::Facet),
    }
}

/// Reads the word of a facet.
///
/// # Errors
/// Says which is not one, which was meant, and lists the facets.
pub fn facet(word: &str) -> Result<Facet, String> {
    Facet::from_word(word).ok_or_else(|| Facet::unknown(word, &Facet::ALL))
}
