//! The header: where the jobs come from, whether that is still true, how many there are and how fast they grow.
//!
//! ```text
//! shop · public.dead_letter_jobs · app_production as ops · PostgreSQL 15.18        PRODUCTION  ● live
//! dead 1,204,331  retrying 12  ignored 9  ▲ 1,204 in the last 5 min  polled every 1s   run r-7 43 %: L
//! ```

use std::time::Duration;

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::format;
use super::styled_text::{Phrase, Ranked, draw_line};
use crate::domain::histogram::grouped;
use crate::domain::job::State;
use crate::domain::time::{Timestamp, short_span};
use crate::triage::live::Growth;
use crate::tui::app::model::{ConnectionState, Loss, Model, Overlay};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::{StyleRole, Theme};

/// Columns between items.
const GAP: usize = 2;
/// What polls cost is said from here on.
const CHEAP: Duration = Duration::from_millis(10);

/// Draws the header.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, now: Timestamp) {
    let theme = canvas.theme;
    let mut first = origin(model);
    first.extend(badges(model));
    first.push(Ranked::right(0, link(model, theme, now)));
    draw_line(canvas, area, 0, first, GAP);
    if area.height > 1 {
        let mut second = totals(model, theme, now);
        second.extend(growth_and_cost(model, theme, now));
        second.extend(activity(model));
        draw_line(canvas, area, 1, second, GAP);
    }
}

fn origin(model: &Model) -> Vec<Ranked<'_>> {
    let mut items = vec![Ranked::left(0, Phrase::of(StyleRole::Strong, &*model.source.label))];
    if !model.source.banner.is_empty() && model.source.banner != model.source.label {
        items.push(Ranked::left(3, Phrase::of(StyleRole::New, format!("[{}]", model.source.banner))));
    }
    let Some(opened) = &model.source.opened else { return items };
    items.push(Ranked::left(2, Phrase::of(StyleRole::Text, &*opened.info.title)));
    let database = &opened.info.database;
    let place = match opened.info.user.as_str() {
        "" => Phrase::of(StyleRole::Dim, &**database),
        user => Phrase::of(StyleRole::Dim, format!("{database} as {user}")),
    };
    // A source with a banner is a temporary one: where it lies says nothing.
    if model.source.banner.is_empty() {
        items.push(Ranked::left(5, place));
    }
    items.push(Ranked::left(7, Phrase::of(StyleRole::Dim, &*opened.info.server)));
    items
}

fn badges(model: &Model) -> Vec<Ranked<'_>> {
    let Some(opened) = &model.source.opened else { return Vec::new() };
    let mut items = Vec::new();
    match &opened.info {
        info if info.replica => items.push(Ranked::right(1, Phrase::of(StyleRole::Warning, "REPLICA"))),
        info if info.read_only.is_some() => items.push(Ranked::right(3, Phrase::of(StyleRole::Warning, "READ-ONLY"))),
        _ => {}
    }
    if !opened.info.warnings.is_empty() {
        items.push(Ranked::right(2, Phrase::of(StyleRole::Warning, "ROWS HIDDEN")));
    }
    if opened.production {
        items.push(Ranked::right(1, Phrase::of(StyleRole::Badge, " PRODUCTION ")));
    }
    items
}

/// How we stand with the source. The words say it; colour and glyph only repeat it.
fn link<'m>(model: &'m Model, theme: &Theme, now: Timestamp) -> Phrase<'m> {
    let live = &model.live;
    match &live.link {
        ConnectionState::Connecting => Phrase::of(StyleRole::Warning, "connecting"),
        ConnectionState::Down { loss, retry_at, .. } => {
            // Rounded up: a countdown that shows 0 s and goes on looks broken.
            let seconds = now.age(*retry_at).as_millis().div_ceil(1_000);
            let rest = if seconds == 0 { "retrying now".into() } else { format!("retry in {seconds}s") };
            let badge = match loss {
                Loss::Connection => " DISCONNECTED ",
                Loss::Right => " NO ACCESS ",
                Loss::Store => " CANNOT OPEN ",
            };
            Phrase::of(StyleRole::Badge, badge).and(StyleRole::Warning, format!(" {rest}"))
        }
        ConnectionState::Up if live.paused => Phrase::of(StyleRole::Warning, format!("{} PAUSED", theme.glyphs.paused)),
        ConnectionState::Up => match (live.late_at(), live.heard_at) {
            (_, Some(heard)) if live.poll.given_up().is_some_and(|cost| !cost.is_zero()) => {
                Phrase::of(StyleRole::Warning, format!("{} slow, {}", theme.glyphs.live, format::ago(heard, now)))
            }
            (Some(late), Some(heard)) if late <= now => {
                Phrase::of(StyleRole::Warning, format!("{} heard {}", theme.glyphs.live, format::ago(heard, now)))
            }
            _ => Phrase::of(StyleRole::Good, format!("{} live", theme.glyphs.live)),
        },
    }
}

fn totals<'m>(model: &'m Model, theme: &Theme, now: Timestamp) -> Vec<Ranked<'m>> {
    let mut items = Vec::new();
    if let Some((counted_at, _)) = &model.live.totals.read {
        for state in State::ALL {
            let Some(count) = model.total(state) else { continue };
            let number = if state == State::Dead { StyleRole::Danger } else { StyleRole::Text };
            let phrase = Phrase::of(StyleRole::Dim, format!("{state} ")).and(number, format::count(count, theme));
            let rank = if state == State::Dead { 0 } else { 6 };
            items.push(Ranked::left(rank, phrase));
        }
        if model.live.is_stale() {
            let age = format!("as of {}", format::ago(*counted_at, now));
            items.push(Ranked::left(2, Phrase::of(StyleRole::Warning, age)));
        }
    }
    items
}

/// How fast the dead grow, what polls cost, and how far the count has got that takes its time.
fn growth_and_cost<'m>(model: &'m Model, theme: &Theme, now: Timestamp) -> Vec<Ranked<'m>> {
    let mut items = Vec::new();
    // That of a filter's jobs stands next to their number.
    if model.filter.written.is_all() {
        items.extend(growth(model, theme, now).map(|growth| Ranked::left(1, growth)));
    }
    if !model.live.cost.is_zero() || model.live.poll.given_up().is_some() {
        items.push(Ranked::left(8, polls(model)));
    }
    // Why numbers are estimates, and that it will pass.
    let recount = model.histogram.count_progress().map(|share| format!("recount {}", format::progress(share)));
    items.extend(recount.map(|recount| Ranked::left(7, Phrase::of(StyleRole::Dim, recount))));
    items
}

/// How often the source is polled, and what a poll costs where that is worth a word.
///
/// When it was polled last is not said: a line that changes each second keeps the terminal busy, and draws the eye, for nothing.
fn polls(model: &Model) -> Phrase<'static> {
    let (cost, poll) = (model.live.cost, &model.live.poll);
    let Some(given_up) = poll.given_up() else {
        // Both of what polls cost of late: with the interval of each single one the line would move with each.
        let every = format!("polled every {}", format::interval(poll.interval_after(cost)));
        let cost = if cost < CHEAP { String::new() } else { format!(", {} each", millis(cost)) };
        return Phrase::of(StyleRole::Dim, every + &cost);
    };
    let why =
        if given_up.is_zero() { "poll failed".to_owned() } else { format!("poll took over {}", millis(given_up)) };
    Phrase::of(StyleRole::Warning, format!("{why}, next in {}", short_span(poll.interval())))
}

/// What a poll cost, no finer than it matters: a number that flickers with every poll draws the eye for nothing.
fn millis(cost: Duration) -> String {
    match cost.as_millis() {
        0..10 => "10 ms".into(),
        ms @ 10..1_000 => format!("{} ms", ms / 10 * 10),
        ms => format!("{:.1} s", ms as f64 / 1e3),
    }
}

/// How many of the jobs that are counted died of late.
pub fn growth(model: &Model, theme: &Theme, now: Timestamp) -> Option<Phrase<'static>> {
    let now = model.live.server_now(now);
    let growth = model.histogram.growth(now).filter(|_| !model.live.is_stale())?;
    Some(growth_phrase(growth, theme, now))
}

/// A span that still grows is shown by its beginning: a number that moves without any news draws the eye, and a frame, for
/// nothing.
fn growth_phrase(growth: Growth, theme: &Theme, now: Timestamp) -> Phrase<'static> {
    let span = match growth.since {
        None => "in the last 5 min".to_owned(),
        Some(since) => format!("since {}", format::clock(since, now, theme.zone)),
    };
    match growth.n {
        0 => Phrase::of(StyleRole::Good, format!("none {span}")),
        n => Phrase::of(StyleRole::Danger, format!("{} {} {span}", theme.glyphs.grown, grouped(n))),
    }
}

/// What else is going on: a run whose gauge is hidden, or why the link is down.
fn activity(model: &Model) -> Vec<Ranked<'_>> {
    let mut items = Vec::new();
    // Where nothing is open yet, the panes have room for the whole of it.
    if let (ConnectionState::Down { reason, .. }, Some(_)) = (&model.live.link, &model.source.opened) {
        items.push(Ranked::right(4, Phrase::of(StyleRole::Dim, &**reason)));
    }
    if let Some(going) = model.runner.going.as_ref().filter(|_| !matches!(model.overlay, Overlay::Run)) {
        let reached = going.tally.behind();
        let word = match (model.runner.stopping, model.runner.paused) {
            (true, _) => "stopping",
            (_, true) => "paused",
            _ => "running",
        };
        let share = format::progress(reached as f32 / going.tally.planned as f32);
        let chip = Phrase::of(StyleRole::Warning, format!("{word} {} {share} ", going.run))
            .and(StyleRole::Key, model.key(KeyCommand::Runs));
        items.push(Ranked::right(1, chip));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_795_000_000_000_000);

    fn text(n: u64, since: Option<u64>, ascii: bool) -> String {
        let theme = Theme::of("none", ascii, |_| None);
        let since = since.map(|seconds| NOW.before(Duration::from_secs(seconds)));
        growth_phrase(Growth { n, since }, &theme, NOW).parts()[0].1.to_string()
    }

    #[test]
    fn growth_says_its_direction_without_colour() {
        assert_eq!(text(1_204, None, false), "▲ 1,204 in the last 5 min");
        assert_eq!(text(1_204, None, true), "+ 1,204 in the last 5 min");
        assert_eq!(text(0, None, false), "none in the last 5 min");
    }

    #[test]
    fn growth_is_not_told_again_because_time_goes_by() {
        assert_eq!(text(0, Some(40), false), "none since 11:06");
        assert_eq!(text(3, Some(200), false), "▲ 3 since 11:03");
        assert_eq!(text(0, Some(90_000), false), "none since Nov 17 10:06");
    }
}
