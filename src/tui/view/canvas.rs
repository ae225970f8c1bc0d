//! Where everything is drawn: every text is sanitised, measured and cut here, so that no region can forget to.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::styled_text::Phrase;
use crate::domain::text::Clean;
use crate::tui::theme::{StyleRole, Theme};

/// The cells of a frame and the theme they are drawn in.
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    /// Styles and glyphs.
    pub theme: &'a Theme,
    /// Where the terminal's own cursor is to stand, while text is typed.
    pub caret: Option<Position>,
    /// The deepest line that can stand first in what was scrolled last.
    pub deepest: Option<usize>,
}

impl<'a> Canvas<'a> {
    /// A canvas on the cells of a frame.
    pub fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self { buffer, theme, caret: None, deepest: None }
    }

    /// The whole frame.
    pub fn area(&self) -> Rect {
        self.buffer.area
    }

    /// A pen at the left of the `n`th row of an area; outside of it, a pen that writes nothing.
    pub fn row(&mut self, area: Rect, n: usize) -> Pen<'_, 'a> {
        let inside = area.intersection(self.buffer.area);
        let y = u16::try_from(n).ok().and_then(|n| area.y.checked_add(n)).filter(|y| *y < inside.bottom());
        let (x, end) = if y.is_some() { (inside.x, inside.right()) } else { (0, 0) };
        Pen { canvas: self, x, end, y: y.unwrap_or(0) }
    }

    /// Lays a role over cells that are already drawn, such as the row of the cursor.
    pub fn tint(&mut self, area: Rect, role: StyleRole) {
        self.buffer.set_style(area, self.theme.style(role));
    }

    /// Empties an area that lies over others. A wide character that its left edge halves goes too, or it would
    /// push the edge aside.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            let before = area.x.checked_sub(1);
            let halved = before.and_then(|x| self.buffer.cell_mut((x, y))).filter(|cell| cell.symbol().width() > 1);
            if let Some(cell) = halved {
                cell.set_symbol(" ");
            }
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
        }
    }

    /// Fills a row with a rule.
    pub fn rule(&mut self, area: Rect) {
        let rule = self.theme.glyphs.lines.rule.repeat(usize::from(area.width));
        self.row(area, 0).put(StyleRole::Rule, &rule);
    }

    /// Fills a column with a wall.
    pub fn wall(&mut self, area: Rect) {
        for n in 0..usize::from(area.height) {
            let wall = self.theme.glyphs.lines.wall;
            self.row(area, n).put(StyleRole::Rule, wall);
        }
    }
}

/// Writes one row from left to right, and never beyond its end.
pub struct Pen<'c, 'a> {
    canvas: &'c mut Canvas<'a>,
    x: u16,
    end: u16,
    y: u16,
}

impl Pen<'_, '_> {
    /// Columns that are left.
    pub fn left(&self) -> usize {
        usize::from(self.end.saturating_sub(self.x))
    }

    /// Where the next character will stand.
    pub fn at(&self) -> Position {
        Position::new(self.x, self.y)
    }

    /// Takes columns off the right end, for what is drawn there later.
    pub fn reserve(&mut self, columns: usize) -> &mut Self {
        let columns = u16::try_from(columns).unwrap_or(u16::MAX);
        self.end = self.end.saturating_sub(columns).max(self.x);
        self
    }

    /// Gives columns back that were taken off the right end.
    pub fn extend(&mut self, columns: u16) -> &mut Self {
        self.end = self.end.saturating_add(columns).min(self.canvas.buffer.area.right());
        self
    }

    /// What stands for text that was cut off.
    pub fn ellipsis(&self) -> &'static str {
        self.canvas.theme.glyphs.ellipsis
    }

    /// Leaves columns as they are.
    pub fn skip(&mut self, columns: usize) -> &mut Self {
        self.x = u16::try_from(usize::from(self.x) + columns.min(self.left())).unwrap_or(self.end);
        self
    }

    /// Writes a text; what does not fit is cut off with an ellipsis.
    pub fn put(&mut self, role: StyleRole, text: &str) -> &mut Self {
        let width = self.left();
        self.write(role, text, width);
        self
    }

    /// Writes a text into exactly `width` columns, from the left.
    pub fn cell(&mut self, role: StyleRole, text: &str, width: usize) -> &mut Self {
        let width = width.min(self.left());
        let used = self.write(role, text, width);
        self.skip(width - used)
    }

    /// Writes a text into exactly `width` columns, against their right edge.
    pub fn right(&mut self, role: StyleRole, text: &str, width: usize) -> &mut Self {
        let width = width.min(self.left());
        let columns = columns(text, self.canvas.theme).min(width);
        self.skip(width - columns);
        self.write(role, text, columns);
        self
    }

    /// Writes a phrase; what does not fit is cut off with an ellipsis.
    pub fn phrase(&mut self, phrase: &Phrase<'_>) -> &mut Self {
        let total: usize = phrase.width(self.canvas.theme);
        let room = self.left();
        if total <= room {
            for (role, text) in phrase.parts() {
                self.put(*role, text);
            }
            return self;
        }
        // The ellipsis stands after what fits, even where the cut falls between two parts.
        let ellipsis = self.canvas.theme.glyphs.ellipsis;
        for (role, text) in phrase.parts() {
            let here = self.left();
            if columns(text, self.canvas.theme) < here {
                self.put(*role, text);
            } else {
                let mark = format!("{text}{ellipsis}");
                self.put(*role, if columns(text, self.canvas.theme) == here { &mark } else { text });
                break;
            }
        }
        self
    }

    /// Puts the terminal's own cursor here.
    pub fn caret(&mut self) -> &mut Self {
        self.canvas.caret = Some(self.at());
        self
    }

    fn write(&mut self, role: StyleRole, text: &str, width: usize) -> usize {
        if width == 0 || text.is_empty() {
            return 0;
        }
        let theme = self.canvas.theme;
        let style = theme.style(role);
        let shown = presentable(text, theme);
        let cut = Clean::line(&shown);
        let cut = cut.truncate(width, theme.glyphs.ellipsis);
        let (x, _) = self.canvas.buffer.set_stringn(self.x, self.y, &*cut, width, style);
        let used = usize::from(x.saturating_sub(self.x));
        self.x = x;
        used
    }
}

/// Columns that a text takes as it will be drawn.
pub fn columns(text: &str, theme: &Theme) -> usize {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.len();
    }
    Clean::line(&presentable(text, theme)).width()
}

/// The text as this terminal may be sent it: sanitised, and plain where only plain characters are drawn.
pub fn presentable<'t>(text: &'t str, theme: &Theme) -> Cow<'t, str> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Cow::Borrowed(text);
    }
    let clean = Clean::line(text).to_string();
    if !theme.glyphs.is_plain() || clean.is_ascii() {
        return Cow::Owned(clean);
    }
    let mut plain = String::with_capacity(clean.len());
    for grapheme in clean.graphemes(true) {
        match grapheme {
            "⟨" => plain.push('<'),
            "⟩" => plain.push('>'),
            other if other.is_ascii() => plain.push_str(other),
            other => plain.extend(std::iter::repeat_n('?', other.width().max(1))),
        }
    }
    Cow::Owned(plain)
}
