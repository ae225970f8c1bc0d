//! Asking before jobs are replayed: a validator says of each job whether it may go back.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::deliver::{Answered, CommandDestination};
use crate::domain::job::JobDetail;
use crate::domain::job::job_record::DetailRecord;
use crate::domain::run_options::validator::Validator;
use crate::domain::text::Clean;
use crate::store::Message;

/// Judges jobs before they are replayed.
pub trait Validate: Send + Sync {
    /// Judges a batch; a job that is not answered for is not accepted.
    fn validate(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<Answered>>;
}

/// A command that judges: as a replay command it is started once a batch, reads a job a line and answers in lines.
pub struct CommandValidator(CommandDestination);

impl From<&Validator> for CommandValidator {
    fn from(validator: &Validator) -> Self {
        Self(CommandDestination { argv: validator.command.clone(), timeout: validator.timeout() })
    }
}

impl Validate for CommandValidator {
    fn validate(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<Answered>> {
        self.0.ask(batch).boxed()
    }
}

/// Why a validator cannot be started, as far as that can be told without starting it.
pub fn unstartable(validator: &Validator) -> Option<String> {
    let program = validator.command.first()?;
    let why = match program.contains('/') {
        true if !Path::new(program).exists() => "there is no such file",
        true if !is_program(Path::new(program)) => "that is no file that may be executed",
        true => return None,
        // Without PATH the system has folders of its own.
        false if std::env::split_paths(&std::env::var_os("PATH")?).any(|folder| is_program(&folder.join(program))) => {
            return None;
        }
        false => "no folder of PATH has such a program",
    };
    Some(format!("the validator `{}` cannot be started: {why}; nothing was touched", Clean::line(program)))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The job as a validator reads it: everything of it, exact, on one line.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn message(detail: &JobDetail) -> Result<Message, String> {
    let json = serde_json::to_string(&DetailRecord::from(detail)).map_err(|e| e.to_string())?;
    Ok(Message { id: detail.row.id.clone(), json })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_started_is_told_from_what_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "text").expect("a file");
        let plain = plain.to_str().expect("a path");
        let told = |line: &str| unstartable(&Validator::parse(line).expect("a command"));
        for (line, why) in [
            ("no-such-program-here --strict", "no folder of PATH"),
            ("/nowhere/program", "no such file"),
            (plain, "may be executed"),
            ("/", "may be executed"),
        ] {
            assert!(told(line).is_some_and(|said| said.contains(why)), "{line}: {:?}", told(line));
        }
        assert_eq!((told("sh -c true"), told("/bin/sh")), (None, None));
    }
}
