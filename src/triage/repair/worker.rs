//! The child process that evaluates an expression: reads texts, writes what became of them, and has nothing else.

use std::io::{self, BufWriter, Read, Write};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::protocol::{EvaluationLimits, read_frame, to_answer, to_refusal, write_frame};
use crate::domain::repair::Expression;

/// The hidden argument that makes this program such a child.
pub const WORKER_ARGUMENT: &str = "evaluate-expression";

/// Bytes of stack for expressions that call themselves, and for values within values.
const STACK_SIZE: usize = 64 << 20;
/// Standard input, output and error.
const OPEN_FILES: u64 = 3;

/// Evaluates what stands in standard input until it ends.
///
/// # Errors
/// When a pipe is closed too soon, or a limit cannot be set: then nothing is evaluated.
pub fn work() -> io::Result<()> {
    let limits = read_frame(&mut io::stdin().lock())?;
    let limits = limits.as_deref().and_then(EvaluationLimits::from_bytes).ok_or(io::ErrorKind::InvalidData)?;
    let code = read_frame(&mut io::stdin().lock())?;
    let code = code.and_then(|code| String::from_utf8(code).ok()).ok_or(io::ErrorKind::InvalidData)?;
    restrict(limits)?;
    // Its stack is part of the memory that is limited.
    let work = move || evaluate(&code, limits, &mut io::stdin().lock(), &mut BufWriter::new(io::stdout().lock()));
    let thread = std::thread::Builder::new().stack_size(STACK_SIZE).spawn(work)?;
    thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Gives up what it does not need. Nothing of it can be had back.
fn restrict(limits: EvaluationLimits) -> io::Result<()> {
    let most = |resource, most: u64| {
        let allowed = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
        setrlimit(resource, Rlimit { current: Some(allowed), maximum: Some(allowed) })
    };
    most(Resource::Core, 0)?;
    most(Resource::Nofile, OPEN_FILES)?;
    most(Resource::Fsize, 0)?;
    most(Resource::Cpu, limits.cpu_seconds)?;
    Ok(most(Resource::As, limits.memory)?)
}

/// Says first whether the code is an expression, and then what becomes of each text.
fn evaluate(code: &str, limits: EvaluationLimits, input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let expression = match Expression::parse(code) {
        Ok(expression) => expression,
        Err(error) => {
            write_frame(output, &to_refusal(&error))?;
            return output.flush();
        }
    };
    write_frame(output, b"")?;
    output.flush()?;
    while let Some(text) = read_frame(input)? {
        let evaluation = match std::str::from_utf8(&text) {
            Ok(text) => expression.evaluate(text, limits.value_length as usize),
            Err(_) => return Err(io::ErrorKind::InvalidData.into()),
        };
        write_frame(output, &to_answer(evaluation))?;
        output.flush()?;
    }
    Ok(())
}
