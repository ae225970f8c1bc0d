//! What stands in the cells of a frame, as terminals count them.

use ratatui::buffer::Buffer;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Gives each column of a frame its own character.
///
/// In Thai, Hindi and other scripts one grapheme may be of several characters with a column each. Terminals put each into a cell
/// of its own, and a frame that has all of them in the first cell would overwrite the first alone: the others stayed on the
/// screen for good. What terminals take as one (a wide character, an emoji of several, a flag) stays together.
pub(super) fn apart(buffer: &mut Buffer) {
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            // A letter with a mark or two takes no more bytes.
            let Some(cell) = buffer.cell((x, y)).filter(|cell| cell.symbol().len() > 4) else { continue };
            let Some(pieces) = pieces(cell.symbol()).filter(|pieces| pieces.len() > 1) else { continue };
            let (style, pieces) = (cell.style(), pieces.into_iter().map(str::to_owned).collect::<Vec<_>>());
            for (x, piece) in (x..area.right()).zip(&pieces) {
                if let Some(cell) = buffer.cell_mut((x, y)) {
                    cell.set_symbol(piece).set_style(style);
                }
            }
        }
    }
}

/// A grapheme by its columns, each with the marks that stand over it; `None` where it is more than the sum of its characters.
fn pieces(symbol: &str) -> Option<Vec<&str>> {
    let is_flag = |c: char| ('\u{1F1E6}'..='\u{1F1FF}').contains(&c);
    let columns = |c: char| c.width().unwrap_or(0);
    if symbol.chars().any(|c| columns(c) > 1 || is_flag(c))
        || symbol.chars().map(columns).sum::<usize>() != symbol.width()
    {
        return None;
    }
    let mut starts: Vec<usize> = symbol.char_indices().filter(|(_, c)| columns(*c) == 1).map(|(at, _)| at).collect();
    if let Some(first) = starts.first_mut() {
        *first = 0;
    }
    let ends = starts.iter().skip(1).copied().chain([symbol.len()]);
    Some(starts.iter().zip(ends).map(|(start, end)| &symbol[*start..end]).collect())
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Style};

    use super::*;

    #[test]
    fn each_column_has_its_own_character_and_what_is_one_stays_one() {
        for (text, cells) in [
            ("ทำ", vec!["ท", "ำ"]),
            ("น้ำx", vec!["น้", "ำ", "x"]),
            ("न्दी", vec!["न्", "द", "ी"]),
            ("e\u{301}\u{302}\u{303}x", vec!["e\u{301}\u{302}\u{303}", "x"]),
            ("日x", vec!["日", " ", "x"]),
            ("👩‍👧x", vec!["👩‍👧", " ", "x"]),
            ("🇩🇪x", vec!["🇩🇪", " ", "x"]),
        ] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 1));
            buffer.set_string(0, 0, text, Style::new().fg(Color::Red));
            apart(&mut buffer);
            let there: Vec<&str> = (0..cells.len() as u16).map(|x| buffer[(x, 0)].symbol()).collect();
            assert_eq!(there, cells, "{text}");
        }
    }

    #[test]
    fn nothing_of_a_text_stays_when_another_takes_its_place() {
        let frame = |text: &str| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 1));
            buffer.set_string(0, 0, text, Style::new());
            apart(&mut buffer);
            buffer
        };
        let (before, after) = (frame("aคำ"), frame("ab"));
        let written: Vec<(u16, &str)> =
            before.diff(&after).into_iter().map(|(x, _, cell)| (x, cell.symbol())).collect();
        assert_eq!(written, [(1, "b"), (2, " ")]);
    }
}
