//! The words of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::demo;
use crate::config::Theme;
use crate::domain::facet::Facet;

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
    /// What to do; the console without one.
    #[command(subcommand)]
    pub command: Option<Command>,
}

const AFTER_HELP: &str = "\
Without a command the console opens. The database is, in this order: --url, --source, the variable DATABASE_URL, the \
variables PGHOST, PGDATABASE and so on, the default source of the config, its only source.

Exit codes: 0 done, 1 failed, 2 usage or config, 3 partly done, 4 refused or not confirmed, 5 a threshold was passed.";

/// Which database, and which store in it.
#[derive(Args, Clone, Debug, Default)]
pub struct Connect {
    /// A source of the config, by name.
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "url", help_heading = "Database")]
    pub source: Option<String>,
    /// postgres://…, mysql://… or sqlite:PATH, without a password.
    #[arg(long, global = true, value_name = "URL", help_heading = "Database")]
    pub url: Option<String>,
    /// The store, where the database holds several: an adapter or a table.
    #[arg(long, global = true, value_name = "NAME", help_heading = "Database")]
    pub store: Option<String>,
    /// Never writes; the database session enforces it.
    #[arg(long, global = true, help_heading = "Database")]
    pub read_only: bool,
}

/// How the console starts.
#[derive(Args, Clone, Debug, Default)]
pub struct ConsoleArgs {
    /// The filter that the console opens with.
    #[arg(short, long, value_name = "FILTER", help_heading = "Console")]
    pub filter: Option<String>,
    /// The palette; otherwise what the config says, or what the terminal can do.
    #[arg(long, value_name = "THEME", help_heading = "Console")]
    pub theme: Option<Theme>,
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
    /// Says what can be reached, and which dead-letter layouts are in it.
    Sources(SourcesArgs),
    /// Counts dead jobs by a facet.
    Stats(StatsArgs),
    /// Lists dead jobs, newest first.
    List(ListArgs),
    /// Shows one dead job with everything that is known of it.
    Show(ShowArgs),
    /// Puts jobs back to the live queue.
    Replay(ActArgs),
    /// Sets jobs aside: they stay, out of sight.
    Ignore(ActArgs),
    /// Undoes ignore.
    Reopen(ActArgs),
    /// Keeps jobs whole in the ledger, then deletes them.
    Discard(ActArgs),
    /// Lists the runs of the ledger, or shows one with its receipt.
    Runs(RunsArgs),
    /// Goes on with a run that was stopped or cut off.
    Resume(ResumeArgs),
    /// Creates the tables of a layout in a database.
    Init(InitArgs),
    /// Lists, shows and checks adapters: how layouts are read and written.
    Adapters(AdaptersArgs),
    /// Prints a generated reference as Markdown.
    #[command(hide = true)]
    Docs(DocsArgs),
}

/// Which jobs.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArg {
    /// Only these jobs: `error:Net::ReadTimeout since:2h -queue:low` (see docs/filter.md).
    #[arg(short, long, value_name = "FILTER")]
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

/// `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Dead jobs at the start.
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = rows)]
    pub rows: usize,
    /// The same seed makes the same jobs.
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
    /// The tables that the shop has.
    #[arg(long, value_enum, default_value_t = demo::Layout::JobsDlq, value_name = "NAME")]
    pub layout: demo::Layout,
    /// Makes the database in this folder and lets the shop live until stopped, without a console.
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub serve: Option<PathBuf>,
    /// How the console starts.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// Rows of a demo: 2000, 50k or 1M.
fn rows(text: &str) -> Result<usize, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    let wrong = || "write a number up to 1000000, such as 2000, 50k or 1M".to_owned();
    let n: usize = digits.replace(['_', ','], "").parse().map_err(|_| wrong())?;
    n.checked_mul(factor).filter(|n| *n <= 1_000_000).ok_or_else(wrong)
}

/// `sources`.
#[derive(Args, Debug)]
pub struct SourcesArgs {
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `stats`.
#[derive(Args, Debug)]
pub struct StatsArgs {
    /// The facet: error, class, queue, reason, worker, state, hour or fp.
    #[arg(long, default_value = "error", value_name = "FACET", value_parser = facet)]
    pub by: Facet,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

fn facet(word: &str) -> Result<Facet, String> {
    Facet::from_word(word)
        .ok_or_else(|| format!("the facets are {}", Facet::ALL.iter().map(|f| f.word()).collect::<Vec<_>>().join(", ")))
}

/// `list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// Jobs at the most; 0 lists all.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The job, as `list` prints it.
    pub id: String,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `replay`, `ignore`, `reopen`, `discard`.
#[derive(Args, Debug)]
pub struct ActArgs {
    /// These jobs, as `list` prints them.
    #[arg(value_name = "ID", conflicts_with_all = ["filter", "all"])]
    pub ids: Vec<String>,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// All jobs that the verb is for.
    #[arg(long, conflicts_with = "filter")]
    pub all: bool,
    /// Prints the plan and touches nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Goes ahead without asking.
    #[arg(long)]
    pub yes: bool,
    /// Why, for the ledger.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The form of plan and receipt.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// The run to show; the latest are listed without one.
    pub run: Option<String>,
    /// Runs at the most.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub limit: usize,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `resume`.
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The run, as `runs` prints it.
    pub run: String,
    /// Goes ahead without asking.
    #[arg(long)]
    pub yes: bool,
    /// The form of the receipt.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The layout to create.
    #[arg(long, default_value = "dead_letter_jobs", value_name = "NAME")]
    pub preset: String,
    /// Prints the statements and runs none.
    #[arg(long)]
    pub dry_run: bool,
    /// Goes ahead without asking.
    #[arg(long)]
    pub yes: bool,
}

/// `adapters`.
#[derive(Args, Debug)]
pub struct AdaptersArgs {
    /// What to do; list without one.
    #[command(subcommand)]
    pub command: Option<AdaptersCommand>,
}

/// What to do with adapters.
#[derive(Debug, Subcommand)]
pub enum AdaptersCommand {
    /// Lists the adapters that are known, built in and your own.
    List(OutputArg),
    /// Prints an adapter file.
    Show {
        /// The adapter.
        name: String,
    },
    /// Checks adapters against a database, statement by statement.
    Check {
        /// The adapter; all that fit a table without one.
        name: Option<String>,
    },
}

/// `docs`.
#[derive(Args, Debug)]
pub struct DocsArgs {
    /// Which reference.
    #[arg(value_enum)]
    pub what: Reference,
}

/// The references that are generated from the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reference {
    /// docs/commands.md.
    Commands,
    /// docs/filter.md.
    Filter,
    /// docs/keys.md.
    Keys,
    /// docs/adapters.md.
    Adapters,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_words_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn rows_are_read_as_people_write_them() {
        assert_eq!(rows("2000"), Ok(2_000));
        assert_eq!(rows("50k"), Ok(50_000));
        assert_eq!(rows("1M"), Ok(1_000_000));
        for bad in ["", "k", "2M", "-1", "1é"] {
            assert!(rows(bad).is_err(), "{bad}");
        }
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
}
