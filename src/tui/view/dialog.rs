//! Boxes that lie over the panes, and text in them that can be scrolled.
//!
//! ```text
//! ┌ Keys ──────────────────────┐
//! │ R   replay the marked jobs │
//! │ I   ignore them            │
//! └ 1-2 of 40 ─────────────────┘
//! ```

use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::canvas::{Canvas, columns, presentable};
use super::styled_text::Phrase;
use crate::domain::text::Clean;
use crate::tui::theme::{StyleRole, Theme};

/// The middle of an area, at most `width` by `height`.
pub fn centred(area: Rect, width: usize, height: usize) -> Rect {
    let width = u16::try_from(width).unwrap_or(u16::MAX).min(area.width);
    let height = u16::try_from(height).unwrap_or(u16::MAX).min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// Draws an empty box with a title and returns its inside, with a margin on either side.
pub fn frame(canvas: &mut Canvas<'_>, area: Rect, title: &str, role: StyleRole) -> Rect {
    canvas.clear(area);
    let glyphs = canvas.theme.glyphs;
    let [top_left, top_right, bottom_left, bottom_right] = glyphs.lines.corners;
    let inner = usize::from(area.width.saturating_sub(2));
    let bottom = usize::from(area.height.saturating_sub(1));
    let mut pen = canvas.row(area, 0);
    pen.put(StyleRole::Rule, top_left).put(role, " ");
    pen.reserve(2).put(role, title).put(role, " ");
    let rest = pen.left() + 1;
    pen.extend(1).put(StyleRole::Rule, &glyphs.lines.rule.repeat(rest)).extend(1).put(StyleRole::Rule, top_right);
    for n in 1..bottom {
        let mut pen = canvas.row(area, n);
        pen.put(StyleRole::Rule, glyphs.lines.wall).skip(inner).put(StyleRole::Rule, glyphs.lines.wall);
    }
    let mut pen = canvas.row(area, bottom);
    pen.put(StyleRole::Rule, bottom_left)
        .put(StyleRole::Rule, &glyphs.lines.rule.repeat(inner))
        .put(StyleRole::Rule, bottom_right);
    Rect {
        x: area.x.saturating_add(2).min(area.right()),
        y: area.y.saturating_add(1).min(area.bottom()),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

/// Draws a rule across a box, above the `n`th row of its inside.
pub fn divide(canvas: &mut Canvas<'_>, area: Rect, n: usize) {
    let glyphs = canvas.theme.glyphs;
    let [left, right] = glyphs.lines.joints;
    let inner = usize::from(area.width.saturating_sub(2));
    let mut pen = canvas.row(area, n);
    pen.put(StyleRole::Rule, left).put(StyleRole::Rule, &glyphs.lines.rule.repeat(inner)).put(StyleRole::Rule, right);
}

/// Writes on the lower edge of a box.
pub fn caption(canvas: &mut Canvas<'_>, area: Rect, phrase: &Phrase<'_>) {
    let last = usize::from(area.height.saturating_sub(1));
    let mut pen = canvas.row(area, last);
    pen.skip(2).reserve(2).put(StyleRole::Rule, " ").phrase(phrase).put(StyleRole::Rule, " ");
}

/// Draws the lines from `top` on, stopping at the last screenful, and says on the box's edge where one is.
pub fn scroll(canvas: &mut Canvas<'_>, area: Rect, inside: Rect, lines: &[Phrase<'_>], top: usize) {
    let height = usize::from(inside.height);
    let deepest = lines.len().saturating_sub(height);
    canvas.deepest = Some(deepest);
    let top = top.min(deepest);
    for (n, line) in lines.iter().skip(top).take(height).enumerate() {
        canvas.row(inside, n).phrase(line);
    }
    if lines.len() > height {
        let last = (top + height).min(lines.len());
        let place = format!("{}-{last} of {}: j k", top + 1, lines.len());
        caption(canvas, area, &Phrase::of(StyleRole::Warning, place));
    }
}

/// A text in exactly `width` columns.
pub fn fit(text: &str, width: usize, theme: &Theme) -> String {
    let text = Clean::line(text).truncate(width, theme.glyphs.ellipsis).to_string();
    let missing = width.saturating_sub(columns(&text, theme));
    format!("{text}{}", " ".repeat(missing))
}

/// A text in rows of at most `width` columns, broken at blanks where there are some.
pub fn wrap(text: &str, width: usize, theme: &Theme) -> Vec<String> {
    let width = width.max(1);
    let text = presentable(text, theme);
    let mut rows = vec![String::new()];
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let columns: usize = word.graphemes(true).map(UnicodeWidthStr::width).sum();
        let bare: usize = word.trim_end().graphemes(true).map(UnicodeWidthStr::width).sum();
        if used > 0 && used + bare > width {
            rows.push(String::new());
            used = 0;
        }
        if bare <= width {
            rows.last_mut().into_iter().for_each(|row| row.push_str(word));
            used += columns;
            continue;
        }
        for grapheme in word.graphemes(true) {
            let columns = grapheme.width();
            if used > 0 && used + columns > width {
                rows.push(String::new());
                used = 0;
            }
            rows.last_mut().into_iter().for_each(|row| row.push_str(grapheme));
            used += columns;
        }
    }
    for row in &mut rows {
        row.truncate(row.trim_end().len());
    }
    rows
}
