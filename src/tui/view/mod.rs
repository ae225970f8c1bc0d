//! stub
use super::app::model::Model;
use super::look::Look;
use crate::domain::time::Timestamp;
/// stub
pub fn draw(_model: &Model, _look: &Look, _frame: &mut ratatui::Frame<'_>, _now: Timestamp) {}
