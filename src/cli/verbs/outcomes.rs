//! The outcomes of a replay, as commands print them and wait for them.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Result, bail};
use serde::Serialize;
use tokio::time::{Instant, sleep, timeout_at};

use crate::cli::exit::{CliError, Code};
use crate::cli::output::say;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs::receipt::typed;
use crate::cli::wrap::hanging;
use crate::domain::action::Action;
use crate::domain::histogram::grouped;
use crate::domain::outcome::{OutcomeCounts, OutcomeKind};
use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::ledger::{Ledger, Run, RunId, RunState};
use crate::store::SourceError;
use crate::triage::outcomes::{OutcomePoll, PollPause};

/// The outcomes of a replay as JSON.
#[derive(Serialize)]
pub(super) struct OutcomesRecord<'a> {
    replayed: u64,
    waiting: u64,
    running: u64,
    retrying: u64,
    succeeded: u64,
    /// Of those that succeeded, the ones that are known by their having left the store.
    succeeded_gone: u64,
    died_again: u64,
    died_same_error: u64,
    died_by_error: Vec<DeathsRecord<'a>>,
    deleted: u64,
    taken_back: u64,
    unknown: u64,
}

#[derive(Serialize)]
struct DeathsRecord<'a> {
    error_class: Option<std::borrow::Cow<'a, str>>,
    n: u64,
}

impl<'a> From<&'a OutcomeCounts> for OutcomesRecord<'a> {
    fn from(counts: &'a OutcomeCounts) -> Self {
        let deaths =
            |(class, n): &'a (Option<String>, u64)| DeathsRecord { error_class: class.as_deref().map(typed), n: *n };
        Self {
            replayed: counts.replayed,
            waiting: counts.waiting,
            running: counts.running,
            retrying: counts.retrying,
            succeeded: counts.ok(),
            succeeded_gone: counts.gone_succeeded,
            died_again: counts.died(),
            died_same_error: counts.died_same,
            died_by_error: counts.died_by_class.iter().map(deaths).collect(),
            deleted: counts.gone,
            taken_back: counts.taken_back,
            unknown: counts.unknown,
        }
    }
}

/// Prints the outcomes of a replay for people: a line for each, and one for each error class of those that died again.
pub(super) fn print(out: &mut impl Write, counts: &OutcomeCounts, width: Option<usize>) -> io::Result<()> {
    let gone = match counts.gone_succeeded {
        0 => String::new(),
        n if n == counts.ok() => "gone from the queue, which deletes what it finished".to_owned(),
        n => format!("{} of them gone from the queue, which deletes what it finished", grouped(n)),
    };
    let mut line = |name: &str, n: u64, note: &str| {
        let head = format!("  {name:<12} {:>9}", grouped(n));
        match note {
            "" => writeln!(out, "{head}"),
            note => writeln!(out, "{}", hanging(&format!("{head}  "), note, width)),
        }
    };
    for (kind, n) in counts.by_kind().into_iter().filter(|(_, n)| *n > 0) {
        let note = match kind {
            OutcomeKind::Retrying => "failed since the replay, and wait for their next attempt",
            OutcomeKind::Succeeded => gone.as_str(),
            _ => "",
        };
        line(kind.label(), n, note)?;
        if kind == OutcomeKind::Died {
            for (class, n) in &counts.died_by_class {
                let class = class.as_deref().map(|class| Clean::line(&typed(class)).to_string());
                line("", *n, class.as_deref().unwrap_or("(no error class)"))?;
            }
        }
    }
    Ok(())
}

/// Whether outcomes can be asked for: the run is a replay of this store that was started. Else why not.
fn askable(opened: &OpenedStore, run: &Run) -> Result<(), String> {
    let desk = &opened.desk;
    let (id, intent) = (&run.id, &run.intent);
    if intent.action != Action::Replay {
        return Err(format!("run {id} is no replay: only replayed jobs have an outcome"));
    }
    if !run.is_of(&desk.source, &desk.store_name()) {
        let (source, store) = (Clean::line(&intent.source), Clean::line(&intent.store));
        return Err(format!("run {id} is for {source} ({store}): name that source"));
    }
    desk.store
        .info()
        .capabilities
        .outcomes_unknown
        .clone()
        .map_or(Ok(()), |why| Err(format!("the outcome is unknown: {why}")))
}

/// Asks once for the outcomes of a run, where they can be asked for.
///
/// # Errors
/// When the source or the ledger cannot be read.
pub(crate) async fn refresh(opened: &OpenedStore, ledger: &Ledger, run: &Run) -> Result<Option<OutcomeCounts>> {
    if askable(opened, run).is_err() || run.tally.done == 0 {
        return Ok(None);
    }
    Ok(Some(OutcomePoll::new(run.id.clone()).poll(&opened.desk, ledger, &opened.budget).await?))
}

/// Waits until every replayed job of a run has settled: it succeeded, died again, was deleted, or cannot be told.
///
/// # Errors
/// When the outcome of the run cannot be asked for; when the time is over, with a code of its own.
pub(super) async fn wait(opened: &OpenedStore, ledger: &Ledger, id: &RunId, limit: Option<Duration>) -> Result<Code> {
    let run = ledger.runs().get(id).await?;
    if let Err(why) = askable(opened, &run) {
        bail!(why);
    }
    let deadline = limit.map(|limit| Instant::now() + limit);
    let mut last = None;
    let polls = poll_to_end(opened, ledger, id, &mut last);
    let counts = match deadline {
        None => polls.await?,
        Some(deadline) => match timeout_at(deadline, polls).await {
            Ok(counts) => counts?,
            Err(_) => {
                let known = last.map_or("nothing is known yet".to_owned(), |counts: OutcomeCounts| counts.summary());
                let message = format!("not all jobs of run {id} have settled in time: {known}");
                return Err(CliError::timeout(message).into());
            }
        },
    };
    Ok(if counts.died() + counts.unknown > 0 { Code::Partly } else { Code::Done })
}

async fn poll_to_end(
    opened: &OpenedStore,
    ledger: &Ledger,
    id: &RunId,
    last: &mut Option<OutcomeCounts>,
) -> Result<OutcomeCounts> {
    let mut poll = OutcomePoll::new(id.clone());
    let mut pause = PollPause::default();
    loop {
        let is_executed = ledger.runs().get(id).await?.state != RunState::Running;
        let began = Instant::now();
        let counts = poll.poll(&opened.desk, ledger, &opened.budget).await?;
        let took = began.elapsed();
        let is_final = poll.is_through() && counts.open() == 0;
        let has_changed = last.as_ref() != Some(&counts);
        if has_changed {
            say(&format!(
                "{}  {} replayed: {}",
                Timestamp::now().to_second(),
                grouped(counts.replayed),
                counts.summary()
            ));
        }
        *last = Some(counts.clone());
        if is_executed && is_final {
            return Ok(counts);
        }
        let wait = pause.after(has_changed, took);
        if !poll.is_through() {
            continue;
        }
        tokio::select! {
            () = sleep(wait) => {}
            () = opened.budget.cancel.cancelled() => return Err(SourceError::Cancelled.into()),
        }
    }
}
