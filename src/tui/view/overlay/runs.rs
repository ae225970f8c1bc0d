//! Runs of the ledger, the latest first: what each did, and what became of its jobs.
//!
//! ```text
//! ┌ Runs: Enter lists the jobs, i shows the receipt ────────────────────────────────────────────────────┐
//! │ run                    what            outcome               by              reason, filter         │
//! │ r-20261120-031209-7kq  replayed 1,204  1,190 ok, 14 died …   ada@bastion-1   pay.example is back    │
//! └─────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```

use crate::domain::histogram::grouped;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::text::Clean;
use crate::ledger::{Run, RunState};
use crate::tui::app::model::{Model, RunsPage};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::dialog::{self, fit};
use crate::tui::view::styled_text::Phrase;

const WIDTH: usize = 138;
/// The most columns that a cell has; what is left over is for the reason.
const MAX_EFFECT: usize = 42;
const MAX_OUTCOME: usize = 40;
const MAX_OPERATOR: usize = 20;
/// From this width on it is said by whom and why.
const WIDE: u16 = 100;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, page: &RunsPage) {
    let screen = canvas.area();
    let runs = page.shown();
    let width = WIDTH.min(usize::from(screen.width));
    let height = (runs.len().max(1) + 3).min(usize::from(screen.height).saturating_sub(1));
    let area = dialog::centred(screen, width, height);
    let keys = "Runs: Enter lists the jobs, i shows the receipt";
    let title = match page.hidden() {
        0 => keys.to_owned(),
        1 => format!("{keys}, a 1 plan"),
        n => format!("{keys}, a {n} plans"),
    };
    let mut inside = dialog::frame(canvas, area, &title, StyleRole::Strong);
    if runs.is_empty() {
        let none = if page.hidden() > 0 { "no plan was confirmed yet" } else { "the ledger has no runs yet" };
        canvas.row(inside, 0).put(StyleRole::Text, none);
        return;
    }
    let theme = canvas.theme;
    let at = page.at.min(runs.len() - 1);
    let rows = usize::from(inside.height.saturating_sub(1));
    let top = (at + 1).saturating_sub(rows);
    // What is not on the screen is not searched for secrets.
    let seen = top..top + rows;
    let is_wide = inside.width >= WIDE;
    let cells: Vec<RunCells> =
        runs.iter().enumerate().map(|(n, run)| RunCells::of(model, run, is_wide, seen.contains(&n))).collect();
    let columns = RunColumns::fitting(&cells, is_wide, usize::from(inside.width), theme);
    canvas.row(inside, 0).phrase(&headings(&columns, theme));
    inside.y += 1;
    inside.height = inside.height.saturating_sub(1);
    let line = |(n, (run, cells)): (usize, (&&Run, &RunCells))| line(run, cells, n == at, &columns, theme);
    let lines: Vec<_> = runs.iter().zip(&cells).enumerate().map(line).collect();
    dialog::scroll(canvas, area, inside, &lines, top);
    canvas.tint(crate::tui::view::line_of(inside, at - top), StyleRole::Cursor);
}

/// What is said of a run.
struct RunCells {
    id: String,
    effect: String,
    outcome: String,
    operator: String,
    /// Why, else which jobs.
    reason: String,
}

impl RunCells {
    fn of(model: &Model, run: &Run, is_wide: bool, is_seen: bool) -> Self {
        let (intent, tally) = (&run.intent, &run.tally);
        let of = if is_wide { " of " } else { "/" };
        let part = format!("{}{of}{}", grouped(tally.done), grouped(tally.planned));
        let mut effect = match run.state {
            RunState::Finished => run.effect(),
            state if is_wide => format!("{} {}, {part}", intent.action, state.label()),
            state => format!("{} {part}", state.label()),
        };
        if is_wide && tally.failed_total() > 0 {
            effect += &format!(", {} failed", grouped(tally.failed_total()));
        }
        let summary = if is_wide { OutcomeCounts::summary } else { OutcomeCounts::short_summary };
        let outcome = run.outcomes.as_ref().map(summary).unwrap_or_default();
        let opened = model.source.opened.as_ref();
        let is_here = opened.is_none_or(|opened| run.is_of(&model.source.label, &opened.store()));
        let outcome = match (is_here, outcome.is_empty()) {
            (true, _) => outcome,
            (false, true) => format!("on {}", Clean::line(&intent.source)),
            (false, false) => format!("on {}: {outcome}", Clean::line(&intent.source)),
        };
        let text = intent.reason.as_ref().filter(|reason| !reason.is_empty()).unwrap_or(&intent.filter);
        Self {
            id: run.id.0.clone(),
            effect,
            outcome,
            operator: format!("{}@{}", intent.operator.user, intent.operator.host),
            reason: if is_seen { model.shown(text).into_owned() } else { String::new() },
        }
    }
}

/// How many columns each cell has.
struct RunColumns {
    id: usize,
    /// Whether there is room for by whom and why.
    is_wide: bool,
    effect: usize,
    outcome: usize,
    operator: usize,
    reason: usize,
}

impl RunColumns {
    fn fitting(cells: &[RunCells], is_wide: bool, width: usize, theme: &Theme) -> Self {
        let most = |cell: fn(&RunCells) -> &str, least: usize, most: usize| {
            cells.iter().map(|cells| columns(cell(cells), theme)).max().unwrap_or(0).clamp(least, most)
        };
        let (id, effect) = (most(|c| &c.id, 3, 24), most(|c| &c.effect, 4, MAX_EFFECT));
        let operator = most(|c| &c.operator, 2, MAX_OPERATOR);
        let outcome = most(|c| &c.outcome, 7, MAX_OUTCOME);
        let taken = 2 + id + 1 + effect + 2;
        if !is_wide {
            // Below that only what was done is left.
            return Self { id, is_wide, effect, outcome: width.saturating_sub(taken), operator: 0, reason: 0 };
        }
        let reason = width.saturating_sub(taken + outcome + 1 + operator + 1);
        Self { id, is_wide, effect, outcome, operator, reason }
    }
}

fn headings(columns: &RunColumns, theme: &Theme) -> Phrase<'static> {
    let RunColumns { id, effect, outcome, operator, .. } = *columns;
    let mut text = format!("  {:<id$} {:<effect$}  {}", "run", "what", fit("outcome", outcome, theme));
    if columns.is_wide {
        text += &format!(" {:<operator$} {}", "by", fit("reason, filter", columns.reason, theme));
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

fn line(run: &Run, cells: &RunCells, is_here: bool, columns: &RunColumns, theme: &Theme) -> Phrase<'static> {
    let cursor = if is_here { theme.glyphs.cursor } else { "" };
    let mut phrase =
        Phrase::of(StyleRole::Key, fit(cursor, 2, theme)).and(StyleRole::Strong, fit(&cells.id, columns.id, theme));
    let role = if run.tally.failed_total() > 0 { StyleRole::Danger } else { StyleRole::Text };
    phrase = phrase
        .and(role, format!(" {}", fit(&cells.effect, columns.effect, theme)))
        .and(outcome_role(run), format!("  {}", fit(&cells.outcome, columns.outcome, theme)));
    if columns.is_wide {
        phrase = phrase
            .and(StyleRole::Dim, format!(" {}", fit(&cells.operator, columns.operator, theme)))
            .and(StyleRole::Text, format!(" {}", fit(&cells.reason, columns.reason, theme)));
    }
    phrase
}
