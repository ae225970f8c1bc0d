//! Model and update: synchronous, total, without clock and IO. Effects are data.

pub mod document;
mod effect;
pub mod layout;
pub mod model;
mod msg;
pub mod tour;
mod update;

#[cfg(test)]
mod tests;

pub use document::{JobDocument, warm_up, warm_up_rest};
pub use effect::{Effect, MarkRequest, Request, RequestId, Settings, Slot};
pub use msg::{Msg, Opened, Reply};
pub use update::colon_commands::plan_form;
pub use update::resume::waits_at_gate;
pub use update::{command_reference, commands, refusal, start, update};
