//! Where a window of a table ends that is stored by its key.
//!
//! To pass over rows until there are enough takes half of what reading them does. Where keys are numbers, or written in hex
//! as UUIDs are, and the database tells by its tree how many lie between two of them, an end is guessed from how far keys
//! have lain apart so far, and taken when about as many rows lie between it and where the window begins. It need not be the key
//! of a row. Where no guess will do, rows are passed over.

use crate::adapter::FieldKind;
use crate::db::cells::Cells;
use crate::db::{Bind, Statement};
use crate::domain::job::JobId;
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::query::layout::Layout;
use crate::store::sql::read::chunk_size::LEAST_BLOCKS;
use crate::store::sql::read::chunks::{Bound, ChunkEnd, ChunkReader, Keys, ROWS_OF_BLOCK};
use crate::store::{Result, SourceError};

/// Guesses before rows are passed over.
const GUESSES: usize = 2;
/// How many times too many or too few a window may hold by what the database tells, which is no better than that: of keys
/// that lie evenly, how far they lie apart tells more.
const SLACK: u64 = 4;
/// How far off it may be without anything learnt from it.
const NEAR: u64 = 2;
/// Rows of the least window that is guessed: where windows are smaller still, rows are so large that a few more are too much.
const LEAST: u64 = LEAST_BLOCKS * ROWS_OF_BLOCK;
/// Digits that hexadecimal keys have at the least, and those of them that are reckoned with.
const LEAST_DIGITS: usize = 16;
const DIGITS: usize = 24;
/// How many times further one guess may reach than the one before.
const LEAP: u64 = 1_000;

/// How a guess did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Well: how many rows the window is taken to hold, and how many the next guess takes it for.
    Good(u64, u64),
    /// The width of the next guess.
    Try(i128),
}

/// What to make of a guess that reaches over so many keys and holds so many rows, as the database tells, where others were
/// wanted.
fn weigh(width: i128, told: u64, wanted: u64) -> Verdict {
    let is_within = |times: u64| told <= wanted.saturating_mul(times) && told >= wanted / times;
    // The least of windows is read however many rows it holds.
    if is_within(if wanted <= LEAST { NEAR } else { SLACK }) {
        let held = told.midpoint(wanted);
        return Verdict::Good(held, if is_within(NEAR) { wanted } else { held });
    }
    let (told, wanted) = (i128::from(told.max(1)), i128::from(wanted.max(1)));
    let next = width.saturating_mul(wanted).checked_div(told).unwrap_or(width);
    Verdict::Try(next.clamp(1, width.max(1).saturating_mul(i128::from(LEAP))))
}

/// How keys are reckoned with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Scale {
    /// As numbers, which are no lower than this one.
    Number(i128),
    /// By the first of their hexadecimal digits, which stand where this key has them.
    Hex(String),
}

impl Scale {
    /// Of keys that look like this one; `None` where they cannot be reckoned with.
    fn of(kind: FieldKind, data_type: &str, key: &str) -> Option<Self> {
        match kind {
            FieldKind::Natural => Some(Self::Number(0)),
            FieldKind::Int if data_type.contains("unsigned") => Some(Self::Number(0)),
            FieldKind::Int => Some(Self::Number(i128::from(i64::MIN))),
            // A column of UUIDs has an order of its own, by their last digits first.
            _ => (data_type.contains("char") && hex_digits(key)? >= LEAST_DIGITS).then(|| Self::Hex(key.to_owned())),
        }
    }

    /// The place of a key; `None` where it looks different.
    fn read(&self, key: &str) -> Option<i128> {
        match self {
            Self::Number(_) => key.parse().ok(),
            Self::Hex(shape) => {
                let fits =
                    shape.len() == key.len() && shape.chars().zip(key.chars()).all(|(a, b)| (a == '-') == (b == '-'));
                let digits: String = key.chars().filter(|c| *c != '-').take(DIGITS).collect();
                i128::from_str_radix(&digits, 16).ok().filter(|_| fits && hex_digits(key).is_some())
            }
        }
    }

    /// A key at a place, or at the lowest one where that is below all.
    fn write(&self, place: i128) -> String {
        match self {
            Self::Number(least) => place.max(*least).to_string(),
            Self::Hex(shape) => {
                let digits = hex_digits(shape).unwrap_or(0).min(DIGITS);
                let is_upper = shape.chars().any(|c| c.is_ascii_uppercase());
                let place = place.max(0);
                let spelled = if is_upper { format!("{place:0digits$X}") } else { format!("{place:0digits$x}") };
                let mut spelled = spelled.chars();
                shape.chars().map(|c| if c == '-' { c } else { spelled.next().unwrap_or('0') }).collect()
            }
        }
    }
}

/// How many hexadecimal digits a key is made of, which are all in one case; `None` where it is made of anything else, beside
/// hyphens.
fn hex_digits(key: &str) -> Option<usize> {
    let is_hex = key.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    let is_mixed = key.chars().any(|c| c.is_ascii_uppercase()) && key.chars().any(|c| c.is_ascii_lowercase());
    (is_hex && !is_mixed).then(|| key.chars().filter(|c| *c != '-').count())
}

impl ChunkReader<'_> {
    /// Where a window of about so many rows ends that is read downwards from `end`; `None` where fewer are left.
    pub(crate) async fn bound_before(self, end: ChunkEnd<'_>, rows: u64) -> Result<Option<Bound>> {
        if let Some(bound) = if rows >= LEAST { self.guess(end, rows).await? } else { None } {
            return Ok(Some(bound));
        }
        let found = self.pass_over(end, rows).await?;
        // The next guess goes by how far that was.
        let places = end.key.zip(found.as_ref()).and_then(|(key, found)| {
            let (scale, top) = self.scale(key.as_str())?;
            Some((top, scale.read(found.as_str())?))
        });
        if let Some((top, place)) = places.filter(|(top, place)| place < top) {
            self.pace.learn_keys(top - place, rows);
        }
        Ok(found.map(|key| Bound { key, rows }))
    }

    /// The same without reading the rows between; `None` where it takes that, as it does to tell that few are left.
    async fn guess(self, end: ChunkEnd<'_>, wanted: u64) -> Result<Option<Bound>> {
        let last = match end.key {
            Some(key) => Some(key.as_str().to_owned()),
            None => self.outermost("DESC").await?,
        };
        let Some((scale, top)) = last.and_then(|key| self.scale(&key)) else { return Ok(None) };
        let mut width = match self.pace.keys_for(wanted) {
            Some(width) => width,
            None => {
                let bottom = self.outermost("ASC").await?.and_then(|key| scale.read(&key));
                let Some(bottom) = bottom else { return Ok(None) };
                let all = i128::from(end.block.saturating_mul(ROWS_OF_BLOCK).max(1));
                top.saturating_sub(bottom).max(1).saturating_mul(i128::from(wanted)) / all
            }
        };
        for _ in 0..GUESSES {
            width = width.max(1);
            let key = JobId::new(scale.write(top.saturating_sub(width)));
            // What does not lie below would be read again.
            let Some(place) = scale.read(key.as_str()).filter(|place| *place < top) else { break };
            let here = Keys { before: end.key.cloned(), down_to: Some(key.clone()) };
            let all = Keys { down_to: None, ..here.clone() };
            let Some([left, told]) = self.expected_rows(&[&all, &here].map(|keys| self.plan(keys))).await? else {
                break;
            };
            // The window would be all that is left, or both are what no estimate exceeds: half of what the table was noted to hold.
            if left <= wanted / SLACK || told >= left {
                break;
            }
            match weigh(width, told, wanted) {
                Verdict::Good(rows, learnt) => {
                    self.pace.learn_keys(top - place, learnt);
                    return Ok(Some(Bound { key, rows }));
                }
                Verdict::Try(next) if next == width => break,
                Verdict::Try(next) => width = next,
            }
        }
        Ok(None)
    }

    /// How keys are reckoned with, going by one of them, and its place.
    fn scale(self, key: &str) -> Option<(Scale, i128)> {
        let column = self.layout.columns.iter().find(|c| Some(&c.name) == self.layout.key.expr.column.as_ref())?;
        let scale = Scale::of(self.layout.key.expr.kind, &column.data_type, key)?;
        let place = scale.read(key)?;
        Some((scale, place))
    }

    /// The first key or the last one.
    async fn outermost(self, direction: &str) -> Result<Option<String>> {
        let layout = self.layout;
        let key = &layout.key.expr.raw;
        let mut sql = Sql::new(layout.dialect);
        sql.push(&format!(
            "SELECT {} FROM {} ORDER BY {key} {direction} LIMIT 1",
            layout.key.text, layout.tables.stored
        ));
        let row = self.engine.read(&[sql.done()], self.budget).await?.pop().unwrap_or_default().pop();
        Ok(row.map(|row| Cells::new(row).text()).transpose()?.flatten())
    }

    /// What asks for the plan of reading these keys.
    fn plan(self, keys: &Keys) -> Statement {
        let mut sql = Sql::new(self.layout.dialect);
        sql.push(&format!("SELECT 1 FROM {} WHERE ", self.layout.tables.stored));
        keys.push(&mut sql, self.layout);
        let statement = sql.done();
        Statement { sql: self.layout.dialect.explain(&statement.sql), ..statement }
    }

    /// How many rows these plans have to read; `None` where that cannot be told.
    async fn expected_rows<const N: usize>(self, plans: &[Statement; N]) -> Result<Option<[u64; N]>> {
        let results = match self.engine.read(plans, self.budget).await {
            Ok(results) => results,
            // Who may read a table may still be refused its plan.
            Err(SourceError::Refused { .. } | SourceError::Denied(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut rows = Vec::new();
        for plan in results {
            let plan = plan.into_iter().next().map(|row| Cells::new(row).text()).transpose()?.flatten();
            rows.extend(plan.and_then(|plan| self.layout.dialect.rows_of(&plan)));
        }
        Ok(rows.try_into().ok())
    }

    /// The key behind so many rows, read one after the other.
    async fn pass_over(self, end: ChunkEnd<'_>, rows: u64) -> Result<Option<JobId>> {
        let layout = self.layout;
        let mut sql = Sql::new(layout.dialect);
        // Nothing is joined: it would be looked up for each row that is passed over.
        sql.push(&format!("SELECT {} FROM {} WHERE ", layout.key.text, layout.tables.stored));
        match end.key {
            Some(key) => push_key(&mut sql, layout, "<", key),
            None => drop(sql.push("1 = 1")),
        }
        // Bound: each size would make another statement.
        let skipped = sql.bind(Bind::Int(Some(i64::try_from(rows.max(1) - 1).unwrap_or(i64::MAX))));
        sql.push(&format!(" ORDER BY {} DESC LIMIT 1 OFFSET {skipped}", layout.key.expr.raw));
        let Some(row) = self.engine.read(&[sql.done()], self.budget).await?.pop().unwrap_or_default().pop() else {
            return Ok(None);
        };
        match Cells::new(row).text()?.map(JobId::new) {
            Some(key) if end.key != Some(&key) => Ok(Some(key)),
            _ => Err(SourceError::Layout(format!("the key {} does not lead through the table", layout.key.expr.raw))),
        }
    }
}

impl Keys {
    /// Writes whether a row's key is among these.
    pub(crate) fn push(&self, sql: &mut Sql, layout: &Layout) {
        let bounds = [("<", &self.before), (">=", &self.down_to)].into_iter();
        let bounds = bounds.filter_map(|(op, key)| Some((op, key.as_ref()?)));
        for (op, key) in bounds {
            push_key(sql, layout, op, key);
            sql.push(" AND ");
        }
        sql.push("1 = 1");
    }
}

/// Writes how the key compares to one.
fn push_key(sql: &mut Sql, layout: &Layout, op: &str, id: &JobId) {
    let place = layout.dialect.placed(sql, id.as_str(), layout.key.expr.kind);
    sql.push(&format!("{} {op} {place}", layout.key.expr.raw));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_good_that_has_about_as_many_rows_as_were_wanted() {
        let good = [250, 500, 1_000, 2_000, 4_000].map(|told| weigh(1_000, told, 1_000));
        let held = [(625, 625), (750, 1_000), (1_000, 1_000), (1_500, 1_000), (2_500, 2_500)];
        assert_eq!(good, held.map(|(held, learnt)| Verdict::Good(held, learnt)));
        assert_eq!(weigh(1_000, LEAST * 3, LEAST), Verdict::Try(333), "the least window has no limit of its own");
        assert_eq!(weigh(1_000, 5_000, 1_000), Verdict::Try(200), "too many");
        assert_eq!(weigh(1_000, 100, 1_000), Verdict::Try(10_000), "too few");
        assert_eq!(
            weigh(1_000, 0, 10_000_000),
            Verdict::Try(1_000_000),
            "a gap is leapt over, and not to the end of the world"
        );
        assert_eq!(weigh(1, u64::MAX, 1), Verdict::Try(1), "one key is the least");
        assert_eq!(weigh(0, 5_000, 10), Verdict::Try(1), "where many rows have the same digits in front");
        assert_eq!(weigh(i128::MAX, 0, u64::MAX), Verdict::Try(i128::MAX));
    }

    #[test]
    fn a_place_is_written_as_keys_are_and_read_again() {
        let uuid = Scale::of(FieldKind::Text, "char(36)", "7d444840-9dc0-11d1-b245-5ffdce74fad2").expect("digits");
        let place = uuid.read("7d444840-9dc0-11d1-b245-5ffdce74fad2").expect("a place");
        assert_eq!(uuid.write(place), "7d444840-9dc0-11d1-b245-5ffd00000000", "what is not reckoned with is nought");
        assert_eq!(uuid.write(0x2a), "00000000-0000-0000-0000-002a00000000");
        assert_eq!(uuid.write(-1), "00000000-0000-0000-0000-000000000000");
        assert!(
            ["7d444840", "7d4448409dc0-11d1-b245-5ffdce74fad2-", "7D444840-9dc0-11d1-b245-5ffdce74fad2"]
                .iter()
                .all(|other| uuid.read(other).is_none())
        );
        let upper = Scale::of(FieldKind::Text, "varchar(255)", "00FFAA0011223344").expect("digits");
        assert_eq!(upper.write(0xab), "00000000000000AB");
        let number = Scale::of(FieldKind::Natural, "bigint(20) unsigned", "18446744073709551615").expect("a number");
        assert_eq!(number.read("18446744073709551615"), Some(i128::from(u64::MAX)));
        assert_eq!([number.write(-5), number.write(7)], ["0", "7"], "the server would take -5 for a large number");
        let signed = Scale::of(FieldKind::Int, "int(11)", "1").expect("a number");
        assert_eq!(signed.write(-5), "-5");
        assert_eq!(signed.write(i128::MIN), i64::MIN.to_string());
    }

    #[test]
    fn keys_are_not_reckoned_with_whose_order_is_not_that_of_their_digits() {
        for (data_type, key) in [
            ("uuid", "7d444840-9dc0-11d1-b245-5ffdce74fad2"),
            ("varchar(255)", "7D444840-9dc0-11d1-b245-5ffdce74fad2"),
            ("varchar(255)", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            ("varchar(255)", "1234"),
            ("varchar(255)", ""),
        ] {
            assert_eq!(Scale::of(FieldKind::Text, data_type, key), None, "{key}");
        }
    }
}
