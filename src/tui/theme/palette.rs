//! Styles by role, for each depth of colour that terminals have.

use ratatui::style::{Color, Modifier, Style};

use super::StyleRole;
use super::glyphs::{ASCII, Glyphs, UNICODE};
use crate::domain::time::zone::Zone;

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// None: weight and reverse only.
    None,
    /// The sixteen that the terminal's own theme defines.
    Sixteen,
    /// The 256 of the extended palette.
    Extended,
    /// 24 bits.
    True,
}

/// What lies behind the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shade {
    /// Light text on a dark ground.
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// A theme: gives each role its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// How many colours.
    pub depth: Depth,
    /// On which ground.
    pub shade: Shade,
    /// Which glyphs.
    pub glyphs: Glyphs,
    /// In which zone times are shown.
    pub zone: Zone,
}

impl Theme {
    /// The palette for a theme (`dark`, `light`, `16`, `none`, `auto`) on a terminal whose environment `var` reads; `ascii` asks for
    /// plain glyphs.
    pub fn of(theme: &str, ascii: bool, var: impl Fn(&str) -> Option<String>) -> Theme {
        let set = |name: &str| var(name).filter(|v| !v.is_empty());
        let detected = detect(&set);
        let depth = match theme {
            "none" => Depth::None,
            _ if set("NO_COLOR").is_some() => Depth::None,
            "16" => Depth::Sixteen,
            "dark" | "light" if detected == Depth::None => Depth::Sixteen,
            _ => detected,
        };
        let shade = if theme == "light" || is_light(&set) { Shade::Light } else { Shade::Dark };
        let shade = if theme == "dark" { Shade::Dark } else { shade };
        let plain = ascii || !is_utf8(&set) || set("TERM").as_deref() == Some("linux");
        Theme { depth, shade, glyphs: if plain { ASCII } else { UNICODE }, zone: Zone::UTC }
    }

    /// The style of a role.
    pub fn style(&self, role: StyleRole) -> Style {
        let style = weight(role);
        match self.depth {
            Depth::None => colourless(role, style),
            Depth::Sixteen => sixteen(role, style),
            Depth::Extended | Depth::True => self.rich(role, style),
        }
    }

    fn rich(&self, role: StyleRole, style: Style) -> Style {
        let Some((dark, light)) = hues(role) else { return style };
        let colour =
            |hue: Hue| if self.depth == Depth::True { Color::Rgb(hue.0, hue.1, hue.2) } else { Color::Indexed(hue.3) };
        let hue = if self.shade == Shade::Dark { dark } else { light };
        match role {
            StyleRole::Cursor | StyleRole::CursorDim | StyleRole::Hit => style.bg(colour(hue)),
            StyleRole::Badge => style.bg(colour(hue)).fg(colour(Hue(255, 255, 255, 231))),
            _ => style.fg(colour(hue)),
        }
    }
}

/// A colour in 24 bits and its nearest of 256.
#[derive(Clone, Copy)]
struct Hue(u8, u8, u8, u8);

/// The hues of a role on dark and on light ground; none for text that takes the terminal's own colour.
fn hues(role: StyleRole) -> Option<(Hue, Hue)> {
    let grey = (Hue(138, 143, 152, 245), Hue(110, 115, 125, 242));
    let red = (Hue(255, 123, 114, 210), Hue(179, 29, 40, 124));
    let amber = (Hue(227, 179, 65, 179), Hue(154, 103, 0, 94));
    let green = (Hue(126, 201, 119, 114), Hue(26, 127, 55, 28));
    let blue = (Hue(121, 184, 255, 111), Hue(5, 80, 174, 25));
    let violet = (Hue(198, 160, 246, 183), Hue(102, 57, 186, 55));
    let teal = (Hue(95, 205, 196, 79), Hue(11, 110, 110, 23));
    Some(match role {
        StyleRole::Text | StyleRole::Strong | StyleRole::AppFrame => return None,
        StyleRole::Dim | StyleRole::Title | StyleRole::Disabled | StyleRole::Punctuation | StyleRole::LibraryFrame => {
            grey
        }
        StyleRole::Rule => (Hue(75, 80, 90, 239), Hue(190, 195, 203, 250)),
        StyleRole::Cursor => (Hue(48, 62, 92, 237), Hue(206, 222, 250, 153)),
        StyleRole::CursorDim => (Hue(38, 42, 51, 235), Hue(232, 236, 243, 254)),
        StyleRole::Hit => (Hue(110, 84, 0, 58), Hue(255, 223, 128, 222)),
        StyleRole::Error | StyleRole::Danger => red,
        StyleRole::Badge => (Hue(184, 40, 48, 124), Hue(179, 29, 40, 124)),
        StyleRole::Bar | StyleRole::Warning | StyleRole::Mark | StyleRole::Literal => amber,
        StyleRole::Good | StyleRole::Quoted => green,
        StyleRole::TitleFocused | StyleRole::Key | StyleRole::Class | StyleRole::Member | StyleRole::Path => blue,
        StyleRole::Queue | StyleRole::Function | StyleRole::Marker => violet,
        StyleRole::Time | StyleRole::Number | StyleRole::Trend | StyleRole::New => teal,
    })
}

fn weight(role: StyleRole) -> Style {
    match role {
        StyleRole::Strong
        | StyleRole::TitleFocused
        | StyleRole::Mark
        | StyleRole::New
        | StyleRole::Danger
        | StyleRole::Badge
        | StyleRole::Key
        | StyleRole::AppFrame => Style::new().add_modifier(Modifier::BOLD),
        _ => Style::new(),
    }
}

fn colourless(role: StyleRole, style: Style) -> Style {
    match role {
        StyleRole::Cursor | StyleRole::Badge | StyleRole::Hit => style.add_modifier(Modifier::REVERSED),
        StyleRole::CursorDim => style.add_modifier(Modifier::UNDERLINED),
        StyleRole::Dim | StyleRole::Rule | StyleRole::Disabled | StyleRole::Punctuation | StyleRole::LibraryFrame => {
            style.add_modifier(Modifier::DIM)
        }
        _ => style,
    }
}

fn sixteen(role: StyleRole, style: Style) -> Style {
    match role {
        // Reversed, the colours of the row would become a motley of grounds.
        StyleRole::Cursor => {
            style.fg(Color::Reset).add_modifier(Modifier::REVERSED).remove_modifier(Modifier::DIM | Modifier::BOLD)
        }
        StyleRole::CursorDim => style.add_modifier(Modifier::UNDERLINED),
        StyleRole::Hit => style.bg(Color::Yellow).fg(Color::Black),
        StyleRole::Badge => style.bg(Color::Red).fg(Color::White),
        StyleRole::Dim
        | StyleRole::Title
        | StyleRole::Rule
        | StyleRole::Disabled
        | StyleRole::Punctuation
        | StyleRole::LibraryFrame => style.add_modifier(Modifier::DIM),
        StyleRole::Error | StyleRole::Danger => style.fg(Color::Red),
        StyleRole::Bar | StyleRole::Warning | StyleRole::Mark | StyleRole::Literal => style.fg(Color::Yellow),
        StyleRole::Good | StyleRole::Quoted => style.fg(Color::Green),
        // The plain blue of many terminals cannot be read on black, nor the bright one on white by all: cyan can on both.
        StyleRole::TitleFocused | StyleRole::Key | StyleRole::Class | StyleRole::Member | StyleRole::Path => {
            style.fg(Color::Cyan)
        }
        StyleRole::Queue | StyleRole::Function | StyleRole::Marker => style.fg(Color::Magenta),
        StyleRole::Time | StyleRole::Number | StyleRole::Trend => style,
        StyleRole::New => style.fg(Color::Green),
        StyleRole::Text | StyleRole::Strong | StyleRole::AppFrame => style,
    }
}

fn detect(var: &impl Fn(&str) -> Option<String>) -> Depth {
    let term = var("TERM").unwrap_or_default();
    let deep = var("COLORTERM").is_some_and(|c| c == "truecolor" || c == "24bit");
    match term.as_str() {
        "" | "dumb" => Depth::None,
        "linux" | "xterm" | "screen" | "vt220" | "ansi" => Depth::Sixteen,
        _ if deep || term.ends_with("-direct") => Depth::True,
        _ if term.contains("256color") || term.starts_with("tmux") || term.starts_with("xterm-") => Depth::Extended,
        _ => Depth::Sixteen,
    }
}

/// `COLORFGBG` ends in the background's number; some terminals set it.
fn is_light(var: &impl Fn(&str) -> Option<String>) -> bool {
    var("COLORFGBG").and_then(|v| v.rsplit(';').next()?.parse::<u8>().ok()).is_some_and(|n| n == 7 || n == 15)
}

fn is_utf8(var: &impl Fn(&str) -> Option<String>) -> bool {
    locale(var).is_none_or(|(_, value)| speaks_utf8(&value))
}

/// The variable that says in which letters programs write, and what it says: the first of these that is set decides, as in
/// every C program.
pub fn locale(var: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, var(name)?)))
}

/// Whether a locale's letters are those of UTF-8.
pub fn speaks_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(theme: &str, vars: &[(&str, &str)]) -> Theme {
        Theme::of(theme, false, |name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn the_terminal_says_how_many_colours_it_shows() {
        assert_eq!(theme("auto", &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]).depth, Depth::True);
        assert_eq!(theme("auto", &[("TERM", "tmux-256color")]).depth, Depth::Extended);
        assert_eq!(theme("auto", &[("TERM", "linux")]).depth, Depth::Sixteen);
        assert_eq!(theme("16", &[("TERM", "xterm-256color")]).depth, Depth::Sixteen);
    }

    #[test]
    fn no_color_wins_over_every_theme_but_only_when_it_is_not_empty() {
        let vars = [("TERM", "xterm-256color"), ("NO_COLOR", "1")];
        assert_eq!(theme("dark", &vars).depth, Depth::None);
        assert_eq!(theme("dark", &[("TERM", "xterm-256color"), ("NO_COLOR", "")]).depth, Depth::Extended);
    }

    #[test]
    fn without_colour_nothing_is_coloured_and_the_cursor_still_shows() {
        let theme = theme("none", &[("TERM", "xterm")]);
        for role in [StyleRole::Error, StyleRole::Badge, StyleRole::Cursor, StyleRole::Dim, StyleRole::Hit] {
            let style = theme.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        assert!(theme.style(StyleRole::Cursor).add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn glyphs_are_plain_where_the_locale_or_the_console_knows_no_others() {
        assert_eq!(theme("auto", &[("LANG", "C")]).glyphs, ASCII);
        assert_eq!(theme("auto", &[("LANG", "C.UTF-8"), ("TERM", "linux")]).glyphs, ASCII);
        assert_eq!(theme("auto", &[("LC_ALL", "en_US.UTF-8"), ("LANG", "C"), ("TERM", "xterm")]).glyphs, UNICODE);
    }
}
