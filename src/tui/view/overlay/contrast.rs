//! What jobs have in common that others have not, the clearest first.
//!
//! ```text
//! ┌ In common: error:Net::ReadTimeout ───────────────────────────────────┐
//! │ 1,900 jobs, compared with 3,100 other dead jobs of Billing::Charge   │
//! │                                                                      │
//! │    share     jobs  of others   others  what they have                │
//! │ ▸  98.2%    1,866       0.3%        9  args.currency = "JPY"         │
//! └──────────────────────────────────────────────────────────────────────┘
//! ```

use crate::domain::contrast::Counts;
use crate::domain::histogram::grouped;
use crate::domain::text::Clean;
use crate::triage::contrast::{Comparison, DifferenceLine};
use crate::tui::app::model::{ContrastPage, Model};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::canvas::Canvas;
use crate::tui::view::dialog::{self, fit};
use crate::tui::view::line_of;
use crate::tui::view::styled_text::Phrase;

const WIDTH: usize = 120;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, page: &ContrastPage) {
    let screen = canvas.area();
    let width = WIDTH.min(usize::from(screen.width));
    let said = headline(model, page);
    let theme = canvas.theme;
    let head = dialog::wrap(&said, width.saturating_sub(4), theme);
    let lines = page.found.as_ref().map_or(&[][..], |found| &found.lines);
    let table = if lines.is_empty() { 0 } else { lines.len() + 2 };
    let height = (head.len() + table + 2).min(usize::from(screen.height).saturating_sub(1));
    let area = dialog::centred(screen, width, height);
    let title = format!("In common: {}", Clean::line(&model.shown(&page.chosen.to_string())));
    let mut inside = dialog::frame(canvas, area, &title, StyleRole::Strong);
    for row in &head {
        canvas.row(inside, 0).put(StyleRole::Text, row);
        inside.y += 1;
        inside.height = inside.height.saturating_sub(1);
    }
    let Some(found) = page.found.as_ref().filter(|found| !found.lines.is_empty()) else { return };
    let titles = format!("  {:>7} {:>9}  {:>9} {:>9}  what they have", "share", "jobs", "of others", "others");
    canvas.row(inside, 1).put(StyleRole::Dim, &titles);
    inside.y += 2;
    inside.height = inside.height.saturating_sub(2);
    let at = page.at.min(found.lines.len() - 1);
    let top = (at + 1).saturating_sub(usize::from(inside.height));
    let drawn = |(nth, line)| row(line, found, nth == at, theme);
    let rows: Vec<Phrase<'_>> = found.lines.iter().enumerate().map(drawn).collect();
    dialog::scroll(canvas, area, inside, &rows, top);
    canvas.tint(line_of(inside, at - top), StyleRole::Cursor);
}

/// What is being read, or what was compared with what.
fn headline(model: &Model, page: &ContrastPage) -> String {
    if let Some(read) = page.reading {
        let all = if page.counts_all { "all jobs: " } else { "" };
        return format!("comparing {all}{} read, Esc cancels", grouped(read));
    }
    let Some(found) = &page.found else { return "nothing was compared".to_owned() };
    let Counts { chosen, others } = found.jobs;
    match (chosen, others) {
        (0, _) => "no job matches the filter".to_owned(),
        (_, 0) => format!("{}: nothing to compare", found.headline),
        _ if found.lines.is_empty() => format!("{}: no value tells them apart", found.headline),
        _ if found.is_sample => {
            format!("{}; {} counts all", found.headline, model.key(KeyCommand::CountAll))
        }
        _ => found.headline.clone(),
    }
}

fn row<'t>(line: &'t DifferenceLine, found: &Comparison, is_here: bool, theme: &Theme) -> Phrase<'t> {
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let (all, counts) = (found.jobs, line.counts);
    Phrase::of(StyleRole::Key, fit(if is_here { theme.glyphs.cursor } else { "" }, 2, theme))
        .and(StyleRole::Number, format!("{:>7}", percent(counts.share_of_chosen(all))))
        .and(StyleRole::Dim, format!(" {:>9}", grouped(counts.chosen)))
        .and(StyleRole::Number, format!("  {:>9}", percent(counts.share_of_others(all))))
        .and(StyleRole::Dim, format!(" {:>9}  ", grouped(counts.others)))
        .and(StyleRole::Text, Clean::line(&line.words()).to_string())
}
