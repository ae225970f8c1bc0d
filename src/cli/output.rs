//! Data goes to standard output in the form that was asked for; talk goes to standard error.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::OnceLock;

use serde::Serialize;

use super::table::{asked_columns, terminal_columns};
use super::wrap;

/// The version of the JSON that commands print: it changes when a field changes its meaning or goes away.
pub const JSON_VERSION: u32 = 1;

/// A JSON document with its version in front.
#[derive(Serialize)]
pub struct Versioned<T: Serialize> {
    version: u32,
    #[serde(flatten)]
    body: T,
}

impl<T: Serialize> Versioned<T> {
    /// Puts the version in front.
    pub fn new(body: T) -> Self {
        Self { version: JSON_VERSION, body }
    }
}

/// Standard output, buffered. A reader that has gone away is an error of its own kind, which ends the program quietly.
pub fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Prints one JSON document over several lines.
pub fn json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Prints one JSON document on a line.
pub fn json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Prints a line of comma-separated values (RFC 4180, but with a bare line feed). What a spreadsheet would take for a formula has
/// an apostrophe before it, as there is no other way to write such a text: jobs hold what others have sent.
pub fn csv<'a>(out: &mut impl Write, cells: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    for (i, cell) in cells.into_iter().enumerate() {
        if i > 0 {
            write!(out, ",")?;
        }
        let mark = if is_formula(cell) { "'" } else { "" };
        if cell.contains([',', '"', '\n', '\r']) {
            write!(out, "\"{mark}{}\"", cell.replace('"', "\"\""))?;
        } else {
            write!(out, "{mark}{cell}")?;
        }
    }
    writeln!(out)
}

/// Whether a spreadsheet would reckon with a text; a number is what it seems.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !cell.parse().is_ok_and(f64::is_finite)
}

/// What becomes of a verdict whose reader has gone: it stands, and the exit code says it.
///
/// # Errors
/// When it could not be written for any other reason.
pub fn unless_gone(printed: anyhow::Result<()>) -> anyhow::Result<()> {
    printed.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) })
}

/// Whether the reader of our output has gone away.
pub fn is_gone(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Says something to the operator, never to a pipe's reader; on a terminal, sentences are broken between words. A closed standard
/// error is no reason to stop.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", wrap::text(text, talk_width()));
}

/// Columns of the terminal that standard error goes to; `None` when it goes elsewhere.
pub fn talk_width() -> Option<usize> {
    asked_columns().or_else(|| if io::stderr().is_terminal() { terminal_columns() } else { None })
}

/// Writes a part of a line to the operator's terminal; as unimportant as [`say`].
pub fn hint(text: &str) {
    let _ = write!(io::stderr(), "{text}");
}

/// Takes a line away that was hinted at.
pub const CLEAR: &str = "\r\x1b[K";

/// Whether talk goes to a terminal on which a line can be drawn again.
pub fn redraws() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// How far something has got, on one line of the operator's terminal that is gone when this is dropped.
pub struct ProgressLine {
    redraws: bool,
}

impl ProgressLine {
    /// Nothing is shown yet, and never where nobody reads.
    pub fn begin() -> Self {
        Self { redraws: redraws() }
    }

    /// Shows a line in place of the last one.
    pub fn show(&self, line: &str) {
        if self.redraws {
            hint(&format!("{CLEAR}{line}"));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.redraws {
            hint(CLEAR);
        }
    }
}

/// The terminal that answers come from where standard input is data.
static TERMINAL: OnceLock<File> = OnceLock::new();

/// Has answers come from the terminal that the program was started on, where there is one: standard input was read as data.
pub fn answer_on_the_terminal() {
    if io::stdin().is_terminal() {
        return;
    }
    if let Ok(terminal) = File::open("/dev/tty") {
        let _ = TERMINAL.set(terminal);
    }
}

/// Whether somebody is there to be asked: both what is typed and what is said are a terminal's.
pub fn somebody_is_there() -> bool {
    (io::stdin().is_terminal() || TERMINAL.get().is_some()) && io::stderr().is_terminal()
}

/// One line of what is typed.
fn typed() -> io::Result<Option<String>> {
    let mut line = String::new();
    let n = match TERMINAL.get() {
        Some(terminal) => BufReader::new(terminal).read_line(&mut line)?,
        None => io::stdin().read_line(&mut line)?,
    };
    Ok((n > 0).then(|| line.trim().to_owned()))
}

/// Asks and reads one line; `None` at the end of input, or when the operator interrupts. What was typed before the question
/// stood there is no answer to it.
///
/// # Errors
/// When the question cannot be written or the answer not be read.
pub async fn ask(question: &str) -> io::Result<Option<String>> {
    let mut err = io::stderr();
    let interrupted = super::signal::stop_requested();
    // What is no terminal has no such thing, and is not asked either.
    let _ = match TERMINAL.get() {
        Some(terminal) => rustix::termios::tcflush(terminal, rustix::termios::QueueSelector::IFlush),
        None => rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush),
    };
    write!(err, "{question} ")?;
    err.flush()?;
    // Reading waits on a thread of its own: an interrupt is listened to by us, and would not end a read.
    let reading = tokio::task::spawn_blocking(typed);
    tokio::select! {
        answer = reading => answer.map_err(io::Error::other)?,
        () = interrupted => {
            writeln!(err)?;
            Ok(None)
        }
    }
}

/// Asks a question whose answer is no unless it is yes.
///
/// # Errors
/// As [`ask`].
pub async fn confirm(question: &str) -> io::Result<bool> {
    let answer = ask(&format!("{question} [y/N]")).await?;
    Ok(answer.is_some_and(|a| matches!(a.to_ascii_lowercase().as_str(), "y" | "yes")))
}

/// What is named of a list in a sentence.
const NAMED: usize = 8;

/// The first of them, and how many more there are; `None` where there are none.
pub fn listed(texts: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.collect();
    let named = texts.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match texts.len().saturating_sub(NAMED) {
        _ if named.is_empty() => None,
        0 => Some(named),
        more => Some(format!("{named} and {more} more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_a_number_stays_one() {
        let line = |cells: &[&str]| {
            let mut out = Vec::new();
            csv(&mut out, cells.iter().copied()).expect("written");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(line(&["=cmd|'/c calc'!A1", "@SUM(1,2)", "+x", "-"]), "'=cmd|'/c calc'!A1,\"'@SUM(1,2)\",'+x,'-\n");
        assert_eq!(line(&["-5", "+1.5", "-1e9", "a=b", "'"]), "-5,+1.5,-1e9,a=b,'\n");
    }

    #[test]
    fn a_reader_that_has_gone_changes_no_verdict_and_a_full_disk_is_told() {
        let failed = |kind: io::ErrorKind| unless_gone(Err(io::Error::from(kind).into()));
        assert!(failed(io::ErrorKind::BrokenPipe).is_ok());
        assert!(failed(io::ErrorKind::StorageFull).is_err());
    }

    #[test]
    fn values_with_commas_quotes_and_breaks_are_quoted() {
        let mut out = Vec::new();
        csv(&mut out, ["a", "b,c", "d\"e", "f\ng", ""]).expect("a vector");
        assert_eq!(String::from_utf8(out).expect("text"), "a,\"b,c\",\"d\"\"e\",\"f\ng\",\n");
    }
}
