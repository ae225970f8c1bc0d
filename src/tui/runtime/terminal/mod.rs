//! The terminal: keys and signals from it, frames to it, and its restoration on every exit.

pub(crate) mod backend;
pub(crate) mod clipboard;
pub(crate) mod input;
pub(crate) mod panic_hook;
pub(crate) mod signals;
pub(crate) mod stage;
pub(crate) mod stderr;
pub(crate) mod terminal_guard;
pub(crate) mod terminal_screen;
pub(crate) mod writer;
