//! Model and update: synchronous, total, without clock and IO. Effects are data.

pub mod document;
mod effect;
mod msg;

pub use document::JobDocument;
pub use effect::{Effect, Request, RequestId, Settings, Slot};
pub use msg::{Msg, Opened, Reply};
