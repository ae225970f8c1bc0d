//! Plans, runs and receipts: as text for people and as JSON for scripts.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::LazyLock;

use serde::Serialize;

use crate::cli::jobs::job_json::RowRecord;
use crate::cli::verbs::outcomes::{self, OutcomesRecord};
use crate::cli::wrap::hanging;
use crate::domain::action::Action;
use crate::domain::histogram::grouped;
use crate::domain::redact::Redactor;
use crate::domain::rollout::evidence::Evidence;
use crate::domain::rollout::{RolloutPhase, RolloutState};
use crate::domain::run_options::Options;
use crate::domain::text::{Clean, Untrusted};
use crate::domain::time::Timestamp;
use crate::ledger::{Run, RunIntent, RunTally};
use crate::triage::plan::{CohortShare, Plan};
use crate::triage::run::Receipt;
use crate::triage::undo::CAN;

/// What an operator typed, a filter or a reason, with what looks like a secret masked.
///
/// It is kept as it was typed, and goes by the rules that need no config: a run is told of where there may be none.
pub fn typed(text: &str) -> Cow<'_, str> {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::default);
    REDACTOR.prose(text)
}

/// A plan as JSON.
#[derive(Serialize)]
pub struct PlanRecord<'a> {
    run: &'a str,
    action: &'static str,
    filter: Cow<'a, str>,
    #[serde(flatten)]
    cohort: CohortRecord<'a>,
    options: &'a Options,
    /// The table that is created for it, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    creates: Option<CreatesRecord<'a>>,
    warnings: &'a [String],
    notes: &'a [String],
    /// Of an undo: how many jobs can be undone, and how many cannot, by reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outlook: Vec<ReasonRecord<'a>>,
}

/// The jobs of a plan, in numbers.
#[derive(Default, Serialize)]
struct CohortRecord<'a> {
    count: u64,
    by_error: Vec<ShareRecord<'a>>,
    by_class: Vec<ShareRecord<'a>>,
    oldest: Option<String>,
    newest: Option<String>,
    /// The ids of the jobs that are replayed first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    canary: Vec<&'a str>,
    sample: Vec<RowRecord<'a>>,
}

#[derive(Serialize)]
struct CreatesRecord<'a> {
    table: &'a str,
    ddl: &'a str,
}

#[derive(Serialize)]
struct ShareRecord<'a> {
    value: Option<&'a str>,
    n: u64,
    /// Whether this is the sum of all values that are not listed.
    rest: bool,
}

impl<'a> From<&'a CohortShare> for ShareRecord<'a> {
    fn from(share: &'a CohortShare) -> Self {
        Self { value: share.value.as_ref().map(Untrusted::exact), n: share.n, rest: share.rest }
    }
}

impl<'a> From<&'a Plan> for PlanRecord<'a> {
    fn from(plan: &'a Plan) -> Self {
        Self {
            run: &plan.run.0,
            action: plan.action.word(),
            filter: typed(plan.filter.as_deref().unwrap_or_default()),
            cohort: CohortRecord {
                count: plan.count,
                by_error: plan.breakdown.by_error.iter().map(ShareRecord::from).collect(),
                by_class: plan.breakdown.by_class.iter().map(ShareRecord::from).collect(),
                oldest: plan.breakdown.span.map(|(from, _)| from.to_rfc3339()),
                newest: plan.breakdown.span.map(|(_, to)| to.to_rfc3339()),
                canary: plan.breakdown.canary.iter().map(|job| job.id.as_str()).collect(),
                sample: plan.sample.iter().map(RowRecord::from).collect(),
            },
            options: &plan.options,
            creates: plan.creates.as_ref().map(|made| CreatesRecord { table: &made.creates, ddl: &made.ddl }),
            warnings: &plan.warnings,
            notes: &plan.notes,
            outlook: plan.outlook.iter().map(|(reason, n)| ReasonRecord { reason, n: *n }).collect(),
        }
    }
}

impl<'a> PlanRecord<'a> {
    /// The plan of a run that no job is in.
    pub fn of_nothing(run: &'a Run) -> Self {
        Self {
            run: &run.id.0,
            action: run.intent.action.word(),
            filter: typed(&run.intent.resolved),
            cohort: CohortRecord::default(),
            options: &run.intent.options,
            creates: None,
            warnings: &[],
            notes: &[],
            outlook: Vec::new(),
        }
    }
}

/// A run as JSON: what it was to do, and what became of its jobs.
#[derive(Serialize)]
pub struct RunRecord<'a> {
    run: &'a str,
    home: &'static str,
    action: &'static str,
    state: &'static str,
    #[serde(flatten)]
    intent: IntentRecord<'a>,
    started_at: Option<String>,
    ended_at: Option<String>,
    /// Why it was stopped before its end; only the receipt knows, and `null` says nothing.
    halted: Option<&'a str>,
    #[serde(flatten)]
    tally: TallyRecord<'a>,
    /// What became of replayed jobs since, when that was last asked for.
    outcomes: Option<OutcomesRecord<'a>>,
    /// How far it has come, where it has to prove itself.
    rollout: Option<RolloutRecord<'a>>,
}

/// How far a run has come that proves itself.
#[derive(Serialize)]
struct RolloutRecord<'a> {
    phase: RolloutPhase,
    succeeded: u64,
    failed: u64,
    retrying: u64,
    open: u64,
    unknown: u64,
    failed_by_error: Vec<FailuresRecord<'a>>,
}

#[derive(Serialize)]
struct FailuresRecord<'a> {
    error_class: Option<Cow<'a, str>>,
    n: u64,
}

impl<'a> From<&'a RolloutState> for RolloutRecord<'a> {
    fn from(state: &'a RolloutState) -> Self {
        let Evidence { succeeded, failed, retrying, open, unknown, by_class } = &state.evidence;
        let failures =
            |(class, n): &'a (Option<String>, u64)| FailuresRecord { error_class: class.as_deref().map(typed), n: *n };
        Self {
            phase: state.phase,
            succeeded: *succeeded,
            failed: *failed,
            retrying: *retrying,
            open: *open,
            unknown: *unknown,
            failed_by_error: by_class.iter().map(failures).collect(),
        }
    }
}

/// What a run was planned for.
#[derive(Serialize)]
struct IntentRecord<'a> {
    source: &'a str,
    store: &'a str,
    filter: Cow<'a, str>,
    resolved: Cow<'a, str>,
    reason: Option<Cow<'a, str>>,
    operator: OperatorRecord<'a>,
    options: &'a Options,
    /// Where its jobs go, of a replay and of its undo.
    destination: Option<DestinationRecord<'a>>,
    frozen_at: String,
}

/// What became of the jobs of a run.
#[derive(Serialize)]
struct TallyRecord<'a> {
    planned: u64,
    done: u64,
    skipped: Vec<ReasonRecord<'a>>,
    failed: Vec<ReasonRecord<'a>>,
    in_doubt: u64,
    not_started: u64,
}

#[derive(Serialize)]
struct OperatorRecord<'a> {
    user: &'a str,
    database_user: &'a str,
    host: &'a str,
    ssh_client: Option<&'a str>,
}

#[derive(Serialize)]
struct DestinationRecord<'a> {
    to: &'static str,
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct ReasonRecord<'a> {
    reason: &'a str,
    n: u64,
}

impl<'a> From<&'a Run> for RunRecord<'a> {
    fn from(run: &'a Run) -> Self {
        Self {
            run: &run.id.0,
            home: run.place.word(),
            action: run.intent.action.word(),
            state: run.state.word(),
            intent: IntentRecord::from(&run.intent),
            started_at: run.started_at.map(Timestamp::to_rfc3339),
            ended_at: run.ended_at.map(Timestamp::to_rfc3339),
            halted: None,
            tally: TallyRecord::from(&run.tally),
            outcomes: run.outcomes.as_ref().map(OutcomesRecord::from),
            rollout: run.rollout.as_ref().map(RolloutRecord::from),
        }
    }
}

impl<'a> From<&'a RunIntent> for IntentRecord<'a> {
    fn from(intent: &'a RunIntent) -> Self {
        let operator = &intent.operator;
        Self {
            source: &intent.source,
            store: &intent.store,
            filter: typed(&intent.filter),
            resolved: typed(&intent.resolved),
            reason: intent.reason.as_deref().map(typed),
            operator: OperatorRecord {
                user: &operator.user,
                database_user: &operator.database_user,
                host: &operator.host,
                ssh_client: operator.ssh_client.as_deref(),
            },
            options: &intent.options,
            destination: intent.destination.as_ref().map(|to| DestinationRecord { to: to.word(), name: to.name() }),
            frozen_at: intent.frozen_at.to_rfc3339(),
        }
    }
}

impl<'a> From<&'a RunTally> for TallyRecord<'a> {
    fn from(tally: &'a RunTally) -> Self {
        Self {
            planned: tally.planned,
            done: tally.done,
            skipped: tally.skipped.iter().map(|(reason, n)| ReasonRecord { reason, n: *n }).collect(),
            failed: tally.failed.iter().map(|(reason, n)| ReasonRecord { reason: reason.exact(), n: *n }).collect(),
            in_doubt: tally.in_doubt,
            not_started: tally.not_started,
        }
    }
}

impl<'a> From<&'a Receipt> for RunRecord<'a> {
    fn from(receipt: &'a Receipt) -> Self {
        Self { halted: receipt.halted.as_deref(), ..Self::from(&receipt.run) }
    }
}

/// Prints a plan for people, in lines of this width.
pub fn plan(out: &mut impl Write, plan: &Plan, width: Option<usize>) -> io::Result<()> {
    writeln!(out, "plan {}: {} {}", plan.run, plan.action, plan.jobs())?;
    let mut facts = FactList { out, names: 10, width };
    if let Some(filter) = &plan.filter {
        let filter = if filter.is_empty() { "none: all dead jobs" } else { filter };
        facts.tell("filter", &Clean::line(&typed(filter)))?;
    }
    if let Some((from, to)) = plan.breakdown.span {
        facts.tell("died", &format!("{from} … {to}"))?;
    }
    if !plan.options.is_plain() {
        facts.tell("options", &plan.options.to_string())?;
    }
    if let Some(made) = &plan.creates {
        facts.tell("creates", &Clean::line(&made.creates))?;
        for line in Clean::lines(&made.ddl).rows() {
            writeln!(facts.out, "             {line}")?;
        }
    }
    for (what, n) in &plan.outlook {
        let what = if what == CAN { what.clone() } else { format!("cannot: {}", Clean::line(what)) };
        facts.count("now", *n, &what)?;
    }
    if let Some(report) = &plan.breakdown.by_change {
        for (nth, group) in report.groups.iter().enumerate() {
            facts.count(if nth == 0 { "arguments" } else { "" }, group.jobs, &group.shape.describe())?;
        }
    }
    shares(&mut facts, "by error", &plan.breakdown.by_error)?;
    shares(&mut facts, "by class", &plan.breakdown.by_class)?;
    for warning in &plan.warnings {
        facts.tell("warning", &Clean::line(warning))?;
    }
    for note in &plan.notes {
        facts.tell("note", &Clean::line(note))?;
    }
    Ok(())
}

/// Facts below the title of a plan or a run: a name and what it is, broken between words.
struct FactList<'a, W> {
    out: &'a mut W,
    /// Columns of the names.
    names: usize,
    width: Option<usize>,
}

impl<W: Write> FactList<'_, W> {
    fn tell(&mut self, name: &str, text: &str) -> io::Result<()> {
        let names = self.names;
        writeln!(self.out, "{}", hanging(&format!("  {name:<names$} "), text, self.width))
    }

    /// A number of jobs, and which.
    fn count(&mut self, name: &str, n: u64, which: &str) -> io::Result<()> {
        let (names, n) = (self.names, grouped(n));
        let head = format!("  {name:<names$} {n:>9}");
        match which {
            "" => writeln!(self.out, "{head}"),
            which => writeln!(self.out, "{}", hanging(&format!("{head}  "), which, self.width)),
        }
    }
}

fn shares(facts: &mut FactList<'_, impl Write>, title: &str, shares: &[CohortShare]) -> io::Result<()> {
    for (i, share) in shares.iter().enumerate() {
        let title = if i == 0 { title } else { "" };
        let value = match &share.value {
            Some(value) => value.line_head(60).to_string(),
            None if share.rest => "all others".to_owned(),
            None => "(none)".to_owned(),
        };
        facts.count(title, share.n, &value)?;
    }
    Ok(())
}

/// Prints a run and its receipt for people, in lines of this width.
pub fn run(out: &mut impl Write, run: &Run, width: Option<usize>) -> io::Result<()> {
    let intent = &run.intent;
    writeln!(out, "run {}: {}, {}", run.id, intent.action, run.state.label())?;
    let mut facts = FactList { out, names: 12, width };
    facts.tell("source", &format!("{} · {}", Clean::line(&intent.source), Clean::line(&intent.store)))?;
    if !intent.resolved.is_empty() {
        facts.tell("filter", &Clean::line(&typed(&intent.resolved)))?;
    }
    if let Some(reason) = &intent.reason {
        facts.tell("reason", &Clean::line(&typed(reason)))?;
    }
    if !intent.options.is_plain() {
        facts.tell("options", &intent.options.to_string())?;
    }
    if let Some(destination) = intent.destination.as_ref().filter(|to| to.name().is_some()) {
        facts.tell("destination", &destination.to_string())?;
    }
    if let Some(state) = &run.rollout {
        let known = match state.phase {
            RolloutPhase::Stopped => format!(": {}", typed(&state.failures())),
            _ if state.evidence.total() == 0 => String::new(),
            _ => format!("; sample: {}", state.evidence.summary()),
        };
        facts.tell("phase", &format!("{}{known}", state.phase.word()))?;
    }
    let operator = &intent.operator;
    let from = operator.ssh_client.as_deref().map(|a| format!(" from {}", Clean::line(a))).unwrap_or_default();
    let role = match operator.database_user.as_str() {
        "" => String::new(),
        role => format!(", database user {}", Clean::line(role)),
    };
    let who = format!("{}@{}{from}{role}", Clean::line(&operator.user), Clean::line(&operator.host));
    facts.tell("operator", &who)?;
    tally(&mut facts, &run.tally, intent.action)?;
    run.outcomes.as_ref().map_or(Ok(()), |counts| outcomes::print(facts.out, counts, width))
}

fn tally(facts: &mut FactList<'_, impl Write>, tally: &RunTally, action: Action) -> io::Result<()> {
    let stay = if action.leaves_rows() { "the dead rows stay" } else { "" };
    facts.count("planned", tally.planned, "")?;
    facts.count(action.done_word(), tally.done, stay)?;
    for (reason, n) in &tally.skipped {
        facts.count("skipped", *n, &Clean::line(reason))?;
    }
    for (reason, n) in &tally.failed {
        facts.count("failed", *n, &reason.line_head(100).to_string())?;
    }
    for (word, n) in [("in doubt", tally.in_doubt), ("not started", tally.not_started)] {
        if n > 0 {
            facts.count(word, n, "")?;
        }
    }
    Ok(())
}
