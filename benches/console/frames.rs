//! Frames in what a program writes to its terminal.

/// What begins and ends a frame that the terminal shows in one piece.
const FRAME: (&[u8], &[u8]) = (b"\x1b[?2026h", b"\x1b[?2026l");

/// How many frames were written, and how many bytes stand outside of any.
pub fn frames(raw: &[u8]) -> (usize, usize) {
    let (mut frames, mut outside, mut rest) = (0, 0, raw);
    loop {
        let Some(begin) = find(rest, FRAME.0) else { return (frames, outside + rest.len()) };
        outside += begin;
        let inside = rest.get(begin + FRAME.0.len()..).unwrap_or_default();
        let Some(end) = find(inside, FRAME.1) else { return (frames, outside) };
        frames += 1;
        rest = inside.get(end + FRAME.1.len()..).unwrap_or_default();
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
