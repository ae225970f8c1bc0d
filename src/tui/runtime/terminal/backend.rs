//! The drawing side of the terminal: collects a frame and gives it away as one piece, or as nothing when nothing
//! changed. It never asks the terminal anything, because an answer may not come and would race the keys.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

const SYNC_BEGIN: &[u8] = b"\x1b[?2026h";
/// Ends a frame for terminals that show whole frames only; harmless elsewhere.
pub const SYNC_END: &[u8] = b"\x1b[?2026l";

/// Where the terminal's size comes from.
pub type SizeProbe = Box<dyn Fn() -> io::Result<Size> + Send>;

/// The frame under construction: shared, because the inner backend keeps its writer to itself.
#[derive(Clone, Debug, Default)]
struct Frame(Arc<Mutex<Vec<u8>>>);

impl Frame {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Frame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A backend that writes into a buffer.
pub struct FrameBackend {
    inner: CrosstermBackend<Frame>,
    frame: Frame,
    measure: SizeProbe,
    /// Where the cursor is and whether it is seen, as of the last frame that was taken.
    shown: TerminalCursor,
    /// The same as of now.
    cursor: TerminalCursor,
    changed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TerminalCursor {
    visible: bool,
    at: Position,
}

impl FrameBackend {
    /// A backend for a terminal whose cursor is hidden.
    pub fn new(measure: SizeProbe) -> Self {
        let frame = Frame::default();
        Self {
            inner: CrosstermBackend::new(frame.clone()),
            frame,
            measure,
            shown: TerminalCursor::default(),
            cursor: TerminalCursor::default(),
            changed: false,
        }
    }

    /// The frame that was collected, framed for synchronized output; `None` when it would change nothing.
    pub fn take_frame(&mut self) -> Option<Vec<u8>> {
        // The cursor's place matters while it is seen only.
        let moved = self.cursor.visible != self.shown.visible || (self.cursor.visible && self.cursor != self.shown);
        let frame = self.frame.take();
        if !std::mem::take(&mut self.changed) && !moved {
            return None;
        }
        self.shown = self.cursor;
        Some([SYNC_BEGIN, &frame, SYNC_END].concat())
    }

    /// Forgets what the terminal shows of the cursor, as after another program had it.
    pub fn forget(&mut self) {
        self.changed = true;
        self.shown = TerminalCursor::default();
        self.frame.take();
    }
}

impl Backend for FrameBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut any = false;
        let drawn = self.inner.draw(content.inspect(|_| any = true));
        self.changed |= any;
        drawn
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.cursor.visible = false;
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.cursor.visible = true;
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor.at)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        self.cursor.at = position;
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.changed = true;
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        (self.measure)()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
