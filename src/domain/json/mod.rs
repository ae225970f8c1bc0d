//! Exact JSON: numbers stay text, repeated keys stay, and any size and depth can be shown a window at a time.
//!
//! A general JSON value type would round big and exact numbers and merge repeated keys, so payloads never pass through
//! one. A [`Document`] is an index over the text; [`JsonLayout`] and [`View`] turn it into the lines that a screen shows.

mod document;
mod highlights;
mod layout;
mod line;
mod lookup;
mod parse;
mod search;
mod splice;
mod string;
mod template;
mod view;

pub use document::{Document, NodeId, NodeKind, PathStep};
pub use highlights::{Cut, JsonHighlights};
pub use layout::{JsonFolds, JsonLayout};
pub use line::{JsonLine, JsonToken, REDACTED, TokenKind};
pub use lookup::{Scalar, decode_double, lookup, scalar_nodes};
pub use parse::JsonError;
pub use search::SearchHit;
pub use splice::{SpliceError, Spliced, ValueChange, splice};
pub use string::{quote, unquote};
pub use template::{Checked, Template, TemplateError};
pub use view::View;
