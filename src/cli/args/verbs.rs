//! What the commands take that act on jobs.

use std::time::Duration;

use clap::Args;

use super::choice::Choice;
use super::commands::age;
use super::{FilterArg, OutputArg};
use crate::domain::job::State;
use crate::domain::rollout::{Rollout, parse_canary, parse_share};
use crate::domain::run_options::pick::{Pick, parse_pick};
use crate::domain::run_options::rate::parse_rate;
use crate::domain::run_options::validator::Validator;
use crate::domain::run_options::{Attempts, parse_attempts, parse_batch, parse_limit, parse_queue};
use crate::domain::time::parse_wait;

/// `ignore`, `reopen`, `archive`, and what every verb takes.
#[derive(Args, Debug)]
pub struct ActArgs {
    /// These jobs, as `list` prints them; `-` reads them from standard input, one id or one line of `list -o jsonl` a line.
    #[arg(value_name = "ID", conflicts_with_all = ["filter", "all", "limit"])]
    pub ids: Vec<String>,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// All jobs that the verb is for.
    #[arg(long, conflicts_with = "filter")]
    pub all: bool,
    /// What happens with the plan.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// `replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// Which jobs, and what happens with the plan.
    #[command(flatten)]
    pub act: ActArgs,
    /// Spreads replayed jobs over a time: when they may run where the layout knows that, else when they are put back.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = parse_wait)]
    pub spread: Option<Duration>,
    /// Replays into this queue, where the layout has queues; the dead row keeps its own.
    #[arg(long, value_name = "NAME", value_parser = parse_queue)]
    pub to_queue: Option<String>,
    /// A rehearsal: copies go to the queue of `--to-queue`, and the dead rows stay; where the layout can.
    #[arg(long, conflicts_with_all = ["max_replays", "keep", "no_archive", "canary", "stop_above", "ramp"])]
    pub copy: bool,
    /// What becomes of used attempts: `reset`, or `once` for one more try; where the adapter has both.
    #[arg(long, value_name = "HOW", value_parser = Choice::new(Attempts::ALL.map(Attempts::word), parse_attempts))]
    pub attempts: Option<Attempts>,
    /// Replays only what this command accepts: it reads a job a line, as `show -o json` prints it, and answers a line for
    /// each, as a replay command does. `off` also leaves out the validator of the config.
    #[arg(long, value_name = "CMD", value_parser = Validator::parse)]
    pub validate: Option<Validator>,
    /// Replays that a job may have behind it; one that came back so often is left out. `any` takes every job.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = replays)]
    pub max_replays: Option<u64>,
    /// Keeps what an undo of the replay needs, however many the jobs are; up to 10,000 that is done unasked.
    #[arg(long)]
    pub keep: bool,
    /// Keeps no copy of the rows: the replay cannot be undone.
    #[arg(long, conflicts_with = "keep")]
    pub no_archive: bool,
    /// How the replay proves itself.
    #[command(flatten)]
    pub rollout: RolloutArgs,
}

/// How a replay proves itself before all of it is put back.
#[derive(Args, Debug)]
pub struct RolloutArgs {
    /// Replays N jobs first, spread over fingerprints, classes, queues and age; the others follow once these succeeded.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_canary)]
    pub canary: Option<u64>,
    /// Stops when more than this share of the jobs fails again, `5%`; with --canary or --ramp 5% unless it is given.
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = parse_share)]
    pub stop_above: Option<f64>,
    /// Starts at a low rate, which doubles up to --rate while workers keep up.
    #[arg(long)]
    pub ramp: bool,
    /// How long the outcomes of the canary jobs are awaited; without it by how long such jobs ran, at least a minute.
    #[arg(long = "settle", value_name = "SPAN", requires = "canary", allow_hyphen_values = true, value_parser = parse_wait)]
    pub gate_wait: Option<Duration>,
}

impl RolloutArgs {
    /// The rule that was asked for.
    pub fn rule(&self) -> Option<Rollout> {
        Rollout::new(self.canary, self.stop_above, self.ramp, self.gate_wait)
    }
}

/// `discard`.
#[derive(Args, Debug)]
pub struct DiscardArgs {
    /// Which jobs, and what happens with the plan.
    #[command(flatten)]
    pub act: ActArgs,
    /// Keeps no copy of the rows: erases, also what earlier runs kept of them, and needs a reason.
    #[arg(long)]
    pub no_archive: bool,
}

/// A number of replays, or `any`.
fn replays(text: &str) -> Result<u64, String> {
    match text {
        "any" => Ok(u64::MAX),
        _ => text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "write a number from 1, or `any`".to_owned()),
    }
}

/// `purge`.
#[derive(Args, Debug)]
pub struct PurgeArgs {
    /// Jobs in this state; may be given more than once.
    #[arg(long, value_name = "STATE", required = true, value_parser = Choice::new(SETTLED.map(State::word), purgeable_state))]
    pub state: Vec<State>,
    /// Jobs that died and were last changed longer ago than this: `30d`.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = age)]
    pub older_than: Duration,
    /// Which jobs.
    #[command(flatten)]
    pub filter: FilterArg,
    /// What happens with the plan.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// The states whose jobs can be purged.
const SETTLED: [State; 3] = [State::Resolved, State::Ignored, State::Dead];

/// A state whose jobs can be purged.
fn purgeable_state(word: &str) -> Result<State, String> {
    match State::from_word(word) {
        Some(state) if state != State::Retrying => Ok(state),
        Some(_) => Err("jobs that the framework still means to run are not purged".to_owned()),
        None => Err("the states are resolved, ignored and dead".to_owned()),
    }
}

/// What happens with a plan, and how fast.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Prints the plan and touches nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Goes ahead without asking.
    #[arg(long)]
    pub yes: bool,
    /// Why, for the ledger.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Jobs at the most, the newest first unless `--pick` says which.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_limit)]
    pub limit: Option<u64>,
    /// Which jobs `--limit` takes: the newest, the oldest, or up to 500 spread over errors, classes, queues and age.
    #[arg(long, requires = "limit", value_name = "WHICH", default_value_t, value_parser = Choice::new(Pick::ALL.map(Pick::word), parse_pick))]
    pub pick: Pick,
    /// Jobs at the most in a time: `200/s`, `12000/m`.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Jobs of a batch at the most; smaller ones follow by themselves where the database is slow.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_batch)]
    pub batch: Option<usize>,
    /// The form of plan and receipt.
    #[command(flatten)]
    pub output: OutputArg,
}

/// `undo`.
#[derive(Args, Debug)]
pub struct UndoArgs {
    /// The run, as `runs` prints it.
    pub run: String,
    /// Only these of its jobs; `-` reads them from standard input.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Says what can be undone, and touches nothing; with `-o jsonl`, job by job.
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

/// `resume`.
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The run, as `runs` prints it.
    pub run: String,
    /// Goes ahead without asking.
    #[arg(long)]
    pub yes: bool,
    /// Jobs at the most in a time, in place of what the run was planned with.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// The validator that the run was planned with, where a record that others can write tells of it.
    #[arg(long, value_name = "CMD", value_parser = Validator::parse)]
    pub validate: Option<Validator>,
    /// Lets the jobs behind the canary follow, whatever became of the canary jobs.
    #[arg(long)]
    pub skip_gate: bool,
    /// The form of the receipt.
    #[command(flatten)]
    pub output: OutputArg,
}
