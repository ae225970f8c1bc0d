//! Where the panes lie at a size. The model needs it to scroll, the view to draw.
//!
//! ```text
//! wide                                  narrow
//! ┌ header ─────────────────────────┐   ┌ header ──────────┐
//! │ filter                          │   │ filter           │
//! │ histogram │ list                │   │ histogram        │
//! │           │                     │   │ list             │
//! │           ├─────────────────────│   │  (or detail over │
//! │           │ detail              │   │   both)          │
//! └ footer ─────────────────────────┘   └ footer ──────────┘
//! ```

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
    /// Hints, or a sentence.
    pub footer: Rect,
    detail_head: u16,
}

/// Lines of the list that are no rows: its title and its headings.
const LIST_HEAD: u16 = 2;

/// Lines of the histogram that are no bars: the facets, and headings where there is room.
fn histogram_head(height: u16) -> u16 {
    if height >= 8 { 2 } else { 1 }
}

/// Lines of the open job that are not its text: the error where there is room, the identity, the tabs, and the remark
/// that some texts need.
fn detail_head(model: &Model, height: u16) -> u16 {
    let remark = model.detail.document.as_ref().is_some_and(|d| d.remark(model.detail.tab).is_some());
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
        let middle = row(header_height + 1, height - header_height - 2);
        let (histogram, list, detail) = panes(model, middle);
        Some(Areas {
            header: row(0, header_height),
            filter: row(header_height, 1),
            histogram,
            list,
            detail,
            footer: row(height - 1, 1),
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

/// Whether all three panes fit beside each other.
pub fn is_wide(size: (u16, u16)) -> bool {
    size.0 >= 110 && size.1 >= 24
}

fn panes(model: &Model, middle: Rect) -> (Option<Rect>, Option<Rect>, Option<Rect>) {
    if is_wide(model.screen.size) {
        let left = (middle.width * 2 / 5).clamp(44, 72);
        let histogram = Rect { width: left, ..middle };
        let right = Rect { x: left + 1, width: middle.width - left - 1, ..middle };
        let above = right.height * 9 / 20;
        let list = Rect { height: above, ..right };
        // A line between them is left for a rule.
        let detail = Rect { y: right.y + above + 1, height: right.height - above - 1, ..right };
        return (Some(histogram), Some(list), Some(detail));
    }
    match model.screen.focus {
        Focus::Detail => (None, None, Some(middle)),
        Focus::Histogram if middle.height < 12 => (Some(middle), None, None),
        Focus::List if middle.height < 12 => (None, Some(middle), None),
        focus => {
            let share = if focus == Focus::Histogram { middle.height * 3 / 5 } else { middle.height * 2 / 5 };
            let bars = u16::try_from(model.histogram.bars().len()).unwrap_or(u16::MAX).max(3);
            let above = share.min(bars.saturating_add(2));
            let histogram = Rect { height: above, ..middle };
            let list = Rect { y: middle.y + above, height: middle.height - above, ..middle };
            (Some(histogram), Some(list), None)
        }
    }
}
