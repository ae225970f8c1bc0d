//! The character sets of columns of text, and what they do to it.

use crate::adapter::Column;

/// Character sets from which text goes to UTF-8 and back again as it was, byte for byte; most others have characters that
/// come back as another one, or none.
const EXACT: [&str; 6] = ["utf8mb4", "utf8mb3", "utf8", "latin1", "utf16", "utf16le"];

/// Character sets in which not even a letter of ASCII is one byte. MariaDB's JSON_EXTRACT finds nothing by a path there,
/// JSON_SET returns NULL, and JSON_REMOVE removes nothing.
const WIDE: [&str; 4] = ["utf16", "utf16le", "utf32", "ucs2"];

/// The character set of a column of text.
pub(super) fn charset(column: &Column) -> Option<&str> {
    column.collation.as_deref().and_then(|collation| collation.split('_').next())
}

/// Whether values of a type are text, and no words of a list.
fn is_text(base: &str) -> bool {
    base.ends_with("char") || base.ends_with("text")
}

/// Whether a column is text as the connection speaks it, so that its bytes are those of a value that equals it.
pub(super) fn is_spoken(column: &Column, base: &str) -> bool {
    is_text(base) && charset(column) == Some("utf8mb4")
}

/// Whether text of a column can change on its way to UTF-8 and back.
pub(super) fn is_inexact(column: &Column, base: &str) -> bool {
    is_text(base) && charset(column).is_some_and(|charset| !EXACT.contains(&charset))
}

/// Text of such a column led by a letter for what it is: UTF-8 from which it comes back as it was, or else its bytes. Half a
/// pair of surrogates (`ED A0` to `ED BF`) goes there and back, and is no UTF-8.
pub(super) fn exact_or_bytes(column: &Column, value: &str) -> String {
    let text = format!("CONVERT({value} USING utf8mb4)");
    let back = format!("CONVERT({text} USING {})", charset(column).unwrap_or("binary"));
    format!(
        "CASE WHEN CAST({back} AS BINARY) = CAST({value} AS BINARY) AND LOCATE(0x00, {text}) = 0 \
         AND LOCATE('EDA', HEX({text})) = 0 AND LOCATE('EDB', HEX({text})) = 0 \
         THEN CONCAT('t', HEX({text})) ELSE CONCAT('b', HEX({value})) END"
    )
}

/// Whether not even a letter of ASCII is one byte in a character set.
pub(super) fn is_wide(charset: &str) -> bool {
    WIDE.contains(&charset)
}
