//! The keys, from the table of bindings: every place, its own keys first.
//!
//! ```text
//! ┌ Keys ───────────────────────────────────────────────┐
//! │ Job list                                            │
//! │   Enter          Open the job.                      │
//! │   R              Replay the marked jobs, or this    │
//! │                  one; in the histogram, the jobs …  │
//! └ 1-20 of 74: j k ────────────────────────────────────┘
//! ```

use crate::tui::app::model::Reading;
use crate::tui::keys::{Keymap, Place};
use crate::tui::look::{Look, Role};
use crate::tui::view::canvas::{Canvas, columns};
use crate::tui::view::panel;
use crate::tui::view::phrase::Phrase;

/// Widest a page gets: longer lines are hard to read.
const WIDEST: usize = 96;
/// Columns of the keys.
const KEYS: usize = 17;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, keys: &Keymap, reading: Reading) {
    let screen = canvas.area();
    let area = panel::centred(screen, WIDEST, usize::from(screen.height).saturating_sub(2));
    let inside = panel::frame(canvas, area, "Keys: q closes", Role::Strong);
    let lines = lines(keys, usize::from(inside.width), canvas.look);
    panel::scroll(canvas, area, inside, &lines, reading.top);
}

fn lines(map: &Keymap, width: usize, look: &Look) -> Vec<Phrase<'static>> {
    let keys_width = KEYS.min(width / 3);
    let mut lines = Vec::new();
    for place in Place::ALL {
        if !lines.is_empty() {
            lines.push(Phrase::empty());
        }
        lines.push(Phrase::of(Role::Title, place.title()));
        for bound in map.own(place).filter(|bound| !bound.keys.is_empty()) {
            let keys = format!("  {}", bound.keys.join(" "));
            let mut lead = pad(&keys, keys_width, look);
            if columns(&lead, look) > keys_width {
                lines.push(Phrase::of(Role::Key, std::mem::take(&mut lead)));
                lead = " ".repeat(keys_width);
            }
            for row in panel::wrap(bound.binding().help, width.saturating_sub(keys_width), look) {
                let lead = std::mem::replace(&mut lead, " ".repeat(keys_width));
                lines.push(Phrase::of(Role::Key, lead).and(Role::Text, row));
            }
        }
    }
    lines
}

/// The text with blanks up to a width, and one more where it is wider.
fn pad(text: &str, width: usize, look: &Look) -> String {
    let missing = width.saturating_sub(columns(text, look));
    format!("{text}{}", if missing == 0 { " ".to_owned() } else { " ".repeat(missing) })
}
