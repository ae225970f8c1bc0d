//! What the commands take that act on no job.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::choice::Choice;
use super::count_by::{CountBy, count_by, facet};
use super::mark::mark_name;
use super::verbs::PlanArgs;
use super::{ConsoleArgs, FilterArg, OutputArg};
use crate::cli::check::limit;
use crate::cli::demo;
use crate::domain::facet::Facet;
use crate::domain::mark::MarkName;
use crate::domain::time::{AGES, parse_span, parse_span_up_to, parse_wait};
use crate::store::survey::{PRESETS, Preset};
use crate::triage::contrast::SAMPLE;

/// `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Dead jobs at the start.
    #[arg(long, default_value_t = 2_000, value_name = "N", allow_negative_numbers = true, value_parser = rows)]
    pub rows: usize,
    /// The same seed makes the same jobs.
    #[arg(long, default_value_t = 1, value_name = "S", allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// The tables that the shop has.
    #[arg(long, value_enum, default_value_t = demo::DemoLayout::JobsDlq, value_name = "NAME")]
    pub layout: demo::DemoLayout,
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

/// `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
    /// Writes what is found into a new file for a bug report, without names, addresses and secrets; dlq-tui-doctor-DATE.txt, or
    /// .json with -o json, where none is named.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub bundle: Option<Option<PathBuf>>,
}

/// `stats`.
#[derive(Args, Debug)]
pub struct StatsArgs {
    /// The facet, or `args.PATH` for a value in the arguments; without it `error`, or the first that the table has where it keeps
    /// no error classes.
    #[arg(long, value_name = "FACET", value_parser = Choice::new(Facet::ALL.map(Facet::word), count_by))]
    pub by: Option<CountBy>,
    /// Compares deaths since this mark with those of an equally long time before: what is new, returned, growing, fading or gone.
    #[arg(long, value_name = "@MARK", value_parser = mark_name)]
    pub against: Option<MarkName>,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `contrast`.
#[derive(Args, Debug)]
pub struct ContrastArgs {
    /// The chosen jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// Jobs to compare with; without it other dead jobs of the same class, else its live or succeeded jobs where the table has
    /// them, else all other dead jobs.
    #[arg(long, value_name = "FILTER", allow_hyphen_values = true, value_parser = super::filter)]
    pub against: Option<String>,
    /// Jobs of each side that are read first, the newest.
    #[arg(long, default_value_t = SAMPLE, value_name = "N", allow_negative_numbers = true, value_parser = sample)]
    pub sample: usize,
    /// Counts what the sample shows in all jobs, however many there are.
    #[arg(long)]
    pub all: bool,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `repair`.
#[derive(Args, Debug)]
pub struct RepairArgs {
    /// A jq expression that has the new arguments as its value: `.currency //= "EUR"`. With --edit, the id of the job instead.
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub expression: String,
    /// These jobs, as `list` prints them; `-` reads them from standard input, one id or one line of `list -o jsonl` a line.
    #[arg(value_name = "ID", conflicts_with_all = ["filter", "all", "limit"])]
    pub ids: Vec<String>,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// All dead jobs.
    #[arg(long, conflicts_with = "filter")]
    pub all: bool,
    /// Also shows each change of so many jobs, the newest that change.
    #[arg(long, default_value_t = 0, value_name = "N", allow_negative_numbers = true, value_parser = shown)]
    pub show: usize,
    /// Opens the arguments of one job in $VISUAL, $EDITOR or vi, in place of an expression: `repair ID --edit`.
    #[arg(long, conflicts_with_all = ["filter", "all", "limit", "show"])]
    pub edit: bool,
    /// Also puts the jobs back to the live queue, in the same transaction.
    #[arg(long)]
    pub replay: bool,
    /// What happens with the plan.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// How many jobs are shown.
fn shown(text: &str) -> Result<usize, String> {
    let n = text.parse().map_err(|_| "write a number from 0 to 1000".to_owned())?;
    if n > 1000 { Err("write a number from 0 to 1000".to_owned()) } else { Ok(n) }
}

/// Reads how many jobs a sample has.
fn sample(text: &str) -> Result<usize, String> {
    let n = text.parse().map_err(|_| "write a number from 100".to_owned())?;
    if n < 100 { Err("write a number from 100: fewer jobs say nothing".to_owned()) } else { Ok(n) }
}

/// `list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// Jobs at the most; 0 lists all.
    #[arg(long, default_value_t = 50, value_name = "N", allow_negative_numbers = true, value_parser = most)]
    pub limit: usize,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// How many are wanted.
fn most(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write a number from 1, or 0 for all".to_owned())
}

/// What numbers are drawn from.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number from 0".to_owned())
}

/// How many are named.
fn named(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write a number from 0".to_owned())
}

/// `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The job, as `list` prints it; `-` reads jobs from standard input, one id or one line of `list -o jsonl` a line.
    pub id: String,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The most dead jobs: `total:1000`, or `queue:billing:0` for a value of a facet; `*` holds for each value that fits.
    #[arg(long, value_name = "THRESHOLD", allow_hyphen_values = true, value_parser = limit::max)]
    pub max: Vec<limit::Max>,
    /// The most that may have died within a time: `200/5m`, or `queue:billing:20/5m`.
    #[arg(long, value_name = "THRESHOLD", allow_hyphen_values = true, value_parser = limit::max_growth)]
    pub max_growth: Vec<limit::MaxGrowth>,
    /// How long ago the oldest dead job may have died: `1h`.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = oldest)]
    pub max_age: Option<Duration>,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// The form of the answer; a table holds the thresholds that were passed, the others all of them.
    #[command(flatten)]
    pub output: OutputArg,
}

/// How old the oldest may be; not at all is an age too.
fn oldest(text: &str) -> Result<Duration, String> {
    if parse_span(text).is_ok_and(|span| span.is_zero()) { Ok(Duration::ZERO) } else { age(text) }
}

/// `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// The facet; without it `error`, or the first that the table has where it keeps no error classes.
    #[arg(long, value_name = "FACET", value_parser = Choice::new(Facet::ALL.map(Facet::word), facet))]
    pub by: Option<Facet>,
    /// Time between two polls; it grows by itself where a poll costs the database more.
    #[arg(long, default_value = "2s", value_name = "SPAN", allow_hyphen_values = true, value_parser = parse_wait)]
    pub interval: Duration,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// The form of the lines.
    #[command(flatten)]
    pub output: OutputArg,
}

/// How long ago something was.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    parse_span_up_to(text, AGES)
}

/// `metrics`.
#[derive(Args, Debug)]
pub struct MetricsArgs {
    /// Where to listen for scrapes.
    #[arg(long, default_value = "127.0.0.1:9464", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Queues and error classes named at the most; the rest is `other`.
    #[arg(long, default_value_t = 20, value_name = "N", allow_negative_numbers = true, value_parser = named)]
    pub top: usize,
    /// How long an answer serves further scrapes; longer by itself where counting costs the database more.
    #[arg(long, default_value = "15s", value_name = "SPAN", allow_hyphen_values = true, value_parser = parse_wait)]
    pub cache: Duration,
}

/// `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Writes a page for each command into this folder; without it the main page is printed.
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

/// `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// These jobs, as `list` prints them; `-` reads them from standard input, one id or one line of `list -o jsonl` a line.
    #[arg(value_name = "ID", conflicts_with_all = ["filter", "limit", "run"])]
    pub ids: Vec<String>,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// The jobs of this run, or of the `last` replay. A note is about the jobs that the run was planned with, whatever became of
    /// them.
    #[arg(long, value_name = "RUN", conflicts_with = "filter")]
    pub run: Option<String>,
    /// Jobs at the most; 0 is all. A note is about all.
    #[arg(long, default_value_t = 0, value_name = "N", allow_negative_numbers = true, value_parser = most)]
    pub limit: usize,
    /// The form: everything of each job, its columns, or a note on the incident.
    #[arg(short, long, value_enum, default_value_t = ExportFormat::Jsonl, value_name = "FORM")]
    pub output: ExportFormat,
    /// Writes into this new file, which only you can read, and not to standard output.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

/// The forms of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One JSON document a job, with arguments and backtrace.
    Jsonl,
    /// The columns of a list.
    Csv,
    /// A Markdown note: how many, since when, which errors, an example of each, and what was done.
    Markdown,
}

/// `runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// The run to show; the latest are listed without one.
    pub run: Option<String>,
    /// Runs at the most; 0 lists all.
    #[arg(long, default_value_t = 20, value_name = "N", allow_negative_numbers = true, value_parser = most)]
    pub limit: usize,
    /// Also lists plans that were not confirmed, such as dry runs; the forms for scripts always have them.
    #[arg(long, conflicts_with_all = ["run", "reveals"])]
    pub all: bool,
    /// Lists who had secrets shown by `--reveal`, in place of the runs.
    #[arg(long, conflicts_with = "run")]
    pub reveals: bool,
    /// Waits until all replayed jobs of the run have settled, with a line for each change. Exit code 3 if some died again or
    /// cannot be told, and 5 if the time is over before.
    #[arg(long, requires = "run", conflicts_with = "jobs")]
    pub wait: bool,
    /// How long to wait at the most, such as 10m.
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = parse_wait)]
    pub timeout: Option<Duration>,
    /// Lists the jobs of the run, with what became of each.
    #[arg(long, requires = "run")]
    pub jobs: bool,
    /// Which of them.
    #[arg(long, value_enum, default_value_t = PartWord::All, value_name = "PART", requires = "jobs")]
    pub part: PartWord,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// A part of a run, by what became of its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartWord {
    /// Every job.
    All,
    /// The verb took effect.
    Done,
    /// Left alone, with the reason.
    Skipped,
    /// Refused, with the reason.
    Failed,
    /// Interrupted, and not known.
    InDoubt,
    /// Not reached.
    NotStarted,
    /// All but those that are done.
    Remainder,
}

/// `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The layout to create: dead_letter_jobs is one table that keeps dead jobs, for queues that would drop them; jobs_dlq a
    /// live queue and the table that its dead jobs are moved to; dlq_events events whose handling failed, and their archive.
    #[arg(long, default_value = "dead_letter_jobs", value_name = "NAME", conflicts_with = "ledger",
        value_parser = Choice::new(PRESETS.iter().map(|preset| preset.name), preset))]
    pub preset: String,
    /// Creates the tables of a ledger that all operators of the database share, apart from its own tables.
    #[arg(long)]
    pub ledger: bool,
    /// The schema for the tables, where the database has schemas; one that is missing is created.
    #[arg(long, value_name = "NAME", conflicts_with = "ledger")]
    pub schema: Option<String>,
    /// Prints the statements and runs none; `--print` says the same.
    #[arg(long, alias = "print")]
    pub dry_run: bool,
    /// Goes ahead without asking.
    #[arg(long)]
    pub yes: bool,
}

fn preset(name: &str) -> Result<String, String> {
    Preset::named(name).map(|preset| preset.name.to_owned()).map_err(|e| e.to_string())
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
        /// The adapter, or the path of its file; all that fit a table without one.
        name: Option<String>,
        /// Tries every verb on dead jobs as well, in transactions that are rolled back.
        #[arg(long)]
        deep: bool,
    },
    /// Writes the draft of an adapter for a table, guessed from its columns and some rows.
    Init {
        /// The table, with its schema where it is not in the usual one.
        #[arg(long, value_name = "TABLE")]
        table: String,
        /// Prints it instead of writing a file.
        #[arg(long)]
        print: bool,
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
    /// docs/capture.md.
    Capture,
    /// docs/rights.md.
    Rights,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_people_write_them() {
        assert_eq!(rows("2000"), Ok(2_000));
        assert_eq!(rows("50k"), Ok(50_000));
        assert_eq!(rows("1M"), Ok(1_000_000));
        for bad in ["", "k", "2M", "-1", "1é"] {
            assert!(rows(bad).is_err(), "{bad}");
        }
    }
}
