//! The plan: what exactly is about to happen, to how many jobs, and what speaks against it.
//!
//! ```text
//! ┌ Replay ──────────────────────────────────────────────────────────┐
//! │  ▀█    ▀▀█ █▀█ █ █                                               │
//! │   █    █▀▀ █ █ ▀▀█   jobs to replay                              │
//! │  ▀▀▀ ▖ ▀▀▀ ▀▀▀   ▀   PRODUCTION on shop, public.jobs             │
//! │ ! 12 of them were replayed before                                │
//! │ filter  error:Net::ReadTimeout at:>=2026-11-20T01:12:09Z         │
//! │ died    2026-11-20 01:14:02Z to 03:12:09Z, 2h to 4s ago          │
//! │                                                                  │
//! │ by error class                                                   │
//! │   Net::ReadTimeout       ████████████████  1,204  100 %          │
//! ├──────────────────────────────────────────────────────────────────┤
//! │ Type 1,204 and press Enter to replay:  1,2▏                      │
//! │ n dismisses: nothing is touched                                  │
//! └──────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::layout::Rect;

use super::{count_confirm, plan_form};
use crate::domain::histogram::grouped;
use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::triage::plan::{CohortShare, Confirm, Plan};
use crate::triage::undo::CAN;
use crate::tui::app::model::{Model, PlanDialog};
use crate::tui::app::plan_form as form;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::dialog::{self, fit};
use crate::tui::view::format::{self, DATED};
use crate::tui::view::histogram::gauge;
use crate::tui::view::styled_text::Phrase;

/// Widest the dialog gets.
const WIDEST: usize = 100;
/// Rows below the rule: the question, and what was wrong with the last answer.
const ASK: u16 = 3;
/// Lines of a split.
const SHARES: usize = 8;
/// Rows of a screen from which on each option has a line.
const FORM_ROWS: u16 = 30;
/// Rows of the sample.
const SAMPLE: usize = 5;

/// Draws the dialog.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, dialog: &PlanDialog, now: Timestamp) {
    let screen = canvas.area();
    let now = model.live.server_now(now);
    let width = WIDEST.min(usize::from(screen.width));
    let text = width.saturating_sub(4);
    let tall = usize::from(screen.height) >= 20 && !canvas.theme.glyphs.is_plain();
    let shape = (text, tall, screen.height < FORM_ROWS);
    let lines = lines(model, dialog, shape, canvas.theme, now);
    let height = (lines.len() + usize::from(ASK) + 2).min(usize::from(screen.height));
    let area = dialog::centred(screen, width, height);
    let role = if dialog.plan.action.profile().rows.deletes() { StyleRole::Danger } else { StyleRole::Strong };
    let mut inside = dialog::frame(canvas, area, dialog.plan.action.profile().summary, role);
    let ask = inside.height.min(ASK);
    inside.height -= ask;
    dialog::scroll(canvas, area, inside, &lines, dialog.top);
    dialog::divide(canvas, area, usize::from(inside.height) + 1);
    let foot = Rect { y: inside.bottom() + 1, height: ask.saturating_sub(1), ..inside };
    question(canvas, foot, dialog);
}

fn lines<'p>(
    model: &'p Model,
    dialog: &'p PlanDialog,
    (width, tall, is_short): (usize, bool, bool),
    theme: &Theme,
    now: Timestamp,
) -> Vec<Phrase<'p>> {
    let plan = &dialog.plan;
    let mut lines = headline(model, plan, tall, width, theme);
    lines.push(Phrase::empty());
    if let Some(shell) = &dialog.shell {
        lines.extend(sentence(StyleRole::Key, "same    ", &Clean::line(shell).to_string(), width, theme));
    }
    for warning in &plan.warnings {
        lines.extend(sentence(StyleRole::Danger, "! ", warning, width, theme));
    }
    if let Some(made) = &plan.creates {
        lines.extend(sentence(
            StyleRole::Danger,
            "! ",
            &format!("creates {}", Clean::line(&made.creates)),
            width,
            theme,
        ));
    }
    for (what, n) in &plan.outlook {
        let (role, what) = match what == CAN {
            true => (StyleRole::Good, what.clone()),
            false => (StyleRole::Warning, format!("cannot: {}", Clean::line(what))),
        };
        lines.extend(sentence(role, "now     ", &format!("{} {what}", grouped(*n)), width, theme));
    }
    lines.extend(cohort(model, plan, width, theme, now));
    if form::is_form(plan) {
        lines.push(Phrase::empty());
        lines.extend(plan_form::lines(model, dialog, width, is_short, theme));
    } else if !plan.options.is_plain() {
        lines.extend(sentence(StyleRole::Text, "options ", &plan.options.to_string(), width, theme));
    }
    for note in &plan.notes {
        lines.extend(sentence(StyleRole::Warning, "note    ", note, width, theme));
    }
    lines.extend(changes(plan, width, theme));
    for (title, role, shares) in [
        ("by error class", StyleRole::Error, &plan.breakdown.by_error),
        ("by job class", StyleRole::Class, &plan.breakdown.by_class),
    ] {
        if !shares.is_empty() {
            lines.push(Phrase::empty());
            lines.push(Phrase::of(StyleRole::Title, title));
            lines.extend(split(shares, plan.count, role, width, theme));
        }
    }
    if !plan.sample.is_empty() {
        lines.push(Phrase::empty());
        lines.push(Phrase::of(StyleRole::Title, "for example"));
        lines.extend(sample(plan, width, theme, now));
    }
    lines
}

/// What becomes of the arguments of the jobs that were looked at, where some change.
fn changes<'p>(plan: &Plan, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let Some(report) = &plan.breakdown.by_change else { return Vec::new() };
    let mut lines = vec![Phrase::empty(), Phrase::of(StyleRole::Title, "by change of arguments")];
    let number = report.groups.iter().map(|group| grouped(group.jobs).len()).max().unwrap_or(0);
    for group in &report.groups {
        let role = if group.shape.is_change() { StyleRole::Text } else { StyleRole::Dim };
        let rows = dialog::wrap(&group.shape.describe(), width.saturating_sub(number + 4), theme);
        for (nth, row) in rows.into_iter().enumerate() {
            let jobs = if nth == 0 { grouped(group.jobs) } else { String::new() };
            lines.push(Phrase::of(StyleRole::Number, format!("  {jobs:>number$}  ")).and(role, row));
        }
    }
    lines
}

/// The number, the verb and the place: nothing else may be taken for them.
fn headline<'p>(model: &Model, plan: &Plan, tall: bool, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let number = grouped(plan.acts_on());
    let word = if plan.count == 1 { "job" } else { "jobs" };
    let verb = match plan.acts_on() == plan.count {
        true => format!("{word} to {}", plan.action),
        false => format!("of {} {word} to {}", grouped(plan.count), plan.action),
    };
    let opened = model.source.opened.as_ref();
    let store = opened.map_or("", |o| &o.info.title);
    // The badge comes first: whatever is cut off on a narrow screen, it is not this.
    let production = opened.is_some_and(|o| o.production);
    let badge = if production { Phrase::of(StyleRole::Badge, " PRODUCTION ") } else { Phrase::empty() };
    let place = badge.and(StyleRole::Text, if production { " on " } else { "on " });
    let place = place.and(StyleRole::Strong, format!("{}, {store}", model.source.label));
    let rows = count_confirm::rows(&number);
    let side = place.width(theme).max(columns(&verb, theme)) + 2;
    if tall && columns(&rows[0], theme) + side <= width {
        let [first, second, third] = rows;
        return vec![
            Phrase::of(StyleRole::Danger, first),
            Phrase::of(StyleRole::Danger, second).and(StyleRole::Strong, format!("  {verb}")),
            Phrase::of(StyleRole::Danger, third).and(StyleRole::Text, "  ").then(place),
        ];
    }
    vec![Phrase::of(StyleRole::Danger, number).and(StyleRole::Strong, format!(" {verb}")), place]
}

/// Which jobs these are.
fn cohort<'p>(model: &Model, plan: &Plan, width: usize, theme: &Theme, now: Timestamp) -> Vec<Phrase<'p>> {
    let undoes = plan.options.undoes.as_ref().map(|run| format!("none: what {run} did"));
    let written = plan.filter.as_deref().map(|filter| model.shown(filter));
    let filter = match written.as_deref() {
        _ if undoes.is_some() => undoes.as_deref().unwrap_or_default(),
        Some("") => "none: all dead jobs",
        Some(filter) => filter,
        None if plan.count == 1 => "none: this one job",
        None => "none: the jobs that were marked, one by one",
    };
    let mut lines = sentence(StyleRole::Text, "filter  ", filter, width, theme);
    if let Some((oldest, newest)) = plan.breakdown.span {
        let text = if oldest == newest {
            format!("{newest}, {}", format::ago(newest, now))
        } else {
            format!("{oldest} to {newest}, {} to {}", format::age(oldest, now), format::ago(newest, now))
        };
        lines.extend(sentence(StyleRole::Text, "died    ", &text, width, theme));
    }
    lines.extend(sentence(StyleRole::Dim, "frozen  ", "jobs that die from now on are not among them", width, theme));
    lines
}

/// A sentence after a lead, its further rows indented as far.
fn sentence<'p>(role: StyleRole, lead: &'static str, text: &str, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let rows = dialog::wrap(text, width.saturating_sub(lead.len()), theme);
    let lead_role = if role == StyleRole::Text { StyleRole::Dim } else { role };
    let rows = rows.into_iter().enumerate().map(|(n, row)| {
        let lead = if n == 0 { lead.to_owned() } else { " ".repeat(lead.len()) };
        Phrase::of(lead_role, lead).and(role, row)
    });
    rows.collect()
}

fn split<'p>(shares: &'p [CohortShare], count: u64, role: StyleRole, width: usize, theme: &Theme) -> Vec<Phrase<'p>> {
    let name = |share: &CohortShare| if share.rest { "all others".into() } else { format::value(share.value.as_ref()) };
    let listed = if shares.len() > SHARES { SHARES - 1 } else { shares.len() };
    let mut rows: Vec<(String, u64)> = shares[..listed].iter().map(|s| (name(s), s.n)).collect();
    let rest: u64 = shares[listed..].iter().map(|s| s.n).sum();
    if rest > 0 {
        // One of those may be the sum of values that nobody counted.
        let counted = shares[listed..].iter().all(|s| !s.rest);
        let others = if counted { format!("{} others", shares.len() - listed) } else { "all others".into() };
        rows.push((others, rest));
    }
    let number = rows.iter().map(|(_, n)| grouped(*n).len()).max().unwrap_or(0);
    let bar = if width >= 60 { 16 } else { 0 };
    let room = width.saturating_sub(2 + 1 + bar + 1 + number + 6);
    let widest = rows.iter().map(|(name, _)| columns(name, theme)).max().unwrap_or(0).min(room);
    rows.into_iter()
        .map(|(name, n)| {
            let name = fit(&name, widest, theme);
            let filled = fit(&gauge(n, count, bar, &theme.glyphs), bar, theme);
            Phrase::of(role, format!("  {name} "))
                .and(StyleRole::Bar, filled)
                .and(StyleRole::Number, format!(" {:>number$}", grouped(n)))
                .and(StyleRole::Text, format!(" {:>5}", format::percent(n, count)))
        })
        .collect()
}

fn sample<'p>(plan: &'p Plan, width: usize, theme: &Theme, now: Timestamp) -> Vec<Phrase<'p>> {
    let rows = plan.sample.iter().take(SAMPLE);
    let rows = rows.map(|row| {
        let when = format::moment(row.at, now, DATED, theme.zone);
        let error = fit(&format::field(row.error_class.as_ref()), width / 4, theme);
        let class = fit(&format::field(row.job_class.as_ref()), width / 5, theme);
        Phrase::of(StyleRole::Time, format!("  {when:<DATED$} "))
            .and(StyleRole::Error, error)
            .and(StyleRole::Class, format!(" {class} "))
            .and(StyleRole::Text, format::field(row.message_beyond_class().as_ref()))
    });
    rows.collect()
}

/// What confirms, in proportion; the focus is on No.
fn question(canvas: &mut Canvas<'_>, foot: Rect, dialog: &PlanDialog) {
    let plan = &dialog.plan;
    let verb = plan.action.word();
    match plan.confirm {
        Confirm::TypeCount => {
            let number = grouped(plan.acts_on());
            let mut ask = format!("Type {number} and press Enter to {verb}: ");
            if ask.len() + number.len() + 4 > usize::from(foot.width) {
                ask = format!("Type {number}: ");
            }
            let mut pen = canvas.row(foot, 0);
            pen.put(StyleRole::Strong, &ask).put(StyleRole::Cursor, " ").put(StyleRole::Cursor, dialog.typed.value());
            pen.caret().put(StyleRole::Cursor, "  ");
        }
        Confirm::Yes | Confirm::Key => {
            let ask = format!(" {verb} {}    ", plan.jobs());
            let mut pen = canvas.row(foot, 0);
            pen.put(StyleRole::Key, "y").put(StyleRole::Text, &ask).put(StyleRole::Cursor, "[ n No ]");
        }
    }
    let mut pen = canvas.row(foot, 1);
    match &dialog.complaint {
        Some(complaint) => pen.put(StyleRole::Danger, complaint),
        None => pen.put(StyleRole::Key, "n").put(StyleRole::Dim, " dismisses: nothing is touched"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_nobody_counted_are_not_given_a_number() {
        let theme = Theme::of("none", true, |_| None);
        let share = |n: u64, rest| CohortShare { value: Some(format!("class {n}").as_str().into()), n, rest };
        let last = |shares: &[CohortShare]| {
            let lines = split(shares, 100, StyleRole::Text, 50, &theme);
            format!("{:?}", lines.last().expect("a line"))
        };
        let mut shares: Vec<CohortShare> = (1..=10).map(|n| share(n, false)).collect();
        assert!(last(&shares).contains(&format!("{} others", 10 - (SHARES - 1))), "{}", last(&shares));
        shares.push(share(70, true));
        assert!(last(&shares).contains("all others"), "{}", last(&shares));
    }
}
