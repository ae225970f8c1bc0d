//! The gauge of the run that is going.
//!
//! ```text
//! ┌ Run r-7: replay ───────────────────────────────────┐
//! │ ████████████████████▌                        43 %  │
//! │ 512 of 1,204    310 /s    2s left                  │
//! │ replayed 500   skipped 10   failed 2               │
//! │ waits: the connection dropped, again in 4s         │
//! └ s stop  p pause  Esc hide ─────────────────────────┘
//! ```

use ratatui::layout::Rect;

use crate::domain::action::Action;
use crate::domain::histogram::grouped;
use crate::triage::progress::RunProgress;
use crate::tui::app::model::Model;
use crate::tui::keys::{KeyCommand, KeyContext};
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::Canvas;
use crate::tui::view::footer::hint;
use crate::tui::view::histogram::gauge;
use crate::tui::view::styled_text::Phrase;
use crate::tui::view::{dialog, format};

const WIDTH: usize = 68;

/// Draws the gauge.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    let area = dialog::centred(canvas.area(), WIDTH, 7);
    let Some(going) = &model.runner.going else {
        let inside = dialog::frame(canvas, area, "Run", StyleRole::Strong);
        canvas.row(inside, 1).put(StyleRole::Text, "no run is going: Esc closes");
        return;
    };
    let verb = model.runner.action.map_or("run", Action::word);
    let inside = dialog::frame(canvas, area, &format!("Run {}: {verb}", going.run), StyleRole::Strong);
    let tally = &going.tally;
    let behind = tally.behind();
    let share = if tally.planned == 0 { 0.0 } else { behind as f64 / tally.planned as f64 };
    bar(canvas, inside, 0, share as f32);
    canvas.row(inside, 1).phrase(&speed(going, behind, model.runner.paused));
    canvas.row(inside, 2).phrase(&parts(model, going));
    // A long reason takes the row above too.
    let (role, text) = standing(model, going);
    let rows = dialog::wrap(&text, usize::from(inside.width), canvas.theme);
    let first = if rows.len() > 1 { 3 } else { 4 };
    for (n, text) in rows.iter().take(2).enumerate() {
        canvas.row(inside, first + n).put(role, text);
    }
    dialog::caption(canvas, area, &hints(model, &["stop", "pause", "hide"]));
}

/// A bar over the whole width with its percentage.
pub fn bar(canvas: &mut Canvas<'_>, inside: Rect, row: usize, share: f32) {
    let glyphs = canvas.theme.glyphs;
    let text = format::progress(share);
    let width = usize::from(inside.width).saturating_sub(6);
    // In thousandths: finer than any bar.
    let thousandths = (f64::from(share.clamp(0.0, 1.0)) * 1e3) as u64;
    let filled = gauge(thousandths, 1_000, width, &glyphs);
    let mut pen = canvas.row(inside, row);
    pen.cell(StyleRole::Good, &filled, width).right(StyleRole::Number, &text, 6);
}

/// Those hints of the run's keys that are wanted here.
pub fn hints<'m>(model: &'m Model, wanted: &[&str]) -> Phrase<'m> {
    let bindings =
        model.settings.keys.footer(KeyContext::Run).into_iter().filter(|b| wanted.contains(&b.binding().hint));
    bindings.enumerate().fold(Phrase::empty(), |line, (n, binding)| {
        line.and(StyleRole::Text, if n > 0 { "  " } else { "" }).then(hint(binding, false))
    })
}

/// How far and how fast; a run that rests has no speed.
fn speed(going: &RunProgress, behind: u64, rests: bool) -> Phrase<'static> {
    let planned = grouped(going.tally.planned);
    let mut phrase = Phrase::of(StyleRole::Number, grouped(behind)).and(StyleRole::Text, format!(" of {planned}"));
    if rests {
        return phrase;
    }
    if going.rate > 0.0 && going.rate.is_finite() {
        let rate = if going.rate < 10.0 { format!("{:.1}", going.rate) } else { grouped(going.rate.round() as u64) };
        phrase = phrase.and(StyleRole::Text, format!("    {rate} a second"));
    }
    match going.eta {
        Some(eta) => phrase.and(StyleRole::Text, format!("    {} left", format::span(eta))),
        None => phrase,
    }
}

fn parts(model: &Model, going: &RunProgress) -> Phrase<'static> {
    let tally = &going.tally;
    let part = |role, word: &str, n: u64| (if n > 0 { role } else { StyleRole::Dim }, format!("{word} {}", grouped(n)));
    let mut phrase = Phrase::empty();
    for (n, (role, text)) in [
        part(StyleRole::Good, model.runner.action.map_or("done", Action::done_word), tally.done),
        part(StyleRole::Warning, "skipped", tally.skipped_total()),
        part(StyleRole::Danger, "failed", tally.failed_total()),
    ]
    .into_iter()
    .enumerate()
    {
        phrase = phrase.and(StyleRole::Text, if n > 0 { "    " } else { "" }).and(role, text);
    }
    if tally.in_doubt > 0 {
        phrase = phrase.and(StyleRole::Warning, format!("    in doubt {}", grouped(tally.in_doubt)));
    }
    phrase
}

fn standing(model: &Model, going: &RunProgress) -> (StyleRole, String) {
    if model.runner.stopping {
        let after = if model.runner.leave_after { ", then the console leaves" } else { "" };
        return (StyleRole::Warning, format!("stopping after the current batch{after}"));
    }
    if model.runner.paused {
        return (
            StyleRole::Warning,
            format!("paused between two batches: {} continues", model.key(KeyCommand::PauseRun)),
        );
    }
    match &going.waiting {
        Some(reason) => (StyleRole::Warning, format!("waits: {reason}")),
        None => (StyleRole::Dim, "each job once; what is done is committed".to_owned()),
    }
}
