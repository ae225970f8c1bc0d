//! The open job: what failed, which job it is, and one of its sides.
//!
//! ```text
//!  Net::ReadTimeout: execution expired
//!  ChargeCardJob  dead (failed)  2026-11-20 03:12:09Z, 4m ago  billing  5/5 attempts  id 8f3a…
//!  [1 Arguments 1.2 kB] 2 Backtrace 3.4 kB 3 Error 80 B 4 Metadata 5 History          12/340
//! ▸▾{
//!     "order_id": 10442,
//! ```

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::empty::{self, Empty};
use super::format;
use super::styled_text::{Phrase, Ranked, draw_line};
use super::tab_strip::{TabForm, TabStrip};
use crate::domain::job::{JobId, JobRow};
use crate::domain::time::Timestamp;
use crate::tui::app::JobDocument;
use crate::tui::app::document::{ScreenRow, Tab, TextRole};
use crate::tui::app::model::{Focus, Model, Stale};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::{StyleRole, Theme};

/// Draws the pane.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, rows: usize, model: &Model, now: Timestamp) {
    let head = usize::from(area.height).saturating_sub(rows);
    let body = Rect { y: area.y + u16::try_from(head).unwrap_or(0), height: u16::try_from(rows).unwrap_or(0), ..area };
    let detail = model.detail.drawn();
    let Some(document) = &detail.document else {
        draw_line(canvas, area, 0, vec![Ranked::left(0, Phrase::of(title_role(model), "Job"))], 2);
        empty::draw(canvas, body, &absent(model));
        return;
    };
    let remark = document.note(detail.tab);
    let mut line = 0;
    if head > 2 + usize::from(remark.is_some()) {
        draw_line(canvas, area, 0, failure(model, &document.detail.row), 1);
        line = 1;
    }
    draw_line(canvas, area, line, identity(model, document, line == 0, canvas.theme, now), 2);
    tabs(canvas, area, line + 1, model, document);
    if let Some(remark) = remark {
        canvas.row(area, line + 2).skip(1).put(StyleRole::Warning, remark);
    }
    text(canvas, body, model);
}

fn title_role(model: &Model) -> StyleRole {
    if model.screen.focus == Focus::Detail { StyleRole::TitleFocused } else { StyleRole::Title }
}

fn absent(model: &Model) -> Empty {
    let (reason, step) = match (&model.detail.absent, &model.detail.job) {
        (Some(reason), _) => (reason.clone(), "Esc goes back to the list".into()),
        (None, Some(id)) => (format!("opening {}", &*id.text().line_head(60)), String::new()),
        (None, None) => ("no job is open".into(), "Enter opens the one under the cursor".into()),
    };
    Empty { reason, step }
}

/// What the error says, where there is a line for it.
fn failure<'m>(model: &Model, row: &'m JobRow) -> Vec<Ranked<'m>> {
    let class = format::field(row.error_class.as_ref());
    let message = row.message_beyond_class().filter(|message| row.error_class.as_ref() != Some(message));
    let message = message.map_or_else(String::new, |m| format!(": {}", &*m.line()));
    let mut phrase = Phrase::of(StyleRole::Error, class).and(StyleRole::Text, message);
    if model.screen.focus == Focus::Detail {
        phrase = Phrase::of(StyleRole::TitleFocused, "[Job] ").then(phrase);
    }
    vec![Ranked::left(0, phrase)]
}

fn identity<'m>(
    model: &Model,
    document: &'m JobDocument,
    with_error: bool,
    theme: &Theme,
    now: Timestamp,
) -> Vec<Ranked<'m>> {
    let row = &document.detail.row;
    let now = model.live.server_now(now);
    let mut items = Vec::new();
    if with_error {
        items.push(Ranked::left(0, Phrase::of(StyleRole::Error, format::field(row.error_class.as_ref()))));
    }
    items.push(Ranked::left(1, Phrase::of(StyleRole::Class, format::field(row.job_class.as_ref()))));
    let native = row.native_state.line_head(40);
    let state =
        if *native == *row.state.word() { row.state.to_string() } else { format!("{} ({})", row.state, &*native) };
    items.push(match outdated(model, row) {
        Some(now) => Ranked::left(0, Phrase::of(StyleRole::Warning, now)),
        None => Ranked::left(2, Phrase::of(StyleRole::Strong, state)),
    });
    let in_full = |at| format!("{}, {}", format::instant(at, theme.zone), format::ago(at, now));
    let when = row.at.map_or_else(|| "time unknown".into(), in_full);
    items.push(Ranked::left(3, Phrase::of(StyleRole::Time, when)));
    if let Some(queue) = &row.queue {
        items.push(Ranked::left(5, Phrase::of(StyleRole::Queue, queue.line_head(60).to_string())));
    }
    if row.attempts.is_some() {
        items.push(Ranked::left(6, Phrase::of(StyleRole::Text, format!("{} attempts", format::attempts(row)))));
    }
    match document.replayed {
        0 => {}
        1 => items.push(Ranked::left(2, Phrase::of(StyleRole::Warning, "replayed once before"))),
        n => items.push(Ranked::left(2, Phrase::of(StyleRole::Warning, format!("replayed {n} times before")))),
    }
    if let Some(worker) = &row.worker {
        items.push(Ranked::left(7, Phrase::of(StyleRole::Dim, format!("on {}", &*worker.line_head(60)))));
    }
    items.push(Ranked::left(4, Phrase::of(StyleRole::Dim, "id ").and(StyleRole::Text, id_text(&row.id))));
    items
}

/// What has become of the job since it was read, where that is known.
fn outdated(model: &Model, row: &JobRow) -> Option<String> {
    let in_list = || model.list.entries().iter().find(|e| e.row.id == row.id);
    match model.list.freshness.stale.get(&row.id) {
        _ if model.detail.absent.is_some() => Some("no longer there".into()),
        Some(Stale::Gone) => Some("no longer there".into()),
        Some(Stale::DiedAgain) => in_list().filter(|e| e.row.at == row.at).map(|_| "died again".into()),
        Some(Stale::Changed(_)) => {
            in_list().filter(|e| e.row.state != row.state).map(|e| format!("now {}", e.row.state))
        }
        None => None,
    }
}

fn id_text(id: &JobId) -> String {
    id.text().line_head(80).to_string()
}

fn tabs(canvas: &mut Canvas<'_>, area: Rect, line: usize, model: &Model, document: &JobDocument) {
    let theme = canvas.theme;
    let place = place(model, document);
    let room = usize::from(area.width).saturating_sub(4 + place.width(theme));
    let open = Tab::ALL.iter().position(|tab| *tab == model.detail.drawn().tab);
    let focused = model.screen.focus == Focus::Detail;
    let strip = TabStrip { count: Tab::ALL.len(), open, hears: focused, focused };
    let phrase = strip.fit(room, theme, |n, form| {
        let tab = Tab::ALL[n];
        let size = document.size(tab);
        let size = match (form, size.bytes) {
            (TabForm::Alone, _) => String::new(),
            (TabForm::Short, _) if open != Some(n) => String::new(),
            (_, 0) if size.lines == 0 => " -".to_owned(),
            (_, 0) => String::new(),
            _ => format!(" {size}"),
        };
        format!("{}{size}", tab.word())
    });
    draw_line(canvas, area, line, vec![Ranked::left(0, phrase), Ranked::right(1, place)], 2);
}

/// Where in the text one is: lines that are shown, and the search.
fn place(model: &Model, document: &JobDocument) -> Phrase<'static> {
    let detail = model.detail.drawn();
    let mut phrase = Phrase::empty();
    if let Some((words, _)) = &detail.search {
        phrase = phrase.and(StyleRole::Hit, format!("/{words}")).and(StyleRole::Text, " ");
    }
    if !detail.wrap {
        phrase = phrase
            .and(StyleRole::Dim, "cut: ")
            .and(StyleRole::Key, model.key(KeyCommand::Wrap))
            .and(StyleRole::Dim, " wraps ");
    }
    let lines = document.size(detail.tab).lines;
    phrase.and(StyleRole::Dim, format!("{}/{lines}", (detail.view().line + 1).min(lines)))
}

fn text(canvas: &mut Canvas<'_>, body: Rect, model: &Model) {
    let (width, height) = model.detail_size();
    let detail = model.detail.drawn();
    let view = detail.view();
    let Some(pane) = detail.pane(width) else { return };
    let needle = detail.search.as_ref().map(|(_, needle)| needle);
    let left = if detail.wrap { 0 } else { detail.left };
    let rows = pane.window(view.top, height, left, needle);
    if rows.is_empty() {
        let nothing = Empty { reason: format!("no {}", detail.tab.word().to_lowercase()), step: String::new() };
        empty::draw(canvas, body, &nothing);
    }
    for (n, row) in rows.iter().enumerate() {
        line(canvas, super::line_of(body, n), row, row.line == view.line, model);
    }
}

fn line(canvas: &mut Canvas<'_>, area: Rect, row: &ScreenRow, here: bool, model: &Model) {
    let glyphs = canvas.theme.glyphs;
    let focused = model.screen.focus == Focus::Detail;
    let mut pen = canvas.row(area, 0);
    pen.cell(StyleRole::Key, if here && row.row == 0 && focused { glyphs.cursor } else { "" }, 1);
    let fold = match row.fold {
        Some(true) => glyphs.fold[0],
        Some(false) => glyphs.fold[1],
        None => "",
    };
    pen.cell(StyleRole::Dim, fold, 1);
    pen.reserve(1);
    for piece in &row.pieces {
        pen.put(if piece.hit { StyleRole::Hit } else { role_of(piece.ink) }, &piece.text);
    }
    if row.cut {
        let mut pen = canvas.row(area, 0);
        pen.skip(usize::from(area.width).saturating_sub(1)).put(StyleRole::Warning, glyphs.ellipsis);
    }
    if here && focused {
        canvas.tint(area, StyleRole::Cursor);
    }
}

fn role_of(ink: TextRole) -> StyleRole {
    match ink {
        TextRole::Plain => StyleRole::Text,
        TextRole::Key => StyleRole::Member,
        TextRole::String => StyleRole::Quoted,
        TextRole::Number => StyleRole::Number,
        TextRole::Literal | TextRole::Escape => StyleRole::Literal,
        TextRole::Punctuation => StyleRole::Punctuation,
        TextRole::Marker => StyleRole::Marker,
        TextRole::Masked => StyleRole::Warning,
        TextRole::AppFrame => StyleRole::AppFrame,
        TextRole::LibraryFrame => StyleRole::LibraryFrame,
        TextRole::Path | TextRole::Link => StyleRole::Path,
        TextRole::LineNumber => StyleRole::Number,
        TextRole::Function => StyleRole::Function,
        TextRole::ErrorClass => StyleRole::Error,
        TextRole::Heading => StyleRole::Strong,
        TextRole::Note => StyleRole::Dim,
    }
}
