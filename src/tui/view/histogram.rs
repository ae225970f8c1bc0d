//! The histogram: what is dying, how much of it, how fast, and since when.
//!
//! ```text
//!  [1 error class] 2 job class 3 queue                      counting 40 %
//!   error class (41)              count  share  trend      last first
//! ▸●Net::ReadTimeout      ███▌    1,204   83 %  ▁▁▂▅█▆▃▁     4s   2h
//!   Stripe::CardError new ▌         101    7 %  ▁▁▁▁▁▁▁█     9s   3m
//! ```

use ratatui::layout::Rect;

use super::canvas::{Canvas, columns};
use super::names::distinct;
use super::styled_text::{Phrase, Ranked, draw_line};
use super::tab_strip::{TabForm, TabStrip};
use super::{empty, format};
use crate::domain::histogram::{Bar, Histogram, TREND_SLOT, grouped};
use crate::domain::mark::comparison::Change;
use crate::domain::text::{Clean, Untrusted, head};
use crate::domain::time::Timestamp;
use crate::tui::app::Slot;
use crate::tui::app::model::{Focus, Model};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::{Glyphs, StyleRole, Theme};

/// Columns of the longest bar.
const BAR_MOST: usize = 48;
/// Digits of a fingerprint next to an example.
const FINGERPRINT: usize = 8;
/// Characters of a path of the arguments.
const PATH_MOST: usize = 40;
/// Columns of the cursor and the mark.
const LEAD: usize = 2;
/// A value is not made narrower than this for the sake of another column.
const VALUE_LEAST: usize = 18;

/// Draws the pane.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, rows: usize, model: &Model, now: Timestamp) {
    let head = usize::from(area.height).saturating_sub(rows);
    tabs(canvas, area, model);
    let pane = &model.histogram;
    let body = Rect { y: area.y + u16::try_from(head).unwrap_or(0), height: u16::try_from(rows).unwrap_or(0), ..area };
    let shown = pane.bars().get(pane.top..).unwrap_or_default();
    let shown = &shown[..shown.len().min(rows)];
    let Some(histogram) = pane.drawn().filter(|h| !h.bars.is_empty()) else {
        empty::draw(canvas, body, &empty::of_histogram(model));
        return;
    };
    let names: Vec<String> = shown.iter().map(|bar| name(bar, model)).collect();
    let plan = BarColumns::fit(usize::from(area.width), shown, &names, histogram, model, canvas.theme);
    if head > 1 {
        headings(canvas, area, &plan, &title(histogram, model));
    }
    let now = model.live.server_now(now);
    let room = |bar: &Bar| plan.value - word(bar, model).len().min(plan.value);
    let narrowest = shown.iter().map(room).min().unwrap_or(plan.value);
    let names = distinct(&names, narrowest, canvas.theme);
    let most = histogram.bars.iter().map(|b| b.count.n).max().unwrap_or(1).max(1);
    for (n, (bar, name)) in shown.iter().zip(&names).enumerate() {
        let here = pane.index() == Some(pane.top + n);
        row(canvas, body, n, &plan, &BarLine { bar, name, histogram, most, now, here, model });
    }
}

fn tabs(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let theme = canvas.theme;
    let progress = progress(model, area.width < 60);
    let offered = model.source.opened.as_ref().map_or(&[][..], |o| &o.info.capabilities.facets);
    let room = usize::from(area.width).saturating_sub(2 + progress.as_ref().map_or(0, |p| p.width(theme) + 2));
    let path = path(model);
    let facet = offered.iter().position(|facet| *facet == model.histogram.facet);
    let strip = TabStrip {
        // A path of the arguments comes behind the facets.
        count: offered.len() + usize::from(path.is_some()),
        open: path.as_ref().map_or(facet, |_| Some(offered.len())),
        hears: model.screen.focus != Focus::Detail,
        focused: model.screen.focus == Focus::Histogram,
    };
    let phrase = strip.fit(room, theme, |n, form| match (offered.get(n), form) {
        (None, _) => path.clone().unwrap_or_default(),
        (Some(facet), TabForm::Whole) => facet.title().to_owned(),
        (Some(facet), TabForm::Short | TabForm::Alone) => facet.word().to_owned(),
    });
    let mut items = vec![Ranked::left(0, phrase)];
    items.extend(progress.map(|p| Ranked::right(1, p)));
    draw_line(canvas, area, 0, items, 2);
}

/// How far an unfinished count has got.
fn progress(model: &Model, short: bool) -> Option<Phrase<'static>> {
    if let Some(argument) = &model.histogram.argument {
        let read = argument.counts.as_ref().map_or(0, |counts| counts.total.n);
        let counting = format!("counting {}", grouped(read));
        return model.requests.is_open(Slot::ArgumentCount).then(|| Phrase::of(StyleRole::Warning, counting));
    }
    if model.requests.is_open(Slot::MarkComparison)
        && model.histogram.compared.as_ref().is_some_and(|bars| !bars.is_paid_for)
    {
        return Some(Phrase::of(StyleRole::Warning, "comparing"));
    }
    let share = model.histogram.shown.as_ref()?.progress?;
    let share = format::progress(share);
    Some(if model.requests.is_open(Slot::Histogram) {
        Phrase::of(StyleRole::Warning, format!("counting {share}"))
    } else if short {
        Phrase::of(StyleRole::Warning, format!("{share}: ")).and(StyleRole::Key, model.key(KeyCommand::Refresh))
    } else {
        Phrase::of(StyleRole::Warning, format!("counted {share}: "))
            .and(StyleRole::Key, model.key(KeyCommand::Refresh))
            .and(StyleRole::Warning, " goes on")
    })
}

/// Widths of the columns; 0 for one that has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BarColumns {
    value: usize,
    bar: usize,
    count: usize,
    share: usize,
    trend: usize,
    last: usize,
    first: usize,
    /// Slots that the trend shows, squeezed into its columns.
    slots: usize,
}

impl BarColumns {
    /// Shares out the width. What says how fast and since when comes before what the count says already.
    fn fit(
        width: usize,
        shown: &[Bar],
        names: &[String],
        histogram: &Histogram,
        model: &Model,
        theme: &Theme,
    ) -> BarColumns {
        let count = shown.iter().map(|b| columns(&format::count(b.count, theme), theme)).max().unwrap_or(0).max(5);
        let slots = shown.iter().map(|b| b.trend.len()).max().unwrap_or(0);
        let knows = |seen: fn(&Bar) -> bool| histogram.bars.iter().any(seen);
        let mut left = width.saturating_sub(LEAD + count + 1);
        let mut take = |wanted: bool, columns: usize| {
            let fits = wanted && left > VALUE_LEAST + columns;
            if fits {
                left -= columns + 1;
            }
            if fits { columns } else { 0 }
        };
        let mut plan = BarColumns {
            count,
            trend: take(slots > 0, slots.min(8)),
            last: take(knows(|b| b.last_seen.is_some()), 4),
            bar: take(true, 6),
            first: take(knows(|b| b.first_seen.is_some()), 5),
            share: take(true, 5),
            value: 0,
            slots,
        };
        let longest = shown
            .iter()
            .zip(names)
            .map(|(bar, name)| columns(name, theme) + word(bar, model).len())
            .max()
            .unwrap_or(0)
            .max(columns(&title(histogram, model), theme).max(14));
        plan.value = left.min(longest);
        let mut spare = left - plan.value;
        if plan.trend > 0 {
            let more = slots.saturating_sub(plan.trend).min(spare / 2);
            (plan.trend, spare) = (plan.trend + more, spare - more);
        }
        // What is left stays empty at the end of the line: a name and its bar are not to be far from each other.
        if plan.bar > 0 {
            plan.bar += spare.min(BAR_MOST - plan.bar);
        } else {
            plan.value += spare;
        }
        plan
    }
}

/// What stands behind the name of a bar: ` new`, ` growing`; empty where there is nothing to say.
fn word(bar: &Bar, model: &Model) -> String {
    model.histogram.change(bar).map(|change| format!(" {}", change.word())).unwrap_or_default()
}

/// What a bar is called: reasons are prose, which may hold secrets. A fingerprint is called by its beginning, as filters
/// take it, and by an example.
fn name(bar: &Bar, model: &Model) -> String {
    let shown = |text: &Untrusted| Untrusted::new(model.shown(text.exact()));
    let name = format::value(bar.value.as_ref().map(shown).as_ref());
    match &bar.example {
        Some(example) => format!("{} {}", head(&name, FINGERPRINT), shown(example).line()),
        None => name,
    }
}

/// What the values are, and how many of them there are.
fn title(histogram: &Histogram, model: &Model) -> String {
    let by = path(model).unwrap_or_else(|| histogram.facet.title().to_owned());
    let mark = model.histogram.compared.as_ref().map(|bars| format!(" since {}", bars.name)).unwrap_or_default();
    format!("{by} ({}){mark}", histogram.bars.len())
}

/// The path of the arguments that is counted by.
fn path(model: &Model) -> Option<String> {
    let argument = model.histogram.argument.as_ref()?;
    Some(head(&Clean::line(&model.shown(&argument.word())).to_string(), PATH_MOST).to_owned())
}

fn headings(canvas: &mut Canvas<'_>, area: Rect, plan: &BarColumns, title: &str) {
    let mut pen = canvas.row(area, 1);
    pen.skip(LEAD).cell(StyleRole::Dim, title, plan.value);
    if plan.bar > 0 {
        pen.skip(1 + plan.bar);
    }
    pen.skip(1).right(StyleRole::Dim, "count", plan.count);
    if plan.share > 0 {
        pen.skip(1).right(StyleRole::Dim, "share", plan.share);
    }
    if plan.trend > 0 {
        pen.skip(1).cell(StyleRole::Dim, &trend_title(plan), plan.trend);
    }
    if plan.last > 0 {
        pen.skip(1).right(StyleRole::Dim, "last", plan.last);
    }
    if plan.first > 0 {
        pen.skip(1).right(StyleRole::Dim, "first", plan.first);
    }
}

/// `trend 1h`: how far back it reaches, where that fits.
fn trend_title(plan: &BarColumns) -> String {
    let span = TREND_SLOT.saturating_mul(u32::try_from(plan.slots).unwrap_or(u32::MAX));
    let title = format!("trend {}", format::age(Timestamp(0), Timestamp(0).after(span)));
    if title.len() <= plan.trend { title } else { "trend".into() }
}

struct BarLine<'m> {
    bar: &'m Bar,
    name: &'m str,
    histogram: &'m Histogram,
    /// The largest count of all bars.
    most: u64,
    now: Timestamp,
    here: bool,
    model: &'m Model,
}

fn row(canvas: &mut Canvas<'_>, body: Rect, n: usize, plan: &BarColumns, line: &BarLine<'_>) {
    let theme = canvas.theme;
    let glyphs = theme.glyphs;
    let BarLine { bar, model, now, .. } = line;
    let mut pen = canvas.row(body, n);
    pen.cell(StyleRole::Key, if line.here { glyphs.cursor } else { "" }, 1);
    pen.cell(StyleRole::Mark, if model.histogram.marks.contains(&bar.value) { glyphs.mark } else { "" }, 1);
    let word = word(bar, model);
    let role = if bar.value.is_some() { StyleRole::Error } else { StyleRole::Dim };
    let used = columns(line.name, theme).min(plan.value.saturating_sub(word.len()));
    let of_word = match model.histogram.change(bar) {
        Some(Change::Fading | Change::Gone) => StyleRole::Dim,
        _ => StyleRole::New,
    };
    match word.is_empty() {
        true => pen.cell(role, line.name, plan.value),
        false => pen.cell(role, line.name, used).cell(of_word, &word, plan.value - used),
    };
    if plan.bar > 0 {
        pen.skip(1).cell(StyleRole::Bar, &gauge(bar.count.n, line.most, plan.bar, &glyphs), plan.bar);
    }
    pen.skip(1).right(StyleRole::Number, &format::count(bar.count, theme), plan.count);
    if plan.share > 0 {
        pen.skip(1).right(StyleRole::Text, &format::percent(bar.count.n, line.histogram.total.n), plan.share);
    }
    if plan.trend > 0 {
        pen.skip(1).cell(StyleRole::Trend, &spark(&bar.trend, plan.trend, &glyphs), plan.trend);
    }
    let seen = |at: Option<Timestamp>| at.map_or_else(|| "-".into(), |at| format::age(at, *now));
    if plan.last > 0 {
        pen.skip(1).right(StyleRole::Time, &seen(bar.last_seen), plan.last);
    }
    if plan.first > 0 {
        pen.skip(1).right(StyleRole::Time, &seen(bar.first_seen), plan.first);
    }
    if line.here {
        let role = if model.screen.focus == Focus::Histogram { StyleRole::Cursor } else { StyleRole::CursorDim };
        canvas.tint(super::line_of(body, n), role);
    }
}

/// A bar of at most `width` columns, in eighths; anything above nothing shows.
pub fn gauge(n: u64, most: u64, width: usize, glyphs: &Glyphs) -> String {
    let eighths = (u128::from(n) * (width as u128) * 8).div_ceil(u128::from(most.max(1)));
    let eighths = usize::try_from(eighths).unwrap_or(usize::MAX).min(width * 8);
    let mut bar = glyphs.bar[7].repeat(eighths / 8);
    match eighths % 8 {
        0 => {}
        // Where there is but one glyph, the least still shows.
        rest if eighths < 8 && glyphs.is_plain() => bar.push_str(glyphs.bar[rest.max(3)]),
        rest => bar.push_str(glyphs.bar[rest - 1]),
    }
    bar
}

/// A sparkline of `width` columns: slots are summed up where there are more of them.
fn spark(trend: &[u32], width: usize, glyphs: &Glyphs) -> String {
    let width = width.min(trend.len()).max(1);
    let slot = |n: usize| n * trend.len() / width;
    let sums: Vec<u64> = (0..width).map(|n| trend[slot(n)..slot(n + 1)].iter().map(|x| u64::from(*x)).sum()).collect();
    let most = sums.iter().copied().max().unwrap_or(0).max(1);
    sums.iter().map(|sum| glyphs.spark[usize::try_from((sum * 8).div_ceil(most)).unwrap_or(8).min(8)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Glyphs;

    fn glyphs() -> Glyphs {
        Theme::of("auto", false, |_| None).glyphs
    }

    #[test]
    fn the_smallest_count_still_has_a_bar_and_the_largest_fills_it() {
        assert_eq!(gauge(1, 1_000_000, 8, &glyphs()), "▏");
        assert_eq!(gauge(1_000_000, 1_000_000, 8, &glyphs()), "████████");
        assert_eq!(gauge(0, 0, 8, &glyphs()), "");
        assert_eq!(gauge(u64::MAX, 1, 3, &glyphs()), "███");
    }

    #[test]
    fn a_trend_keeps_its_peaks_when_it_is_squeezed() {
        assert_eq!(spark(&[0, 0, 0, 8, 0, 0, 4, 0], 4, &glyphs()), " █ ▄");
        assert_eq!(spark(&[], 4, &glyphs()).chars().count(), 1);
        assert_eq!(spark(&[1], 4, &glyphs()), "█");
    }
}
