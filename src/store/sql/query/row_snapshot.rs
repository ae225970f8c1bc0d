//! Rows as the ledger keeps them: one JSON object, column by column, from which each value can be had back exactly.
//!
//! A value is text, as the database writes it and reads it back; or null. What text cannot be is an object that says what
//! it is: `{"bytes":"FF00"}`, `{"text":"FF"}` for text that is no UTF-8, `{"real":"0.1"}`; a bare number is a whole one of a
//! database that types values and not columns. Beside the columns stands, where a replay gave each job an instant of its
//! own, `@run_after` in microseconds since 1970; and `@along`, the rows of other tables that belong to it, as lists by table.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value};

use crate::adapter::{Column, Keep};
use crate::db::cells::Cells;
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::{BatchRow, Dialect, Form, INEXACT, ValueSort};
use crate::store::{Result, SourceError};

/// The member that tells when a replayed job was told to run; no column is called that.
const RUN_AFTER: &str = "@run_after";
/// The member that holds the rows of other tables that were kept along, by table.
const ALONG: &str = "@along";

/// The columns that are kept of rows, as they are read.
#[derive(Default)]
pub(crate) struct Keeping {
    /// Each column's name as it opens its member, the expression that reads it, and its form.
    columns: Vec<(String, String, Form)>,
    nulls: Option<String>,
    /// Bytes that the last row took, and a few more.
    room: AtomicUsize,
}

impl Keeping {
    /// What an adapter says is to be kept; columns that the table does not have are none.
    pub(crate) fn of(dialect: &dyn Dialect, columns: &[Column], keep: &Keep) -> Self {
        let wanted = |column: &&Column| keep.holds(&column.name);
        let read = |column: &Column| {
            let (expr, form) = dialect.snapshot_value(column);
            (member(&column.name), expr, form)
        };
        let columns: Vec<&Column> = columns.iter().filter(wanted).collect();
        let nulls = if columns.is_empty() { None } else { dialect.nulls(&columns) };
        Self { columns: columns.into_iter().map(read).collect(), nulls, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The contract columns to be selected, in the order in which [`Keeping::read`] takes them.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = String> + '_ {
        self.columns.iter().map(|(_, expr, _)| expr).chain(&self.nulls).cloned()
    }

    /// Reads a row's values and writes them down.
    pub(crate) fn read(&self, cells: &mut Cells, run_after: Option<Timestamp>) -> Result<String> {
        let mut out = Vec::with_capacity(self.room.load(Ordering::Relaxed));
        let mut null = self.nulls.as_ref().map(|_| String::with_capacity(self.columns.len()));
        out.push(b'{');
        for (n, (key, _, form)) in self.columns.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key.as_bytes());
            let cell = cells.stored()?;
            if let Some(null) = &mut null {
                null.push(if cell == Ok(None) { '1' } else { '0' });
            }
            match cell {
                Ok(Some(_)) if *form == Form::Lossy => return Err(inexact(key)),
                Ok(Some(cell)) if *form == Form::Checked && cell == INEXACT => return Err(inexact(key)),
                Ok(Some(cell)) => write(&mut out, *form, &cell)?,
                Ok(None) => out.extend_from_slice(b"null"),
                Err(bytes) => tagged(&mut out, "text", &hex(&bytes))?,
            }
        }
        if let Some(null) = null
            && cells.text()?.as_deref() != Some(null.as_str())
        {
            let message = "the row is too large to be kept whole".to_owned();
            return Err(SourceError::Refused { message, code: None });
        }
        if let Some(at) = run_after {
            let comma = if self.columns.is_empty() { "" } else { "," };
            out.extend_from_slice(format!("{comma}\"{RUN_AFTER}\":{}", at.0).as_bytes());
        }
        out.push(b'}');
        self.room.store(out.len() + out.len() / 8, Ordering::Relaxed);
        String::from_utf8(out).map_err(|_| SourceError::Layout("a value is no text".to_owned()))
    }
}

/// Adds rows of other tables to what was written down of a row.
pub(crate) fn add_related(kept: &mut String, tables: &[(&str, Vec<String>)]) {
    kept.pop();
    let comma = if kept.len() > 1 { "," } else { "" };
    let lists: Vec<String> =
        tables.iter().map(|(table, rows)| format!("{}:[{}]", Value::from(*table), rows.join(","))).collect();
    kept.push_str(&format!("{comma}\"{ALONG}\":{{{}}}}}", lists.join(",")));
}

/// Why a row is not kept: the member that a column would be opens with `key`.
fn inexact(key: &str) -> SourceError {
    let column = key.trim_end_matches(':').trim_matches('"');
    let message =
        format!("{column} holds a value that could not be put back exactly, such as a decimal or a date within JSON");
    SourceError::Refused { message, code: None }
}

/// A name as it opens a member of an object.
fn member(name: &str) -> String {
    format!("{}:", Value::from(name))
}

/// Writes a value down as it stands, without another copy of it.
fn write(out: &mut Vec<u8>, form: Form, cell: &str) -> Result<()> {
    match form {
        Form::Text | Form::Checked | Form::Lossy => quote(out, cell),
        Form::Hex => tagged(out, "bytes", cell),
        Form::Tagged => {
            let unknown = || SourceError::Layout("a value of an unknown type".to_owned());
            // Before the tags: infinity begins with one of them. Nothing else that is a number does, but for a whole one.
            let tag = cell.as_bytes().first().copied().ok_or_else(unknown)?;
            if !matches!(tag, b't' | b'b')
                && let Ok(real) = cell.parse::<f64>()
            {
                return tagged(out, "real", &format!("{real:?}"));
            }
            let rest = cell.get(1..).ok_or_else(unknown)?;
            match tag {
                b't' => match unhex(rest).and_then(|bytes| String::from_utf8(bytes).ok()) {
                    Some(text) if !text.contains('\0') => quote(out, &text),
                    _ => tagged(out, "text", rest),
                },
                b'b' => tagged(out, "bytes", rest),
                b'i' => {
                    let n = rest.parse::<i64>().map_err(|_| unknown())?;
                    out.extend_from_slice(n.to_string().as_bytes());
                    Ok(())
                }
                _ => Err(unknown()),
            }
        }
    }
}

/// Writes down what text cannot be, with the word that says what it is.
fn tagged(out: &mut Vec<u8>, word: &str, text: &str) -> Result<()> {
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(word.as_bytes());
    out.extend_from_slice(b"\":");
    quote(out, text)?;
    out.push(b'}');
    Ok(())
}

fn quote(out: &mut Vec<u8>, text: &str) -> Result<()> {
    serde_json::to_writer(out, text).map_err(|e| SourceError::Layout(e.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|n| char::from_digit(n.into(), 16)).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

/// What was kept of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RelatedRow {
    members: Map<String, Value>,
}

/// A kept value: what it is and its text, or NULL.
pub(crate) type KeptValue = Option<(ValueSort, String)>;

impl RelatedRow {
    /// Reads what [`Keeping::read`] wrote; `None` where it is anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(|members| Self { members })
    }

    /// When the replayed job was told to run, where it was told an instant of its own.
    pub(crate) fn run_after(&self) -> Option<Timestamp> {
        self.members.get(RUN_AFTER).and_then(Value::as_i64).map(Timestamp)
    }

    /// The columns that were kept.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str).filter(|name| ![RUN_AFTER, ALONG].contains(name))
    }

    /// The rows of another table that were kept along.
    pub(crate) fn related(&self, table: &str) -> Vec<RelatedRow> {
        let rows = self.members.get(ALONG).and_then(|tables| tables.get(table)).and_then(Value::as_array);
        let row = |row: &Value| Some(RelatedRow { members: row.as_object()?.clone() });
        rows.into_iter().flatten().filter_map(row).collect()
    }

    /// Whether a column was kept and is not NULL.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|value| !value.is_null())
    }

    /// The value of a column.
    pub(crate) fn value(&self, name: &str) -> KeptValue {
        match self.members.get(name)? {
            Value::String(text) => Some((ValueSort::Text, text.clone())),
            Value::Number(n) => Some((ValueSort::Int, n.to_string())),
            Value::Object(object) => {
                let (word, text) = object.iter().next()?;
                let sort = match word.as_str() {
                    "bytes" => ValueSort::Bytes,
                    "text" => ValueSort::OddText,
                    _ => ValueSort::Real,
                };
                Some((sort, text.as_str()?.to_owned()))
            }
            _ => None,
        }
    }

    /// Bytes of its values.
    pub(crate) fn bytes(&self) -> usize {
        let of = |value: &Value| match value {
            Value::String(text) => text.len(),
            Value::Object(tagged) => tagged.values().filter_map(Value::as_str).map(str::len).sum(),
            _ => 20,
        };
        self.members.values().map(of).sum()
    }

    /// Whether every column that was kept has the same value in `other`, as far as `other` has the column.
    pub(crate) fn stands_in(&self, other: &RelatedRow) -> bool {
        self.names().all(|name| other.members.get(name).is_none_or(|now| Some(now) == self.members.get(name)))
    }
}

/// A job of which nothing is known but what was kept.
pub(crate) fn row_of(id: &str, kept: &str) -> BatchRow {
    let run_after = RelatedRow::parse(kept).and_then(|kept| kept.run_after());
    BatchRow { id: id.to_owned(), kept: Some(kept.to_owned()), run_after, ..BatchRow::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Row, Value as Cell};

    #[test]
    fn values_are_kept_so_that_each_says_what_it_is() {
        let names = ["t", "odd", "nul", "bin", "n", "r", "null"];
        let keeping = Keeping {
            columns: names.iter().map(|name| (member(name), String::new(), Form::Tagged)).collect(),
            ..Keeping::default()
        };
        let cells = ["t22C3A9", "t61FF", "t6100", "b00FF", "i9007199254740993", "0.1"];
        let mut cells: Vec<Cell> = cells.into_iter().map(|c| Cell::Text(c.to_owned())).collect();
        cells.push(Cell::Null);
        let text = keeping.read(&mut Cells::new(Row(cells)), Some(Timestamp(7))).expect("a text");
        assert_eq!(
            text,
            r#"{"t":"\"é","odd":{"text":"61FF"},"nul":{"text":"6100"},"bin":{"bytes":"00FF"},"n":9007199254740993,"r":{"real":"0.1"},"null":null,"@run_after":7}"#
        );
        let kept = RelatedRow::parse(&text).expect("a row");
        assert_eq!(kept.value("n"), Some((ValueSort::Int, "9007199254740993".into())));
        assert_eq!(kept.value("odd"), Some((ValueSort::OddText, "61FF".into())));
        assert_eq!((kept.value("null"), kept.run_after()), (None, Some(Timestamp(7))));
        assert!(kept.names().all(|name| name != RUN_AFTER) && !kept.has("null"));
        let other = RelatedRow::parse(r#"{"n":9007199254740992}"#).expect("a row");
        assert!(!kept.stands_in(&other) && kept.stands_in(&RelatedRow::parse(r#"{"new":1}"#).expect("a row")));
        assert!(RelatedRow::parse("").is_none());
    }

    #[test]
    fn text_that_is_no_utf8_is_kept_by_its_bytes_and_not_as_it_is_shown() {
        let keeping = Keeping { columns: vec![(member("t"), String::new(), Form::Text)], ..Keeping::default() };
        let row = |value| keeping.read(&mut Cells::new(Row(vec![value])), None).expect("a text");
        let text = row(Cell::Odd(b"caf\xe9".to_vec()));
        assert_eq!(text, r#"{"t":{"text":"636166e9"}}"#);
        assert_eq!(RelatedRow::parse(&text).expect("a row").value("t"), Some((ValueSort::OddText, "636166e9".into())));
        assert_ne!(text, row(Cell::Text("caf⟨xE9⟩".into())));
    }

    #[test]
    fn rows_that_are_kept_along_are_no_columns_of_the_row() {
        let mut text = r#"{"n":1}"#.to_owned();
        add_related(
            &mut text,
            &[("tries", vec![r#"{"at":"a"}"#.to_owned(), r#"{"at":"b"}"#.to_owned()]), ("o", Vec::new())],
        );
        assert_eq!(text, r#"{"n":1,"@along":{"tries":[{"at":"a"},{"at":"b"}],"o":[]}}"#);
        let kept = RelatedRow::parse(&text).expect("a row");
        assert_eq!(kept.names().collect::<Vec<_>>(), ["n"]);
        let tries: Vec<KeptValue> = kept.related("tries").iter().map(|row| row.value("at")).collect();
        assert_eq!(tries, [Some((ValueSort::Text, "a".to_owned())), Some((ValueSort::Text, "b".to_owned()))]);
        assert!(kept.related("o").is_empty() && kept.related("none").is_empty());
        let mut bare = "{}".to_owned();
        add_related(&mut bare, &[]);
        assert_eq!(bare, r#"{"@along":{}}"#);
    }

    #[test]
    #[ignore = "a measurement, run by hand"]
    fn what_it_costs_to_write_down_ten_thousand_wide_rows() {
        let keeping = Keeping {
            columns: (0..40).map(|n| (member(&format!("column{n}")), String::new(), Form::Text)).collect(),
            ..Keeping::default()
        };
        let cells: Vec<Cell> = (0..40).map(|n| Cell::Text("value \"of\" a cell ".repeat(n))).collect();
        let rows: Vec<Row> = (0..10_000).map(|_| Row(cells.clone())).collect();
        let began = std::time::Instant::now();
        let bytes: usize =
            rows.into_iter().map(|row| keeping.read(&mut Cells::new(row), None).map_or(0, |t| t.len())).sum();
        println!("{bytes} bytes in {:?}", began.elapsed());
    }
}
