//! The terminal's clipboard, which may be on another machine than we are.
//!
//! There is no answer to a copy, so what is said of it never claims more than that it was sent.

use std::env;
use std::process::Stdio;

use crossterm::Command as _;
use crossterm::clipboard::CopyToClipboard;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::tui::runtime::state_files;

/// More than this is refused by common terminals.
pub const LIMIT: usize = 74_000;

/// Which way leads to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClipboardMethod {
    /// tmux drops the sequence by default, and its own command goes through in every setting.
    Tmux,
    /// screen passes on what is wrapped for it.
    Screen,
    /// The terminal itself.
    Terminal,
}

impl ClipboardMethod {
    fn of(tmux: bool, screen: bool) -> Self {
        match (tmux, screen) {
            (true, _) => ClipboardMethod::Tmux,
            (false, true) => ClipboardMethod::Screen,
            (false, false) => ClipboardMethod::Terminal,
        }
    }

    fn here() -> Self {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        Self::of(set("TMUX"), set("STY"))
    }
}

/// What became of a copy.
#[derive(Debug, PartialEq, Eq)]
pub struct Copied {
    /// Bytes for the terminal, where they are the way.
    pub bytes: Option<Vec<u8>>,
    /// A sentence for the operator.
    pub said: Result<String, String>,
}

/// Sends text to the clipboard, or to a file where it is too large for one.
pub async fn copy(text: String) -> Copied {
    if text.len() > LIMIT {
        return Copied { bytes: None, said: keep(&text) };
    }
    let said = |what: &str| Ok(format!("{} sent to {what}", amount(&text)));
    match ClipboardMethod::here() {
        ClipboardMethod::Tmux => match load_tmux_buffer(&text).await {
            Ok(()) => Copied { bytes: None, said: said("tmux and its terminal's clipboard") },
            // An old tmux, or one that is not ours: the terminal may still listen.
            Err(_) => Copied { bytes: Some(sequence(&text)), said: said("the terminal's clipboard") },
        },
        ClipboardMethod::Screen => {
            Copied { bytes: Some(wrapped_for_screen(&sequence(&text))), said: said("the terminal's clipboard") }
        }
        ClipboardMethod::Terminal => Copied { bytes: Some(sequence(&text)), said: said("the terminal's clipboard") },
    }
}

fn keep(text: &str) -> Result<String, String> {
    let written = state_files::keep("copied.txt", text.as_bytes());
    match written {
        Ok(path) => Ok(format!("{}: too large for a clipboard, written to {}", amount(text), path.display())),
        Err(e) => Err(format!("{}: too large for a clipboard, and no file could be written: {e}", amount(text))),
    }
}

fn amount(text: &str) -> String {
    match text.len() {
        1 => "1 byte".into(),
        n if n < 10_000 => format!("{n} bytes"),
        n => format!("{} kB", n / 1_000),
    }
}

async fn load_tmux_buffer(text: &str) -> std::io::Result<()> {
    let mut command = Command::new("tmux");
    command.args(["load-buffer", "-w", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut tmux = command.kill_on_drop(true).spawn()?;
    if let Some(mut stdin) = tmux.stdin.take() {
        stdin.write_all(text.as_bytes()).await?;
    }
    if tmux.wait().await?.success() { Ok(()) } else { Err(std::io::ErrorKind::Unsupported.into()) }
}

/// OSC 52.
fn sequence(text: &str) -> Vec<u8> {
    let mut bytes = String::new();
    // Writing to a string does not fail.
    let _ = CopyToClipboard::to_clipboard_from(text).write_ansi(&mut bytes);
    bytes.into_bytes()
}

/// The sequence in pieces that screen passes on unread, each short enough for its buffer.
fn wrapped_for_screen(sequence: &[u8]) -> Vec<u8> {
    const PIECE: usize = 240;
    // The end mark of the inner sequence would end the wrapping: the bell ends it as well.
    let inner = sequence.strip_suffix(b"\x1b\\").map(|inner| [inner, b"\x07"].concat());
    let inner = inner.as_deref().unwrap_or(sequence);
    inner.chunks(PIECE).flat_map(|piece| [b"\x1bP", piece, b"\x1b\\"].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_goes_before_screen_and_screen_before_the_terminal() {
        assert_eq!(ClipboardMethod::of(true, true), ClipboardMethod::Tmux);
        assert_eq!(ClipboardMethod::of(false, true), ClipboardMethod::Screen);
        assert_eq!(ClipboardMethod::of(false, false), ClipboardMethod::Terminal);
    }

    #[test]
    fn a_copy_is_the_sequence_that_terminals_know() {
        let bytes = String::from_utf8(sequence("dead\x1b[31m")).expect("ascii");
        assert!(bytes.starts_with("\x1b]52;c;ZGVhZBtbMzFt"), "{bytes:?}");
        assert_eq!(bytes.matches('\x1b').count(), if bytes.ends_with("\x1b\\") { 2 } else { 1 });
    }

    #[test]
    fn what_screen_passes_on_is_the_same_sequence() {
        let text = "x".repeat(2_000);
        let wrapped = String::from_utf8(wrapped_for_screen(&sequence(&text))).expect("ascii");
        let pieces: Vec<&str> = wrapped.split("\x1b\\").filter(|piece| !piece.is_empty()).collect();
        assert!(pieces.len() > 5 && pieces.iter().all(|piece| piece.starts_with("\x1bP") && piece.len() <= 242));
        let inner: String = pieces.iter().map(|piece| &piece[2..]).collect();
        let plain = String::from_utf8(sequence(&text)).expect("ascii");
        assert_eq!(inner.trim_end_matches('\x07'), plain.trim_end_matches("\x1b\\").trim_end_matches('\x07'));
    }
}
