//! Runs of the ledger, the latest first.
//!
//! ```text
//! ┌ Runs ──────────────────────────────────────────────────────────────────┐
//! │ run    when     verb    state    planned   done skipped failed by      │
//! │ r-7    03:12:09 replay  finished   1,204  1,190      10      4 ops     │
//! └────────────────────────────────────────────────────────────────────────┘
//! ```

use crate::domain::histogram::grouped;
use crate::domain::time::Timestamp;
use crate::ledger::Run;
use crate::tui::app::model::Reading;
use crate::tui::look::{Look, Role};
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::panel;
use crate::tui::view::phrase::Phrase;
use crate::tui::view::words;

const WIDTH: usize = 132;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, runs: &[Run], reading: Reading, now: Timestamp) {
    let screen = canvas.area();
    let width = WIDTH.min(usize::from(screen.width));
    let height = (runs.len().max(1) + 3).min(usize::from(screen.height));
    let area = panel::centred(screen, width, height);
    let mut inside = panel::frame(canvas, area, "Runs: dlq-tui runs RUN tells all of one", Role::Strong);
    if runs.is_empty() {
        canvas.row(inside, 0).put(Role::Text, "the ledger has no runs yet");
        return;
    }
    let look = canvas.look;
    let id = runs.iter().map(|r| columns(&r.id.0, look)).max().unwrap_or(3).clamp(3, 16);
    let wide = usize::from(inside.width) >= 90;
    canvas.row(inside, 0).phrase(&headings(id, wide));
    inside.y += 1;
    inside.height = inside.height.saturating_sub(1);
    let lines: Vec<_> = runs.iter().map(|run| line(run, id, wide, now, look)).collect();
    panel::scroll(canvas, area, inside, &lines, reading.top);
}

fn headings(id: usize, wide: bool) -> Phrase<'static> {
    let text = if wide {
        format!(
            "{:<id$} {:<11} {:<7} {:<9} {:>9} {:>9} {:>9} {:>9}  by, filter",
            "run", "when UTC", "verb", "state", "planned", "done", "skipped", "failed"
        )
    } else {
        format!("{:<id$} {:<8} {:<7} {:<9} {:>9} {:>9}", "run", "when UTC", "verb", "state", "planned", "done")
    };
    Phrase::of(Role::Dim, text)
}

fn line(run: &Run, id: usize, wide: bool, now: Timestamp, look: &Look) -> Phrase<'static> {
    let tally = &run.tally;
    let time = if wide { 11 } else { 8 };
    let when = words::moment(Some(run.intent.frozen_at), now, time);
    let name = fit(&run.id.0, id, look);
    let mut phrase = Phrase::of(Role::Strong, name)
        .and(Role::Time, format!(" {when:<time$}"))
        .and(Role::Text, format!(" {:<7} {:<9}", run.intent.action.word(), run.state.word()))
        .and(Role::Number, format!(" {:>9}", grouped(tally.planned)))
        .and(Role::Good, format!(" {:>9}", grouped(tally.done)));
    if wide {
        let role = |n, role| if n > 0 { role } else { Role::Dim };
        let (skipped, failed) = (tally.skipped_total(), tally.failed_total());
        phrase = phrase
            .and(role(skipped, Role::Warning), format!(" {:>9}", grouped(skipped)))
            .and(role(failed, Role::Danger), format!(" {:>9}", grouped(failed)))
            .and(Role::Dim, format!("  {} {}", run.intent.operator.user, run.intent.filter));
    }
    phrase
}

/// A text in exactly `width` columns.
fn fit(text: &str, width: usize, look: &Look) -> String {
    let text = crate::domain::text::Clean::line(text).truncate(width, look.glyphs.ellipsis).to_string();
    let missing = width.saturating_sub(columns(&text, look));
    format!("{text}{}", " ".repeat(missing))
}
