//! The receipt of a run: sums that add up, by reason, and what can be done with the remainder.
//!
//! ```text
//! ┌ Receipt of r-7: ended ─────────────────────────────┐
//! │ replay on shop, public.dead_letter_jobs            │
//! │                                                    │
//! │   planned         1,204                            │
//! │   replayed        1,190                            │
//! │   skipped            10                            │
//! │                       8  changed meanwhile         │
//! │                       2  gone                      │
//! │   failed              4                            │
//! │                       4  duplicate key value       │
//! └────────────────────────────────────────────────────┘
//! ```

use crate::domain::histogram::grouped;
use crate::domain::outcome::{OutcomeCounts, OutcomeKind};
use crate::domain::rollout::RolloutPhase;
use crate::domain::text::Untrusted;
use crate::ledger::{Run, RunState};
use crate::tui::app::model::{Model, ScrollState, SourceState};
use crate::tui::keys::KeyCommand;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::view::canvas::Canvas;
use crate::tui::view::styled_text::Phrase;
use crate::tui::view::{dialog, format};

const WIDTH: usize = 84;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, run: &Run, reading: ScrollState) {
    let screen = canvas.area();
    let width = WIDTH.min(usize::from(screen.width));
    let lines = lines(model, run, width.saturating_sub(4), canvas.theme);
    let height = (lines.len() + 2).min(usize::from(screen.height));
    let area = dialog::centred(screen, width, height);
    let title = format!("Receipt of {}: {}", run.id, run.state.label());
    let role = if run.state == RunState::Finished { StyleRole::Good } else { StyleRole::Warning };
    let inside = dialog::frame(canvas, area, &title, role);
    dialog::scroll(canvas, area, inside, &lines, reading.top);
}

fn lines<'r>(model: &Model, run: &'r Run, width: usize, theme: &Theme) -> Vec<Phrase<'r>> {
    let mut lines = about(model, run, width, theme);
    lines.push(Phrase::empty());
    lines.extend(sums(run));
    lines.extend(run.outcomes.iter().flat_map(|counts| outcomes(model, counts)));
    lines.push(Phrase::empty());
    for row in dialog::wrap(&next(&model.source, run, &here(model, run)), width, theme) {
        lines.push(Phrase::of(StyleRole::Text, row));
    }
    lines
}

fn about<'r>(model: &Model, run: &'r Run, width: usize, theme: &Theme) -> Vec<Phrase<'r>> {
    let intent = &run.intent;
    let mut text = vec![format!("{} on {}, {}", intent.action, intent.source, intent.store)];
    if !intent.filter.is_empty() {
        text.push(format!("filter: {}", model.shown(&intent.filter)));
    }
    if let Some(reason) = &intent.reason {
        text.push(format!("reason: {}", model.shown(reason)));
    }
    if let Some(rule) = intent.options.rollout {
        text.push(format!("rule: {rule}"));
    }
    if let Some(state) = run.rollout.as_ref().filter(|state| state.phase == RolloutPhase::Stopped) {
        text.push(format!("stopped by it: {}", model.shown(&state.failures())));
    }
    let who = format!("by {}@{}", intent.operator.user, intent.operator.host);
    text.push(match (run.started_at, run.ended_at) {
        (Some(start), Some(end)) => format!("{who}, {start}, took {}", format::span(start.age(end))),
        (Some(start), None) => format!("{who}, begun {start}"),
        _ => who,
    });
    text.iter()
        .flat_map(|line| dialog::wrap(line, width, theme))
        .enumerate()
        .map(|(n, row)| Phrase::of(if n == 0 { StyleRole::Strong } else { StyleRole::Dim }, row))
        .collect()
}

fn sums(run: &Run) -> Vec<Phrase<'_>> {
    let tally = &run.tally;
    let mut lines = vec![sum(StyleRole::Strong, "planned", tally.planned)];
    lines.push(sum(StyleRole::Good, run.intent.action.done_word(), tally.done));
    if tally.skipped_total() > 0 {
        lines.push(sum(StyleRole::Warning, "skipped", tally.skipped_total()));
        lines.extend(tally.skipped.iter().map(|(reason, n)| of_which(*n, reason.clone())));
    }
    if tally.failed_total() > 0 {
        lines.push(sum(StyleRole::Danger, "failed", tally.failed_total()));
        lines.extend(tally.failed.iter().map(|(reason, n)| of_which(*n, reason.line_head(200).to_string())));
    }
    if tally.in_doubt > 0 {
        lines.push(sum(StyleRole::Danger, "in doubt", tally.in_doubt));
    }
    if tally.not_started > 0 {
        lines.push(sum(StyleRole::Warning, "not reached", tally.not_started));
    }
    if !tally.adds_up() {
        lines.push(Phrase::of(StyleRole::Danger, "  These parts do not add up to what was planned: please report it."));
    }
    lines
}

/// What became of replayed jobs, when that was last asked for.
fn outcomes(model: &Model, counts: &OutcomeCounts) -> Vec<Phrase<'static>> {
    let mut lines = vec![Phrase::empty()];
    for (kind, n) in counts.by_kind().into_iter().filter(|(_, n)| *n > 0) {
        lines.push(sum(role_of(kind), kind.label(), n));
        if kind == OutcomeKind::Died {
            lines.extend(
                counts.died_by_class.iter().map(|(class, n)| of_which(*n, class_name(model, class.as_deref(), 200))),
            );
        }
    }
    lines
}

fn role_of(kind: OutcomeKind) -> StyleRole {
    match kind {
        OutcomeKind::Running => StyleRole::Text,
        OutcomeKind::Retrying => StyleRole::Warning,
        OutcomeKind::Succeeded => StyleRole::Good,
        OutcomeKind::Died => StyleRole::Danger,
        OutcomeKind::Waiting | OutcomeKind::Gone | OutcomeKind::TakenBack | OutcomeKind::Unknown => StyleRole::Dim,
    }
}

/// An error class as it may be drawn, at most so many characters of it.
pub(in crate::tui::view) fn class_name(model: &Model, class: Option<&str>, most: usize) -> String {
    class.map_or_else(
        || "(no error class)".to_owned(),
        |class| Untrusted::new(model.shown(class)).line_head(most).to_string(),
    )
}

fn sum(role: StyleRole, word: &'static str, n: u64) -> Phrase<'static> {
    Phrase::of(StyleRole::Text, format!("  {word:<12}")).and(role, format!("{:>12}", grouped(n)))
}

fn of_which<'r>(n: u64, reason: String) -> Phrase<'r> {
    Phrase::of(StyleRole::Dim, format!("{:>26}  {reason}", grouped(n)))
}

/// How a run is gone on with in this console, where it can be.
fn here(model: &Model, run: &Run) -> String {
    let opened = model.source.opened.as_ref().filter(|opened| run.is_of(&model.source.label, &opened.store()));
    opened.map_or_else(String::new, |_| {
        format!("{} on the page of runs ({}), or ", model.key(KeyCommand::Resume), model.key(KeyCommand::Runs))
    })
}

/// What can be done now.
fn next(source: &SourceState, run: &Run, here: &str) -> String {
    let tally = &run.tally;
    let left = tally.not_started > 0 || tally.in_doubt > 0;
    match run.state {
        RunState::Freezing => {
            "Its jobs are being frozen, or were when it was interrupted: nothing was touched.".to_owned()
        }
        RunState::Planned => format!("Not confirmed: nothing was touched. To confirm it: {}", source.resume(run)),
        RunState::Dismissed => "Dismissed before it was confirmed: nothing was touched.".to_owned(),
        RunState::Running if left => {
            format!("Running or interrupted; resume it if nobody runs it: {here}{}", source.resume(run))
        }
        _ if left => format!("Resume where it stopped: {here}{}", source.resume(run)),
        _ if tally.planned == 0 => format!("There was no job to do. The record of it: {}", source.record(run)),
        _ if tally.done < tally.planned => {
            format!("What was left alone is still there, with its reason for each job: {}", source.record(run))
        }
        _ => {
            let done = run.intent.action.done_word();
            format!("Every planned job was {done}. The record of it: {}", source.record(run))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{LedgerLocation, RunId, RunIntent, RunTally};
    use crate::tui::view::tests::fixture;

    fn next_of(state: RunState, tally: RunTally) -> String {
        let source = SourceState {
            label: "shop".into(),
            reach: vec!["--source".into(), "shop".into()],
            ..SourceState::default()
        };
        let run = Run { id: RunId("r-7".into()), state, tally, ..fixture::run() };
        next(&source, &Run { intent: RunIntent { source: "shop".into(), ..run.intent.clone() }, ..run }, "")
    }

    #[test]
    fn the_way_on_is_the_one_that_the_state_of_the_run_allows() {
        let untouched = RunTally { planned: 9, not_started: 9, ..RunTally::default() };
        let half = RunTally { planned: 9, done: 5, not_started: 4, ..RunTally::default() };
        let all = RunTally { planned: 9, done: 9, ..RunTally::default() };
        for (state, tally, said, resumes) in [
            (RunState::Dismissed, untouched.clone(), "nothing was touched", false),
            (RunState::Dismissed, RunTally::default(), "nothing was touched", false),
            (RunState::Freezing, RunTally::default(), "nothing was touched", false),
            (RunState::Planned, untouched, "nothing was touched", true),
            (RunState::Stopped, half.clone(), "Resume where it stopped", true),
            (RunState::Running, half.clone(), "interrupted", true),
            (RunState::Finished, all, "Every planned job was replayed", false),
            (RunState::Finished, RunTally::default(), "There was no job to do", false),
        ] {
            let sentence = next_of(state, tally);
            assert!(sentence.contains(said), "{state:?}: {sentence}");
            assert_eq!(sentence.contains("dlq-tui resume r-7"), resumes, "{state:?}: {sentence}");
        }
    }

    #[test]
    fn a_run_that_the_source_keeps_is_told_with_the_way_to_it() {
        let source = SourceState { reach: vec!["--source".into(), "shop".into()], ..SourceState::default() };
        let tally = RunTally { planned: 1, done: 1, ..RunTally::default() };
        let run = |place| Run { place, state: RunState::Finished, tally: tally.clone(), ..fixture::run() };
        assert!(next(&source, &run(LedgerLocation::Local), "").ends_with("dlq-tui runs r-7"));
        assert!(next(&source, &run(LedgerLocation::Source), "").ends_with("dlq-tui runs r-7 --source shop"));
    }
}
