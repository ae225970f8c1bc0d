//! What a person would see on the terminal.

/// A look at the screen.
pub struct Screen<'a>(&'a vt100::Screen);

impl<'a> Screen<'a> {
    pub(super) fn new(screen: &'a vt100::Screen) -> Self {
        Self(screen)
    }

    /// The screen's rows with their trailing blanks cut off, joined by line feeds.
    pub fn text(&self) -> String {
        self.rows().join("\n")
    }

    /// Each row with its trailing blanks cut off.
    pub fn rows(&self) -> Vec<String> {
        let (_, columns) = self.0.size();
        self.0.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect()
    }

    /// Whether a text stands in some row.
    pub fn contains(&self, text: &str) -> bool {
        self.rows().iter().any(|row| row.contains(text))
    }

    /// The rows below the one that holds a heading, from `lead` columns before the heading on, as far as they are not
    /// empty; nothing when there is no such heading.
    pub fn below(&self, heading: &str, lead: u16) -> Vec<String> {
        let (_, columns) = self.0.size();
        let holds = |from: u16| self.0.rows(from, columns.get()).position(|row| row.starts_with(heading));
        let found = (0..columns.get()).find_map(|from| Some((from, holds(from)?)));
        let Some((column, row)) = found else { return Vec::new() };
        let rows = self.0.rows(column.saturating_sub(lead), columns.get()).skip(row + 1);
        rows.map(|row| row.trim_end().to_owned()).take_while(|row| !row.is_empty()).collect()
    }

    /// The first row that holds a text, counted from 0.
    pub fn row_of(&self, text: &str) -> Option<usize> {
        self.rows().iter().position(|row| row.contains(text))
    }

    /// Whether the program has taken over the screen.
    pub fn is_alternate(&self) -> bool {
        self.0.alternate_screen()
    }

    /// Where the cursor is (row, column), or nothing when it is hidden.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        (!self.0.hide_cursor()).then(|| self.0.cursor_position())
    }

    /// A cell's attributes, for the few tests that are about them.
    pub fn cell(&self, row: u16, column: u16) -> Option<&vt100::Cell> {
        self.0.cell(row, column)
    }

    /// The modes that a program must not leave behind.
    pub(super) fn leftovers(&self) -> Vec<&'static str> {
        let modes = [
            (self.0.alternate_screen(), "the alternate screen"),
            (self.0.hide_cursor(), "a hidden cursor"),
            (self.0.bracketed_paste(), "bracketed paste"),
            (self.0.application_cursor(), "application cursor keys"),
            (self.0.application_keypad(), "an application keypad"),
            (self.0.mouse_protocol_mode() != vt100::MouseProtocolMode::None, "mouse reports"),
            (self.0.inverse() || self.0.bold() || self.0.underline(), "text attributes"),
            (self.0.fgcolor() != vt100::Color::Default || self.0.bgcolor() != vt100::Color::Default, "a colour"),
        ];
        modes.into_iter().filter_map(|(left, what)| left.then_some(what)).collect()
    }

    /// The screen in a frame, for failure messages.
    pub fn picture(&self) -> String {
        let (height, width) = self.0.size();
        let edge = "─".repeat(usize::from(width.get()));
        let rows = self.rows();
        let body: String = rows.iter().map(|row| format!("│{row}\n")).collect();
        let kind = if self.is_alternate() { "alternate" } else { "main" };
        let cursor =
            self.cursor().map_or("hidden".to_owned(), |(row, column)| format!("at row {row}, column {column}"));
        format!("┌{edge}\n{body}└{edge}\n{width}x{height}, {kind} screen, cursor {cursor}")
    }
}

/// Records what a program makes the terminal do beside drawing.
#[derive(Debug, Default)]
pub struct SideEffects {
    pub seen: Vec<String>,
}

impl SideEffects {
    fn note(&mut self, what: &str, bytes: &[u8]) {
        self.seen.push(format!("{what} {}", bytes.escape_ascii()));
    }
}

impl vt100::Callbacks for SideEffects {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.note("bell", b"");
    }

    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.note("icon name", name);
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.note("title", title);
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.note("clipboard", data);
    }

    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.note("clipboard asked for", b"");
    }

    fn resize(&mut self, _: &mut vt100::Screen, _: (u16, u16)) {
        self.note("resize", b"");
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parameters: &[&[u8]]) {
        self.note("osc", &parameters.join(b";".as_slice()));
    }

    fn unhandled_char(&mut self, _: &mut vt100::Screen, character: char) {
        self.note("character", character.to_string().as_bytes());
    }
}
