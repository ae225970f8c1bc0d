//! What is said on a terminal that is too small for the console.
//!
//! ```text
//! 30x8 is too small for this
//! console: it needs 40x10.
//! ```

use super::canvas::Canvas;
use super::dialog;
use crate::tui::app::layout::SMALLEST;
use crate::tui::theme::StyleRole;

/// Draws the sentence, as far as there is room for it.
pub fn draw(canvas: &mut Canvas<'_>) {
    let area = canvas.area();
    let (width, height) = SMALLEST;
    let text = format!("{}x{} is too small for this console: it needs {width}x{height}.", area.width, area.height);
    for (n, row) in dialog::wrap(&text, usize::from(area.width), canvas.theme).iter().enumerate() {
        canvas.row(area, n).put(StyleRole::Text, row);
    }
}
