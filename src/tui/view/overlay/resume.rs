//! The question before a run is gone on with.
//!
//! ```text
//! ┌ Resume r-7? ─────────────────────────────────────────┐
//! │ replay, planned by ada@bastion-1                     │
//! │ Behind it: 512 of 1,204. Left: 692.                  │
//! │                                                      │
//! │  y  go on   [ n  leave it ]                          │
//! └──────────────────────────────────────────────────────┘
//! ```

use crate::domain::histogram::grouped;
use crate::ledger::{Run, RunState};
use crate::tui::app::model::{Model, ResumeDialog};
use crate::tui::app::waits_at_gate;
use crate::tui::theme::StyleRole;
use crate::tui::view::canvas::Canvas;
use crate::tui::view::dialog;
use crate::tui::view::styled_text::Phrase;

const WIDTH: usize = 64;
/// Rows that a sentence may take.
const MOST_ROWS: usize = 2;

/// Draws the question.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, dialog: &ResumeDialog) {
    let Some(run) = dialog.page.current() else { return };
    let screen = canvas.area();
    let width = WIDTH.min(usize::from(screen.width));
    let mut lines = Vec::new();
    for text in sentences(model, run) {
        let rows = dialog::wrap(&text, width.saturating_sub(4), canvas.theme);
        // What is asked stays in view, however long the filter is.
        lines.extend(rows.into_iter().take(MOST_ROWS).map(|row| Phrase::of(StyleRole::Text, row)));
    }
    lines.push(Phrase::empty());
    let gate = match waits_at_gate(run) {
        true => Phrase::of(StyleRole::Key, "o").and(StyleRole::Text, " past the gate    "),
        false => Phrase::empty(),
    };
    lines.push(
        Phrase::of(StyleRole::Key, " y")
            .and(StyleRole::Text, " go on    ")
            .then(gate)
            .and(StyleRole::Cursor, "[ n leave it ]"),
    );
    let area = dialog::centred(screen, width, lines.len() + 2);
    let inside = dialog::frame(canvas, area, &format!("Resume {}?", run.id), StyleRole::Danger);
    dialog::scroll(canvas, area, inside, &lines, 0);
}

fn sentences(model: &Model, run: &Run) -> Vec<String> {
    let (tally, operator) = (&run.tally, &run.intent.operator);
    let left = tally.not_started.saturating_add(tally.in_doubt);
    let (verb, planned) = (run.intent.action, grouped(tally.planned));
    let mut sentences = vec![format!("{verb}, planned by {}@{}", operator.user, operator.host)];
    if !run.intent.filter.is_empty() {
        sentences.push(format!("filter: {}", model.shown(&run.intent.filter)));
    }
    if let Some(state) = run.rollout.as_ref().filter(|_| waits_at_gate(run)) {
        let known =
            if state.evidence.total() == 0 { "nothing is known yet".to_owned() } else { state.evidence.summary() };
        sentences.push(format!("It waits at its gate. Of the canary jobs: {known}. Going on asks for them again."));
    }
    sentences.push(format!("Behind it: {} of {planned}. Left: {}.", grouped(tally.behind()), grouped(left)));
    if run.state == RunState::Running {
        sentences.push("Running or interrupted. Only one operator can resume it at a time.".to_owned());
    }
    sentences
}
