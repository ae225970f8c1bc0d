//! The theme: roles of what is drawn, and the style and glyph that a terminal's capability gives each.
//!
//! No colour stands alone: a letter, a word or a glyph says the same.

mod glyphs;
mod palette;

pub use glyphs::Glyphs;
pub use palette::{Depth, Shade, Theme, locale, speaks_utf8};

/// What a piece of the screen is. Views name roles, never colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StyleRole {
    /// Running text.
    Text,
    /// Text of lesser weight: headings, units, what is stale.
    Dim,
    /// Text of greater weight.
    Strong,
    /// Title of a pane.
    Title,
    /// Title of the pane that has the keys.
    TitleFocused,
    /// Rules and borders.
    Rule,
    /// The row under the cursor in the pane that has the keys.
    Cursor,
    /// The row under the cursor elsewhere.
    CursorDim,
    /// A mark.
    Mark,
    /// An error class.
    Error,
    /// A job class.
    Class,
    /// A queue.
    Queue,
    /// A time.
    Time,
    /// A number that matters.
    Number,
    /// A bar of the histogram.
    Bar,
    /// A sparkline.
    Trend,
    /// Something new.
    New,
    /// All is well: connected, done.
    Good,
    /// Needs attention: stale, skipped, estimated.
    Warning,
    /// Something went wrong, or a write is at stake.
    Danger,
    /// A badge that must not be overlooked, such as PRODUCTION.
    Badge,
    /// A key in hints.
    Key,
    /// What cannot be used at the moment.
    Disabled,
    /// A hit of a search.
    Hit,
    /// Name of a member in a payload.
    Member,
    /// Quoted text in a payload.
    Quoted,
    /// `true`, `false`, `null`.
    Literal,
    /// Brackets and commas.
    Punctuation,
    /// A framework's own notation.
    Marker,
    /// A frame of the application.
    AppFrame,
    /// A frame of a library.
    LibraryFrame,
    /// Path of a file.
    Path,
    /// Name of a function.
    Function,
}
