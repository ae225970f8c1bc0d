//! Lists: orders, places in them, and pages read from a place.

use std::cmp::Ordering;

use super::Token;
use crate::domain::filter::Filter;
use crate::domain::job::{JobId, JobRow};

/// What a list is ordered by; ties are broken by primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// Time of death (or the indexed column that stands for it).
    Time,
    /// Attempts made.
    Attempts,
}

/// An order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The column.
    pub key: SortKey,
    /// Greatest first.
    pub descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { key: SortKey::Time, descending: true }
    }
}

impl Sort {
    /// How two places stand to each other in this order, as far as that can be told without the database: what is a number
    /// goes by its value, everything else by its text. Rows without the sort column's value stand last in either direction.
    pub fn compare(self, a: &Position, b: &Position) -> Ordering {
        let turned = |order: Ordering| if self.descending { order.reverse() } else { order };
        let by_key = match (&a.key, &b.key) {
            (Some(a), Some(b)) => turned(value_order(a, b)),
            (a, b) => a.is_none().cmp(&b.is_none()),
        };
        by_key.then_with(|| turned(value_order(a.id.as_str(), b.id.as_str())))
    }
}

fn value_order(a: &str, b: &str) -> Ordering {
    if let (Ok(a), Ok(b)) = (a.parse::<i64>(), b.parse::<i64>()) {
        return a.cmp(&b);
    }
    let number = |text: &str| text.parse::<f64>().ok();
    number(a).zip(number(b)).and_then(|(a, b)| a.partial_cmp(&b)).unwrap_or_else(|| a.cmp(b))
}

/// A row's place in an order: the sort column's value and the primary key, as the database prints them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The sort column's value; `None` for NULL, which stands last in either direction.
    pub key: Option<String>,
    /// The primary key.
    pub id: JobId,
}

/// Where a page starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cursor {
    /// The first rows of the order.
    #[default]
    Start,
    /// The last rows of the order.
    End,
    /// The rows that follow a place.
    After(Position),
    /// The rows that stand before a place.
    Before(Position),
    /// Where [`ScanMode::Screen`] goes on through the rows as they are stored.
    Unordered(Unordered),
}

/// Where a search stands that reads rows in no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unordered {
    /// Only rows beyond this place of the order are meant.
    pub beyond: Position,
    /// Of these only those before this one.
    pub until: Option<Position>,
    /// How far the store has read.
    pub token: Token,
}

impl Unordered {
    /// The same search without the rows behind a place: whoever has rows enough keeps the first of them.
    pub fn before(self, place: Position) -> Self {
        Self { until: Some(place), ..self }
    }
}

impl Cursor {
    /// Whether it is read in the order, and not against it.
    pub(super) fn is_forward(&self) -> bool {
        !matches!(self, Cursor::End | Cursor::Before(_))
    }
}

/// A request for some rows of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct PageQuery {
    /// Which jobs; resolved, so that its times are absolute.
    pub filter: Filter,
    /// In which order.
    pub sort: Sort,
    /// From where.
    pub cursor: Cursor,
    /// How many rows at the most.
    pub limit: usize,
}

impl PageQuery {
    /// As many jobs of a cohort as the store reads at a time, newest first.
    pub fn cohort(filter: &Filter, cursor: Cursor) -> Self {
        Self { filter: filter.clone(), sort: Sort::default(), cursor, limit: usize::MAX }
    }
}

/// How rows are read, which goes by what they are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanMode {
    /// For a list, in its order.
    List,
    /// For somebody who sees so many rows at a time. Where rows lie apart, so that each costs all that lie between, a page has
    /// about as many, whatever its limit and however many follow. Where hits are rare, the rows behind the first of them are read
    /// as they are stored, which is the quickest way through all of a table. From then on, while [`Page::next`] is a
    /// [`Cursor::Unordered`], rows come in no order, though all of them belong behind those that came before; and one that is
    /// changed meanwhile may come twice, or not at all.
    Screen(usize),
    /// As for a list, with the arguments of each job.
    Arguments,
    /// The same with what else is compared of each job: where it failed, and the columns that nothing else shows.
    Comparison,
    /// For the record of a cohort: rows that arrive meanwhile are not among them, and of each there is what
    /// [`super::Frozen::of`] keeps.
    Cohort,
    /// The same, with the other columns of a light row.
    CohortRows,
}

/// A light row with its place in the order it was read in.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The row.
    pub row: JobRow,
    /// Its place.
    pub position: Position,
    /// By what the job is known across its deaths, as [`crate::domain::job::lineage::stored_form`]; pages leave it out.
    pub lineage: Option<String>,
    /// The arguments as [`crate::domain::job::JobDetail`] has them; only by [`ScanMode::Arguments`]
    /// and [`ScanMode::Comparison`].
    pub arguments: Option<String>,
    /// What else is compared of it; only by [`ScanMode::Comparison`], and where there is anything.
    pub compared: Option<Box<ComparedColumns>>,
}

/// What is compared of a job beside its row and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedColumns {
    /// Its backtrace, where it was read as a whole.
    pub backtrace: Option<String>,
    /// Short columns that no part of a job is read from, and what the adapter shows of an open job; by name.
    pub values: Vec<(String, String)>,
}

/// The rows that one bounded step found, in the order of the list whichever way it was read.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rows; fewer than asked for when the step's window ended first. Where they come as they are stored, they may be
    /// more.
    pub entries: Vec<Entry>,
    /// Where the same query goes on in the same direction; `None` when that end of the list is reached.
    pub next: Option<Cursor>,
    /// What a windowed scan has done so far in this step; `None` when an index served.
    pub scanned: Option<Scanned>,
}

/// The extent of one step of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scanned {
    /// Rows looked at in this step; 0 where they are read as they are stored, which does not count them.
    pub rows: u64,
    /// Share of the whole scan that lies behind, from 0 to 1, as well as is known.
    pub share: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(key: Option<&str>, id: &str) -> Position {
        Position { key: key.map(str::to_owned), id: JobId::new(id) }
    }

    #[test]
    fn places_stand_as_the_database_orders_them_and_those_without_a_value_last() {
        let ascending = [
            place(Some("2026-01-02 03:04:05"), "9"),
            place(Some("2026-01-02 03:04:05"), "10"),
            place(Some("2026-01-02 03:04:05.5"), "1"),
            place(Some("2026-01-02 03:04:06"), "1"),
        ];
        let numbers = [place(Some("-2"), "1"), place(Some("9"), "1"), place(Some("10.5"), "b"), place(Some("11"), "a")];
        for places in [ascending, numbers] {
            for descending in [false, true] {
                let sort = Sort { key: SortKey::Time, descending };
                let mut sorted: Vec<Position> = places.to_vec();
                sorted.push(place(None, "0"));
                if descending {
                    sorted[..places.len()].reverse();
                }
                let mut shuffled = sorted.clone();
                shuffled.rotate_left(2);
                shuffled.sort_by(|a, b| sort.compare(a, b));
                assert_eq!(shuffled, sorted);
            }
        }
    }
}
