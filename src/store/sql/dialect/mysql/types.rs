//! Types of columns: how the value of each is kept so that the same value can be put back.

use super::charset::{exact_or_bytes, is_inexact};
use crate::adapter::Column;
use crate::store::sql::dialect::{Form, INEXACT};

/// Types whose values come back from the text that the server writes. Any other is refused before a row is deleted: a new
/// type of a later server may lose something on the way.
const EXACT: [&str; 34] = [
    "tinyint",
    "smallint",
    "mediumint",
    "int",
    "integer",
    "bigint",
    "decimal",
    "numeric",
    "float",
    "double",
    "real",
    "bit",
    "bool",
    "boolean",
    "char",
    "varchar",
    "tinytext",
    "text",
    "mediumtext",
    "longtext",
    "enum",
    "set",
    "json",
    "date",
    "datetime",
    "timestamp",
    "time",
    "year",
    "inet4",
    "inet6",
    "uuid",
    "nchar",
    "nvarchar",
    "dec",
];

/// The name of a type without its length, and without the words of an enumeration.
pub(super) fn base_type(data_type: &str) -> String {
    data_type.split(['(', ' ']).next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether values of a type are bytes and no text.
fn is_bytes(base: &str) -> bool {
    let shapes = ["point", "linestring", "polygon", "geometry", "geometrycollection", "geomcollection"];
    base == "vector"
        || base.ends_with("blob")
        || base.ends_with("binary")
        || shapes.iter().any(|shape| base.strip_prefix("multi").unwrap_or(base) == *shape)
}

/// What keeps the value of a column, as [`crate::store::sql::dialect::Writes::snapshot_value`] wants it.
pub(super) fn snapshot_value(column: &Column, value: &str) -> (String, Form) {
    let text = format!("CONVERT({value} USING utf8mb4)");
    match base_type(&column.data_type).as_str() {
        base if is_bytes(base) => (format!("HEX({value})"), Form::Hex),
        base if is_inexact(column, base) => (exact_or_bytes(column, value), Form::Tagged),
        "bit" => (format!("CONVERT(CAST({value} AS UNSIGNED) USING utf8mb4)"), Form::Text),
        // A FLOAT by itself is written with six digits.
        "float" | "double" | "real" => (format!("CONVERT({value} + 0e0 USING utf8mb4)"), Form::Text),
        // MySQL's own JSON has decimals, dates and bytes, which come back from its text as other types, or with other digits.
        "json" => {
            let again = format!("CAST({text} AS JSON)");
            let same = format!("CAST(CONVERT({again} USING utf8mb4) AS BINARY) = CAST({text} AS BINARY)");
            (
                format!(
                    "CASE WHEN {value} IS NULL THEN NULL WHEN {value} = {again} AND {same} \
                     THEN {text} ELSE '{INEXACT}' END"
                ),
                Form::Checked,
            )
        }
        base => (text, if EXACT.contains(&base) { Form::Text } else { Form::Lossy }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_are_not_known_are_not_kept() {
        let form = |data_type: &str| {
            let (name, data_type) = ("c".to_owned(), data_type.to_owned());
            snapshot_value(&Column { name, data_type, nullable: true, collation: None, times: None }, "t.c").1
        };
        for known in [
            "bigint(20) unsigned",
            "enum('a (b)')",
            "VECTOR(3)",
            "multipoint",
            "tinyblob",
            "timestamp /* mariadb-5.3 */",
        ] {
            assert_ne!(form(known), Form::Lossy, "{known}");
        }
        for unknown in ["xmltype", "interval(3)", ""] {
            assert_eq!(form(unknown), Form::Lossy, "{unknown}");
        }
    }
}
