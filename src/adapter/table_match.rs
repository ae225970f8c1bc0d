//! Whether a table fits an adapter: by its columns and, loosely, their types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::privileges::Right;
use super::times::{TIME, TIME_OR_EPOCH, Times, kind_of_word, why_not};
use super::{FieldKind, Part, Spec};

/// A column as the database's catalogue has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as the catalogue spells it.
    pub data_type: String,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Its collation, where the database names one.
    pub collation: Option<String>,
    /// What its values are, where it is to hold times and they were checked.
    pub times: Option<Times>,
}

/// A table as the catalogue has it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Table {
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its indexes: by name, their columns in order.
    pub indexes: BTreeMap<String, Vec<String>>,
    /// What no two rows have in common: by name, the columns of each unique index over all rows. The primary key comes first,
    /// under an empty name.
    pub unique: BTreeMap<String, Vec<String>>,
    /// Whether it is a view, or stands elsewhere: then it has no indexes of its own.
    pub is_view: bool,
    /// Its storage engine, where that has no transactions; `VIEW` where the server does not tell.
    pub without_transactions: Option<String>,
    /// Whether its rows change with transactions of which the database's own log does not tell: it stands on another server, or
    /// with another storage engine.
    pub is_elsewhere: bool,
    /// What hides rows from our role, where something does: such a table seems emptier than it is.
    pub row_security: Option<RowSecurity>,
    /// Whether its rows stand in other tables, which are its parts.
    pub is_partitioned: bool,
    /// The tables that inherit from it and are no parts of it, where there may be any.
    pub heirs: Option<Vec<String>>,
    /// What our role may not do with it.
    pub lacks: Lacks,
}

/// The rights that a role does not have on a table, or on a function; what is not known is not among them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Lacks {
    /// It may not so much as name what is in the schema.
    pub schema: bool,
    /// It may not make tables in the schema.
    pub create: bool,
    /// It may not delete rows.
    pub delete: bool,
    /// It may not call the function.
    pub execute: bool,
    /// The columns that it may not read, give a value in a new row, or change.
    pub columns: BTreeMap<Right, BTreeSet<String>>,
    /// The sequences that it may not count on, by the columns whose values come from them.
    pub sequences: BTreeMap<String, String>,
}

/// Row-level security that is in force for a role: the database leaves rows out without an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSecurity {
    /// The role.
    pub role: String,
    /// Whether a policy shows it some rows; where none does, it is shown none.
    pub shows_some: bool,
}

impl Table {
    /// Whether the role may not do this with these columns; with none at all, where they are not known.
    pub fn lacks(&self, right: Right, columns: &BTreeSet<String>) -> bool {
        let lacking = |right: Right| {
            let without = self.lacks.columns.get(&right);
            let has = |column: &str| !without.is_some_and(|without| without.contains(column));
            match columns.is_empty() || right == Right::Lock {
                true => !self.columns.is_empty() && !self.columns.iter().any(|column| has(&column.name)),
                false => columns.iter().any(|column| !has(column)),
            }
        };
        let denied = match right {
            Right::Delete => self.lacks.delete,
            Right::Execute => self.lacks.execute,
            // By the sequence, and not by the table.
            Right::Number => false,
            _ => lacking(right),
        };
        self.lacks.schema || denied
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Whether an index can serve an order by a column: one that begins with it, or with one word before it, as the
    /// state often is.
    pub fn serves(&self, column: &str) -> bool {
        self.indexes.values().any(|columns| columns.iter().take(2).any(|c| c == column))
    }

    /// Whether no two rows can be alike in all of these columns; `None` where no index could say so.
    pub fn is_unique(&self, columns: &[&str]) -> Option<bool> {
        if self.unique.values().any(|unique| unique.iter().all(|column| columns.contains(&column.as_str()))) {
            return Some(true);
        }
        // An index over all parts of a table has the columns by which it is parted in it, whatever else is unique.
        (!self.is_view && !self.is_partitioned).then_some(false)
    }

    /// Whether an index begins with these columns, in this order.
    pub fn has_index(&self, columns: &[String]) -> bool {
        self.indexes.values().any(|index| index.starts_with(columns))
    }
}

/// Something that a table lacks of what an adapter says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The table.
    pub table: String,
    /// The column; `None` where the table itself is missing.
    pub column: Option<String>,
    /// What is wrong, as a sentence.
    pub sentence: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Loose families of column types, across databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Anything.
    Any,
    /// Text of any length, or an enumeration.
    Text,
    /// Numbers.
    Number,
    /// Dates and times.
    Time,
    /// JSON, or text that may hold it.
    Json,
    /// UUIDs, or text that may hold them.
    Uuid,
    /// Times, or whole numbers that count them since 1970.
    TimeOrEpoch,
    /// What holds no value that any of the others means: bytes, spans of time, lists.
    Other,
}

impl Family {
    fn from_word(word: &str) -> Option<Family> {
        Some(match word {
            "text" => Family::Text,
            "int" => Family::Number,
            "time" => Family::Time,
            "json" => Family::Json,
            "uuid" => Family::Uuid,
            "any" => Family::Any,
            TIME_OR_EPOCH => Family::TimeOrEpoch,
            word if kind_of_word(word).is_some() => Family::Number,
            _ => return None,
        })
    }

    /// The word for it in adapter files.
    pub(super) fn word(self) -> &'static str {
        match self {
            Family::Any => "any",
            Family::Text => "text",
            Family::Number => "int",
            Family::Time => "time",
            Family::Json => "json",
            Family::Uuid => "uuid",
            Family::TimeOrEpoch => TIME_OR_EPOCH,
            Family::Other => "any",
        }
    }

    /// The family of a type as a catalogue spells it; `Any` for a type that none of us knows.
    pub fn of(data_type: &str) -> Family {
        let t = data_type.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|w| t.contains(w));
        let bare = t.split(['(', ' ']).next().unwrap_or_default();
        if ["interval", "time", "timetz", "year", "bytea", "boolean", "bool", "bit"].contains(&bare)
            || bare.ends_with("blob")
            || bare.ends_with("binary")
            || bare.ends_with("range")
            || t.ends_with("[]")
        {
            Family::Other
        } else if has(&["json"]) {
            Family::Json
        } else if has(&["uuid"]) {
            Family::Uuid
        } else if has(&["time", "date"]) {
            Family::Time
        } else if has(&["char", "text", "clob", "enum", "string"]) {
            Family::Text
        } else if has(&["int", "numeric", "decimal", "serial", "real", "double", "float"]) {
            Family::Number
        } else {
            Family::Any
        }
    }

    /// Whether a column of type `found` can hold what is wanted.
    fn accepts(self, found: Family) -> bool {
        use Family::{Any, Json, Number, Other, Text, Time, TimeOrEpoch, Uuid};
        match (self, found) {
            (Any, _) | (_, Any) => true,
            // Bytes may be text, JSON or a UUID; none of these is a time.
            (wanted, Other) => !matches!(wanted, Time | TimeOrEpoch),
            (Json | Uuid | Time, Text) => true,
            (TimeOrEpoch, Time | Text | Number) => true,
            (wanted, found) => wanted == found,
        }
    }
}

/// Why the tables of a schema do not fit an adapter; empty when they do.
///
/// `lookup` returns a table of the schema by name. A schema without the table itself gives a single reason.
pub fn fit<'a>(spec: &Spec, lookup: impl Fn(&str) -> Option<&'a Table>) -> Vec<Misfit> {
    let absent = |table: &str, sentence: String| Misfit { table: table.to_owned(), column: None, sentence };
    let Some(table) = lookup(&spec.table) else {
        return vec![absent(&spec.table, format!("there is no table {}", spec.table))];
    };
    let mut reasons = misfits(&spec.table, table, &spec.detect.columns);
    // A field may say itself that its column counts times.
    let is_epoch =
        |misfit: &Misfit| misfit.column.as_deref().is_some_and(|name| epochs(spec).any(|epoch| epoch == name));
    let is_number = |name: &str| table.column(name).is_some_and(|c| Family::of(&c.data_type) == Family::Number);
    let words = &spec.detect.columns;
    reasons.retain(|misfit| {
        let column = misfit.column.as_deref().unwrap_or_default();
        !(is_epoch(misfit) && is_number(column) && words.get(column).is_some_and(|word| word == "time"))
    });
    reasons.extend(broken_epochs(spec, table));
    reasons.extend(broken_orders(spec, table));
    if reasons.is_empty() {
        reasons.extend(spec.unreadable(table));
    }
    let hidden = hidden(&spec.table, table).filter(|_| reasons.is_empty());
    reasons.extend(hidden.map(|sentence| absent(&spec.table, sentence)));
    for (name, columns) in &spec.detect.tables {
        match lookup(name) {
            None => reasons.push(absent(name, format!("there is no table {name} beside it"))),
            Some(other) => reasons.extend(misfits(name, other, columns)),
        }
    }
    let functions = spec.detect.functions.iter().filter(|name| lookup(&function(name)).is_none());
    reasons.extend(functions.map(|name| absent(name, format!("there is no function {name} beside it"))));
    reasons
}

/// The columns that fields of the table call a count of time.
fn epochs(spec: &Spec) -> impl Iterator<Item = &str> {
    let (order, fields) = (&spec.order, &spec.fields);
    let times = [Some(&order.time), order.otherwise.as_ref(), Some(&fields.at), fields.get(Part::Touched)];
    let epochs = times.into_iter().flatten().chain(spec.more.values()).filter(|f| f.kind.is_epoch());
    epochs.filter_map(|f| Some(f.column.as_ref()?.get_ref().as_str()))
}

/// What lists are ordered by, and times, in columns of types that do not compare as their kind says.
fn broken_orders<'a>(spec: &'a Spec, table: &'a Table) -> impl Iterator<Item = Misfit> + 'a {
    let (order, fields) = (&spec.order, &spec.fields);
    let ordered = [
        ("order.time", Some(&order.time)),
        ("order.otherwise", order.otherwise.as_ref()),
        ("fields.at", Some(&fields.at)),
        ("fields.touched", fields.get(Part::Touched)),
    ];
    ordered.into_iter().filter_map(|(what, field)| {
        let field = field?;
        let column = table.column(field.column.as_ref()?.get_ref())?;
        // Detection has reported this already.
        let is_asked = spec.detect.columns.get(&column.name).is_some_and(|word| word == TIME || word == TIME_OR_EPOCH);
        let is_compared = match (field.kind, Family::of(&column.data_type)) {
            (_, Family::Any) => true,
            (FieldKind::Int, family) => family == Family::Number,
            (FieldKind::Utc | FieldKind::Instant, family) => is_asked || matches!(family, Family::Time | Family::Text),
            (kind, family) => !kind.is_epoch() || matches!(family, Family::Number | Family::Time),
        };
        let of = if field.kind == FieldKind::Int { "a whole number" } else { "a time" };
        let sentence = format!(
            "{}.{} is {}, which does not compare as {of}: {what} needs one",
            spec.table, column.name, column.data_type
        );
        let misfit = Misfit { table: spec.table.clone(), column: Some(column.name.clone()), sentence };
        (!is_compared).then_some(misfit)
    })
}

/// Times that the file calls whole numbers, in columns that hold fractions: rows between two whole numbers would be
/// passed over where a page ends.
fn broken_epochs<'a>(spec: &'a Spec, table: &'a Table) -> impl Iterator<Item = Misfit> + 'a {
    let names: BTreeSet<&str> = epochs(spec).collect();
    let broken = names.into_iter().filter_map(|name| table.column(name)).filter(|c| holds_fractions(&c.data_type));
    broken.map(|column| {
        let (table, name) = (&spec.table, &column.name);
        let sentence = format!(
            "{table}.{name} is {}, which holds fractions, and an epoch is a whole number: in its stead name an expression of the \
             kind epoch_ms, such as sql = \"CAST(t.{name} * 1000 AS BIGINT)\" (AS SIGNED for MySQL)",
            column.data_type
        );
        Misfit { table: table.clone(), column: Some(name.clone()), sentence }
    })
}

/// Whether a type of numbers, as a catalogue spells it, has fractions.
fn holds_fractions(data_type: &str) -> bool {
    let data_type = data_type.to_ascii_lowercase();
    let (base, rest) = data_type.split_once(['(', ' ']).unwrap_or((&data_type, ""));
    match base {
        "real" | "double" | "float" | "float4" | "float8" => true,
        "decimal" | "numeric" | "dec" => {
            let scale = rest.split_once(',').map(|(_, scale)| scale.trim_start());
            scale.is_some_and(|scale| scale.starts_with(|c: char| matches!(c, '1'..='9')))
        }
        _ => false,
    }
}

/// Why a role would be shown no row of a table, however many there are.
fn hidden(name: &str, table: &Table) -> Option<String> {
    let RowSecurity { role, .. } = table.row_security.as_ref().filter(|security| !security.shows_some)?;
    Some(format!(
        "row-level security hides every row of {name} from the role {role}, and no policy shows it any: connect as the \
         owner of the table, or as a role with BYPASSRLS (ALTER ROLE {role} BYPASSRLS)"
    ))
}

/// What must be known of a table whose rows a role may not all be shown.
pub fn veiled(name: &str, table: &Table) -> Option<String> {
    let RowSecurity { role, shows_some } = table.row_security.as_ref()?;
    Some(match shows_some {
        true => format!(
            "row-level security decides which rows of {name} the role {role} is shown: there may be jobs that are neither \
             listed nor counted"
        ),
        false => format!(
            "row-level security hides every row of {name} from the role {role}: what jobs have there is not shown"
        ),
    })
}

/// The name by which a function is looked up among the tables of its schema.
pub fn function(name: &str) -> String {
    format!("{name}()")
}

/// The word for a column that must not be there.
const ABSENT: &str = "absent";

/// A type without the first number in brackets: `timestamp(6) without time zone`.
fn without_digits(data_type: &str) -> String {
    let bare = data_type.split_once('(').and_then(|(before, rest)| {
        let (digits, after) = rest.split_once(')')?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| format!("{before}{after}"))
    });
    bare.filter(|_| data_type.starts_with("timestamp")).unwrap_or_else(|| data_type.to_owned())
}

/// The types that a word of `detect` names, as a database spells them: alternatives stand between bars.
pub fn alternatives(word: &str) -> impl Iterator<Item = &str> {
    word.split('|')
}

/// What a table lacks of these columns.
fn misfits(name: &str, table: &Table, wanted: &BTreeMap<String, String>) -> Vec<Misfit> {
    let of = |column: &str, sentence| Misfit { table: name.to_owned(), column: Some(column.to_owned()), sentence };
    let mut reasons = Vec::new();
    for (column, word) in wanted {
        let is_of = |found: &Column| match Family::from_word(word) {
            Some(family) => family.accepts(Family::of(&found.data_type)),
            // A type as this database spells it, or one of a schema's own, which is the same in every schema; how many
            // digits of a second it keeps is not asked for.
            None => {
                let of_schema = found.data_type.rsplit_once('.').map_or(found.data_type.as_str(), |(_, own)| own);
                let spelt = [&*found.data_type, of_schema, &without_digits(&found.data_type)];
                alternatives(word).any(|wanted| spelt.iter().any(|t| t.eq_ignore_ascii_case(wanted)))
            }
        };
        match table.column(column) {
            None if word == ABSENT => {}
            None => reasons.push(of(column, format!("{name} has no column {column}"))),
            Some(_) if word == ABSENT => reasons.push(of(column, format!("{name} has a column {column}"))),
            Some(Column { times: Some(Times::Neither(what)), data_type, .. }) if word == TIME => {
                reasons.push(of(column, format!("{name}.{column} is {data_type} and {what}")));
            }
            Some(found) if !is_of(found) => {
                let hint = match (word.as_str(), Family::of(&found.data_type)) {
                    ("time", Family::Number) => {
                        " (an adapter file can say that it is of the kind epoch_s, epoch_ms or epoch_us)"
                    }
                    _ => "",
                };
                let wanted = if word == TIME_OR_EPOCH { "time".to_owned() } else { word.replace('|', " or ") };
                reasons.push(of(column, format!("{name}.{column} is {}, not {wanted}{hint}", found.data_type)));
            }
            Some(_) => {}
        }
    }
    reasons
}

/// What a live table lacks to be a destination: columns that are not there or of another type.
pub fn destination_misfits(name: &str, table: &Table, wanted: &BTreeMap<String, String>) -> Vec<String> {
    let epochs = wanted.iter().filter(|(_, word)| *word == TIME_OR_EPOCH);
    let untold = epochs.filter_map(|(column, _)| why_not(name, table.column(column)?));
    misfits(name, table, wanted).into_iter().map(|misfit| misfit.sentence).chain(untold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_fit_across_databases() {
        for (wanted, found) in [
            ("json", "jsonb"),
            ("json", "longtext"),
            ("uuid", "char(36)"),
            ("uuid", "TEXT"),
            ("time", "timestamp without time zone"),
            ("time", "TEXT"),
            ("int", "bigint"),
            ("text", "character varying"),
            ("text", "USER-DEFINED"),
        ] {
            assert!(Family::from_word(wanted).is_some_and(|f| f.accepts(Family::of(found))), "{wanted} {found}");
        }
        for (wanted, found) in [
            ("json", "integer"),
            ("time", "jsonb"),
            ("text", "bigint"),
            ("int", "text"),
            ("time", "bigint"),
            ("time", "REAL"),
            ("time", "interval"),
            ("time", "time without time zone"),
            ("time", "year(4)"),
            ("time", "boolean"),
            ("time_or_epoch", "bytea"),
            ("time_or_epoch", "tstzrange"),
            ("epoch_s", "timestamp"),
        ] {
            assert!(!Family::from_word(wanted).is_some_and(|f| f.accepts(Family::of(found))), "{wanted} {found}");
        }
    }

    #[test]
    fn rows_that_a_role_is_not_shown_are_told_of() {
        let table = |shows_some: bool| Table {
            row_security: Some(RowSecurity { role: "reader".to_owned(), shows_some }),
            ..Table::default()
        };
        assert!(hidden("jobs", &Table::default()).is_none() && veiled("jobs", &Table::default()).is_none());
        assert!(hidden("jobs", &table(true)).is_none());
        let none = hidden("jobs", &table(false)).expect("a reason");
        assert!(none.starts_with("row-level security hides every row of jobs from the role reader"), "{none}");
        let some = veiled("jobs", &table(true)).expect("a warning");
        assert!(some.contains("which rows of jobs the role reader is shown"), "{some}");
    }

    fn column(name: &str, data_type: &str) -> Column {
        Column { name: name.to_owned(), data_type: data_type.to_owned(), nullable: true, collation: None, times: None }
    }

    #[test]
    fn a_type_can_be_named_as_the_database_spells_it_and_a_column_can_be_unwanted() {
        let table = Table { columns: vec![column("errors", "jsonb[]")], ..Table::default() };
        let misfits =
            |word: &str, column: &str| misfits("jobs", &table, &BTreeMap::from([(column.to_owned(), word.to_owned())]));
        assert!(misfits("jsonb[]", "errors").is_empty() && misfits("absent", "kwargs").is_empty());
        assert_eq!(said(misfits("jsonb", "errors")), ["jobs.errors is jsonb[], not jsonb"]);
        assert_eq!(said(misfits("absent", "errors")), ["jobs has a column errors"]);
        assert!(misfits("jsonb|jsonb[]", "errors").is_empty());
        assert_eq!(said(misfits("json|jsonb", "errors")), ["jobs.errors is jsonb[], not json or jsonb"]);
        let table = Table { columns: vec![column("status", "tasks.job_status")], ..Table::default() };
        let wanted = |word: &str| BTreeMap::from([("status".to_owned(), word.to_owned())]);
        assert!(super::misfits("jobs", &table, &wanted("job_status")).is_empty());
        assert!(!super::misfits("jobs", &table, &wanted("status")).is_empty());
    }

    #[test]
    fn an_order_is_served_by_an_index_on_it_or_behind_one_other_column() {
        let index = |columns: &[&str]| columns.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
        let indexes = BTreeMap::from([("i".to_owned(), index(&["state", "failed_at", "id"]))]);
        let table = Table { indexes, ..Table::default() };
        assert!(table.serves("state") && table.serves("failed_at") && !table.serves("id"));
        assert!(table.has_index(&index(&["state", "failed_at"])) && !table.has_index(&index(&["failed_at"])));
    }

    #[test]
    fn a_key_is_unique_where_a_unique_index_has_no_other_column() {
        let unique = BTreeMap::from([("pk".to_owned(), vec!["tenant".to_owned(), "id".to_owned()])]);
        let table = Table { unique, ..Table::default() };
        assert_eq!(table.is_unique(&["id"]), Some(false));
        assert_eq!(
            (table.is_unique(&["tenant", "id"]), table.is_unique(&["id", "tenant", "x"])),
            (Some(true), Some(true))
        );
        assert_eq!(Table::default().is_unique(&["id"]), Some(false), "no index at all");
        assert_eq!(Table { is_view: true, ..Table::default() }.is_unique(&["id"]), None);
        let parted = Table { is_partitioned: true, ..table };
        assert_eq!((parted.is_unique(&["id"]), parted.is_unique(&["id", "tenant"])), (None, Some(true)));
    }

    fn said(misfits: Vec<Misfit>) -> Vec<String> {
        misfits.into_iter().map(|misfit| misfit.sentence).collect()
    }

    #[test]
    fn an_epoch_in_a_column_that_holds_fractions_is_refused() {
        let text = "name = 'x'\ntitle = 'x'\ntable = 'x'\nkey = { column = 'id', kind = 'int' }\n\
                    detect.columns.id = 'int'\norder.time = { column = 'died', kind = 'epoch_s' }\n\
                    fields.at = { column = 'died', kind = 'epoch_s' }\nstates.dead = ['dead']\n";
        let adapter = crate::adapter::Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
        let spec = adapter.spec("sqlite").unwrap_or_else(|| panic!("no layout"));
        let reasons = |data_type: &str| {
            let columns = vec![column("id", "bigint"), column("died", data_type)];
            let table = Table { columns, ..Table::default() };
            said(fit(spec, |_| Some(&table)))
        };
        for whole in ["bigint", "INTEGER", "decimal(20,0)", "numeric", "NUMERIC(20)", ""] {
            assert!(reasons(whole).is_empty(), "{whole}: {:?}", reasons(whole));
        }
        for fractions in
            ["REAL", "double", "double precision", "float(24)", "float8", "decimal(20,6)", "NUMERIC(20, 3)"]
        {
            let reasons = reasons(fractions);
            assert_eq!(reasons.len(), 1, "{fractions}");
            assert!(reasons[0].starts_with(&format!("x.died is {fractions}, which holds fractions")), "{reasons:?}");
        }
    }
}
