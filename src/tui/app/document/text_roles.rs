//! What a piece of text is, in the words that themes are written in, and rows made of such pieces.

/// The role of a piece of text; the theme gives each role its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextRole {
    /// Text without a role.
    Plain,
    /// Name of a member or a column.
    Key,
    /// Quoted text.
    String,
    /// A number.
    Number,
    /// `true`, `false`, `null`.
    Literal,
    /// Brackets, commas, quotes, separators.
    Punctuation,
    /// An escape such as `\n` inside a string.
    Escape,
    /// An address inside text.
    Link,
    /// A framework's own notation, such as a global id shown as a call.
    Marker,
    /// What was masked.
    Masked,
    /// A backtrace frame of the application.
    AppFrame,
    /// A backtrace frame of a library.
    LibraryFrame,
    /// File path in a frame.
    Path,
    /// Line number in a frame.
    LineNumber,
    /// Function, method or block in a frame.
    Function,
    /// Name of an error class.
    ErrorClass,
    /// A line of ours between parts of a text.
    Heading,
    /// What we add to say that something was left out.
    Note,
}

/// A piece of one row: safe for the terminal, in one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyledPiece {
    /// The role.
    pub ink: TextRole,
    /// Sanitised text without line breaks.
    pub text: String,
    /// Whether it is part of a search hit.
    pub hit: bool,
}

/// One row of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenRow {
    /// The line of the document that it shows.
    pub line: usize,
    /// Which row of that line it is: greater than 0 only where long lines are wrapped.
    pub row: usize,
    /// Whether something can be folded here: `Some(true)` when it is folded now. Only on a line's first row.
    pub fold: Option<bool>,
    /// The pieces, from left to right; together no wider than was asked for.
    pub pieces: Vec<StyledPiece>,
    /// Whether the line goes on to the right of what is shown.
    pub cut: bool,
}

impl ScreenRow {
    /// The row's text without roles.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|span| span.text.as_str()).collect()
    }
}
