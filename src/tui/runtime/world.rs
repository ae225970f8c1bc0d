//! Everything outside the loop, as the loop sees it.

use std::future::Future;

use crate::tui::app::{Effect, Msg, Reply, RequestId, Slot};

/// Something that was found out or finished.
#[derive(Debug)]
pub enum Fact {
    /// A request has ended.
    Answer {
        /// Identity.
        id: RequestId,
        /// Its place.
        slot: Slot,
        /// The answer.
        reply: Reply,
    },
    /// A message for the model.
    Told(Msg),
    /// The terminal is to be sent bytes that are no frame.
    Bytes(Vec<u8>),
}

/// Something that another program needs our terminal for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalProgram {
    /// The shell.
    Suspend,
    /// The operator's editor.
    Edit {
        /// File name shown by the editor.
        name: String,
        /// The text.
        text: String,
    },
    /// The operator's editor, on arguments that they change.
    EditArguments(String),
}

/// Carries out what the model wants. Nothing here waits, but an errand.
pub trait World {
    /// Sets an effect going.
    fn carry_out(&mut self, effect: Effect);

    /// Notes a fact, and returns the message for the model.
    fn on_fact(&mut self, fact: Fact) -> Option<Msg>;

    /// Runs a task while the terminal is not ours, and returns the message for the model.
    fn run_external_program(&mut self, errand: ExternalProgram) -> impl Future<Output = Msg>;

    /// Lets nothing new begin and cancels what nobody waits for any more.
    fn close(&mut self);
}
