//! What an editor has changed in the arguments of a job, or what is wrong with the text that it left.
//!
//! ```text
//! ┌ Edited arguments of 10442 ───────────────────────────────────────┐
//! │ 2 changes; everything else stays as it is, byte for byte.        │
//! │                                                                  │
//! │ .currency                                                        │
//! │   - null                                                         │
//! │   + "EUR"                                                        │
//! │ .items[0].sku  added                                             │
//! │   + "A-12"                                                       │
//! ├──────────────────────────────────────────────────────────────────┤
//! │ r replay with these  s save only  e edit again  n drop           │
//! └──────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::layout::Rect;

use crate::domain::repair::{ArgumentChange, EditError, EditedArguments, ShownValue};
use crate::domain::text::Clean;
use crate::tui::app::model::{EditPage, Model};
use crate::tui::keys::KeyContext;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::canvas::Canvas;
use crate::tui::view::dialog;
use crate::tui::view::footer::of_place;
use crate::tui::view::styled_text::{Phrase, Ranked, draw_line};

/// Widest the dialog gets.
const WIDEST: usize = 120;
/// Rows below the rule.
const FOOT: u16 = 2;
/// Columns before a value.
const LEAD: usize = 4;
/// Changes that are shown: more would not be read.
const MOST_CHANGES: usize = 1_000;

/// Draws the dialog; nothing before the editor has been closed once.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, page: &EditPage) {
    let Some(edited) = &page.edited else { return };
    let screen = canvas.area();
    let width = WIDEST.min(usize::from(screen.width));
    let text = width.saturating_sub(4);
    let (role, lines) = match edited {
        Ok(edited) => (StyleRole::Strong, changes(edited, page.arguments.masked(), text, canvas.theme)),
        Err(error) => (StyleRole::Danger, fault(error, text, canvas.theme)),
    };
    let height = (lines.len() + usize::from(FOOT) + 2).min(usize::from(screen.height));
    let area = dialog::centred(screen, width, height);
    let title = format!("Edited arguments of {}", Clean::line(page.job.as_str()));
    let mut inside = dialog::frame(canvas, area, &title, role);
    let foot = inside.height.min(FOOT);
    inside.height -= foot;
    dialog::scroll(canvas, area, inside, &lines, page.reading.top);
    dialog::divide(canvas, area, usize::from(inside.height) + 1);
    let foot = Rect { y: inside.bottom() + 1, height: foot.saturating_sub(1), ..inside };
    let hints = of_place(model, KeyContext::Edit).into_iter().enumerate();
    let hints = hints.map(|(n, hint)| Ranked::left(u8::try_from(n + 1).unwrap_or(u8::MAX), hint));
    draw_line(canvas, foot, 0, hints.collect(), 2);
}

fn fault<'p>(error: &EditError, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let mut lines = sentence(StyleRole::Danger, &error.to_string(), width, theme);
    lines.push(Phrase::empty());
    lines.extend(sentence(StyleRole::Text, "Nothing is written. What you typed is kept.", width, theme));
    lines
}

fn changes<'p>(edited: &EditedArguments, masked: usize, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let count = edited.changes.len();
    let noun = if count == 1 { "change" } else { "changes" };
    let head = format!("{count} {noun}; everything else stays as it is, byte for byte.");
    let mut lines = sentence(StyleRole::Text, &head, width, theme);
    if masked > 0 {
        lines.extend(sentence(
            StyleRole::Dim,
            "Masks that were not touched are written as what they stand for.",
            width,
            theme,
        ));
    }
    lines.push(Phrase::empty());
    for change in edited.changes.iter().take(MOST_CHANGES) {
        lines.extend(of_change(change, width, theme));
    }
    if let Some(more) = count.checked_sub(MOST_CHANGES).filter(|more| *more > 0) {
        lines.push(Phrase::of(StyleRole::Dim, format!("and {more} more")));
    }
    lines
}

/// The path, then what was there and what is to be there.
fn of_change<'p>(change: &ArgumentChange, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let word = match (&change.before, &change.after) {
        (None, _) => "  added",
        (_, None) => "  removed",
        _ => "",
    };
    let path = change.path.line().to_string();
    let mut lines = sentence(StyleRole::Member, &format!("{path}{word}"), width, theme);
    for (sign, role, value) in [("-", StyleRole::Danger, &change.before), ("+", StyleRole::Good, &change.after)] {
        lines.extend(value.iter().flat_map(|value| of_value(sign, role, value, width, theme)));
    }
    lines
}

fn of_value<'p>(sign: &str, role: StyleRole, value: &ShownValue, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let text = value.json.lines();
    let rows = text
        .rows()
        .flat_map(|row| row.wrap(width.saturating_sub(LEAD)).iter().map(Clean::to_string).collect::<Vec<_>>());
    let rows = rows.enumerate().map(|(n, row)| {
        let lead = if n == 0 { format!("  {sign} ") } else { " ".repeat(LEAD) };
        Phrase::of(role, format!("{lead}{}", crate::tui::view::canvas::presentable(&row, theme)))
    });
    rows.collect()
}

fn sentence<'p>(role: StyleRole, text: &str, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    dialog::wrap(text, width, theme).into_iter().map(|row| Phrase::of(role, row)).collect()
}
