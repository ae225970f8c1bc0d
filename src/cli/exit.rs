//! How a command ends: its exit code, and the one sentence on standard error.

use std::process::ExitCode;

use clap::error::ErrorKind;
use thiserror::Error;

use crate::config::{ConfigError, mask_secrets};
use crate::domain::filter::ParseError;
use crate::ledger::LedgerError;
use crate::store::SourceError;
use crate::triage::freeze::PlanError;
use crate::triage::run::RunError;

/// What the exit code says. The numbers are a contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// All of it is done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line or the config is wrong; nothing was tried.
    Usage = 2,
    /// Some of it is done; the receipt says what.
    Partly = 3,
    /// Refused, or not confirmed: nothing was written.
    Refused = 4,
    /// A threshold was passed.
    Threshold = 5,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// A fault with an exit code of its own.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct CliError {
    /// How the command ends.
    pub code: Code,
    message: String,
}

impl CliError {
    /// The command line or the config is wrong.
    pub fn usage(message: impl Into<String>) -> CliError {
        CliError { code: Code::Usage, message: message.into() }
    }

    /// Some of it is done, and the rest can be gone on with.
    pub fn partly(message: impl Into<String>) -> CliError {
        CliError { code: Code::Partly, message: message.into() }
    }

    /// The time that was allowed is over.
    pub fn timeout(message: impl Into<String>) -> CliError {
        CliError { code: Code::Threshold, message: message.into() }
    }

    /// Nothing was written, for a reason that the operator can do something about.
    pub fn refused(message: impl Into<String>) -> CliError {
        CliError { code: Code::Refused, message: message.into() }
    }
}

/// Ends a command: prints what went wrong as one sentence, and chooses the code.
pub fn end(result: anyhow::Result<Code>) -> Code {
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    if super::output::is_gone(&error) {
        // Whoever read our output has seen enough.
        return Code::Done;
    }
    // Sanitised and masked: the sentence may quote a server, and a server may quote a row or a connection string.
    let text = mask_secrets(&format!("{error:#}"));
    super::output::say(&format!("dlq-tui: {}", crate::domain::text::Clean::lines(&text)));
    code_of(&error)
}

/// Ends a command whose words cannot be read: the parser's sentence, printed as every other.
pub fn misused(error: &clap::Error) -> Code {
    let text = mask_secrets(&sentence(error));
    super::output::say(&format!("dlq-tui: {}", crate::domain::text::Clean::lines(&text)));
    Code::Usage
}

fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let text = text.split("\n\nFor more information").next().unwrap_or(text).trim_end();
    let lacks_run = error.kind() == ErrorKind::MissingRequiredArgument && text.contains("<RUN>");
    let hint = if lacks_run { "`dlq-tui runs` lists the runs; --help shows examples" } else { "--help shows examples" };
    format!("{text}\n{hint}")
}

fn code_of(error: &anyhow::Error) -> Code {
    error
        .chain()
        .find_map(|cause| {
            if let Some(fault) = cause.downcast_ref::<CliError>() {
                return Some(fault.code);
            }
            if cause.is::<ConfigError>() || cause.is::<ParseError>() {
                return Some(Code::Usage);
            }
            let disabled = matches!(cause.downcast_ref(), Some(PlanError::Disabled(_) | PlanError::Outdated(_)))
                || matches!(cause.downcast_ref(), Some(RunError::Disabled(_)));
            let ledger = match (cause.downcast_ref(), cause.downcast_ref()) {
                (Some(PlanError::Ledger(error)), _) | (_, Some(RunError::Ledger(error))) => Some(error),
                _ => cause.downcast_ref::<LedgerError>(),
            };
            if disabled || matches!(ledger, Some(LedgerError::NoRight { .. } | LedgerError::MarkExists { .. })) {
                return Some(Code::Refused);
            }
            if matches!(ledger, Some(LedgerError::UnknownMark(_))) {
                return Some(Code::Usage);
            }
            match cause.downcast_ref::<SourceError>() {
                Some(SourceError::Input(_)) => Some(Code::Usage),
                Some(SourceError::Denied(_)) => Some(Code::Refused),
                _ => None,
            }
        })
        .unwrap_or(Code::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::io;

    #[test]
    fn misused_command_line_is_told_in_our_own_voice() {
        let told = |line: &str| {
            let words = ["dlq-tui"].into_iter().chain(line.split(' '));
            sentence(&crate::cli::args::command().try_get_matches_from(words).expect_err(line))
        };
        for line in ["undo", "resume"] {
            let told = told(line);
            assert!(told.contains("<RUN>") && told.contains("`dlq-tui runs` lists the runs"), "{told}");
        }
        let wrong = told("list --limit -1");
        assert!(wrong.starts_with("invalid value '-1' for '--limit <N>'"), "{wrong}");
        assert!(wrong.ends_with("--help shows examples") && !wrong.contains("For more"), "{wrong}");
    }

    #[test]
    fn the_code_of_a_fault_survives_what_is_said_around_it() {
        let told: anyhow::Result<Code> = Err(CliError::refused("no")).context("while replaying");
        assert_eq!(end(told), Code::Refused);
        let wrong: anyhow::Result<Code> = Err(SourceError::Input("no such file".into()).into());
        assert_eq!(end(wrong), Code::Usage);
        assert_eq!(end(Err(anyhow::anyhow!("anything"))), Code::Failed);
        assert_eq!(end(Err(io::Error::from(io::ErrorKind::BrokenPipe).into())), Code::Done);
    }
}
