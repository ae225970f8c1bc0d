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
use super::phrase::{Phrase, Ranked, draw_line};
use super::{empty, words};
use crate::domain::facet::Facet;
use crate::domain::histogram::grouped;
use crate::domain::job::{JobRow, State};
use crate::domain::time::Timestamp;
use crate::store::{Entry, Sort, SortKey};
use crate::tui::app::Slot;
use crate::tui::app::model::{Focus, Marks, Model, Stale};
use crate::tui::keys::Command;
use crate::tui::look::Role;

/// Columns of the cursor and the mark.
const LEAD: usize = 2;

/// Draws the pane.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, rows: usize, model: &Model, now: Timestamp) {
    title(canvas, area, model);
    let plan = Columns::fit(usize::from(area.width), has_queues(model));
    headings(canvas, area, &plan);
    let head = u16::try_from(usize::from(area.height).saturating_sub(rows)).unwrap_or(0);
    let body = Rect { y: area.y + head, height: area.height - head, ..area };
    if model.list.entries().is_empty() {
        empty::draw(canvas, body, &empty::of_list(model));
        return;
    }
    let now = model.live.server_now(now);
    let cursor = model.list.cursor_row();
    for (n, entry) in model.list.visible(rows).enumerate() {
        row(canvas, super::line_of(body, n), &plan, entry, model, now, cursor == Some(n));
    }
}

fn title(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let role = if model.screen.focus == Focus::List { Role::TitleFocused } else { Role::Title };
    let word = if model.screen.focus == Focus::List { "[Jobs]" } else { "Jobs" };
    let mut items =
        vec![Ranked::left(0, Phrase::of(role, word)), Ranked::left(4, Phrase::of(Role::Dim, order(model.list.sort)))];
    let marked = match &model.list.marks {
        Marks::None => None,
        Marks::Some(ids) => Some(format!("{} marked", grouped(ids.len() as u64))),
        Marks::All => Some("ALL marked".to_owned()),
    };
    items.extend(marked.map(|text| Ranked::left(1, Phrase::of(Role::Mark, text))));
    if model.list.range.is_some() {
        items.push(Ranked::left(3, Phrase::of(Role::Mark, format!("range: {} ends it", model.key(Command::Range)))));
    }
    items.extend(scan(model).map(|p| Ranked::right(2, p)));
    if model.list.arrived > 0 {
        let new = Phrase::of(Role::New, format!("{} new: ", words::short_count(model.list.arrived)));
        items.push(Ranked::right(1, new.and(Role::Key, model.key(Command::First))));
    }
    draw_line(canvas, area, 0, items, 2);
}

fn order(sort: Sort) -> &'static str {
    match (sort.key, sort.descending) {
        (SortKey::Time, true) => "newest first",
        (SortKey::Time, false) => "oldest first",
        (SortKey::Attempts, true) => "most attempts first",
        (SortKey::Attempts, false) => "fewest attempts first",
    }
}

/// How far a windowed scan has got. At rest it says nothing: the screen is full, and what lies below is read when it is
/// gone to.
fn scan(model: &Model) -> Option<Phrase<'static>> {
    let scan = model.list.scan.filter(|_| !model.list.knows_end())?;
    let so_far = match (scan.rows, words::progress(scan.share)) {
        (0, share) => format!("scanned {share}"),
        (rows, share) => format!("scanned {}, {share}", words::short_count(rows)),
    };
    let phrase = Phrase::of(Role::Warning, so_far);
    match (model.list.halted, model.asks.is_open(Slot::Page)) {
        (true, _) => {
            Some(phrase.and(Role::Warning, ": ").and(Role::Key, model.key(Command::Refresh)).and(Role::Dim, " goes on"))
        }
        (false, true) => Some(phrase.and(Role::Warning, ": ").and(Role::Key, "Ctrl-C").and(Role::Dim, " cancels")),
        (false, false) => None,
    }
}

/// Whether the layout knows queues at all: a column of dashes would take its room from the message.
fn has_queues(model: &Model) -> bool {
    model.source.opened.as_ref().is_none_or(|opened| opened.info.facets.contains(&Facet::Queue))
}

/// Widths of the columns; 0 for one that has no room. They depend on the width and the layout alone, so that nothing
/// moves while one scrolls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Columns {
    time: usize,
    error: usize,
    class: usize,
    queue: usize,
    attempts: usize,
    message: usize,
}

impl Columns {
    fn fit(width: usize, queues: bool) -> Columns {
        let time = if width >= 100 { 11 } else { words::MOMENT };
        let mut rest = width.saturating_sub(LEAD + time + 1);
        let mut take = |wanted: bool, columns: usize| {
            let columns = if wanted { columns.min(rest.saturating_sub(1)) } else { 0 };
            rest = rest.saturating_sub(if columns > 0 { columns + 1 } else { 0 });
            columns
        };
        let attempts = take(width >= 60, 5);
        let queue = take(queues && width >= 70, if width >= 110 { 12 } else { 8 });
        let (error, class) = match width {
            0..70 => (width * 11 / 20 - 7, 0),
            70..110 => (20, 15),
            _ => (28, 24),
        };
        let class = take(class > 0, class);
        let error = take(true, if class > 0 { error } else { error.min(24) });
        let error_alone = class == 0;
        let second = rest;
        if error_alone {
            // Too narrow for a message that would say anything: what was to be run says more.
            return Columns { time, error, class: second, queue, attempts, message: 0 };
        }
        Columns { time, error, class, queue, attempts, message: second }
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

fn headings(canvas: &mut Canvas<'_>, area: Rect, plan: &Columns) {
    let mut pen = canvas.row(area, 1);
    pen.skip(LEAD).cell(Role::Dim, "time UTC", plan.time);
    for (width, title) in plan.each() {
        if width > 0 {
            pen.skip(1).cell(Role::Dim, title, width);
        }
    }
}

fn row(canvas: &mut Canvas<'_>, line: Rect, plan: &Columns, entry: &Entry, model: &Model, now: Timestamp, here: bool) {
    let look = canvas.look;
    let glyphs = look.glyphs;
    let row = &entry.row;
    let stale = model.list.stale.get(&row.id);
    let remark = stale.map(|stale| match stale {
        Stale::Gone => "gone".to_owned(),
        Stale::Changed(_) => format!("now {}", row.state),
        Stale::DiedAgain => "died again".to_owned(),
    });
    let reserved = remark.as_ref().map_or(0, |text| columns(text, look) + 1);
    // What is out of date is dim as a whole, and a word at its end says why.
    let role = |role: Role| if stale.is_some() { Role::Dim } else { role };
    let in_range = model.list.range.as_ref() == Some(&row.id);
    let mark = if model.list.marks.has(&row.id) {
        glyphs.mark
    } else if in_range {
        "v"
    } else {
        ""
    };
    let mut pen = canvas.row(line, 0);
    pen.cell(Role::Key, if here { glyphs.cursor } else { "" }, 1);
    pen.cell(Role::Mark, mark, 1);
    pen.cell(role(Role::Time), &words::moment(row.at, now, plan.time), plan.time);
    pen.reserve(reserved);
    let values = [
        (Role::Error, words::name(row.error_class.as_ref(), plan.error, look)),
        (Role::Class, words::name(row.job_class.as_ref(), plan.class, look)),
        (Role::Queue, words::field(row.queue.as_ref())),
        (Role::Number, words::attempts(row)),
        (Role::Text, if stale.is_some() { words::field(row.message_beyond_class().as_ref()) } else { message(row) }),
    ];
    for ((width, _), (text_role, text)) in plan.each().into_iter().zip(values) {
        if width > 0 {
            pen.skip(1).cell(role(text_role), &text, width);
        }
    }
    if let Some(text) = remark {
        let mut pen = canvas.row(line, 0);
        let at = usize::from(line.width).saturating_sub(reserved - 1);
        pen.skip(at).put(Role::Warning, &text);
    }
    if here {
        canvas.tint(line, if model.screen.focus == Focus::List { Role::Cursor } else { Role::CursorDim });
    }
}

/// The start of the message; before it the state, where the job is not dead.
fn message(row: &JobRow) -> String {
    let text = words::field(row.message_beyond_class().as_ref());
    if row.state == State::Dead { text } else { format!("[{}] {text}", row.state) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_fill_the_width_exactly_at_every_width() {
        for (width, queues) in (40..=220).flat_map(|width| [(width, true), (width, false)]) {
            let plan = Columns::fit(width, queues);
            let used: usize = plan.each().iter().filter(|(w, _)| *w > 0).map(|(w, _)| w + 1).sum();
            assert_eq!(LEAD + plan.time + used, width, "{plan:?}");
            assert!(plan.error >= 12, "{width}: {plan:?}");
        }
    }

    #[test]
    fn a_layout_without_queues_gives_their_room_to_the_message() {
        let (with, without) = (Columns::fit(120, true), Columns::fit(120, false));
        assert_eq!((without.queue, without.message), (0, with.message + with.queue + 1));
    }
}
