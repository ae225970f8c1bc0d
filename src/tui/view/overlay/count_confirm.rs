//! Numbers three rows high, for the one number on the screen that must not be misread.
//!
//! ```text
//! ▀█  ▀▀█ █▀█ █ █
//!  █  █▀▀ █ █ ▀▀█
//! ▀▀▀ ▀▀▀▝▀▀▀   ▀
//! ```

/// Rows of such a number.
pub const HEIGHT: usize = 3;

/// The rows of a number written with digits and commas.
pub fn rows(number: &str) -> [String; HEIGHT] {
    let mut rows = [String::new(), String::new(), String::new()];
    for c in number.chars() {
        for (row, part) in rows.iter_mut().zip(glyph(c)) {
            row.push_str(part);
            row.push(' ');
        }
    }
    rows
}

fn glyph(c: char) -> [&'static str; HEIGHT] {
    match c {
        '0' => ["█▀█", "█ █", "▀▀▀"],
        '1' => ["▀█ ", " █ ", "▀▀▀"],
        '2' => ["▀▀█", "█▀▀", "▀▀▀"],
        '3' => ["▀▀█", " ▀█", "▀▀▀"],
        '4' => ["█ █", "▀▀█", "  ▀"],
        '5' => ["█▀▀", "▀▀█", "▀▀▀"],
        '6' => ["█▀▀", "█▀█", "▀▀▀"],
        '7' => ["▀▀█", "  █", "  ▀"],
        '8' => ["█▀█", "█▀█", "▀▀▀"],
        '9' => ["█▀█", "▀▀█", "▀▀▀"],
        ',' => [" ", " ", "▖"],
        _ => [" ", " ", " "],
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn all_rows_of_a_number_are_equally_wide() {
        let rows = rows("1,234,567,890");
        assert!(rows.iter().all(|row| row.width() == rows[0].width()));
    }
}
