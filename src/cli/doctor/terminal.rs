//! The terminal: what the console can show on it, and what goes to its clipboard.

use std::io::{self, IsTerminal};

use super::finding::{Finding, Level};
use super::terminal_query::{self, TerminalReply};
use crate::domain::text::Clean;
use crate::tui::app::layout::SMALLEST;
use crate::tui::runtime::check_terminal;
use crate::tui::theme::{Depth, Theme, locale, speaks_utf8};

const SECTION: &str = "terminal";

/// Reads a variable of the environment.
type Var<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The terminal as it was met.
#[derive(Clone, Copy, Debug)]
struct Met {
    /// Columns and lines, where it tells them.
    size: Option<(u16, u16)>,
    /// Whether it draws a frame at once when it is asked to.
    synchronised: TerminalReply,
}

/// What is found of the terminal that this runs on; `theme` and `ascii` are what the config says.
pub fn here(theme: &str, ascii: bool) -> Vec<Finding> {
    if !io::stdout().is_terminal() {
        let fact = "not checked: standard output is not a terminal";
        return vec![Finding::new(SECTION, "terminal", Level::Ok, fact)];
    }
    let asked = if io::stdin().is_terminal() { terminal_query::synchronised_output() } else { TerminalReply::NotAsked };
    let met = Met { size: crossterm::terminal::size().ok(), synchronised: asked };
    findings(met, theme, ascii, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn findings(met: Met, theme: &str, ascii: bool, var: Var<'_>) -> Vec<Finding> {
    let resolved = Theme::of(theme, ascii, var);
    let mut all = vec![kind(var), colours(&resolved, theme, var), letters(ascii, var)];
    all.push(size(met.size));
    all.push(frames(met.synchronised));
    all.push(clipboard(var));
    if let Some(from) = var("SSH_CONNECTION").or_else(|| var("SSH_CLIENT")) {
        let from = from.split(' ').next().unwrap_or_default().to_owned();
        all.push(finding("ssh", Level::Ok, format!("from {}", Clean::line(&from))));
    }
    all
}

fn finding(about: &str, level: Level, fact: impl Into<String>) -> Finding {
    Finding::new(SECTION, about, level, fact)
}

fn kind(var: Var<'_>) -> Finding {
    let term = var("TERM");
    match check_terminal(true, term.as_deref()) {
        Ok(()) => {
            let within = [("TMUX", "tmux"), ("STY", "screen")].into_iter().find(|(name, _)| var(name).is_some());
            let within = within.map(|(_, what)| format!(", within {what}")).unwrap_or_default();
            finding("kind", Level::Ok, format!("TERM={}{within}", Clean::line(&term.unwrap_or_default())))
        }
        Err(why) => finding("kind", Level::Fail, why),
    }
}

fn colours(resolved: &Theme, theme: &str, var: Var<'_>) -> Finding {
    let fact = match resolved.depth {
        Depth::None => "none: bold, dim and reverse only",
        Depth::Sixteen => "the sixteen of its own theme",
        Depth::Extended => "256",
        Depth::True => "24 bits",
    };
    let why = match (resolved.depth, var("NO_COLOR"), theme) {
        (Depth::None, Some(_), _) => " (NO_COLOR is set)",
        (Depth::None | Depth::Sixteen, None, "none" | "16") => " (as the theme says)",
        (Depth::True, ..) if var("COLORTERM").is_some() => " (COLORTERM says so)",
        _ => " (by its TERM)",
    };
    finding("colours", Level::Ok, format!("{fact}{why}"))
}

fn letters(ascii: bool, var: Var<'_>) -> Finding {
    const ABOUT: &str = "letters";
    match locale(var) {
        _ if ascii => finding(ABOUT, Level::Ok, "ASCII, as the config says"),
        None => finding(ABOUT, Level::Ok, "UTF-8: no locale says otherwise"),
        Some((name, value)) if speaks_utf8(&value) => {
            finding(ABOUT, Level::Ok, format!("UTF-8 ({name}={})", Clean::line(&value)))
        }
        Some((name, value)) => {
            finding(ABOUT, Level::Warn, format!("ASCII: {name}={} is no UTF-8 locale", Clean::line(&value)))
                .advising("set LANG=C.UTF-8, where the terminal shows UTF-8: bars and rules are finer then")
        }
    }
}

fn size(size: Option<(u16, u16)>) -> Finding {
    let (width, height) = SMALLEST;
    match size {
        None | Some((0, _) | (_, 0)) => finding("size", Level::Warn, "it reports no size")
            .advising("set it with `stty cols 80 rows 24`; serial lines and some containers need that"),
        Some((columns, lines)) if columns < width || lines < height => {
            finding("size", Level::Warn, format!("{columns}x{lines}: the console needs {width}x{height}"))
                .advising("make it larger, or use `dlq-tui stats`, `list` and `show`")
        }
        Some((columns, lines)) => finding("size", Level::Ok, format!("{columns}x{lines}")),
    }
}

fn frames(synchronised: TerminalReply) -> Finding {
    const ABOUT: &str = "synchronised output";
    match synchronised {
        TerminalReply::Yes => finding(ABOUT, Level::Ok, "yes: a frame is shown at once"),
        TerminalReply::No => finding(ABOUT, Level::Ok, "no: a frame may be seen while it is drawn, which does no harm"),
        TerminalReply::Silent => finding(ABOUT, Level::Ok, "no answer: assumed no"),
        TerminalReply::NotAsked => finding(ABOUT, Level::Ok, "not asked: standard input is no terminal"),
    }
}

/// How a copy gets to the clipboard: there is no answer to one, so that what is needed can only be said.
fn clipboard(var: Var<'_>) -> Finding {
    let fact = match (var("TMUX"), var("STY")) {
        (Some(_), _) => "through tmux, by its own `load-buffer -w`",
        (None, Some(_)) => "by OSC 52, wrapped so that screen passes it on",
        (None, None) => "by OSC 52, where the terminal allows it",
    };
    let finding = finding("clipboard", Level::Ok, fact);
    match var("TMUX") {
        Some(_) => finding.advising(
            "`tmux set -s set-clipboard on` (or external) hands it to the terminal; before tmux 3.2 OSC 52 is used, which \
             needs `set-clipboard on`; a tmux within a tmux needs `allow-passthrough on` in the outer one",
        ),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(size: Option<(u16, u16)>, vars: &[(&str, &str)]) -> Vec<Finding> {
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        findings(Met { size, synchronised: TerminalReply::Yes }, "auto", false, &var)
    }

    fn of<'a>(all: &'a [Finding], about: &str) -> (Level, &'a str) {
        all.iter().find(|f| f.about == about).map(|f| (f.level, f.fact.as_str())).unwrap_or_else(|| panic!("{about}"))
    }

    #[test]
    fn a_good_terminal_is_ok_throughout() {
        let vars = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("LANG", "C.UTF-8")];
        let all = met(Some((80, 24)), &vars);
        assert!(all.iter().all(|f| f.level == Level::Ok), "{all:?}");
        assert_eq!(of(&all, "colours").1, "24 bits (COLORTERM says so)");
        assert_eq!(of(&all, "letters").1, "UTF-8 (LANG=C.UTF-8)");
        assert!(!all.iter().any(|f| f.about == "ssh"));
    }

    #[test]
    fn what_keeps_the_console_from_being_shown_well_is_told() {
        let all = met(Some((30, 8)), &[("TERM", "dumb"), ("LC_ALL", "POSIX"), ("SSH_CONNECTION", "10.0.0.9 1 2 3")]);
        assert_eq!(of(&all, "kind").0, Level::Fail);
        assert_eq!(of(&all, "size"), (Level::Warn, "30x8: the console needs 40x10"));
        assert_eq!(of(&all, "letters").0, Level::Warn);
        assert_eq!(of(&all, "ssh").1, "from 10.0.0.9");
        assert_eq!(of(&met(Some((0, 0)), &[("TERM", "xterm")]), "size").0, Level::Warn);
        assert_eq!(
            of(&met(None, &[("TERM", "xterm"), ("NO_COLOR", "1")]), "colours").1,
            "none: bold, dim and reverse only (NO_COLOR is set)"
        );
    }

    #[test]
    fn within_tmux_it_says_what_tmux_needs() {
        let all = met(Some((80, 24)), &[("TERM", "tmux-256color"), ("TMUX", "/tmp/x,1,0")]);
        let advice = all.iter().find(|f| f.about == "clipboard").and_then(|f| f.advice.clone()).unwrap_or_default();
        assert!(advice.contains("set-clipboard") && advice.contains("allow-passthrough"), "{advice}");
        assert_eq!(of(&all, "kind").1, "TERM=tmux-256color, within tmux");
    }
}
