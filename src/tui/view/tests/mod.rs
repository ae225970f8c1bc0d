//! Frames as they are: golden ones at three sizes, and what holds for every frame.

pub(in crate::tui::view) mod fixture;
mod frames;
mod properties;
mod styles;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::tui::app::model::Model;
use crate::tui::theme::Theme;

/// The three sizes that golden frames are kept at.
const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (140, 45)];

fn theme_of(theme: &str, ascii: bool) -> Theme {
    Theme::of(theme, ascii, |name| (name == "TERM").then(|| "xterm-256color".to_owned()))
}

fn draw_in(model: &Model, theme: &Theme) -> Buffer {
    let (width, height) = model.screen.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal in memory");
    let draw = |frame: &mut ratatui::Frame<'_>| {
        super::draw(model, theme, frame, fixture::NOW);
    };
    terminal.draw(draw).expect("a frame");
    terminal.backend().buffer().clone()
}

/// The frame's text, without what a wide character covers and without blanks at the ends of lines.
fn text(buffer: &Buffer) -> String {
    use unicode_width::UnicodeWidthStr;
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(symbol.width().max(1)).expect("a column");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn frame(model: &Model) -> String {
    text(&draw_in(model, &theme_of("dark", false)))
}
