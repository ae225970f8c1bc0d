//! The filter in force, and how many jobs it selects.
//!
//! ```text
//! / error:Net::* since:2h                                              1,204 match  ▲ 12 in the last 5 min  Esc widens
//! / all dead jobs: press / to narrow                 10 replayed: 7 ok, 3 died again  (KeyError 2, TypeError 1)  F
//! ```

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::overlay::class_name;
use super::styled_text::{Phrase, Ranked, draw_line};
use super::{format, header};
use crate::domain::histogram::grouped;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::time::Timestamp;
use crate::tui::app::model::Model;
use crate::tui::keys::KeyCommand;
use crate::tui::theme::StyleRole;

fn is_narrow(area: Rect) -> bool {
    area.width < 60
}

/// Error classes that are named of jobs that died again.
const NAMED: usize = 2;

/// Characters that are drawn of each.
const CLASS_WIDTH: usize = 32;

/// What became of the jobs of the last replay, until it was seen; the error classes go first where there is little room.
fn followed(model: &Model) -> Vec<Ranked<'static>> {
    let Some(followed) = model.runner.followed.as_ref() else { return Vec::new() };
    let put_back = Phrase::of(StyleRole::Dim, format!("{} replayed: ", grouped(followed.replayed)));
    let phrase = match &followed.outcomes {
        None => put_back.and(StyleRole::Dim, "…"),
        Some(counts) => {
            let role = match (counts.died(), followed.is_final()) {
                (0, true) => StyleRole::Good,
                (0, false) => StyleRole::Text,
                _ => StyleRole::Danger,
            };
            put_back.and(role, counts.summary())
        }
    };
    let died = followed.outcomes.as_ref().filter(|counts| counts.died() > 0);
    let key =
        Phrase::of(StyleRole::Key, model.key(if died.is_some() { KeyCommand::RunJobs } else { KeyCommand::Runs }));
    let classes = died.map(|counts| Ranked::right(4, Phrase::of(StyleRole::Dim, died_classes(model, counts))));
    [Ranked::right(0, phrase)].into_iter().chain(classes).chain([Ranked::right(0, key)]).collect()
}

/// Of what they died again: `(KeyError 2, TypeError 1, others 4)`.
fn died_classes(model: &Model, counts: &OutcomeCounts) -> String {
    let named = counts.died_by_class.iter().take(NAMED);
    let rest = counts.died() - named.clone().map(|(_, n)| n).sum::<u64>().min(counts.died());
    let named = named.map(|(class, n)| format!("{} {}", class_name(model, class.as_deref(), CLASS_WIDTH), grouped(*n)));
    let others = (rest > 0).then(|| format!("others {}", grouped(rest)));
    format!("({})", named.chain(others).collect::<Vec<_>>().join(", "))
}

/// Draws the filter line.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, now: Timestamp) {
    let theme = canvas.theme;
    let written = model.filter.written.to_string();
    let slash = Phrase::of(StyleRole::Key, "/ ");
    if written.is_empty() {
        let hint = slash.and(StyleRole::Dim, format!("all dead jobs: {} narrows", model.key(KeyCommand::Filter)));
        let mut items = vec![Ranked::left(3, hint)];
        items.extend(followed(model));
        // On a narrow screen the header has no line for it.
        let total = model.histogram.shown.as_ref().filter(|_| is_narrow(area));
        items.extend(total.map(|h| Ranked::right(1, Phrase::of(StyleRole::Number, format::count(h.total, theme)))));
        draw_line(canvas, area, 0, items, 2);
        return;
    }
    let mut items = vec![Ranked::left(0, slash.and(StyleRole::Strong, model.shown(&written).into_owned()))];
    items.extend(followed(model));
    let counted = model.histogram.shown.as_ref();
    if let Some(histogram) = counted {
        let n = Phrase::of(StyleRole::Number, format::count(histogram.total, theme)).and(StyleRole::Dim, " match");
        items.push(Ranked::right(1, n));
        items.extend(header::growth(model, theme, now).map(|growth| Ranked::right(3, growth)));
    }
    items.push(Ranked::right(2, Phrase::of(StyleRole::Key, "Esc").and(StyleRole::Dim, " widens")));
    draw_line(canvas, area, 0, items, 2);
}
