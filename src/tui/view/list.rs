//! The jobs.
//!
//! ```text
//!  Jobs  newest first  12 marked                                     37 new: g
//!   time UTC  error class        job class       queue    att.  message
//! ▸●03:12:09  Net::ReadTimeout   ChargeCardJob   billing  5/5   execution expired after…
//!   Thu 23:58 Stripe::CardError  CaptureJob      billing  3/25  Your card was declined    gone
//! ```

use ratatui::layout::Rect;

use super::canvas::{Canvas, columns};
use super::names::distinct;
use super::styled_text::{Phrase, Ranked, draw_line};
use super::{empty, format};
use crate::domain::facet::Facet;
use crate::domain::histogram::grouped;
use crate::domain::job::{JobRow, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Entry, SortKey};
use crate::tui::app::Slot;
use crate::tui::app::model::{Focus, Model, OptionalColumn, SelectionMarks, Stale};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::StyleRole;

/// Columns of the cursor and the mark.
const LEAD: usize = 2;

/// Draws the pane.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, rows: usize, model: &Model, now: Timestamp) {
    let now = model.live.server_now(now);
    title(canvas, area, model);
    let shown: Vec<&Entry> = model.list.visible(rows).collect();
    let columns = ListColumns::fit(usize::from(area.width), &offered(model));
    headings(canvas, area, &columns, &shown, now);
    let head = u16::try_from(usize::from(area.height).saturating_sub(rows)).unwrap_or(0);
    let body = Rect { y: area.y + head, height: area.height - head, ..area };
    if model.list.entries().is_empty() {
        empty::draw(canvas, body, &empty::of_list(model));
        return;
    }
    let names = |of: fn(&JobRow) -> Option<&Untrusted>, width| {
        let names: Vec<String> = shown.iter().map(|entry| format::field(of(&entry.row))).collect();
        distinct(&names, width, canvas.theme)
    };
    let errors = names(|row| row.error_class.as_ref(), columns.error);
    let classes = names(|row| row.job_class.as_ref(), columns.class);
    let cursor = model.list.cursor_row();
    for (n, ((entry, error), class)) in shown.into_iter().zip(&errors).zip(&classes).enumerate() {
        let line = JobLine { entry, error, class, here: cursor == Some(n) };
        row(canvas, super::line_of(body, n), &columns, &line, model, now);
    }
}

/// A job as a line of the list.
struct JobLine<'m> {
    entry: &'m Entry,
    /// Its error class, cut so that it differs from the others on screen.
    error: &'m str,
    /// Its job class, likewise.
    class: &'m str,
    here: bool,
}

fn title(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let role = if model.screen.focus == Focus::List { StyleRole::TitleFocused } else { StyleRole::Title };
    let word = if model.screen.focus == Focus::List { "[Jobs]" } else { "Jobs" };
    let mut items = vec![Ranked::left(0, Phrase::of(role, word))];
    match &model.preview.shown {
        Some(shown) => {
            let bar = model.shown(&format::value(shown.value.as_ref())).into_owned();
            items.push(Ranked::left(1, Phrase::of(StyleRole::Dim, "of ").and(StyleRole::Error, bar)));
            let narrows = Phrase::of(StyleRole::Key, "Enter").and(StyleRole::Dim, " narrows to them");
            items.push(Ranked::left(2, narrows));
        }
        None => items.push(Ranked::left(4, Phrase::of(StyleRole::Dim, order(model)))),
    }
    items.extend(common(model).map(|text| Ranked::left(6, Phrase::of(StyleRole::Dim, text))));
    let marked = match &model.list.marks {
        SelectionMarks::None => None,
        SelectionMarks::Some(ids) => Some(format!("{} marked", grouped(ids.len() as u64))),
        SelectionMarks::All => Some("ALL marked".to_owned()),
    };
    items.extend(marked.map(|text| Ranked::left(1, Phrase::of(StyleRole::Mark, text))));
    if model.list.range.is_some() {
        items.push(Ranked::left(
            3,
            Phrase::of(StyleRole::Mark, format!("range: {} ends it", model.key(KeyCommand::Range))),
        ));
    }
    items.extend(scan(model).map(|p| Ranked::right(2, p)));
    if model.list.freshness.arrived > 0 {
        let new = Phrase::of(StyleRole::New, format!("{} new: ", format::short_count(model.list.freshness.arrived)));
        items.push(Ranked::right(1, new.and(StyleRole::Key, model.key(KeyCommand::First))));
    }
    draw_line(canvas, area, 0, items, 2);
}

fn order(model: &Model) -> String {
    let words = match (model.list.sort.key, model.list.sort.descending) {
        (SortKey::Time, true) => "newest first",
        (SortKey::Time, false) => "oldest first",
        (SortKey::Attempts, true) => "most attempts first",
        (SortKey::Attempts, false) => "fewest attempts first",
    };
    let by = model.source.opened.as_ref().and_then(|opened| opened.info.newest_by.as_ref());
    match by.filter(|_| model.list.sort.key == SortKey::Time) {
        Some(by) => format!("{words} by {by}"),
        None => words.to_owned(),
    }
}

/// What the rows have in common, in place of columns that would say it of each.
fn common(model: &Model) -> Option<String> {
    let row = &model.list.entries().front()?.row;
    let values = [
        (OptionalColumn::Error, row.error_class.as_ref().map(|class| class.line_head(60).to_string())),
        (OptionalColumn::Class, row.job_class.as_ref().map(|class| class.line_head(60).to_string())),
        (OptionalColumn::Queue, row.queue.as_ref().map(|queue| format!("queue {}", &*queue.line_head(60)))),
        (OptionalColumn::Attempts, row.attempts.map(|_| format!("{} attempts", format::attempts(row)))),
    ];
    let same = values.into_iter().filter(|(column, _)| model.list.is_same(*column));
    let bar = model.preview.shown.as_ref().map(|shown| format::value(shown.value.as_ref()));
    let same: Vec<String> = same.filter_map(|(_, value)| value).filter(|value| bar.as_ref() != Some(value)).collect();
    (!same.is_empty()).then(|| format!("all: {}", same.join(", ")))
}

/// How far a windowed scan has got. At rest it says nothing: the screen is full, and what lies below is read when it is
/// gone to.
fn scan(model: &Model) -> Option<Phrase<'static>> {
    let scan = model.list.scan.filter(|_| !model.list.knows_end())?;
    let so_far = match (scan.rows, format::progress(scan.share)) {
        (0, share) => format!("scanned {share}"),
        (rows, share) => format!("scanned {}, {share}", format::short_count(rows)),
    };
    let phrase = Phrase::of(StyleRole::Warning, so_far);
    match (model.list.halted, model.requests.is_open(Slot::Page)) {
        (true, _) => Some(
            phrase
                .and(StyleRole::Warning, ": ")
                .and(StyleRole::Key, model.key(KeyCommand::Refresh))
                .and(StyleRole::Dim, " goes on"),
        ),
        (false, true) => {
            Some(phrase.and(StyleRole::Warning, ": ").and(StyleRole::Key, "Ctrl-C").and(StyleRole::Dim, " cancels"))
        }
        (false, false) => None,
    }
}

/// Which columns say something: the layout has them, and rows differ in them.
fn offered(model: &Model) -> Offered {
    let has =
        |facet| model.source.opened.as_ref().is_none_or(|opened| opened.info.capabilities.facets.contains(&facet));
    let varies = |column| !model.list.is_same(column);
    Offered {
        error: varies(OptionalColumn::Error),
        class: varies(OptionalColumn::Class),
        queue: varies(OptionalColumn::Queue) && has(Facet::Queue),
        attempts: varies(OptionalColumn::Attempts),
    }
}

#[derive(Clone, Copy, Debug)]
struct Offered {
    error: bool,
    class: bool,
    queue: bool,
    attempts: bool,
}

/// Widths of the columns; 0 for one that has no room, or nothing to say. They depend on the width and on what the rows that
/// were read have in common, so that nothing moves while one scrolls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ListColumns {
    time: usize,
    error: usize,
    class: usize,
    queue: usize,
    attempts: usize,
    message: usize,
}

impl ListColumns {
    fn fit(width: usize, offered: &Offered) -> ListColumns {
        let time = if width >= 70 { format::DATED } else { format::MOMENT };
        let mut rest = width.saturating_sub(LEAD + time + 1);
        let mut take = |wanted: bool, columns: usize| {
            let columns = if wanted { columns.min(rest.saturating_sub(1)) } else { 0 };
            rest = rest.saturating_sub(if columns > 0 { columns + 1 } else { 0 });
            columns
        };
        let attempts = take(offered.attempts && width >= 60, 5);
        let queue = take(offered.queue && width >= 70, if width >= 110 { 12 } else { 8 });
        // Too narrow for a message that would say anything beside both: what was to be run says more.
        if width < 70 && offered.error && offered.class {
            let error = take(true, (width * 11 / 20 - 7).min(24));
            return ListColumns { time, error, class: rest, queue, attempts, message: 0 };
        }
        let (widest_error, widest_class) = match width {
            0..70 => (16, 16),
            70..110 => (20, 15),
            _ => ((width / 5).min(40), (width / 6).min(32)),
        };
        let class = take(offered.class, widest_class);
        let error = take(offered.error, widest_error);
        ListColumns { time, error, class, queue, attempts, message: rest }
    }

    fn each(&self) -> [(usize, &'static str); 5] {
        [
            (self.error, "error class"),
            (self.class, "job class"),
            (self.queue, "queue"),
            (self.attempts, "att."),
            (self.message, "message"),
        ]
    }
}

fn headings(canvas: &mut Canvas<'_>, area: Rect, plan: &ListColumns, shown: &[&Entry], now: Timestamp) {
    let time = format::moment_title("time", plan.time, shown.iter().filter_map(|e| e.row.at), now, canvas.theme.zone);
    let mut pen = canvas.row(area, 1);
    pen.skip(LEAD).cell(StyleRole::Dim, &time, plan.time);
    for (width, title) in plan.each() {
        if width > 0 {
            pen.skip(1).cell(StyleRole::Dim, title, width);
        }
    }
}

fn row(canvas: &mut Canvas<'_>, area: Rect, plan: &ListColumns, line: &JobLine<'_>, model: &Model, now: Timestamp) {
    let theme = canvas.theme;
    let glyphs = theme.glyphs;
    let row = &line.entry.row;
    let stale = model.list.freshness.stale.get(&row.id);
    let remark = stale.map(|stale| match stale {
        Stale::Gone => "gone".to_owned(),
        Stale::Changed(_) => format!("now {}", row.state),
        Stale::DiedAgain => "died again".to_owned(),
    });
    let reserved = remark.as_ref().map_or(0, |text| columns(text, theme) + 1);
    // What is out of date is dim as a whole, and a word at its end says why.
    let role = |role: StyleRole| if stale.is_some() { StyleRole::Dim } else { role };
    let in_range = model.list.range.as_ref() == Some(&row.id);
    let mark = if model.list.marks.has(&row.id) {
        glyphs.mark
    } else if in_range {
        "v"
    } else {
        ""
    };
    let mut pen = canvas.row(area, 0);
    pen.cell(StyleRole::Key, if line.here { glyphs.cursor } else { "" }, 1);
    pen.cell(StyleRole::Mark, mark, 1);
    pen.cell(role(StyleRole::Time), &format::moment(row.at, now, plan.time, theme.zone), plan.time);
    pen.reserve(reserved);
    let values = [
        (StyleRole::Error, line.error.to_owned()),
        (StyleRole::Class, line.class.to_owned()),
        (StyleRole::Queue, format::field(row.queue.as_ref())),
        (StyleRole::Number, format::attempts(row)),
        (
            StyleRole::Text,
            if stale.is_some() { format::field(row.message_beyond_class().as_ref()) } else { message(row) },
        ),
    ];
    for ((width, _), (text_role, text)) in plan.each().into_iter().zip(values) {
        if width > 0 {
            pen.skip(1).cell(role(text_role), &text, width);
        }
    }
    if let Some(text) = remark {
        let mut pen = canvas.row(area, 0);
        let at = usize::from(area.width).saturating_sub(reserved - 1);
        pen.skip(at).put(StyleRole::Warning, &text);
    }
    if line.here {
        canvas.tint(area, if model.screen.focus == Focus::List { StyleRole::Cursor } else { StyleRole::CursorDim });
    }
}

/// The start of the message; before it the state, where the job is not dead.
fn message(row: &JobRow) -> String {
    let text = format::field(row.message_beyond_class().as_ref());
    if row.state == State::Dead { text } else { format!("[{}] {text}", row.state) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each_offer() -> impl Iterator<Item = Offered> {
        (0..16).map(|n| Offered { error: n & 1 > 0, class: n & 2 > 0, queue: n & 4 > 0, attempts: n & 8 > 0 })
    }

    #[test]
    fn the_columns_fill_the_width_exactly_at_every_width() {
        for (width, offered) in (40..=220).flat_map(|width| each_offer().map(move |offered| (width, offered))) {
            let plan = ListColumns::fit(width, &offered);
            let used: usize = plan.each().iter().filter(|(w, _)| *w > 0).map(|(w, _)| w + 1).sum();
            assert_eq!(LEAD + plan.time + used, width, "{offered:?} {plan:?}");
            assert!(!offered.error || plan.error >= 12, "{width}: {plan:?}");
        }
    }

    #[test]
    fn a_column_that_says_nothing_gives_its_room_to_the_message() {
        let all = Offered { error: true, class: true, queue: true, attempts: true };
        let without = ListColumns::fit(140, &Offered { queue: false, ..all });
        let with = ListColumns::fit(140, &all);
        assert_eq!((without.queue, without.message), (0, with.message + with.queue + 1));
        assert!(with.message >= 50, "{with:?}");
    }
}
