//! Glyphs and their ASCII twins.

/// The glyphs of a theme; each set has the same widths, so that nothing moves when they change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Eighths of a bar, from one to eight.
    pub bar: [&'static str; 8],
    /// Heights of a sparkline, from none to full.
    pub spark: [&'static str; 9],
    /// A horizontal rule.
    pub rule: &'static str,
    /// A vertical rule.
    pub wall: &'static str,
    /// Corners of a box: top left, top right, bottom left, bottom right.
    pub corners: [&'static str; 4],
    /// Where a rule across a box meets its left and right wall.
    pub joints: [&'static str; 2],
    /// What stands for text that was cut off.
    pub ellipsis: &'static str,
    /// A mark.
    pub mark: &'static str,
    /// The cursor.
    pub cursor: &'static str,
    /// Something that is folded.
    pub folded: &'static str,
    /// Something that can be folded.
    pub open: &'static str,
    /// The watch is live.
    pub live: &'static str,
    /// The watch is paused.
    pub paused: &'static str,
    /// More than before.
    pub grown: &'static str,
    /// Between items of a line.
    pub dot: &'static str,
    /// Greater or equal, before a lower bound.
    pub at_least: &'static str,
}

impl Glyphs {
    /// Whether only plain ASCII may be drawn: on such a terminal the bytes of other characters could even act.
    pub fn is_plain(&self) -> bool {
        self.ellipsis == ASCII.ellipsis
    }
}

/// For terminals with UTF-8.
pub const UNICODE: Glyphs = Glyphs {
    bar: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
    spark: [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    rule: "─",
    wall: "│",
    corners: ["┌", "┐", "└", "┘"],
    joints: ["├", "┤"],
    ellipsis: "…",
    mark: "●",
    cursor: "▸",
    folded: "▸",
    open: "▾",
    live: "●",
    paused: "■",
    grown: "▲",
    dot: "·",
    at_least: "≥",
};

/// For everything else.
pub const ASCII: Glyphs = Glyphs {
    bar: [" ", " ", " ", "#", "#", "#", "#", "#"],
    spark: [" ", ".", ".", ":", ":", "|", "|", "#", "#"],
    rule: "-",
    wall: "|",
    corners: ["+", "+", "+", "+"],
    joints: ["+", "+"],
    ellipsis: "~",
    mark: "*",
    cursor: ">",
    folded: "+",
    open: "-",
    live: "*",
    paused: "=",
    grown: "+",
    dot: ".",
    at_least: ">",
};

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn twins_have_the_same_widths_and_the_plain_ones_are_plain() {
        let list = |g: &Glyphs| {
            let mut all: Vec<&str> = g.bar.into_iter().chain(g.spark).chain(g.corners).chain(g.joints).collect();
            all.extend([
                g.rule, g.wall, g.ellipsis, g.mark, g.cursor, g.folded, g.open, g.live, g.paused, g.dot, g.at_least,
            ]);
            all
        };
        for (glyph, twin) in list(&UNICODE).into_iter().zip(list(&ASCII)) {
            assert_eq!(glyph.width(), twin.width(), "{glyph} {twin}");
            assert!(twin.is_ascii());
        }
    }
}
