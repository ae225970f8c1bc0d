//! What stands where there is nothing to show: why, and the next step.
//!
//! ```text
//!
//!            nothing matches
//!       Esc widens, / edits the filter
//! ```

use ratatui::layout::Rect;

use super::canvas::{Canvas, columns};
use super::dialog::wrap;
use crate::domain::histogram::grouped;
use crate::tui::app::Slot;
use crate::tui::app::model::{ConnectionState, Model};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::StyleRole;

/// A reason and a next step; either may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Empty {
    /// Why there is nothing.
    pub reason: String,
    /// What to do.
    pub step: String,
}

/// The next step where a filter selects nothing.
fn widen(model: &Model) -> String {
    format!("Esc widens, {} edits the filter", model.key(KeyCommand::Filter))
}

fn empty(reason: impl Into<String>, step: impl Into<String>) -> Empty {
    Empty { reason: reason.into(), step: step.into() }
}

/// Draws it in the middle of an area.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, empty: &Empty) {
    let theme = canvas.theme;
    let width = usize::from(area.width.saturating_sub(2));
    let wrapped = [(StyleRole::Text, &empty.reason), (StyleRole::Dim, &empty.step)]
        .into_iter()
        .flat_map(|(role, text)| wrap(text, width, theme).into_iter().map(move |row| (role, row)));
    let rows: Vec<(StyleRole, String)> = wrapped.collect();
    let middle = usize::from(area.height).saturating_sub(rows.len()) / 2;
    for (n, (role, text)) in rows.iter().enumerate() {
        let mut pen = canvas.row(area, middle + n);
        pen.skip(1).reserve(1);
        let indent = pen.left().saturating_sub(columns(text, theme)) / 2;
        pen.skip(indent).put(*role, text);
    }
}

/// Why there are no bars.
pub fn of_histogram(model: &Model) -> Empty {
    unreached(model).unwrap_or_else(|| {
        let is_counting = model.histogram.drawn().is_none_or(|h| h.progress.is_some());
        let slot = if model.histogram.argument.is_some() { Slot::ArgumentCount } else { Slot::Histogram };
        if is_counting {
            return empty(
                if model.requests.is_open(slot) { "counting" } else { "not counted" },
                format!("{} counts again", model.key(KeyCommand::Refresh)),
            );
        }
        nothing(model)
    })
}

/// Why there are no rows.
pub fn of_list(model: &Model) -> Empty {
    unreached(model).unwrap_or_else(|| match model.list.scan {
        _ if model.list.halted && model.preview.shown.is_some() => empty("not read to the end", "Enter reads on"),
        _ if model.list.halted => empty("not read to the end", format!("{} reads on", model.key(KeyCommand::Refresh))),
        Some(_) if !model.list.knows_end() => empty("no hit yet", "Ctrl-C cancels the scan"),
        _ if !model.list.knows_end() => empty("reading", ""),
        Some(scan) if scan.rows == 0 => empty("nothing matches in the whole table", widen(model)),
        Some(scan) => {
            let looked = format!("none of all {} rows match", grouped(scan.rows));
            empty(looked, widen(model))
        }
        None => nothing(model),
    })
}

fn unreached(model: &Model) -> Option<Empty> {
    match &model.live.link {
        ConnectionState::Down { reason, .. } => {
            Some(empty(reason.clone(), format!("retrying; {} quits", model.key(KeyCommand::Quit))))
        }
        ConnectionState::Connecting => Some(empty(
            format!("connecting to {}", model.source.label),
            format!("Ctrl-C or {} quits", model.key(KeyCommand::Quit)),
        )),
        ConnectionState::Up if model.source.opened.is_none() => Some(empty("no store is open", ":stores chooses one")),
        ConnectionState::Up => None,
    }
}

fn nothing(model: &Model) -> Empty {
    if model.filter.written.is_all() {
        return empty("no dead jobs", "those that die appear here by themselves");
    }
    empty("nothing matches", widen(model))
}
