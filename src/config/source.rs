//! A source as the config names it.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::{ConfigError, mask_secrets};
use crate::domain::run_options::validator::Validator;
use crate::domain::secret::SecretString;

/// Where the address of a source comes from.
#[derive(Clone, Debug)]
pub enum SourceAddress {
    /// Written into the config.
    Url(SecretString),
    /// The value of an environment variable.
    Env(String),
    /// The first line that a command prints, run without a shell.
    Command(Vec<String>),
}

/// Where replayed jobs go, for layouts that have no live queue of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayTo {
    /// A live table in the same database.
    Table(String),
    /// A command: started once a batch, a JSON line per job in, a JSON line per job back.
    Command {
        /// Program and arguments, run without a shell.
        command: Vec<String>,
        /// How long a batch may take.
        timeout: Duration,
    },
}

/// A database that can be reached, by name.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// Where its address comes from.
    pub address: SourceAddress,
    /// The store to open, where the database holds several: adapter, table, or both.
    pub store: Option<String>,
    /// Every bulk asks for the number to be typed.
    pub production: bool,
    /// Nothing is written, by the database session's own word.
    pub read_only: bool,
    /// Arguments of jobs may be changed.
    pub edit: bool,
    /// Time between two polls while it is live; `None` takes the console's.
    pub refresh: Option<Duration>,
    /// How long one statement may take; `None` takes the general limit.
    pub statement_timeout: Option<Duration>,
    /// Connections at the most; `None` is two.
    pub connections: Option<usize>,
    /// Where replayed jobs go, where the layout asks for it.
    pub replay: Option<ReplayTo>,
    /// What judges jobs before they are replayed.
    pub validate: Option<Validator>,
}

impl Source {
    /// The address itself: reads the variable or runs the command where the config says so.
    ///
    /// # Errors
    /// When the variable is not set, or the command fails or prints nothing.
    pub fn url(&self) -> Result<SecretString, ConfigError> {
        let wrong = |reason: String| ConfigError::NoAddress { source_name: self.name.clone(), reason };
        match &self.address {
            SourceAddress::Url(url) => Ok(url.clone()),
            SourceAddress::Env(variable) => match std::env::var(variable) {
                Ok(url) if !url.trim().is_empty() => Ok(url.trim().to_owned().into()),
                Ok(_) => Err(wrong(format!("the variable {variable} (its url_env) is empty"))),
                Err(_) => Err(wrong(format!("the variable {variable} (its url_env) is not set"))),
            },
            SourceAddress::Command(words) => first_line(words).map_err(wrong),
        }
    }
}

/// Runs a command and takes the first line that it prints. Standard input and error stay the operator's, so that a
/// password manager can ask.
fn first_line(words: &[String]) -> Result<SecretString, String> {
    let (program, arguments) = words.split_first().ok_or("its url_command is empty")?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::inherit())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("its url_command `{program}` cannot be run: {e}"))?;
    if !output.status.success() {
        return Err(format!("its url_command `{program}` failed ({})", mask_secrets(&output.status.to_string())));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| format!("its url_command `{program}` printed no text"))?;
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned().into()),
        None => Err(format!("its url_command `{program}` printed nothing")),
    }
}
