//! The keys, from the table of bindings: those of the pane that has the keys first, then those that hold anywhere, the
//! commands, and all others.
//!
//! ```text
//! ┌ Keys: / searches, q closes ─────────────────────────┐
//! │ Job list                                            │
//! │   Enter          Open the job.                      │
//! │   R              Replay the marked jobs, or this    │
//! │                  one; in the histogram, the jobs …  │
//! └ 1-20 of 74: j k ────────────────────────────────────┘
//! ```

use ratatui::layout::Rect;

use crate::tui::app::commands;
use crate::tui::app::model::HelpPage;
use crate::tui::keys::{KeyContext, Keymap};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::dialog;
use crate::tui::view::styled_text::Phrase;

/// Widest a column gets: longer lines are hard to read.
const WIDEST: usize = 96;
/// From here on there is room for two columns.
const TWO: usize = 130;
/// Columns between the two.
const GAP: usize = 3;
/// Columns of the keys.
const KEYS: usize = 17;

/// A title, and keys or commands with what they do.
type Section = (&'static str, Vec<(String, &'static str)>);

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, keys: &Keymap, page: &HelpPage) {
    let screen = canvas.area();
    let is_double = usize::from(screen.width) >= TWO;
    let widest = if is_double { 2 * WIDEST } else { WIDEST };
    let area = dialog::centred(screen, widest, usize::from(screen.height).saturating_sub(2));
    let mut inside = dialog::frame(canvas, area, "Keys: / searches, q closes", StyleRole::Strong);
    if page.typing || !page.search.value().is_empty() {
        search(canvas, inside, page);
        inside = Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
    }
    let width = usize::from(inside.width);
    let theme = canvas.theme;
    let sections = sections(keys, page);
    let lines = match is_double {
        false => lines(&sections, width, theme),
        true => {
            let width = (width - GAP) / 2;
            two_columns(lines(&sections, width, theme), width + GAP, theme)
        }
    };
    if lines.is_empty() {
        canvas.row(inside, 0).put(StyleRole::Text, "no key or command is described by these words");
        return;
    }
    dialog::scroll(canvas, area, inside, &lines, page.reading.top);
}

fn search(canvas: &mut Canvas<'_>, inside: Rect, page: &HelpPage) {
    let typed: String = page.search.value().chars().take(page.search.visual_cursor()).collect();
    let prompt = "search: ";
    let theme = canvas.theme;
    canvas.row(inside, 0).put(StyleRole::Key, prompt).put(StyleRole::Text, page.search.value());
    if page.typing {
        canvas.row(inside, 0).skip(columns(prompt, theme) + columns(&typed, theme)).caret();
    }
}

/// What is shown, in its order.
fn sections(map: &Keymap, page: &HelpPage) -> Vec<Section> {
    let first = [page.place, KeyContext::Anywhere];
    let others = KeyContext::ALL.into_iter().filter(|place| !first.contains(place));
    let of = |place: KeyContext| {
        let rows = map.own(place).filter(|bound| !bound.keys.is_empty());
        (place.title(), rows.map(|bound| (bound.keys.join(" "), bound.binding().help)).collect())
    };
    let firsts = if page.place == KeyContext::Anywhere { &first[1..] } else { &first[..] };
    let mut sections: Vec<Section> = firsts.iter().map(|place| of(*place)).collect();
    sections.push(("Commands", commands().collect()));
    sections.extend(others.map(of));
    for (title, rows) in &mut sections {
        rows.retain(|(keys, help)| page.has(&format!("{title} {keys} {help}")));
    }
    sections.retain(|(_, rows)| !rows.is_empty());
    sections
}

fn lines(sections: &[Section], width: usize, theme: &Theme) -> Vec<Phrase<'static>> {
    let keys_width = KEYS.min(width / 3);
    let mut lines = Vec::new();
    for (title, rows) in sections {
        if !lines.is_empty() {
            lines.push(Phrase::empty());
        }
        lines.push(Phrase::of(StyleRole::Title, *title));
        for (keys, help) in rows {
            let mut lead = pad(&format!("  {keys}"), keys_width, theme);
            if columns(&lead, theme) > keys_width {
                lines.push(Phrase::of(StyleRole::Key, std::mem::take(&mut lead)));
                lead = " ".repeat(keys_width);
            }
            for row in dialog::wrap(help, width.saturating_sub(keys_width), theme) {
                let lead = std::mem::replace(&mut lead, " ".repeat(keys_width));
                lines.push(Phrase::of(StyleRole::Key, lead).and(StyleRole::Text, row));
            }
        }
    }
    lines
}

/// The lines in two columns, of which the first takes so many cells.
fn two_columns(mut left: Vec<Phrase<'static>>, width: usize, theme: &Theme) -> Vec<Phrase<'static>> {
    let right = left.split_off(left.len().div_ceil(2));
    let mut right = right.into_iter().skip_while(|line| line.parts().is_empty());
    let join = |line: Phrase<'static>| {
        let missing = width.saturating_sub(line.width(theme));
        match right.next() {
            Some(other) => line.and(StyleRole::Text, " ".repeat(missing)).then(other),
            None => line,
        }
    };
    left.into_iter().map(join).collect()
}

/// The text with blanks up to a width, and one more where it is wider.
fn pad(text: &str, width: usize, theme: &Theme) -> String {
    let missing = width.saturating_sub(columns(text, theme));
    format!("{text}{}", if missing == 0 { " ".to_owned() } else { " ".repeat(missing) })
}
