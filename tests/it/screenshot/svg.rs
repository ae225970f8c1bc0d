//! A terminal's screen as SVG: one rectangle a run of one ground, one text a run of one style.

use std::fmt::Write as _;

/// Size of a cell, in the picture's own units.
const CELL: (f64, f64) = (8.4, 18.0);
/// Space around the screen.
const MARGIN: f64 = 14.0;
const GROUND: &str = "#14171f";
const TEXT: &str = "#d5d9e2";
/// The first sixteen colours, as this picture's terminal would have them.
const SIXTEEN: [&str; 16] = [
    "#14171f", "#e06c6c", "#7ec977", "#e3b341", "#79b8ff", "#c6a0f6", "#5fcdc4", "#d5d9e2", "#5c6370", "#ff7b72",
    "#98e08f", "#f2cc60", "#a5d0ff", "#d8bfff", "#8be0d8", "#ffffff",
];

/// What a run of cells has in common.
#[derive(Clone, PartialEq)]
struct Style {
    fg: String,
    bg: Option<String>,
    bold: bool,
    dim: bool,
    underline: bool,
}

/// How long each frame of an animation is shown, in seconds.
const SECONDS_PER_FRAME: usize = 4;
/// Height of the caption below an animated screen.
const CAPTION: f64 = 24.0;

/// Renders the screen as an SVG document.
pub fn render(screen: &vt100::Screen) -> String {
    document(screen, 0.0, &lines(screen))
}

/// Renders captioned screens of one size as an SVG document that shows them in turn, for ever. A viewer without animations,
/// or a reader who wants none, sees the first one.
pub fn animate(frames: &[(&str, vt100::Screen)]) -> String {
    let (seconds, share) = (frames.len() * SECONDS_PER_FRAME, 100.0 / frames.len() as f64);
    let mut body = format!(
        "<style>.frame{{visibility:hidden;animation:frame {seconds}s step-end infinite}}\
         @keyframes frame{{0%{{visibility:visible}}{share:.2}%{{visibility:hidden}}}}\
         @media (prefers-reduced-motion:reduce){{.frame{{animation:none}}}}</style>\n"
    );
    for (index, (caption, screen)) in frames.iter().enumerate() {
        let (first, delay) = (if index == 0 { "visibility:visible;" } else { "" }, index * SECONDS_PER_FRAME);
        let y = size(screen).1 + CAPTION * 0.4;
        let _ = writeln!(
            body,
            "<g class=\"frame\" style=\"{first}animation-delay:{delay}s\">\n{}\
             <text x=\"{MARGIN}\" y=\"{y:.1}\" fill=\"{TEXT}\" font-size=\"16\">{}</text>\n</g>",
            lines(screen),
            escaped(caption)
        );
    }
    document(&frames[0].1, CAPTION, &body)
}

fn document(screen: &vt100::Screen, below: f64, body: &str) -> String {
    let (width, height) = size(screen);
    let height = height + below;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" \
         font-family=\"'DejaVu Sans Mono','Cascadia Mono','SF Mono',Menlo,Consolas,monospace\" font-size=\"14\" \
         xml:space=\"preserve\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n{body}</svg>\n"
    )
}

/// Width and height of a screen with its margin.
fn size(screen: &vt100::Screen) -> (f64, f64) {
    let (rows, columns) = screen.size();
    (f64::from(columns.get()) * CELL.0 + 2.0 * MARGIN, f64::from(rows.get()) * CELL.1 + 2.0 * MARGIN)
}

fn lines(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let mut out = String::new();
    for row in 0..rows.get() {
        line(&mut out, screen, row, columns.get());
    }
    out
}

fn line(out: &mut String, screen: &vt100::Screen, row: u16, columns: u16) {
    let mut column = 0;
    while column < columns {
        let Some(style) = screen.cell(row, column).map(style) else { return };
        let start = column;
        let mut text = String::new();
        while let Some(cell) = screen.cell(row, column).filter(|cell| style == self::style(cell)) {
            // The second half of a wide character has no text of its own.
            if !cell.is_wide_continuation() {
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            column += 1;
            // A glyph that fonts draw at their own width would push what follows: each has a text of its own.
            if !cell.contents().is_ascii() || screen.cell(row, column).is_some_and(|c| !c.contents().is_ascii()) {
                break;
            }
        }
        while screen.cell(row, column).is_some_and(vt100::Cell::is_wide_continuation) {
            column += 1;
        }
        run(out, &style, &text, (start, row), column - start);
    }
}

fn run(out: &mut String, style: &Style, text: &str, at: (u16, u16), columns: u16) {
    let (x, y) = (MARGIN + f64::from(at.0) * CELL.0, MARGIN + f64::from(at.1) * CELL.1);
    let width = f64::from(columns) * CELL.0;
    if let Some(ground) = &style.bg {
        // A hair wider, so that no seam shows between two runs.
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{ground}\"/>",
            width + 0.3,
            CELL.1 + 0.3
        );
    }
    if text.trim().is_empty() {
        return;
    }
    if let Some(block) = block(text) {
        let (left, top, w, h) = block;
        let _ = writeln!(
            out,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\"/>",
            x + left * CELL.0,
            y + top * CELL.1,
            w * CELL.0,
            h * CELL.1,
            style.fg
        );
        return;
    }
    let mut look = String::new();
    for (on, attribute) in [
        (style.bold, " font-weight=\"bold\""),
        (style.dim, " opacity=\"0.6\""),
        (style.underline, " text-decoration=\"underline\""),
    ] {
        if on {
            look.push_str(attribute);
        }
    }
    let text = escaped(text);
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\"{look}>{text}</text>",
        y + CELL.1 * 0.74,
        style.fg
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The part of a cell that a block element fills: left, top, width, height, in cells. Drawn as rectangles, they meet
/// whatever font the picture is shown in.
fn block(text: &str) -> Option<(f64, f64, f64, f64)> {
    let mut chars = text.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else { return None };
    let eighths = |n: u32| f64::from(n) / 8.0;
    match c {
        '▁'..='█' => {
            let height = eighths(u32::from(c) - 0x2580);
            Some((0.0, 1.0 - height, 1.0, height))
        }
        '▉'..='▏' => Some((0.0, 0.0, eighths(0x2590 - u32::from(c)), 1.0)),
        '▀' => Some((0.0, 0.0, 1.0, 0.5)),
        '│' => Some((0.45, 0.0, 0.1, 1.0)),
        '─' => Some((0.0, 0.47, 1.0, 0.05)),
        _ => None,
    }
}

fn style(cell: &vt100::Cell) -> Style {
    let mut fg = colour(cell.fgcolor());
    let mut bg = colour(cell.bgcolor());
    if cell.inverse() {
        (fg, bg) = (Some(bg.unwrap_or_else(|| GROUND.into())), Some(fg.unwrap_or_else(|| TEXT.into())));
    }
    Style { fg: fg.unwrap_or_else(|| TEXT.into()), bg, bold: cell.bold(), dim: cell.dim(), underline: cell.underline() }
}

fn colour(colour: vt100::Color) -> Option<String> {
    let hex = |r: u8, g: u8, b: u8| format!("#{r:02x}{g:02x}{b:02x}");
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Rgb(r, g, b) => Some(hex(r, g, b)),
        vt100::Color::Idx(n @ 0..16) => SIXTEEN.get(usize::from(n)).map(|c| (*c).to_owned()),
        vt100::Color::Idx(n @ 16..232) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let n = n - 16;
            Some(hex(level(n / 36), level(n / 6 % 6), level(n % 6)))
        }
        vt100::Color::Idx(n) => {
            let grey = 8 + 10 * (n - 232);
            Some(hex(grey, grey, grey))
        }
    }
}

#[test]
fn a_screen_becomes_text_and_rectangles_in_its_colours() {
    let (two, twenty) = (2.try_into().expect("rows"), 20.try_into().expect("columns"));
    let mut parser = vt100::Parser::new(two, twenty, 0);
    parser.process(b"a<b \x1b[31mred\x1b[0m \x1b[48;2;1;2;3mx\x1b[0m \xe2\x96\x88");
    let image = render(parser.screen());
    for part in ["a&lt;b", ">red</text>", "fill=\"#e06c6c\"", "fill=\"#010203\"", "height=\"18.00\""] {
        assert!(image.contains(part), "{part} is missing in {image}");
    }
}

#[test]
fn frames_of_an_animation_follow_each_other_and_the_first_is_visible_without_it() {
    let (two, twenty) = (2.try_into().expect("rows"), 20.try_into().expect("columns"));
    let frame = |text: &[u8]| {
        let mut parser = vt100::Parser::new(two, twenty, 0);
        parser.process(text);
        parser.screen().clone()
    };
    let image = animate(&[("before", frame(b"one")), ("after", frame(b"two"))]);
    for part in ["frame 8s step-end", "50.00%{visibility:hidden}", "visible;animation-delay:0s", "\"animation-delay:4s"]
    {
        assert!(image.contains(part), "{part} is missing in {image}");
    }
    assert!(image.find("one") < image.find("before") && image.find("before") < image.find("two"));
}
