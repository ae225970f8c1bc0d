//! The console as a program of the runtime: the model, and the view of it.

use ratatui::Frame;

use super::app::{self, Effect, Msg, Settings, Slot};
use super::look::Look;
use super::runtime::Program;
use super::view;
use crate::domain::time::Timestamp;

/// The model with the look that its settings ask for.
pub struct Console {
    model: app::model::Model,
    look: Look,
    drawn_with: Settings,
}

impl Console {
    /// A console that is about to connect.
    pub fn new(model: app::model::Model) -> Self {
        let settings = model.settings.clone();
        Self { model, look: look(&settings), drawn_with: settings }
    }
}

fn look(settings: &Settings) -> Look {
    Look { zone: settings.zone, ..Look::of(&settings.theme, settings.ascii, |name| std::env::var(name).ok()) }
}

impl Program for Console {
    fn start(&mut self, _now: Timestamp) -> Vec<Effect> {
        app::start(&mut self.model)
    }

    fn update(&mut self, msg: Msg, now: Timestamp) -> Vec<Effect> {
        app::update(&mut self.model, msg, now)
    }

    fn is_opening(&self) -> bool {
        [Slot::Open, Slot::Page, Slot::Detail].into_iter().any(|slot| self.model.asks.is_open(slot))
    }

    fn draw(&mut self, frame: &mut Frame<'_>, now: Timestamp) {
        if self.model.settings != self.drawn_with {
            self.drawn_with = self.model.settings.clone();
            self.look = look(&self.drawn_with);
        }
        if let Some(deepest) = view::draw(&self.model, &self.look, frame, now) {
            self.model.overlay.hold(deepest);
            self.model.overlay.drawn();
        }
        self.model.drawn();
    }

    fn shown(&mut self, now: Timestamp) {
        self.model.shown_at(now);
    }
}
