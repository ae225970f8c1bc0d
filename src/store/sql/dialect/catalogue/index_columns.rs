//! Where columns stand in indexes.

/// Where a column stands in an index.
pub(crate) struct IndexPlace {
    /// The index; empty where it has no name.
    pub(crate) index: String,
    /// From 0.
    pub(crate) at: usize,
    pub(crate) unique: Unique,
}

/// Whether no two rows have the same entry in an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unique {
    No,
    Yes,
    Primary,
}

/// Lines of place (from 1), `p` for the primary key or `u` for another index that is unique over all rows, and index.
pub(crate) fn read(told: &str) -> Vec<IndexPlace> {
    let place = |line: &str| {
        let (place, index) = line.split_once(' ')?;
        let digits = place.trim_end_matches(['p', 'u']);
        let unique = match &place[digits.len()..] {
            "p" => Unique::Primary,
            "u" => Unique::Yes,
            _ => Unique::No,
        };
        Some(IndexPlace { index: index.to_owned(), at: digits.parse::<usize>().ok()?.checked_sub(1)?, unique })
    };
    told.lines().filter_map(place).collect()
}
