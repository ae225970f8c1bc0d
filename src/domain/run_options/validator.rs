//! A command that says of each job whether it may be replayed.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::text::Clean;
use crate::domain::time::exact_span;

/// What is said in place of a command, so that no validator is asked.
pub const VALIDATOR_OFF: &str = "off";

/// A command of the operator's that judges jobs before they are replayed. It is kept with the run, so that the rest of
/// the run is judged as its beginning was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validator {
    /// Program and arguments, run without a shell.
    pub command: Vec<String>,
    /// Milliseconds that it may go without an answer.
    timeout_ms: u64,
}

impl Validator {
    /// How long a command may go without an answer, unless somebody says otherwise.
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// A command, and how long it may go without an answer.
    pub fn new(command: Vec<String>, timeout: Duration) -> Self {
        Self { command, timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Reads a command line: split as a shell would, without running one.
    ///
    /// # Errors
    /// When a quote is open, or nothing is written.
    pub fn parse(line: &str) -> Result<Self, String> {
        let command = shell_words::split(line).map_err(|_| "the command has an open quote".to_owned())?;
        if command.is_empty() {
            return Err("the command is empty".to_owned());
        }
        Ok(Self::new(command, Self::TIMEOUT))
    }

    /// Whether this stands for no validator.
    pub fn is_off(&self) -> bool {
        self.command == [VALIDATOR_OFF]
    }

    /// How long it may go without an answer.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

impl fmt::Display for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = shell_words::join(&self.command);
        write!(f, "only what `{}` accepts within {}", Clean::line(&line), exact_span(self.timeout()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_without_a_shell_and_shown_as_it_was_written() {
        let validator = Validator::parse("bin/check --rule 'a b' $HOME").expect("a command");
        assert_eq!(validator.command, ["bin/check", "--rule", "a b", "$HOME"]);
        assert_eq!(validator.to_string(), "only what `bin/check --rule 'a b' '$HOME'` accepts within 1m");
        assert!(Validator::parse("a 'b").is_err() && Validator::parse("  ").is_err());
        let kept = serde_json::to_string(&validator).expect("JSON");
        assert_eq!(serde_json::from_str::<Validator>(&kept).expect("a validator"), validator);
    }

    #[test]
    fn a_command_does_not_act_on_the_screen() {
        assert!(!Validator::parse("a '\u{1b}[2J'").expect("a command").to_string().contains('\u{1b}'));
    }
}
