//! Runs of the ledger, the latest first.
//!
//! ```text
//! ┌ Runs ──────────────────────────────────────────────────────────────────┐
//! │ run    when     verb    state    planned changed skipped failed outcome│
//! │ r-7    03:12:09 replay  ended      1,204   1,190      10      4 1,190 ok│
//! └────────────────────────────────────────────────────────────────────────┘
//! ```

use std::fmt::Write as _;

use crate::domain::histogram::grouped;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerLocation, Run};
use crate::tui::app::model::{Model, RunsPage};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::dialog::{self, fit};
use crate::tui::view::format::{self, DATED};
use crate::tui::view::styled_text::Phrase;

const WIDTH: usize = 132;
/// Columns of the outcome: `1,190 ok, 14 died again`.
const OUTCOME: usize = 24;

/// Which columns there is room for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// What was done, and what became of it.
    Narrow,
    /// How many, and what became of them.
    Middle,
    /// When, by whom, which jobs, and what was left out.
    Wide,
}

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, page: &RunsPage, now: Timestamp) {
    let screen = canvas.area();
    let runs = &page.runs;
    let width = WIDTH.min(usize::from(screen.width));
    let height = (runs.len().max(1) + 3).min(usize::from(screen.height).saturating_sub(1));
    let area = dialog::centred(screen, width, height);
    let mut inside = dialog::frame(canvas, area, "Runs: Enter shows the receipt, F the jobs", StyleRole::Strong);
    if runs.is_empty() {
        canvas.row(inside, 0).put(StyleRole::Text, "the ledger has no runs yet");
        return;
    }
    let theme = canvas.theme;
    let id = runs.iter().map(|r| columns(&r.id.0, theme)).max().unwrap_or(3).clamp(3, 24);
    let room = match inside.width {
        0..70 => Room::Narrow,
        70..90 => Room::Middle,
        _ => Room::Wide,
    };
    canvas.row(inside, 0).phrase(&headings(id, room, runs.iter().map(|run| run.intent.frozen_at), now, theme));
    inside.y += 1;
    inside.height = inside.height.saturating_sub(1);
    let at = page.at.min(runs.len() - 1);
    let top = (at + 1).saturating_sub(usize::from(inside.height));
    // What is not on the screen is not searched for secrets.
    let seen = top..top + usize::from(inside.height);
    let filter =
        |n, run: &Run| if seen.contains(&n) { model.shown(&run.intent.filter).into_owned() } else { String::new() };
    let of = |(n, run)| line(run, &filter(n, run), n == at, id, room, now, theme);
    let lines: Vec<_> = runs.iter().enumerate().map(of).collect();
    dialog::scroll(canvas, area, inside, &lines, top);
    canvas.tint(crate::tui::view::line_of(inside, at - top), StyleRole::Cursor);
}

fn headings(
    id: usize,
    room: Room,
    moments: impl Iterator<Item = Timestamp>,
    now: Timestamp,
    theme: &Theme,
) -> Phrase<'static> {
    let mut text = format!("  {:<id$}", "run");
    // The id has the time, where there is no room for both.
    if room == Room::Wide {
        let _ = write!(text, " {:<DATED$}", format::moment_title("when", DATED, moments, now, theme.zone));
    }
    let _ = write!(text, " {:<7} {:<9}", "verb", "state");
    match room {
        Room::Narrow => {}
        Room::Middle => drop(write!(text, " {:>9}  outcome", "changed")),
        Room::Wide => {
            let _ = write!(text, " {:>9} {:>9} {:>9} {:>9}", "planned", "changed", "skipped", "failed");
            let _ = write!(text, "  {:<OUTCOME$} by, filter", "outcome");
        }
    }
    Phrase::of(StyleRole::Dim, text)
}

fn outcome_role(run: &Run) -> StyleRole {
    match &run.outcomes {
        Some(counts) if counts.died() > 0 => StyleRole::Danger,
        Some(counts) if counts.open() + counts.unknown == 0 => StyleRole::Good,
        _ => StyleRole::Text,
    }
}

fn line(run: &Run, filter: &str, here: bool, id: usize, room: Room, now: Timestamp, theme: &Theme) -> Phrase<'static> {
    let tally = &run.tally;
    let cursor = if here { theme.glyphs.cursor } else { "" };
    let mut phrase =
        Phrase::of(StyleRole::Key, fit(cursor, 2, theme)).and(StyleRole::Strong, fit(&run.id.0, id, theme));
    if room == Room::Wide {
        let when = format::moment(Some(run.intent.frozen_at), now, DATED, theme.zone);
        phrase = phrase.and(StyleRole::Time, format!(" {when:<DATED$}"));
    }
    phrase = phrase.and(StyleRole::Text, format!(" {:<7} {:<9}", run.intent.action.word(), run.state.label()));
    if room == Room::Wide {
        phrase = phrase.and(StyleRole::Number, format!(" {:>9}", grouped(tally.planned)));
    }
    if room > Room::Narrow {
        phrase = phrase.and(StyleRole::Good, format!(" {:>9}", grouped(tally.done)));
    }
    let outcome = run.outcomes.as_ref().map(OutcomeCounts::summary).unwrap_or_default();
    if room == Room::Middle {
        phrase = phrase.and(outcome_role(run), format!("  {outcome}"));
    }
    if room == Room::Wide {
        let operator = &run.intent.operator;
        let by = match run.place {
            LedgerLocation::Local => operator.user.clone(),
            LedgerLocation::Source => format!("{}@{}", operator.user, operator.host),
        };
        let role = |n, role| if n > 0 { role } else { StyleRole::Dim };
        let (skipped, failed) = (tally.skipped_total(), tally.failed_total());
        phrase = phrase
            .and(role(skipped, StyleRole::Warning), format!(" {:>9}", grouped(skipped)))
            .and(role(failed, StyleRole::Danger), format!(" {:>9}", grouped(failed)))
            .and(outcome_role(run), format!("  {}", fit(&outcome, OUTCOME, theme)))
            .and(StyleRole::Dim, format!(" {} {}", by, filter));
    }
    phrase
}
