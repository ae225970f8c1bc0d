//! The header: where the jobs come from, whether that is still true, how many there are and how fast they grow.
//!
//! ```text
//! shop · public.dead_letter_jobs · app_production as ops · PostgreSQL 15.18        PRODUCTION  ● live
//! dead 1,204,331 · retrying 12 · ignored 9  +1,204 in 5m  look <10 ms                 run r-7 43 %: L
//! ```

use std::time::Duration;

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::phrase::{Phrase, Ranked, draw_line};
use super::words;
use crate::domain::histogram::grouped;
use crate::domain::job::State;
use crate::domain::time::{Timestamp, short_span};
use crate::triage::live::Growth;
use crate::tui::app::model::{Link, Loss, Model, Overlay};
use crate::tui::keys::Command;
use crate::tui::look::{Look, Role};

/// Columns between items.
const GAP: usize = 2;
/// Growth over less says nothing yet.
const WATCHED: Duration = Duration::from_secs(10);
/// The span of growth once there was time for it.
const SPAN: Duration = Duration::from_secs(300);

/// Draws the header.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, now: Timestamp) {
    let look = canvas.look;
    let mut first = origin(model);
    first.extend(badges(model));
    first.push(Ranked::right(0, link(model, look, now)));
    draw_line(canvas, area, 0, first, GAP);
    if area.height > 1 {
        let mut second = totals(model, look, now);
        second.extend(pace(model, now));
        second.extend(activity(model));
        draw_line(canvas, area, 1, second, GAP);
    }
}

fn origin(model: &Model) -> Vec<Ranked<'_>> {
    let mut items = vec![Ranked::left(0, Phrase::of(Role::Strong, &*model.source.label))];
    if !model.source.banner.is_empty() && model.source.banner != model.source.label {
        items.push(Ranked::left(3, Phrase::of(Role::New, format!("[{}]", model.source.banner))));
    }
    let Some(opened) = &model.source.opened else { return items };
    items.push(Ranked::left(2, Phrase::of(Role::Text, &*opened.info.title)));
    let database = &opened.info.database;
    let place = match opened.info.user.as_str() {
        "" => Phrase::of(Role::Dim, &**database),
        user => Phrase::of(Role::Dim, format!("{database} as {user}")),
    };
    // A source with a banner is a temporary one: where it lies says nothing.
    if model.source.banner.is_empty() {
        items.push(Ranked::left(5, place));
    }
    items.push(Ranked::left(7, Phrase::of(Role::Dim, &*opened.info.server)));
    items
}

fn badges(model: &Model) -> Vec<Ranked<'_>> {
    let Some(opened) = &model.source.opened else { return Vec::new() };
    let mut items = Vec::new();
    match &opened.info {
        info if info.replica => items.push(Ranked::right(1, Phrase::of(Role::Warning, "REPLICA"))),
        info if info.read_only.is_some() => items.push(Ranked::right(3, Phrase::of(Role::Warning, "READ-ONLY"))),
        _ => {}
    }
    if !opened.info.warnings.is_empty() {
        items.push(Ranked::right(2, Phrase::of(Role::Warning, "ROWS HIDDEN")));
    }
    if opened.production {
        items.push(Ranked::right(1, Phrase::of(Role::Badge, " PRODUCTION ")));
    }
    items
}

/// How we stand with the source. The words say it; colour and glyph only repeat it.
fn link<'m>(model: &'m Model, look: &Look, now: Timestamp) -> Phrase<'m> {
    let live = &model.live;
    match &live.link {
        Link::Connecting => Phrase::of(Role::Warning, "connecting"),
        Link::Down { loss, retry_at, .. } => {
            // Rounded up: a countdown that shows 0 s and goes on looks broken.
            let seconds = now.age(*retry_at).as_millis().div_ceil(1_000);
            let rest = if seconds == 0 { "retrying now".into() } else { format!("retry in {seconds}s") };
            let badge = match loss {
                Loss::Connection => " DISCONNECTED ",
                Loss::Right => " NO ACCESS ",
                Loss::Store => " CANNOT OPEN ",
            };
            Phrase::of(Role::Badge, badge).and(Role::Warning, format!(" {rest}"))
        }
        Link::Up if live.paused => Phrase::of(Role::Warning, format!("{} PAUSED", look.glyphs.paused)),
        Link::Up => match (live.late_at().filter(|_| !live.is_behind), live.heard_at) {
            (None, Some(heard)) if live.is_behind => {
                Phrase::of(Role::Warning, format!("{} slow, {}", look.glyphs.live, words::ago(heard, now)))
            }
            (Some(late), Some(heard)) if late <= now => {
                Phrase::of(Role::Warning, format!("{} heard {}", look.glyphs.live, words::ago(heard, now)))
            }
            _ => Phrase::of(Role::Good, format!("{} live", look.glyphs.live)),
        },
    }
}

fn totals<'m>(model: &'m Model, look: &Look, now: Timestamp) -> Vec<Ranked<'m>> {
    let mut items = Vec::new();
    if let Some((counted_at, _)) = &model.live.totals {
        for state in State::ALL {
            let Some(count) = model.total(state) else { continue };
            let number = if state == State::Dead { Role::Danger } else { Role::Text };
            let phrase = Phrase::of(Role::Dim, format!("{state} ")).and(number, words::count(count, look));
            let rank = if state == State::Dead { 0 } else { 6 };
            items.push(Ranked::left(rank, phrase));
        }
        if model.live.is_stale() {
            let age = format!("as of {}", words::ago(*counted_at, now));
            items.push(Ranked::left(2, Phrase::of(Role::Warning, age)));
        }
    }
    items
}

/// How fast the dead grow, what looking costs, and how far the count has got that takes its time.
fn pace(model: &Model, now: Timestamp) -> Vec<Ranked<'_>> {
    let mut items = Vec::new();
    let server_now = model.live.server_now(now);
    let growth = model.histogram.counts.as_ref().map(|c| c.growth(server_now));
    let says_something = |growth: &Growth| growth.over >= WATCHED && !model.live.is_stale();
    if let Some(growth) = growth.filter(says_something) {
        items.push(Ranked::left(1, growth_phrase(growth, model.live.has_grown)));
    }
    if !model.live.cost.is_zero() {
        items.push(Ranked::left(8, looks(model)));
    }
    // Why numbers are estimates, and that it will pass.
    let recount = model.histogram.recount_share().map(|share| format!("recount {}", words::progress(share)));
    items.extend(recount.map(|recount| Ranked::left(7, Phrase::of(Role::Dim, recount))));
    items
}

/// What looks cost, and how seldom they come where that is more than they may.
fn looks(model: &Model) -> Phrase<'static> {
    let (cost, poll) = (cost(model.live.cost), &model.live.poll);
    // Both of what looks cost of late: with the interval of each single one the line would move with each.
    match (model.live.is_behind, poll.slowed_by(model.live.cost)) {
        // A look would read ever more, in vain: a count takes its place.
        (true, _) if poll.is_stuck() => Phrase::of(Role::Warning, format!("look >{cost}, counts anew")),
        (true, _) => Phrase::of(Role::Warning, format!("look >{cost}, next in {}", short_span(poll.interval()))),
        (false, Some(interval)) => Phrase::of(Role::Dim, format!("look {cost} every {}", short_span(interval))),
        (false, None) => Phrase::of(Role::Dim, format!("look {cost}")),
    }
}

/// What a look cost, no finer than it matters: a number that flickers with every look draws the eye for nothing.
fn cost(cost: Duration) -> String {
    match cost.as_millis() {
        0..10 => "<10 ms".into(),
        ms @ 10..1_000 => format!("{} ms", ms / 10 * 10),
        ms => format!("{:.1} s", ms as f64 / 1e3),
    }
}

/// How many died. Counts begin anew with another filter: whether the source `has_grown` they do not know.
fn growth_phrase(growth: Growth, has_grown: bool) -> Phrase<'static> {
    // A span that still grows is not said: a number that moves without any news draws the eye, and a frame, for nothing.
    let over = match growth.n {
        _ if growth.is_all && (growth.over < SPAN || !has_grown) => "so far".to_owned(),
        0 => format!("in {}", short_span(growth.over.min(SPAN))),
        _ => format!("in {}", short_span(growth.over)),
    };
    match growth.n {
        0 => Phrase::of(Role::Good, format!("none {over}")),
        n => Phrase::of(Role::Danger, format!("+{} {over}", grouped(n))),
    }
}

/// What else is going on: a run whose gauge is hidden, or why the link is down.
fn activity(model: &Model) -> Vec<Ranked<'_>> {
    let mut items = Vec::new();
    // Where nothing is open yet, the panes have room for the whole of it.
    if let (Link::Down { reason, .. }, Some(_)) = (&model.live.link, &model.source.opened) {
        items.push(Ranked::right(4, Phrase::of(Role::Dim, &**reason)));
    }
    if let Some(going) = model.runner.going.as_ref().filter(|_| !matches!(model.overlay, Overlay::Run)) {
        let reached = going.tally.behind();
        let word = match (model.runner.stopping, model.runner.paused) {
            (true, _) => "stopping",
            (_, true) => "paused",
            _ => "running",
        };
        let share = words::percent(reached, going.tally.planned);
        let chip = Phrase::of(Role::Warning, format!("{word} {} {share} ", going.run))
            .and(Role::Key, model.key(Command::Runs));
        items.push(Ranked::right(1, chip));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTES: Duration = Duration::from_secs(300);

    #[test]
    fn growth_says_its_direction_without_colour() {
        let text = |n| growth_phrase(Growth { n, over: MINUTES, is_all: false }, true).parts()[0].1.to_string();
        assert_eq!((text(1_204), text(0)), ("+1,204 in 5m".to_owned(), "none in 5m".to_owned()));
    }

    #[test]
    fn growth_is_not_told_anew_because_time_goes_by() {
        let of = |n, over, is_all, has_grown| {
            growth_phrase(Growth { n, over: Duration::from_secs(over), is_all }, has_grown).parts()[0].1.to_string()
        };
        let text = |n, over, is_all| of(n, over, is_all, n > 0);
        assert_eq!([40, 41, 300].map(|over| text(0, over, true)), ["none so far"; 3].map(str::to_owned));
        assert_eq!(text(12, 299, true), "+12 so far");
        assert_eq!([300, 420, 540].map(|over| text(0, over, false)), ["none in 5m"; 3].map(str::to_owned));
        assert_eq!(text(12, 420, false), "+12 in 7m");
        let turned = [299, 300].map(|over| of(0, over, true, true));
        assert_eq!(turned, ["none so far", "none in 5m"].map(str::to_owned), "jobs had died under another filter");
    }
}
