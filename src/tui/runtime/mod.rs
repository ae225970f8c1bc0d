//! The only place of the console that spawns, sleeps, owns a channel or touches the terminal.

mod backend;
mod crash;
mod event_loop;
mod guard;
mod input;
mod places;
mod signals;
mod slots;
mod stage;
mod stderr;
mod world;
mod writer;

use ratatui::Frame;

use crate::domain::time::Timestamp;
use crate::tui::app::{Effect, Msg};

/// Model and view, as the loop sees them.
pub trait Program {
    /// What is to be done before anything has happened.
    fn start(&mut self, now: Timestamp) -> Vec<Effect>;

    /// Takes in a fact.
    fn update(&mut self, msg: Msg, now: Timestamp) -> Vec<Effect>;

    /// Draws the present state. Pure but for caches.
    fn draw(&mut self, frame: &mut Frame<'_>, now: Timestamp);
}
