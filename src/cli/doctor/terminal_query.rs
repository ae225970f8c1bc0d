//! A question to the terminal itself, answered within a bounded time or not at all.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, QueueSelector, tcflush};

use crate::cli::termios::Without;

/// How long an answer is waited for: a line around the world takes a part of it.
const PATIENCE: Duration = Duration::from_millis(800);
/// Whether synchronised output is known (DECRQM), and who it is, which every terminal answers: it ends the wait.
const QUESTION: &[u8] = b"\x1b[?2026$p\x1b[c";

/// What a terminal says of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalReply {
    /// It knows it.
    Yes,
    /// It does not.
    No,
    /// It gave no answer in time.
    Silent,
    /// There was nobody to ask.
    NotAsked,
}

/// Asks the terminal of standard input and output whether it draws frames at once. Its settings are as before afterwards.
pub fn synchronised_output() -> TerminalReply {
    let Ok(_quiet) = Quiet::begin() else { return TerminalReply::NotAsked };
    let mut out = io::stdout();
    if out.write_all(QUESTION).and_then(|()| out.flush()).is_err() {
        return TerminalReply::NotAsked;
    }
    read_answer(&read_reply())
}

/// What the terminal says until it has said who it is, or time is up.
fn read_reply() -> Vec<u8> {
    let (began, mut heard) = (Instant::now(), Vec::new());
    while !is_whole(&heard) {
        let left = PATIENCE.saturating_sub(began.elapsed());
        let Ok(left) = Timespec::try_from(left) else { break };
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if !matches!(poll(&mut ready, Some(&left)), Ok(1..)) {
            break;
        }
        let mut piece = [0; 64];
        // Past the buffer of the library: what is left there would be taken for keys.
        match rustix::io::read(&stdin, &mut piece) {
            Ok(n @ 1..) => heard.extend_from_slice(&piece[..n]),
            _ => break,
        }
    }
    heard
}

/// Whether the answer to the second question is there: `ESC [ ? … c`.
fn is_whole(heard: &[u8]) -> bool {
    sequences(heard).any(|(_, last)| last == b'c')
}

fn read_answer(heard: &[u8]) -> TerminalReply {
    let mode = sequences(heard).find(|(body, last)| *last == b'y' && body.starts_with(b"2026;"));
    match mode.and_then(|(body, _)| body.get(5).copied()) {
        Some(b'1' | b'2' | b'3') => TerminalReply::Yes,
        Some(_) => TerminalReply::No,
        // Whoever answers the one question and not the other does not know it.
        None if is_whole(heard) => TerminalReply::No,
        None => TerminalReply::Silent,
    }
}

/// The private sequences, `ESC [ ?` and a letter at the end: what stands between, and the letter.
fn sequences(heard: &[u8]) -> impl Iterator<Item = (&[u8], u8)> {
    let starts = heard.windows(3).enumerate().filter(|(_, lead)| lead == b"\x1b[?").map(|(at, _)| at + 3);
    starts.filter_map(|start| {
        let rest = heard.get(start..)?;
        let end = rest.iter().position(u8::is_ascii_alphabetic)?;
        Some((&rest[..end], rest[end]))
    })
}

/// A terminal that shows nothing of what comes in, and hands it over at once, until this is dropped.
struct Quiet {
    _modes: Without,
}

impl Quiet {
    fn begin() -> io::Result<Self> {
        Ok(Self { _modes: Without::modes(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)? })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // An answer that comes in now would be typed into the shell.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whatever_comes_with_them() {
        assert_eq!(read_answer(b"jj\x1b[?2026;2$y\x1b[?62;22c"), TerminalReply::Yes);
        assert_eq!(read_answer(b"\x1b[?2026;0$y\x1b[?1;2c"), TerminalReply::No);
        assert_eq!(read_answer(b"\x1b[?1;2c"), TerminalReply::No, "it knows no such question");
        assert_eq!(read_answer(b"\x1b[?2026"), TerminalReply::Silent);
        assert_eq!(read_answer(b""), TerminalReply::Silent);
        assert!(is_whole(b"\x1b[?62;22c") && !is_whole(b"\x1b[?2026;2$y") && !is_whole(b"c"));
    }
}
