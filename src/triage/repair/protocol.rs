//! What passes between us and the child process that evaluates: frames of bytes, each with its length before it.

use std::io::{self, Read, Write};

use crate::domain::repair::{Evaluation, ExpressionError};

/// What a child may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// Bytes of address space.
    pub memory: u64,
    /// Seconds of processor time, over all texts that one child gets.
    pub cpu_seconds: u64,
    /// Bytes of one value.
    pub value_length: u32,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self { memory: 768 << 20, cpu_seconds: 60, value_length: 16 << 20 }
    }
}

/// Bytes of the limits in their frame.
const LIMITS_LENGTH: usize = 20;

impl EvaluationLimits {
    /// As bytes.
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.memory.to_le_bytes()[..], &self.cpu_seconds.to_le_bytes(), &self.value_length.to_le_bytes()].concat()
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; LIMITS_LENGTH] = bytes.try_into().ok()?;
        let (memory, rest) = bytes.split_first_chunk()?;
        let (cpu_seconds, rest) = rest.split_first_chunk()?;
        Some(Self {
            memory: u64::from_le_bytes(*memory),
            cpu_seconds: u64::from_le_bytes(*cpu_seconds),
            value_length: u32::from_le_bytes(*rest.first_chunk()?),
        })
    }

    /// The longest answer: both texts of a changed value, and their lengths.
    pub fn answer_length(self) -> u64 {
        u64::from(self.value_length) * 2 + 16
    }
}

const UNCHANGED: u8 = b'=';
const CHANGED: u8 = b'+';
const FAILED: u8 = b'!';

/// What a child says first of what is no expression; of an expression it says nothing.
pub fn to_refusal(error: &ExpressionError) -> Vec<u8> {
    let at = u32::try_from(error.at).unwrap_or(u32::MAX);
    [&at.to_le_bytes()[..], error.reason.as_bytes()].concat()
}

/// Why a child refused the expression; `None` where it said nothing.
pub fn from_refusal(refusal: &[u8]) -> Option<ExpressionError> {
    let (at, reason) = refusal.split_first_chunk()?;
    Some(ExpressionError { at: u32::from_le_bytes(*at) as usize, reason: String::from_utf8_lossy(reason).into_owned() })
}

/// What a child says of a text.
pub fn to_answer(evaluation: Evaluation) -> Vec<u8> {
    match evaluation {
        Evaluation::Unchanged => vec![UNCHANGED],
        Evaluation::Failed(why) => [&[FAILED], why.as_bytes()].concat(),
        Evaluation::Changed { before, after } => {
            let length = u32::try_from(before.len()).unwrap_or(u32::MAX);
            [&[CHANGED], &length.to_le_bytes()[..], before.as_bytes(), after.as_bytes()].concat()
        }
    }
}

/// What a child said, if it can be read.
pub fn from_answer(answer: &[u8]) -> Option<Evaluation> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    match answer.split_first()? {
        (&UNCHANGED, []) => Some(Evaluation::Unchanged),
        (&FAILED, why) => Some(Evaluation::Failed(text(why)?)),
        (&CHANGED, rest) => {
            let (length, rest) = rest.split_first_chunk()?;
            let (before, after) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            Some(Evaluation::Changed { before: text(before)?, after: text(after)? })
        }
        _ => None,
    }
}

/// The length that stands before a frame.
pub fn length_of(frame: &[u8]) -> [u8; 4] {
    u32::try_from(frame.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// Reads a frame; `None` at the end of the input.
pub fn read_frame(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut frame = vec![0; u32::from_le_bytes(length) as usize];
    input.read_exact(&mut frame)?;
    Ok(Some(frame))
}

/// Writes a frame.
pub fn write_frame(output: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    output.write_all(&length_of(frame))?;
    output.write_all(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_limits_are_read_as_they_were_written() {
        for evaluation in [
            Evaluation::Unchanged,
            Evaluation::Failed("ä".to_owned()),
            Evaluation::Changed { before: "[1]".to_owned(), after: String::new() },
        ] {
            assert_eq!(from_answer(&to_answer(evaluation.clone())), Some(evaluation));
        }
        let limits = EvaluationLimits { memory: 1 << 40, cpu_seconds: 3, value_length: 5 };
        assert_eq!(EvaluationLimits::from_bytes(&limits.to_bytes()), Some(limits));
        let error = ExpressionError { at: 7, reason: "no".to_owned() };
        assert_eq!((from_refusal(&to_refusal(&error)), from_refusal(b"")), (Some(error), None));
        for torn in [&b""[..], b"?", b"=1", b"+\x09\0\0\0[1]", b"+\x01", b"!\xff"] {
            assert_eq!(from_answer(torn), None, "{torn:?}");
        }
    }

    #[test]
    fn frames_follow_each_other_up_to_the_end() {
        let mut bytes = Vec::new();
        for frame in ["", "abc"] {
            write_frame(&mut bytes, frame.as_bytes()).expect("written");
        }
        let mut input = bytes.as_slice();
        assert_eq!(read_frame(&mut input).expect("a frame"), Some(Vec::new()));
        assert_eq!(read_frame(&mut input).expect("a frame"), Some(b"abc".to_vec()));
        assert_eq!(read_frame(&mut input).expect("the end"), None);
        assert!(read_frame(&mut &bytes[..6]).is_ok_and(|frame| frame == Some(Vec::new())));
        assert!(read_frame(&mut &bytes[4..9]).is_err(), "a torn frame");
    }
}
