//! Rows of the list come.

use super::reply::{fault, source_answered};
use super::{filter, preview};
use crate::domain::job::JobId;
use crate::domain::time::Timestamp;
use crate::store::{Entry, Page, SourceError};
use crate::tui::app::effect::Effect;
use crate::tui::app::model::Model;

/// Takes in a page of the list.
pub fn on_page(model: &mut Model, result: Result<Page, SourceError>, now: Timestamp) -> Vec<Effect> {
    let side = model.requests.page.take();
    match (result, side) {
        (Ok(page), Some(side)) => {
            let mut effects = source_answered(model, now);
            preview::followed(model, now);
            let rows = model.list_rows();
            model.list.scan = match (page.scanned, model.list.scan) {
                (Some(step), Some(before)) if step.share >= before.share && !model.list.is_searching() => {
                    // A search may begin and end in one step, whose rows nobody counted.
                    let is_counted = step.rows > 0 && before.rows > 0;
                    let rows = if is_counted { before.rows.saturating_add(step.rows) } else { 0 };
                    Some(crate::store::Scanned { rows, share: step.share })
                }
                (step, _) => step,
            };
            model.list.receive(side, page, rows);
            // Nobody has asked to have the table searched for what is only looked at.
            model.list.halted |= model.preview.shown.is_some() && model.list.scan.is_some();
            effects.extend(filter::open_current(model));
            effects
        }
        (Ok(_), None) => Vec::new(),
        (Err(e), _) => {
            // Not asked again by itself: `r` does.
            model.list.halted = !matches!(e, SourceError::Unreachable(_));
            if model.list.halted && model.preview.shown.is_some() && !matches!(e, SourceError::Unfit { .. }) {
                // Nobody asked for these; the pane says that they were not read.
                return Vec::new();
            }
            fault(model, &e, "reading the list", now)
        }
    }
}

/// Takes in how rows on screen stand now.
pub fn on_rows(model: &mut Model, asked: &[JobId], found: &[Entry]) -> Vec<Effect> {
    model.list.freshen(asked, found);
    Vec::new()
}
