//! The terminal of this process as the loop has it: a stage to draw on while it is ours.

use std::io;

use crate::domain::time::Timestamp;
use crate::tui::runtime::Program;
use crate::tui::runtime::event_loop::FrameSink;
use crate::tui::runtime::terminal::stage::TerminalStage;
use crate::tui::runtime::terminal::terminal_guard::TerminalGuard;
use crate::tui::runtime::terminal::writer::TerminalWriter;

/// The terminal. Given back when this is dropped, by a panic too.
pub struct TerminalScreen {
    stage: TerminalStage,
    /// Proof that the terminal is ours; `None` while another program has it.
    guard: Option<TerminalGuard>,
    mouse: bool,
}

impl TerminalScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it cannot be had; it is as before then.
    pub fn enter(mouse: bool) -> io::Result<Self> {
        let size = || crossterm::terminal::size().map(Into::into);
        let mut stage = TerminalStage::new(TerminalWriter::start(io::stdout())?, Box::new(size))?;
        let guard = TerminalGuard::enter(stage.writer(), mouse)?;
        Ok(Self { stage, guard: Some(guard), mouse })
    }
}

impl FrameSink for TerminalScreen {
    fn is_ready(&self) -> bool {
        self.stage.is_ready()
    }

    async fn ready(&self) -> io::Result<()> {
        self.stage.ready().await
    }

    fn draw<P: Program>(&mut self, program: &mut P, now: Timestamp) -> io::Result<()> {
        self.stage.draw(|frame| program.draw(frame, now)).map(|_| ())
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        self.stage.size().map(|size| (size.width, size.height))
    }

    fn repaint(&mut self) {
        self.stage.repaint();
    }

    fn send(&mut self, bytes: Vec<u8>) {
        self.stage.writer().send(bytes);
    }

    fn mouse(&mut self, taken: bool) {
        self.mouse = taken;
        if let Some(guard) = &mut self.guard {
            guard.mouse(self.stage.writer(), taken);
        }
    }

    fn leave(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.leave(self.stage.writer());
        }
    }

    fn enter(&mut self) -> io::Result<()> {
        // Taken again even where it is ours: whoever stopped us may have changed its modes.
        if self.guard.take().is_some() {
            crossterm::terminal::disable_raw_mode()?;
        }
        self.guard = Some(TerminalGuard::enter(self.stage.writer(), self.mouse)?);
        Ok(())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        self.leave();
    }
}
