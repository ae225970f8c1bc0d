//! The commands of the verbs: one for each [`Action`] that has one, so that a new verb needs no line here.

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::{ActArgs, DiscardArgs, PurgeArgs, ReplayArgs};
use crate::domain::action::Action;

/// A verb of the command line.
#[derive(Debug)]
pub struct VerbCommand {
    /// Which.
    pub action: Action,
    /// What stands behind it.
    pub args: VerbArgs,
}

/// What a verb takes.
#[derive(Debug)]
pub enum VerbArgs {
    /// What every verb takes.
    Plain(ActArgs),
    /// Also what only a replay has.
    Replay(ReplayArgs),
    /// Also what only a discard has.
    Discard(DiscardArgs),
    /// States and age.
    Purge(PurgeArgs),
}

impl VerbArgs {
    fn augment(action: Action, command: Command) -> Command {
        match action {
            Action::Replay => ReplayArgs::augment_args(command),
            Action::Discard => DiscardArgs::augment_args(command),
            Action::Purge => PurgeArgs::augment_args(command),
            _ => ActArgs::augment_args(command),
        }
    }

    fn of(action: Action, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(match action {
            Action::Replay => VerbArgs::Replay(ReplayArgs::from_arg_matches(matches)?),
            Action::Discard => VerbArgs::Discard(DiscardArgs::from_arg_matches(matches)?),
            Action::Purge => VerbArgs::Purge(PurgeArgs::from_arg_matches(matches)?),
            _ => VerbArgs::Plain(ActArgs::from_arg_matches(matches)?),
        })
    }
}

/// The action that a subcommand is, where it is a verb.
fn action_of(name: &str) -> Option<Action> {
    Action::from_word(name).filter(|action| action.profile().commands.shell.is_some())
}

impl Subcommand for VerbCommand {
    fn augment_subcommands(command: Command) -> Command {
        Action::ALL.into_iter().fold(command, |command, action| match action.profile().commands.shell {
            Some(about) => command.subcommand(VerbArgs::augment(action, Command::new(action.word())).about(about)),
            None => command,
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        action_of(name).is_some()
    }
}

impl FromArgMatches for VerbCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let none = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(none)?;
        let action = action_of(name).ok_or_else(none)?;
        Ok(Self { action, args: VerbArgs::of(action, matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::Cli;

    #[test]
    fn an_action_that_is_had_by_undoing_alone_is_no_command() {
        let is_command = |action: Action| {
            let line = ["dlq-tui", action.word(), "--help"];
            Cli::try_parse_from(line).is_err_and(|error| error.kind() == clap::error::ErrorKind::DisplayHelp)
        };
        for action in Action::ALL {
            let is_part_of_replay = action == Action::Copy;
            assert_eq!(is_command(action), action.profile().undoes.is_none() && !is_part_of_replay, "{action}");
        }
    }
}
