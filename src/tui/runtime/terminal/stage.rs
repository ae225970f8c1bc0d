//! The screen as the event loop has it: draws a frame when the terminal has taken the one before.

use std::io;

use ratatui::layout::{Rect, Size};
use ratatui::{Frame, Terminal};

use crate::tui::runtime::terminal::backend::{FrameBackend, SizeProbe};
use crate::tui::runtime::terminal::writer::TerminalWriter;

/// A terminal to draw on, and the thread that writes to it.
pub struct TerminalStage {
    terminal: Terminal<FrameBackend>,
    writer: TerminalWriter,
    repaint: bool,
}

impl TerminalStage {
    /// A stage on a terminal that was entered.
    ///
    /// # Errors
    /// When the terminal's size cannot be had.
    pub fn new(writer: TerminalWriter, measure: SizeProbe) -> io::Result<Self> {
        Ok(Self { terminal: Terminal::new(FrameBackend::new(measure))?, writer, repaint: true })
    }

    /// Whether a frame can be drawn now: the terminal has taken everything so far.
    pub fn is_ready(&self) -> bool {
        self.writer.is_idle()
    }

    /// Waits until a frame can be drawn. Can be dropped at any time.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub async fn ready(&self) -> io::Result<()> {
        self.writer.idle().await
    }

    /// Draws a frame and hands it to the terminal; says whether anything was to be written.
    ///
    /// Only to be called when ready: what is drawn counts as shown.
    ///
    /// # Errors
    /// When the terminal's size cannot be had.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<bool> {
        if std::mem::take(&mut self.repaint) {
            self.terminal.backend_mut().forget();
            // Clears and forgets what is shown without asking the terminal for its cursor.
            let Size { width, height } = self.terminal.size()?;
            self.terminal.resize(Rect::new(0, 0, width, height))?;
        }
        self.terminal.draw(draw)?;
        let frame = self.terminal.backend_mut().take_frame();
        let any = frame.is_some();
        if let Some(frame) = frame {
            self.writer.send(frame);
        }
        Ok(any)
    }

    /// Makes the next frame a whole one.
    pub fn repaint(&mut self) {
        self.repaint = true;
    }

    /// The terminal's size.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// The way to the terminal for what is no frame.
    pub fn writer(&mut self) -> &mut TerminalWriter {
        &mut self.writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    use ratatui::widgets::Paragraph;

    fn stage() -> (TerminalStage, io::PipeReader) {
        let (reader, pipe) = io::pipe().expect("pipe");
        let writer = TerminalWriter::start(pipe).expect("thread");
        let stage = TerminalStage::new(writer, Box::new(|| Ok(Size::new(20, 3)))).expect("stage");
        (stage, reader)
    }

    fn say(words: &'static str) -> impl FnOnce(&mut Frame<'_>) {
        move |frame| frame.render_widget(Paragraph::new(words), frame.area())
    }

    #[tokio::test]
    async fn a_frame_is_one_synchronized_piece_and_no_change_is_no_byte() {
        let (mut stage, mut reader) = stage();
        assert!(stage.draw(say("forty-dead")).expect("drawn"));
        stage.ready().await.expect("written");
        let after_first = stage.writer().bytes();
        assert!(!stage.draw(say("forty-dead")).expect("drawn"));
        stage.ready().await.expect("written");
        assert_eq!(stage.writer().bytes(), after_first);

        drop(stage);
        let mut all = String::new();
        reader.read_to_string(&mut all).expect("text");
        assert!(all.starts_with("\x1b[?2026h") && all.ends_with("\x1b[?2026l"), "{all:?}");
        assert!(all.contains("forty-dead"));
        assert!(!all.contains("\x1b[6n"), "asked the terminal for its cursor");
    }

    #[tokio::test]
    async fn a_repaint_writes_everything_again_without_asking_the_terminal() {
        let (mut stage, mut reader) = stage();
        stage.draw(say("forty-dead")).expect("drawn");
        stage.repaint();
        assert!(stage.draw(say("forty-dead")).expect("drawn"));
        stage.ready().await.expect("written");
        drop(stage);
        let mut all = String::new();
        reader.read_to_string(&mut all).expect("text");
        assert_eq!(all.matches("forty-dead").count(), 2);
        assert!(!all.contains("\x1b[6n"), "asked the terminal for its cursor");
    }

    #[tokio::test]
    async fn the_cursor_is_written_when_it_appears_moves_and_goes() {
        let (mut stage, _reader) = stage();
        stage.draw(|_| {}).expect("drawn");
        assert!(stage.draw(|frame| frame.set_cursor_position((3, 1))).expect("drawn"));
        assert!(!stage.draw(|frame| frame.set_cursor_position((3, 1))).expect("drawn"));
        assert!(stage.draw(|frame| frame.set_cursor_position((4, 1))).expect("drawn"));
        assert!(stage.draw(|_| {}).expect("drawn"));
        assert!(!stage.draw(|_| {}).expect("drawn"));
    }
}
