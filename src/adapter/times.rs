//! Columns of times, and of whole numbers that count them since 1970: which unit those count in, by the values seen.

use std::collections::BTreeMap;

use super::table_match::{Column, Family, Misfit, Table};
use super::{FieldKind, Spec};

/// What `[detect]` calls a column that is a time, or counts seconds, milliseconds or microseconds since 1970.
pub(super) const TIME_OR_EPOCH: &str = "time_or_epoch";

/// What it calls a column that is a time and nothing else.
pub(super) const TIME: &str = "time";

/// Seconds from 1980 to 2200: in any other unit as many lie thousands of years away.
const SECONDS: std::ops::Range<i64> = 315_532_800..7_258_118_400;

/// The units, with how many there are in a second.
const UNITS: [(&str, i64, FieldKind); 3] = [
    ("seconds", 1, FieldKind::EpochS),
    ("milliseconds", 1_000, FieldKind::EpochMs),
    ("microseconds", 1_000_000, FieldKind::EpochUs),
];

/// A number that counts no time since 1970.
const ODD: &str = "odd number";

/// What the values of a column of times are, as far as any were seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// None was seen that tells.
    Untold,
    /// Dates with times.
    Calendar,
    /// Whole numbers of this unit since 1970.
    Epoch(FieldKind),
    /// Neither, and what they are.
    Neither(String),
}

impl Times {
    /// What the values of a column are.
    pub fn of<'a>(column: &Column, values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut seen: BTreeMap<&'static str, (usize, &str)> = BTreeMap::new();
        for value in values.into_iter().filter(|value| !value.trim().is_empty()) {
            seen.entry(word_of(value)).or_insert((0, value)).0 += 1;
        }
        // A zero, or a time at the end of the world, stands for none.
        let odd = seen.remove(ODD).map(|(_, number)| number).filter(|number| !matches!(*number, "0" | "-1"));
        let is_text = Family::of(&column.data_type) == Family::Text;
        let count = |word: &str| seen.get(word).map_or(0, |(n, _)| *n);
        let all: usize = seen.values().map(|(n, _)| n).sum();
        let units: Vec<&str> = UNITS.iter().map(|(word, _, _)| *word).filter(|word| count(word) > 0).collect();
        // A few values that are none do no harm beside those that are: each is no time of its row.
        let nearly_all = |n: usize| n * 10 >= all * 9;
        let dates = count("date");
        if dates > 0 && (nearly_all(dates) || dates * 2 >= all && (is_text || units.is_empty())) {
            return Self::Calendar;
        }
        if let [unit] = units[..]
            && !is_text
            && nearly_all(count(unit))
        {
            return UNITS
                .iter()
                .find(|(word, _, _)| *word == unit)
                .map_or(Self::Untold, |(_, _, kind)| Self::Epoch(*kind));
        }
        let words: Vec<&str> = seen.keys().copied().collect();
        match (words[..].first(), odd) {
            (None, None) => Self::Untold,
            (None, Some(n)) => Self::Neither(format!("holds numbers such as {n}, which count no time since 1970")),
            _ if words.len() > 1 => Self::Neither(format!("holds values of several kinds: {}", words.join(", "))),
            (Some(&"fraction"), _) => Self::Neither(
                "holds numbers with fractions: an adapter file can name an expression of the kind epoch_ms".to_owned(),
            ),
            (Some(&"text"), _) => Self::Neither("holds texts that are no dates".to_owned()),
            (Some(unit), _) => Self::Neither(format!("holds {unit} since 1970 as text, which compare with no time")),
        }
    }
}

/// What a value looks like.
fn word_of(value: &str) -> &'static str {
    if let Ok(n) = value.parse::<i64>() {
        let unit = UNITS.iter().find(|(_, per_second, _)| SECONDS.contains(&(n / per_second)));
        return unit.map_or(ODD, |(word, _, _)| word);
    }
    let is_digit = |at: usize| value.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_date =
        (0..4).all(is_digit) && value.as_bytes().get(4) == Some(&b'-') && value.as_bytes().get(7) == Some(&b'-');
    match value.parse::<f64>() {
        _ if is_date => "date",
        Ok(_) => "fraction",
        Err(_) => "text",
    }
}

impl Spec {
    /// The words by which `[detect]` knows the columns of a table.
    fn words_of(&self, table: &str) -> Option<&BTreeMap<String, String>> {
        if table == self.table { Some(&self.detect.columns) } else { self.detect.tables.get(table) }
    }

    /// The columns of a table that may count times since 1970.
    pub fn epochs_of(&self, table: &str) -> impl Iterator<Item = &str> {
        self.called(table, &[TIME_OR_EPOCH])
    }

    /// The columns of a table that hold times.
    pub fn times_of(&self, table: &str) -> impl Iterator<Item = &str> {
        self.called(table, &[TIME_OR_EPOCH, TIME])
    }

    fn called<'a>(&'a self, table: &str, words: &'static [&'static str]) -> impl Iterator<Item = &'a str> + use<'a> {
        let columns = self.words_of(table).into_iter().flatten();
        columns.filter(|(_, word)| words.contains(&word.as_str())).map(|(column, _)| column.as_str())
    }

    /// How a column of a table that was seen counts times since 1970, where it does.
    pub fn epoch_of(&self, table: &str, column: &Column) -> Option<FieldKind> {
        epoch_by(self.words_of(table)?.get(&column.name)?, column)
    }

    /// Columns whose times are read, which nobody can do without knowing the unit.
    fn read_times(&self) -> impl Iterator<Item = &str> {
        let fields = [Some(&self.order.time), self.order.otherwise.as_ref(), Some(&self.fields.at)];
        fields.into_iter().flatten().filter_map(|field| Some(field.column.as_ref()?.get_ref().as_str()))
    }

    /// Why the times of this table's jobs cannot be read, of each column.
    pub(super) fn unreadable(&self, table: &Table) -> Vec<Misfit> {
        let mut columns: Vec<&str> =
            self.epochs_of(&self.table).filter(|name| self.read_times().any(|n| n == *name)).collect();
        columns.dedup();
        let found = columns.into_iter().filter_map(|name| table.column(name));
        // Where no value stands there is none to misread: a queue may be empty.
        let found = found.filter(|column| column.times != Some(Times::Untold));
        let misfit = |column: &Column| {
            let sentence = why_not(&self.table, column)?;
            Some(Misfit { table: self.table.clone(), column: Some(column.name.clone()), sentence })
        };
        found.filter_map(misfit).collect()
    }

    /// Whether the unit of a time that is read is not known, as no value stands there yet.
    pub fn awaits_unit(&self, table: &Table) -> bool {
        let is_read = |name: &&str| self.read_times().any(|read| read == *name);
        let columns =
            self.epochs_of(&self.table).filter(is_read).filter_map(|name| table.column(name)).collect::<Vec<_>>();
        columns.into_iter().any(|column| column.times == Some(Times::Untold))
    }

    /// Why no statement that writes a time may be run: a column of which it is not known what its values are.
    pub fn unwritable<'a>(&self, lookup: impl Fn(&str) -> Option<&'a Table>) -> Option<String> {
        let names = std::iter::once(&self.table).chain(self.detect.tables.keys());
        names.into_iter().find_map(|name| {
            let table = lookup(name)?;
            self.epochs_of(name).filter_map(|column| table.column(column)).find_map(|column| why_not(name, column))
        })
    }
}

/// The kind that a word of a detection gives a column.
pub fn epoch_by(word: &str, column: &Column) -> Option<FieldKind> {
    match (word, &column.times) {
        (TIME_OR_EPOCH, Some(Times::Epoch(kind))) => Some(*kind),
        // There is no value that could be read otherwise; none is written until one tells.
        (TIME_OR_EPOCH, Some(Times::Untold)) if Family::of(&column.data_type) == Family::Number => {
            Some(FieldKind::EpochS)
        }
        (TIME_OR_EPOCH, _) => None,
        (word, _) => kind_of_word(word),
    }
}

/// The kind of a word for columns that count times.
pub(super) fn kind_of_word(word: &str) -> Option<FieldKind> {
    match word {
        "epoch_s" => Some(FieldKind::EpochS),
        "epoch_ms" => Some(FieldKind::EpochMs),
        "epoch_us" => Some(FieldKind::EpochUs),
        _ => None,
    }
}

/// Why nothing may be written to a column of times, and what to do.
pub fn why_not(table: &str, column: &Column) -> Option<String> {
    let (name, of) = (&column.name, &column.data_type);
    let mend = format!(
        "save `dlq-tui adapters show` of this layout as an adapter file, with `{name} = \"epoch_s\"` (or epoch_ms, epoch_us) in its \
         [detect]"
    );
    match (&column.times, Family::of(of)) {
        (Some(Times::Neither(what)), _) => Some(format!("{table}.{name} is {of} and {what}")),
        (Some(Times::Calendar | Times::Epoch(_)), _) => None,
        (_, Family::Time | Family::Text) => None,
        (Some(Times::Untold) | None, _) => Some(format!(
            "{table}.{name} is {of}, and no row tells whether it counts seconds, milliseconds or microseconds: {mend}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(data_type: &str) -> Column {
        Column {
            name: "died".to_owned(),
            data_type: data_type.to_owned(),
            nullable: true,
            collation: None,
            times: None,
        }
    }

    #[test]
    fn a_unit_is_known_by_where_its_values_lie() {
        for (values, times) in [
            (&["1795046400", "1795046401"][..], Times::Epoch(FieldKind::EpochS)),
            (&["1795046400123", "0"], Times::Epoch(FieldKind::EpochMs)),
            (&["1795046400123456", "253402300799000000"], Times::Epoch(FieldKind::EpochUs)),
            (&["2026-11-20 10:00:00", "2026-11-20T10:00:00Z"], Times::Calendar),
            (&["2026-11-20 10:00:00", "soon", ""], Times::Calendar),
            (&[], Times::Untold),
            (&["0"], Times::Untold),
        ] {
            assert_eq!(Times::of(&column("INTEGER"), values.iter().copied()), times, "{values:?}");
        }
        for (of, values) in [
            ("INTEGER", &["1795046400", "1795046400123"][..]),
            ("INTEGER", &["1795046400", "2026-11-20 10:00:00"]),
            ("INTEGER", &["20261127163555"]),
            ("INTEGER", &["20261127"]),
            ("INTEGER", &["1795046400123456789"]),
            ("REAL", &["2461000.5"]),
            ("REAL", &["1795046400.25"]),
            ("TEXT", &["1795046400"]),
            ("TEXT", &["Fri Nov 20"]),
        ] {
            assert!(matches!(Times::of(&column(of), values.iter().copied()), Times::Neither(_)), "{of} {values:?}");
        }
    }
}
