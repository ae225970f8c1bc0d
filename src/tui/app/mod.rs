//! Model and update: synchronous, total, without clock and IO. Effects are data.

mod document;
mod effect;
mod msg;

pub use document::{Direction, Folds, Ink, JobDocument, Needle, Pane, Piece, Row, Size, Spot, Tab};
pub use effect::{Effect, Request, RequestId, Settings, Slot};
pub use msg::{Msg, Opened, Reply};
