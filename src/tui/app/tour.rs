//! The next thing to try, in the demo: from the first bar over what its jobs have in common and a canary to their outcome.

use super::model::{Model, Overlay};
use crate::domain::rollout::RolloutPhase;
use crate::tui::keys::KeyCommand;

/// What to try next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TourStep {
    /// Narrow the filter to a bar.
    Narrow,
    /// Compare its jobs with others.
    Contrast,
    /// Replay a few of them first.
    Canary,
    /// The canary runs.
    Wait,
    /// The canary has stopped the run: resume it later.
    Resume,
    /// All were replayed: see what became of them.
    Outcome,
    /// That was all.
    End,
}

impl TourStep {
    /// One line for the screen.
    pub fn sentence(self, model: &Model) -> String {
        let key = |command| model.key(command);
        match self {
            Self::Narrow => {
                format!("{} moves over the bars, {} narrows to one", key(KeyCommand::Down), key(KeyCommand::Open))
            }
            Self::Contrast => format!("{} shows what these jobs have in common", key(KeyCommand::Contrast)),
            Self::Canary => {
                format!("{}replay all --canary 20 replays a few of them first", key(KeyCommand::CommandLine))
            }
            Self::Wait => "the others wait for the outcome of the first".to_owned(),
            Self::Resume => format!(
                "the provider is still down, for half a minute: then {} and {} resume",
                key(KeyCommand::Runs),
                key(KeyCommand::Resume)
            ),
            Self::Outcome => {
                format!("{} lists the runs and what became of their jobs", key(KeyCommand::Runs))
            }
            Self::End => format!("that was the tour; {} lists all keys", key(KeyCommand::Help)),
        }
    }

    /// The step that what is on the screen leads to.
    fn reached(model: &Model) -> Option<Self> {
        if model.runner.going.is_some() {
            return Some(Self::Wait);
        }
        match &model.overlay {
            Overlay::Contrast(_) => Some(Self::Canary),
            Overlay::Receipt(run, _) => {
                let phase = run.rollout.as_ref().map(|state| state.phase);
                let is_held_back = run.tally.not_started > 0 && phase.is_some_and(|phase| phase != RolloutPhase::Rest);
                Some(if is_held_back { Self::Resume } else { Self::Outcome })
            }
            Overlay::None if !model.filter.written.is_all() => Some(Self::Contrast),
            _ => None,
        }
    }
}

/// Goes on to the next step where the one before is done.
pub fn advance(model: &mut Model) {
    let Some(step) = model.screen.tour else { return };
    let next = match (step, TourStep::reached(model)) {
        (TourStep::Outcome, _) if matches!(model.overlay, Overlay::Runs(_)) => TourStep::End,
        // Another try waits, and may stop again.
        (TourStep::Wait | TourStep::Resume, Some(reached)) if reached >= TourStep::Wait => reached,
        (step, Some(reached)) => step.max(reached),
        (step, None) => step,
    };
    model.screen.tour = Some(next);
}
