//! A count in front of an action's key: `10R` plans a replay of ten jobs. A digit alone goes to a facet, so the first one waits a
//! moment for what follows it.

use std::time::Duration;

use crate::domain::action::Action;
use crate::domain::histogram::grouped;
use crate::domain::time::Timestamp;
use crate::tui::app::effect::Effect;
use crate::tui::app::model::{CountPrefix, Focus, Model, Overlay, PlanWords};
use crate::tui::app::update::command;
use crate::tui::keys::KeyCommand;

/// How long a digit waits before it goes to a facet: about as long as one takes from key to key.
const FOLLOWS_WITHIN: Duration = Duration::from_millis(300);

/// How long a number of more digits waits for its key.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// The greatest count that can be typed.
const MOST: u64 = 99_999_999;

/// Takes in a digit where there are bars or jobs to count.
pub fn on_digit(model: &mut Model, digit: u8, now: Timestamp) -> Vec<Effect> {
    if model.screen.focus == Focus::Detail || !matches!(model.overlay, Overlay::None) {
        return command::run(model, KeyCommand::Nth(digit), now);
    }
    let began = model.screen.count.take();
    let number = began.map_or(0, |count| count.number).saturating_mul(10).saturating_add(u64::from(digit)).min(MOST);
    let wait = if number > 9 { KEPT_FOR } else { FOLLOWS_WITHIN };
    if number > 9 {
        let key = model.key(KeyCommand::Act(Action::Replay));
        model.say(format!("{} jobs: {key} plans to replay as many, Esc drops the number", grouped(number)), now);
    }
    model.screen.count = (number > 0).then(|| CountPrefix { number, due: now.after(wait) });
    Vec::new()
}

/// Another key has come: `true` where it only drops the number. A digit alone goes to its facet; an action takes the count itself.
pub fn on_key(model: &mut Model, command: Option<KeyCommand>, now: Timestamp) -> (bool, Vec<Effect>) {
    if matches!(command, Some(KeyCommand::Act(_))) {
        return (false, Vec::new());
    }
    let Some(count) = model.screen.count.take() else { return (false, Vec::new()) };
    if count.number > 9 {
        model.screen.notice = None;
        return (command == Some(KeyCommand::Back), Vec::new());
    }
    (false, facet(model, &count, now))
}

/// Nothing has followed in time.
pub fn on_tick(model: &mut Model, now: Timestamp) -> Vec<Effect> {
    match model.screen.count.take_if(|count| count.due <= now) {
        Some(count) => facet(model, &count, now),
        None => Vec::new(),
    }
}

/// What an action is asked for with the count that was typed before its key.
///
/// # Errors
/// For one job: which one is not said by a number.
pub fn words(model: &mut Model) -> Result<PlanWords, String> {
    match model.screen.count.take().map(|count| count.number) {
        Some(1) => Err("a count begins at 2: without one, the key acts on the job under the cursor".into()),
        limit => Ok(PlanWords { limit, ..PlanWords::default() }),
    }
}

fn facet(model: &mut Model, count: &CountPrefix, now: Timestamp) -> Vec<Effect> {
    match u8::try_from(count.number) {
        Ok(n) if n <= 9 => command::run(model, KeyCommand::Nth(n), now),
        _ => Vec::new(),
    }
}
