//! Where the panes lie at a size. The model needs it to scroll, the view to draw.
//!
//! ```text
//! tall                 low                  wide
//! ┌ header ────────┐   ┌ header ────────┐   ┌ header ─────────────────────────┐
//! │ filter         │   │ filter         │   │ filter                          │
//! │ histogram      │   │ histogram      │   │ histogram │ list                │
//! │ list           │   │ list           │   │           │                     │
//! │────────────────│   │                │   │           ├─────────────────────│
//! │ open job       │   │                │   │           │ open job            │
//! └ footer ────────┘   └ footer ────────┘   └ footer ─────────────────────────┘
//! ```
//!
//! Above one another each pane has the whole width, which messages need more than panes need to be beside each other. There
//! the open job covers the others while it has the keys.

use ratatui::layout::Rect;

use super::model::{Focus, Model};

/// Below this the console only says that it is too small.
pub const SMALLEST: (u16, u16) = (40, 10);

/// The areas of the panes; a pane that is not on screen has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Areas {
    /// Source, store, link, totals.
    pub header: Rect,
    /// The filter in force.
    pub filter: Rect,
    /// The histogram.
    pub histogram: Option<Rect>,
    /// The list.
    pub list: Option<Rect>,
    /// The open job.
    pub detail: Option<Rect>,
    /// The next thing to try, in the demo.
    pub tour: Option<Rect>,
    /// Hints, or a sentence.
    pub footer: Rect,
    /// A line between the histogram and the panes beside it.
    pub wall: Option<Rect>,
    /// A line between the list and the open job below it.
    pub rule: Option<Rect>,
    detail_head: u16,
}

/// Rows of the screen from which on the demo has a line for what to try next.
const TOUR: u16 = 20;

/// Lines of the list that are no rows: its title and its headings.
const LIST_HEAD: u16 = 2;

/// Lines of the histogram that are no bars: the facets, and headings where there is room.
fn histogram_head(height: u16) -> u16 {
    if height >= 8 { 2 } else { 1 }
}

/// Lines of the open job that are not its text: the error where there is room, the identity, the tabs, and the remark
/// that some texts need.
fn detail_head(model: &Model, height: u16) -> u16 {
    let remark = model.detail.document.as_ref().is_some_and(|d| d.note(model.detail.tab).is_some());
    2 + u16::from(height >= 8) + u16::from(remark)
}

impl Areas {
    /// The areas at a size, or `None` when it is too small.
    pub fn of(model: &Model) -> Option<Areas> {
        let (width, height) = model.screen.size;
        if width < SMALLEST.0 || height < SMALLEST.1 {
            return None;
        }
        let header_height = if width < 60 { 1 } else { 2 };
        let row = |y, h| Rect::new(0, y, width, h);
        let has_tour = model.screen.tour.is_some() && height >= TOUR;
        let middle = row(header_height + 1, height - header_height - 2 - u16::from(has_tour));
        let Panes { histogram, list, detail } = panes(model, middle);
        let is_beside = |bars: &Rect| list.is_some_and(|list| list.x > bars.x);
        let is_above = |list: &Rect| detail.is_some_and(|detail| detail.y > list.y);
        Some(Areas {
            header: row(0, header_height),
            filter: row(header_height, 1),
            histogram,
            list,
            detail,
            tour: has_tour.then(|| row(height - 2, 1)),
            footer: row(height - 1, 1),
            wall: histogram.filter(is_beside).map(|area| Rect { x: area.right(), width: 1, ..area }),
            rule: list.filter(is_above).map(|area| Rect { y: area.bottom(), height: 1, ..area }),
            detail_head: detail.map_or(0, |area| detail_head(model, area.height)),
        })
    }

    /// Bars that fit.
    pub fn histogram_rows(&self) -> usize {
        rows(self.histogram, self.histogram.map_or(0, |area| histogram_head(area.height)))
    }

    /// Jobs that fit.
    pub fn list_rows(&self) -> usize {
        rows(self.list, LIST_HEAD)
    }

    /// Rows of the open job that fit.
    pub fn detail_rows(&self) -> usize {
        rows(self.detail, self.detail_head)
    }

    /// Columns of the open job's text: one is kept for the cursor, one for the fold mark.
    pub fn detail_width(&self) -> usize {
        usize::from(self.detail.map_or(0, |r| r.width.saturating_sub(3)))
    }
}

fn rows(area: Option<Rect>, head: u16) -> usize {
    usize::from(area.map_or(0, |r| r.height.saturating_sub(head)))
}

/// From here on the panes beside each other show more than above one another.
const WIDE: (u16, u16) = (170, 24);
/// Rows of the middle from which on all three panes fit above one another.
const TALL: u16 = 29;

#[derive(Default)]
struct Panes {
    histogram: Option<Rect>,
    list: Option<Rect>,
    detail: Option<Rect>,
}

fn panes(model: &Model, middle: Rect) -> Panes {
    let size = model.screen.size;
    if size.0 >= WIDE.0 && size.1 >= WIDE.1 {
        let left = (middle.width * 2 / 5).clamp(44, 72);
        let histogram = Rect { width: left, ..middle };
        let right = Rect { x: left + 1, width: middle.width - left - 1, ..middle };
        let (list, detail) = split(right, right.height * 9 / 20);
        return Panes { histogram: Some(histogram), list: Some(list), detail: Some(detail) };
    }
    let bars = u16::try_from(model.histogram.bars().len()).unwrap_or(u16::MAX).max(3).saturating_add(2);
    match model.screen.focus {
        Focus::Detail => Panes { detail: Some(middle), ..Panes::default() },
        Focus::Histogram if middle.height < 12 => Panes { histogram: Some(middle), ..Panes::default() },
        Focus::List if middle.height < 12 => Panes { list: Some(middle), ..Panes::default() },
        _ if middle.height >= TALL => {
            let (histogram, rest) = cut(middle, bars.min(middle.height * 3 / 10));
            let (list, detail) = split(rest, rest.height / 2);
            Panes { histogram: Some(histogram), list: Some(list), detail: Some(detail) }
        }
        focus => {
            let share = if focus == Focus::Histogram { middle.height * 3 / 5 } else { middle.height * 2 / 5 };
            let (histogram, list) = cut(middle, bars.min(share));
            Panes { histogram: Some(histogram), list: Some(list), detail: None }
        }
    }
}

/// The first rows of an area, and the others.
fn cut(area: Rect, above: u16) -> (Rect, Rect) {
    (Rect { height: above, ..area }, Rect { y: area.y + above, height: area.height - above, ..area })
}

/// As [`cut`], with a row left between them for a rule.
fn split(area: Rect, above: u16) -> (Rect, Rect) {
    let (first, rest) = cut(area, above);
    (first, Rect { y: rest.y + 1, height: rest.height - 1, ..rest })
}
