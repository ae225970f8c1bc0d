//! What the operator does, as the terminal reports it.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures_util::StreamExt;
use rustix::io::ioctl_fionread;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::tui::app::Msg;

/// Keys, pastes, sizes. Generic so that the loop runs under a paused clock without a terminal.
pub trait Input {
    /// The next event; `None` or an error when the terminal is gone. Can be dropped at any time.
    fn next(&mut self) -> impl Future<Output = Option<io::Result<Event>>>;

    /// Lets go of the terminal's input, so that another program can read it.
    fn release(&mut self);

    /// Begins to read it, at the start and after it was let go of; changes of size are noticed from here on.
    fn resume(&mut self);

    /// Makes sure that what was typed at the moment of a change of size is noticed.
    fn check_size(&mut self) {}

    /// An event that is there already: `None` at once when there is none.
    ///
    /// Polled with the waker of the task that will wait next, and not with one that does nothing: the terminal's event
    /// thread keeps the first waker that it is given.
    fn ready(&mut self) -> impl Future<Output = Option<Option<io::Result<Event>>>> {
        async {
            let mut next = pin!(self.next());
            poll_fn(|context| match next.as_mut().poll(context) {
                Poll::Ready(event) => Poll::Ready(Some(event)),
                Poll::Pending => Poll::Ready(None),
            })
            .await
        }
    }
}

/// The terminal that this process runs in.
#[derive(Default)]
pub struct Keyboard {
    events: Option<EventStream>,
}

impl Input for Keyboard {
    async fn next(&mut self) -> Option<io::Result<Event>> {
        self.events.get_or_insert_with(EventStream::new).next().await
    }

    fn release(&mut self) {
        self.events = None;
    }

    fn resume(&mut self) {
        self.events = Some(EventStream::new());
        // The end of the stream before left a wake-up behind. Found along with a key, it would hide the key until the next
        // one comes: it is taken away before there is a screen that one could answer to.
        let _ = crossterm::event::poll(Duration::ZERO);
    }

    /// The event library hears once that something was typed, and forgets it when a new size arrives with it.
    /// Setting the terminal's settings to what they are wakes the reader again.
    fn check_size(&mut self) {
        let terminal = io::stdin();
        if ioctl_fionread(&terminal).is_ok_and(|unread| unread > 0)
            && let Ok(settings) = tcgetattr(&terminal)
        {
            let _ = tcsetattr(&terminal, OptionalActions::Now, &settings);
        }
    }
}

/// The model's message for an event; `None` for an event without meaning.
pub fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Msg::Key(key)),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Mouse(mouse) => Some(Msg::Mouse(mouse)),
        Event::Resize(width, height) => Some(Msg::Resize { width, height }),
        Event::Key(_) | Event::FocusGained | Event::FocusLost => None,
    }
}
