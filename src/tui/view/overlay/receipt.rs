//! The receipt of a run: sums that add up, by reason, and what can be done with the remainder.
//!
//! ```text
//! ┌ Receipt of r-7: finished ──────────────────────────┐
//! │ replay on shop, public.dead_letter_jobs            │
//! │                                                    │
//! │   planned         1,204                            │
//! │   replayed        1,190                            │
//! │   skipped            10                            │
//! │                       8  changed meanwhile         │
//! │                       2  gone                      │
//! │   failed              4                            │
//! │                       4  duplicate key value       │
//! └────────────────────────────────────────────────────┘
//! ```

use crate::domain::histogram::grouped;
use crate::ledger::{Run, RunState};
use crate::tui::app::model::{Model, Reading, Source};
use crate::tui::look::{Look, Role};
use crate::tui::view::canvas::Canvas;
use crate::tui::view::panel;
use crate::tui::view::phrase::Phrase;
use crate::tui::view::words;

const WIDTH: usize = 84;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, run: &Run, reading: Reading) {
    let screen = canvas.area();
    let width = WIDTH.min(usize::from(screen.width));
    let lines = lines(model, run, width.saturating_sub(4), canvas.look);
    let height = (lines.len() + 2).min(usize::from(screen.height));
    let area = panel::centred(screen, width, height);
    let title = format!("Receipt of {}: {}", run.id, run.state.word());
    let role = if run.state == RunState::Finished { Role::Good } else { Role::Warning };
    let inside = panel::frame(canvas, area, &title, role);
    panel::scroll(canvas, area, inside, &lines, reading.top);
}

fn lines<'r>(model: &Model, run: &'r Run, width: usize, look: &Look) -> Vec<Phrase<'r>> {
    let mut lines = about(model, run, width, look);
    lines.push(Phrase::empty());
    lines.extend(sums(run));
    lines.push(Phrase::empty());
    for row in panel::wrap(&next(&model.source, run), width, look) {
        lines.push(Phrase::of(Role::Text, row));
    }
    lines
}

fn about<'r>(model: &Model, run: &'r Run, width: usize, look: &Look) -> Vec<Phrase<'r>> {
    let intent = &run.intent;
    let mut text = vec![format!("{} on {}, {}", intent.action, intent.source, intent.store)];
    if !intent.filter.is_empty() {
        text.push(format!("filter: {}", model.shown(&intent.filter)));
    }
    if let Some(reason) = &intent.reason {
        text.push(format!("reason: {reason}"));
    }
    let who = format!("by {}@{}", intent.operator.user, intent.operator.host);
    text.push(match (run.started_at, run.ended_at) {
        (Some(start), Some(end)) => format!("{who}, {start}, took {}", words::span(start.age(end))),
        (Some(start), None) => format!("{who}, begun {start}"),
        _ => who,
    });
    text.iter()
        .flat_map(|line| panel::wrap(line, width, look))
        .enumerate()
        .map(|(n, row)| Phrase::of(if n == 0 { Role::Strong } else { Role::Dim }, row))
        .collect()
}

fn sums(run: &Run) -> Vec<Phrase<'_>> {
    let tally = &run.tally;
    let mut lines = vec![sum(Role::Strong, "planned", tally.planned)];
    lines.push(sum(Role::Good, run.intent.action.done_word(), tally.done));
    if tally.skipped_total() > 0 {
        lines.push(sum(Role::Warning, "skipped", tally.skipped_total()));
        lines.extend(tally.skipped.iter().map(|(reason, n)| of_which(*n, reason.clone())));
    }
    if tally.failed_total() > 0 {
        lines.push(sum(Role::Danger, "failed", tally.failed_total()));
        lines.extend(tally.failed.iter().map(|(reason, n)| of_which(*n, reason.line_head(200).to_string())));
    }
    if tally.in_doubt > 0 {
        lines.push(sum(Role::Danger, "in doubt", tally.in_doubt));
    }
    if tally.not_started > 0 {
        lines.push(sum(Role::Warning, "not reached", tally.not_started));
    }
    if !tally.adds_up() {
        lines.push(Phrase::of(Role::Danger, "  These parts do not add up to what was planned: please report it."));
    }
    lines
}

fn sum(role: Role, word: &'static str, n: u64) -> Phrase<'static> {
    Phrase::of(Role::Text, format!("  {word:<12}")).and(role, format!("{:>12}", grouped(n)))
}

fn of_which<'r>(n: u64, reason: String) -> Phrase<'r> {
    Phrase::of(Role::Dim, format!("{:>26}  {reason}", grouped(n)))
}

/// What can be done now.
fn next(source: &Source, run: &Run) -> String {
    let id = &run.id;
    let tally = &run.tally;
    if tally.not_started > 0 || tally.in_doubt > 0 {
        return format!("Go on where it stopped: {}", source.resume(run));
    }
    if tally.done < tally.planned {
        return format!("What was left alone is still there, with its reason for each job: dlq-tui runs {id}");
    }
    format!("Every planned job is done. The record of it: dlq-tui runs {id}")
}
