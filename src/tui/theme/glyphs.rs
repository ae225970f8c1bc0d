//! Glyphs, and ASCII characters for terminals without UTF-8.

/// The glyphs of a theme; each set has the same widths, so that nothing moves when they change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Eighths of a bar, from one to eight.
    pub bar: [&'static str; 8],
    /// Heights of a sparkline, from none to full.
    pub spark: [&'static str; 9],
    /// Rules, and boxes made of them.
    pub lines: LineGlyphs,
    /// What stands for text that was cut off.
    pub ellipsis: &'static str,
    /// A mark.
    pub mark: &'static str,
    /// The cursor.
    pub cursor: &'static str,
    /// Something that is folded, and something that can be folded.
    pub fold: [&'static str; 2],
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

/// The lines of a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineGlyphs {
    /// A horizontal rule.
    pub rule: &'static str,
    /// A vertical rule.
    pub wall: &'static str,
    /// Corners of a box: top left, top right, bottom left, bottom right.
    pub corners: [&'static str; 4],
    /// Where a rule across a box meets its left and right wall.
    pub joints: [&'static str; 2],
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
    lines: LineGlyphs { rule: "─", wall: "│", corners: ["┌", "┐", "└", "┘"], joints: ["├", "┤"] },
    ellipsis: "…",
    mark: "●",
    cursor: "▸",
    fold: ["▸", "▾"],
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
    lines: LineGlyphs { rule: "-", wall: "|", corners: ["+", "+", "+", "+"], joints: ["+", "+"] },
    ellipsis: "~",
    mark: "*",
    cursor: ">",
    fold: ["+", "-"],
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
    fn ascii_glyphs_are_ascii_and_as_wide_as_the_others() {
        let list = |g: &Glyphs| {
            let mut all: Vec<&str> = g.bar.into_iter().chain(g.spark).chain(g.lines.corners).collect();
            all.extend(g.lines.joints.into_iter().chain(g.fold));
            all.extend([g.lines.rule, g.lines.wall, g.ellipsis, g.mark, g.cursor, g.live, g.paused, g.dot, g.at_least]);
            all
        };
        for (glyph, ascii) in list(&UNICODE).into_iter().zip(list(&ASCII)) {
            assert_eq!(glyph.width(), ascii.width(), "{glyph} {ascii}");
            assert!(ascii.is_ascii());
        }
    }
}
