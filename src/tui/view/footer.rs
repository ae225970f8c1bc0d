//! The footer: the keys that matter here, as many as fit; or a sentence, while there is one.
//!
//! ```text
//!  ? help  Enter open  (R replay)  / filter  Space mark  I ignore  Tab pane
//!  ! counting: the statement was cancelled after 5s
//! ```

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::styled_text::{Phrase, Ranked, draw_line};
use crate::tui::app;
use crate::tui::app::model::{Model, Notice, Overlay, Purpose};
use crate::tui::app::tour::TourStep;
use crate::tui::keys::{BoundKeys, KeyCommand, KeyContext};
use crate::tui::theme::StyleRole;

/// Rows that a long sentence may take, upwards.
const MOST_ROWS: usize = 4;

/// Draws the footer.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    match (&model.screen.notice, &model.overlay) {
        (_, Overlay::Line(line)) => hints(canvas, area, typing(line.purpose)),
        (_, Overlay::Help(page)) if page.typing => hints(canvas, area, typing(Purpose::Search)),
        (Some(notice), _) => sentence(canvas, area, notice),
        // These bring their own.
        (
            None,
            Overlay::Plan(_)
            | Overlay::Freezing(_)
            | Overlay::Run
            | Overlay::Picker(_)
            | Overlay::Edit(_)
            | Overlay::Resume(_)
            | Overlay::Leave,
        ) => {}
        (None, _) => hints(canvas, area, of_place(model, model.place())),
    }
}

/// Draws the next thing to try, in the demo.
pub fn tour(canvas: &mut Canvas<'_>, area: Rect, model: &Model, step: TourStep) {
    let hide = model.key(KeyCommand::HideTour);
    let what = Ranked::left(0, Phrase::of(StyleRole::Dim, format!("Try: {}", step.sentence(model))));
    let how = Ranked::right(1, Phrase::of(StyleRole::Dim, format!("{hide} hides this")));
    draw_line(canvas, area, 0, vec![what, how], 2);
}

/// A sentence in full: what does not fit on the line goes above it.
fn sentence(canvas: &mut Canvas<'_>, area: Rect, notice: &Notice) {
    let (role, lead) = if notice.is_fault { (StyleRole::Danger, "! ") } else { (StyleRole::Text, "") };
    let text = format!("{lead}{}", notice.sentence);
    let width = usize::from(area.width).saturating_sub(2);
    let rows = super::dialog::wrap(&text, width, canvas.theme);
    let count = rows.len().min(MOST_ROWS);
    let height = u16::try_from(count).unwrap_or(1);
    let area = Rect { y: area.bottom().saturating_sub(height), height, ..area };
    canvas.clear(area);
    for (n, row) in rows.iter().take(count).enumerate() {
        let cut = n + 1 == count && rows.len() > count;
        let mut pen = canvas.row(area, n);
        pen.skip(1);
        if cut {
            let ellipsis = pen.ellipsis();
            pen.reserve(2).put(role, row).put(role, ellipsis);
        } else {
            pen.put(role, row);
        }
    }
}

fn hints(canvas: &mut Canvas<'_>, area: Rect, hints: Vec<Phrase<'_>>) {
    let ranked = hints.into_iter().enumerate();
    let ranked = ranked.map(|(n, p)| Ranked::left(u8::try_from(n + 1).unwrap_or(u8::MAX), p)).collect();
    draw_line(canvas, area, 0, ranked, 2);
}

/// The hints of a place, those to be kept longest first. What cannot be used now is dim and in brackets.
pub(super) fn of_place(model: &Model, place: KeyContext) -> Vec<Phrase<'_>> {
    let refused = |bound: &BoundKeys| app::refusal(model, place, bound.binding().command).is_some();
    model.settings.keys.footer(place).into_iter().map(|bound| hint(bound, refused(bound))).collect()
}

/// A key with what it does.
pub fn hint(bound: &BoundKeys, disabled: bool) -> Phrase<'_> {
    let key = bound.keys.first().map(String::as_str).unwrap_or_default();
    let word = bound.binding().hint;
    if disabled {
        return Phrase::of(StyleRole::Disabled, format!("({key} {word})"));
    }
    key_and(key, word)
}

/// A key with a word on what it does.
pub fn key_and<'k>(key: &'k str, word: &'static str) -> Phrase<'k> {
    Phrase::of(StyleRole::Key, key).and(StyleRole::Dim, " ").and(StyleRole::Dim, word)
}

/// What the keys do while a line is typed: these never go through the table of bindings.
fn typing(purpose: Purpose) -> Vec<Phrase<'static>> {
    let enter = match purpose {
        Purpose::Filter => "apply",
        Purpose::Command => "run",
        Purpose::Search => "search",
    };
    let mut hints = vec![key_and("Enter", enter), key_and("Esc", "cancel")];
    if purpose != Purpose::Search {
        hints.push(key_and("Tab", "complete"));
    }
    if purpose == Purpose::Filter {
        hints.push(key_and("Up", "earlier filters"));
    }
    hints
}
