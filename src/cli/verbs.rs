//! `replay`, `ignore`, `reopen`, `discard`, `archive`: plan, confirm, execute, receipt.

pub(crate) mod ids;
pub(crate) mod jobs;
pub(crate) mod outcomes;
pub(crate) mod progress_bar;
pub(crate) mod purge;
pub(crate) mod receipt;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod undo;

use std::io::Write;

use anyhow::Result;

use super::args::{ActArgs, DiscardArgs, Format, PlanArgs, ReplayArgs, VerbArgs, VerbCommand};
use super::exit::{CliError, Code};
use super::output;
use super::table::terminal_width;
use crate::cli::jobs::{no_match, repair};
use crate::cli::source::open::OpenedStore;
use crate::config::Thresholds;
use crate::domain::action::Action;
use crate::domain::filter::{Filter, Key};
use crate::domain::histogram::jobs;
use crate::domain::job::State;
use crate::domain::repair::ChangeShape;
use crate::domain::run_options::Options;
use crate::domain::run_options::rate::Pacing;
use crate::domain::text::Clean;
use crate::ledger::{Ledger, Run};
use crate::store::COPY_NEEDS_QUEUE;
use crate::triage::freeze::{Ask, PlanError, freeze};
use crate::triage::plan::{ActionScope, Confirm, Plan};
use crate::triage::progress::FreezeProgress;
use receipt::{PlanRecord, RunRecord};

/// Plans what a verb asks for, asks back, and executes it.
///
/// # Errors
/// When nothing says which jobs, the action cannot be used here, it is not confirmed, or source or ledger fail.
pub async fn run(opened: &OpenedStore, verb: &VerbCommand) -> Result<Code> {
    match &verb.args {
        VerbArgs::Plain(args) => act(opened, verb.action, args, Options::default(), opened.thresholds).await,
        VerbArgs::Replay(args) => replay(opened, args).await,
        VerbArgs::Discard(args) => discard(opened, args).await,
        VerbArgs::Purge(args) => purge::run(opened, args).await,
    }
}

/// Replays.
async fn replay(opened: &OpenedStore, args: &ReplayArgs) -> Result<Code> {
    if args.copy && args.to_queue.is_none() {
        return Err(CliError::usage(COPY_NEEDS_QUEUE).into());
    }
    let pacing = Pacing { spread: args.spread.map(|span| span.as_secs()), ..Pacing::default() };
    let options = Options {
        to_queue: args.to_queue.clone(),
        attempts: args.attempts,
        validate: args.validate.clone().or_else(|| opened.validate.clone()).filter(|named| !named.is_off()),
        no_archive: args.no_archive,
        keep: args.keep,
        rollout: args.rollout.rule(),
        ..pacing.into()
    };
    let max_replays = args.max_replays.unwrap_or(opened.thresholds.max_replays);
    let thresholds = Thresholds { max_replays, ..opened.thresholds };
    let action = if args.copy { Action::Copy } else { Action::Replay };
    act(opened, action, &args.act, options, thresholds).await
}

/// Discards.
async fn discard(opened: &OpenedStore, args: &DiscardArgs) -> Result<Code> {
    if args.no_archive && args.act.plan.reason.is_none() {
        return Err(CliError::usage("--no-archive cannot be undone: say why with --reason").into());
    }
    let options = Options { no_archive: args.no_archive, ..Options::default() };
    act(opened, Action::Discard, &args.act, options, opened.thresholds).await
}

async fn act(
    opened: &OpenedStore,
    action: Action,
    args: &ActArgs,
    options: Options,
    thresholds: Thresholds,
) -> Result<Code> {
    let scope = scope(opened, action, args).await?;
    let ask = Ask { thresholds, ..ask(opened, scope, action, options, &args.plan) };
    carry_out(opened, ask, &args.plan).await
}

/// What the command line asks for.
pub fn ask(opened: &OpenedStore, scope: ActionScope, action: Action, options: Options, args: &PlanArgs) -> Ask {
    let pacing = Pacing { batch: args.batch, rate: args.rate, ..options.pacing };
    Ask {
        scope,
        action,
        reason: args.reason.clone(),
        options: Options { pacing, ..options },
        limit: args.limit,
        pick: args.pick,
        guard_above: None,
        thresholds: opened.thresholds,
        now: opened.now,
        edit: None,
    }
}

/// Answers that are taken to the question for the number of jobs.
const ANSWERS: usize = 3;

/// How a plan is confirmed and shown.
pub(super) struct Asking {
    /// The plan is shown, and nothing touched.
    pub(super) dry_run: bool,
    /// Nobody is asked.
    pub(super) yes: bool,
    /// The form of plan and receipt.
    pub(super) output: Format,
    /// The jobs were named one by one: that there are none is a fault.
    pub(super) named: bool,
}

/// Plans what is asked for, asks back, and executes it.
///
/// # Errors
/// As [`run()`].
pub async fn carry_out(opened: &OpenedStore, ask: Ask, args: &PlanArgs) -> Result<Code> {
    let ledger = opened.ledger().await?;
    let named = matches!(ask.scope, ActionScope::Jobs(_));
    let asking = Asking { dry_run: args.dry_run, yes: args.yes, output: args.output.output, named };
    plan_and_go(opened, &ledger, ask, &asking).await
}

/// Freezes a cohort, asks, and executes its plan.
///
/// # Errors
/// When the action cannot be used here, it is not confirmed, or source or ledger fail.
pub(super) async fn plan_and_go(opened: &OpenedStore, ledger: &Ledger, ask: Ask, asking: &Asking) -> Result<Code> {
    let filter = match &ask.scope {
        ActionScope::Filter(filter) => Some(filter.clone()),
        _ => None,
    };
    let line = output::ProgressLine::begin();
    let tell = |progress: FreezeProgress| line.show(&format!("freezing: {}", jobs(progress.frozen)));
    let frozen = freeze(&opened.desk, ledger, ask, &opened.budget, tell).await;
    drop(line);
    let plan = match frozen {
        Ok(mut plan) => {
            plan.sample = plan.sample.into_iter().map(|row| opened.masked(row)).collect();
            plan
        }
        Err(PlanError::Empty(action, run)) if !asking.named => {
            output::say(&format!("no job matches: there is nothing to {action}"));
            if let Some(filter) = &filter {
                no_match::explain(opened, filter).await;
            }
            let run = ledger.of(&run).await?.runs().get(&run).await?;
            output::unless_gone(nothing(&run, asking))?;
            return Ok(Code::Done);
        }
        Err(PlanError::Unchanged { report, run }) => {
            output::say(&format!("nothing to repair: the arguments of none of {} would change", jobs(report.jobs)));
            repair::write_groups(&mut std::io::stderr(), &report)?;
            let run = ledger.of(&run).await?.runs().get(&run).await?;
            output::unless_gone(nothing(&run, asking))?;
            let fails = report.groups.iter().any(|group| !matches!(group.shape, ChangeShape::Unchanged));
            return Ok(if fails { Code::Failed } else { Code::Done });
        }
        Err(error) => return Err(error.into()),
    };
    let decision = match opened.budget.cancel.is_cancelled() {
        // An interrupt that came behind the last step of the freeze.
        true => Decision::Refuse("interrupted: nothing was written".to_owned()),
        false => match decide(&plan, asking).await {
            Ok(decision) => decision,
            Err(error) => {
                // Whoever was to read the plan or answer is gone: it must not stay open in the record.
                dismiss(ledger, &plan).await;
                return Err(error);
            }
        },
    };
    match decision {
        Decision::Go => {
            let wishes = run::ExecutionWishes { validate: plan.options.validate.as_ref(), ..Default::default() };
            run::confirmed(opened, ledger, &plan.run, wishes, asking.output).await
        }
        Decision::ShowOnly => {
            show_only(opened, ledger, &plan, asking.output).await?;
            Ok(Code::Done)
        }
        Decision::Refuse(why) => {
            dismiss(ledger, &plan).await;
            Err(CliError::refused(why).into())
        }
    }
}

/// Shows a plan that is not to be carried out.
async fn show_only(opened: &OpenedStore, ledger: &Ledger, plan: &Plan, format: Format) -> Result<()> {
    let by_job = plan.options.undoes.is_some() && matches!(format, Format::Jsonl | Format::Csv);
    let shown = match by_job {
        true => undo::write_preview(opened, ledger, plan, format).await,
        false => Ok(()),
    };
    ledger.runs().dismiss(&plan.run, crate::domain::time::Timestamp::now()).await?;
    shown?;
    if !by_job {
        show(ledger, plan, format).await?;
    }
    Ok(())
}

async fn dismiss(ledger: &Ledger, plan: &Plan) {
    // Nothing was touched and nothing will be: a plan that could not be dismissed is dismissed by the next freeze.
    let _ = ledger.runs().dismiss(&plan.run, crate::domain::time::Timestamp::now()).await;
}

/// The jobs that the command line names.
async fn scope(opened: &OpenedStore, action: Action, args: &ActArgs) -> Result<ActionScope> {
    if !args.ids.is_empty() {
        return Ok(ActionScope::Jobs(ids::named(&args.ids).await?));
    }
    let filter = match (&args.filter.filter, args.all) {
        (Some(text), _) if !text.trim().is_empty() => opened.filter(Some(text))?,
        (_, true) => Filter::all(),
        _ => {
            return Err(CliError::usage(format!(
                "say which jobs to {action}: their ids, a filter with -f, or --all for every one of them"
            ))
            .into());
        }
    };
    // A filter that does not say so selects what is dead; some verbs are for others.
    let usual = action.profile().usual_state();
    let says_state = filter.clauses().iter().any(|c| matches!(c.key, Key::State | Key::Native));
    if usual != State::Dead && !says_state {
        return Ok(ActionScope::Filter(filter.with(&Key::State, Some(usual.word()), false)?));
    }
    Ok(ActionScope::Filter(filter))
}

enum Decision {
    Go,
    ShowOnly,
    Refuse(String),
}

/// What happens with a plan: shown only, confirmed, or refused.
async fn decide(plan: &Plan, asking: &Asking) -> Result<Decision> {
    if asking.dry_run {
        return Ok(Decision::ShowOnly);
    }
    // A plan that nobody can read is no reason to leave undone what --yes has confirmed.
    let read = receipt::plan(&mut std::io::stderr(), plan, output::talk_width());
    if asking.yes {
        return Ok(Decision::Go);
    }
    read?;
    if let Some(sentence) = plan.cannot_undo() {
        return Ok(Decision::Refuse(sentence));
    }
    if !output::somebody_is_there() {
        return Ok(Decision::Refuse(format!(
            "nothing was written: without a terminal to confirm on, --yes is needed to {} {}",
            plan.action,
            jobs(plan.count)
        )));
    }
    if let Some(table) = &plan.creates
        && !output::confirm(&format!("create the table {}?", Clean::line(&table.creates))).await?
    {
        return Ok(Decision::Refuse("not confirmed: nothing was written".to_owned()));
    }
    let confirmed = match plan.confirm {
        Confirm::Key => true,
        Confirm::Yes => output::confirm(&format!("{} {}?", plan.action, plan.jobs())).await?,
        Confirm::TypeCount => type_count(plan).await?,
    };
    Ok(if confirmed { Decision::Go } else { Decision::Refuse("not confirmed: nothing was written".to_owned()) })
}

/// Asks for the number of jobs. Another answer is asked again, an empty one and `n` dismiss the plan.
async fn type_count(plan: &Plan) -> std::io::Result<bool> {
    let (count, act) = (plan.acts_on().to_string(), format!("{} {}", plan.action, plan.jobs()));
    let mut question = format!("type {count} to {act}:");
    for _ in 0..ANSWERS {
        let Some(answer) = output::ask(&question).await? else { return Ok(false) };
        match answer.replace([',', '_'], "").to_ascii_lowercase().as_str() {
            typed if typed == count => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => question = format!("that is not {count}; type {count} to {act}, or n to leave it:"),
        }
    }
    Ok(false)
}

/// Prints for scripts what is printed where jobs match: a plan or a receipt of nothing. People have read it already.
fn nothing(run: &Run, asking: &Asking) -> Result<()> {
    let mut out = output::stdout();
    let (plan, receipt) = (PlanRecord::of_nothing(run), RunRecord::from(run));
    match asking.output {
        Format::Table => {}
        Format::Csv => runs::csv(&mut out, &[])?,
        Format::Json if asking.dry_run => output::json(&mut out, &output::Versioned::new(plan))?,
        Format::Jsonl if asking.dry_run => output::json_line(&mut out, &output::Versioned::new(plan))?,
        Format::Json => output::json(&mut out, &output::Versioned::new(receipt))?,
        Format::Jsonl => output::json_line(&mut out, &output::Versioned::new(receipt))?,
    }
    Ok(out.flush()?)
}

/// Prints a plan that is only shown. What comma-separated values have of it is what the ledger has.
async fn show(ledger: &Ledger, plan: &Plan, format: Format) -> Result<()> {
    let kept = match format {
        Format::Csv => Some(ledger.runs().get(&plan.run).await?),
        _ => None,
    };
    let mut out = output::stdout();
    match format {
        Format::Table => receipt::plan(&mut out, plan, terminal_width())?,
        Format::Csv => runs::csv(&mut out, kept.as_slice())?,
        Format::Json => output::json(&mut out, &output::Versioned::new(PlanRecord::from(plan)))?,
        Format::Jsonl => output::json_line(&mut out, &output::Versioned::new(PlanRecord::from(plan)))?,
    }
    out.flush()?;
    Ok(())
}
