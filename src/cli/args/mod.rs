//! The words of the command line.

mod choice;
mod commands;
mod count_by;
mod examples;
mod mark;
mod verb_command;
mod verbs;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use commands::*;
pub use count_by::{CountBy, facet};
pub use examples::command;
pub use mark::MarkArgs;
pub use verb_command::{VerbArgs, VerbCommand};
pub use verbs::*;

use crate::config::ThemeChoice;

/// The terminal console for dead-lettered jobs: see what is dying and why, and put jobs back.
#[derive(Debug, Parser)]
#[command(name = "dlq-tui", version, subcommand_negates_reqs = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// Which database.
    #[command(flatten)]
    pub connect: Connect,
    /// How the console starts.
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// Appends what happens, and how long it takes, to a file, as a JSON document a line; never what jobs hold.
    #[arg(long, global = true, value_name = "PATH", help_heading = "Log")]
    pub log_file: Option<PathBuf>,
    /// What to do; the console without one.
    #[command(subcommand)]
    pub command: Option<Command>,
}

const AFTER_HELP: &str = "\
Without a command the console opens. The database is, in this order: --url, --source, the variable DATABASE_URL, the \
variables PGHOST, PGDATABASE and so on, the variable REDIS_URL, the default source of the config, its only source.

Exit codes: 0 done, 1 failed, 2 usage or config, 3 partly done, 4 refused or not confirmed, 5 a threshold was passed.";

/// Which database, and which store in it.
#[derive(Args, Clone, Debug, Default)]
pub struct Connect {
    /// A source of the config, by name.
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "url", help_heading = "Database")]
    pub source: Option<String>,
    /// postgres://…, mysql://…, sqlite:PATH or redis://…, without a password.
    #[arg(long, global = true, value_name = "URL", help_heading = "Database")]
    pub url: Option<String>,
    /// The store, where the database holds several: an adapter or a table.
    #[arg(long, global = true, value_name = "NAME", help_heading = "Database")]
    pub store: Option<String>,
    /// Never writes; the database session enforces it.
    #[arg(long, global = true, help_heading = "Database")]
    pub read_only: bool,
    /// Shows what is masked otherwise; who did so is kept in the ledger first, and `runs --reveals` lists it.
    #[arg(long, global = true, help_heading = "Database")]
    pub reveal: bool,
}

/// How the console starts.
#[derive(Args, Clone, Debug, Default)]
pub struct ConsoleArgs {
    /// The filter that the console opens with.
    #[arg(short, long, value_name = "FILTER", help_heading = "Console", allow_hyphen_values = true, value_parser = filter)]
    pub filter: Option<String>,
    /// The palette; otherwise what the config says, or what the terminal can do.
    #[arg(long, value_name = "THEME", help_heading = "Console")]
    pub theme: Option<ThemeChoice>,
    /// Draws with ASCII only.
    #[arg(long, help_heading = "Console")]
    pub ascii: bool,
    /// Captures the mouse at the start.
    #[arg(long, help_heading = "Console")]
    pub mouse: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Opens the console on an embedded database: a shop in the middle of a payments outage.
    Demo(DemoArgs),
    /// Lists the sources that can be reached, with their dead-letter layouts.
    Sources(SourcesArgs),
    /// Checks a source and says how to fix what it finds; it never writes.
    Doctor(DoctorArgs),
    /// Counts dead jobs by a facet.
    Stats(StatsArgs),
    /// Shows what jobs have in common that others have not: values of arguments and fields.
    Contrast(ContrastArgs),
    /// Shows what an expression would change in the arguments of jobs, by the shape of the change.
    Repair(RepairArgs),
    /// Lists dead jobs, newest first.
    List(ListArgs),
    /// Writes dead jobs with everything that is known of them, or a note on the incident.
    Export(ExportArgs),
    /// Shows one dead job with everything that is known of it.
    Show(ShowArgs),
    /// A verb that acts on jobs.
    #[command(flatten)]
    Verb(VerbCommand),
    /// Compares the numbers with thresholds: one line for each that is exceeded, and exit code 5.
    Check(CheckArgs),
    /// Prints one line for each change, until it is stopped.
    Watch(WatchArgs),
    /// Serves the numbers to Prometheus.
    Metrics(MetricsArgs),
    /// Lists the runs of the ledger, or shows one with its receipt.
    Runs(RunsArgs),
    /// Sets a mark, such as a deploy, that deaths are compared with; without a name, lists the marks.
    #[command(visible_alias = "marks")]
    Mark(MarkArgs),
    /// Takes back what a run did: ignored or discarded jobs for good, replayed ones while no worker has taken them.
    Undo(UndoArgs),
    /// Resumes a run that was stopped or interrupted.
    Resume(ResumeArgs),
    /// Creates the tables of a layout in a database.
    Init(InitArgs),
    /// Lists, shows and checks adapters: how layouts are read and written.
    Adapters(AdaptersArgs),
    /// Prints the merged config, and where each value comes from.
    Config(OutputArg),
    /// Prints the completions of a shell.
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes one for each command.
    Man(ManArgs),
    /// Prints a reference: commands, filter, keys, adapters, capture, rights.
    Docs(DocsArgs),
}

/// A filter may begin with a negated term; what begins as an option does is an option whose filter was forgotten.
fn filter(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        return Err("a filter is expected here, and this looks like an option".to_owned());
    }
    Ok(text.to_owned())
}

/// Which jobs.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArg {
    /// Only these jobs: `error:Net::ReadTimeout since:2h -queue:low` (see docs/filter.md).
    #[arg(short, long, value_name = "FILTER", allow_hyphen_values = true, value_parser = filter)]
    pub filter: Option<String>,
}

/// In which form.
#[derive(Args, Clone, Debug)]
pub struct OutputArg {
    /// The form of what is printed.
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORM")]
    pub output: Format,
}

/// The form of what is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for people, cut to the terminal.
    #[default]
    Table,
    /// One JSON document, exact.
    Json,
    /// One JSON document a line, exact.
    Jsonl,
    /// Comma-separated values with a heading.
    Csv,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_fit_together() {
        command().debug_assert();
    }

    #[test]
    fn what_belongs_to_the_database_may_stand_before_or_behind_the_command() {
        for line in [["dlq-tui", "--source", "a", "stats"], ["dlq-tui", "stats", "--source", "a"]] {
            let cli = Cli::try_parse_from(line).expect("a right line");
            assert_eq!(cli.connect.source.as_deref(), Some("a"));
        }
        assert!(Cli::try_parse_from(["dlq-tui", "replay", "7", "--all"]).is_err());
        assert!(Cli::try_parse_from(["dlq-tui", "--url", "x", "--source", "y"]).is_err());
    }

    #[test]
    fn negative_number_is_told_as_a_wrong_value_of_its_option() {
        let lines = [
            "list --limit -1",
            "export --limit -1",
            "runs --limit -1",
            "metrics --top -1",
            "demo --rows -1",
            "replay --all --limit -1",
            "replay 7 --max-replays -1",
            "discard 7 --batch -1",
            "demo --seed -1",
            "replay --all --rate -5/s",
            "resume r-1 --rate -1",
            "replay --all --spread -1h",
            "watch --interval -1s",
            "purge --state dead --older-than -30d",
            "check --max-age -1h",
            "metrics --cache -1",
            "check --max -1",
            "check --max-growth -1/5m",
        ];
        for line in lines {
            let error = Cli::try_parse_from(["dlq-tui"].into_iter().chain(line.split(' '))).expect_err(line);
            assert_eq!(error.kind(), clap::error::ErrorKind::ValueValidation, "{line}");
            let told = error.to_string();
            assert!(told.contains("write ") || told.contains("is no number of jobs"), "{line}: {told}");
        }
    }

    #[test]
    fn a_verb_takes_only_the_options_that_mean_something_to_it() {
        let takes = |verb: &str, option: &str| match Cli::try_parse_from(
            ["dlq-tui", verb, "7"].into_iter().chain(option.split(' ')),
        ) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), clap::error::ErrorKind::UnknownArgument, "{verb} {option}");
                false
            }
        };
        let verbs = ["replay", "ignore", "reopen", "discard", "archive"];
        let taking = |option: &str| verbs.into_iter().filter(|verb| takes(verb, option)).collect::<Vec<_>>();
        let for_replay =
            ["--spread 1h", "--to-queue low", "--attempts once", "--validate true", "--max-replays 3", "--keep"];
        for option in for_replay {
            assert_eq!(taking(option), ["replay"], "{option}");
        }
        assert_eq!(taking("--no-archive"), ["replay", "discard"]);
        assert_eq!(taking("--rate 10/s"), verbs);
    }
}
