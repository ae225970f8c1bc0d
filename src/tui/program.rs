//! The console as a program of the runtime: the model, and the view of it.

use ratatui::Frame;

use super::app::{self, Effect, Msg, Settings, Slot};
use super::runtime::Program;
use super::theme::Theme;
use super::view;
use crate::domain::time::Timestamp;

/// The model with the theme that its settings ask for.
pub struct ConsoleProgram {
    model: app::model::Model,
    theme: Theme,
    drawn_with: Settings,
}

impl ConsoleProgram {
    /// A console that is about to connect.
    pub fn new(model: app::model::Model) -> Self {
        let settings = model.settings.clone();
        Self { model, theme: theme_of(&settings), drawn_with: settings }
    }
}

fn theme_of(settings: &Settings) -> Theme {
    Theme { zone: settings.zone, ..Theme::of(&settings.theme, settings.ascii, |name| std::env::var(name).ok()) }
}

impl Program for ConsoleProgram {
    fn start(&mut self, _now: Timestamp) -> Vec<Effect> {
        app::start(&mut self.model)
    }

    fn update(&mut self, msg: Msg, now: Timestamp) -> Vec<Effect> {
        app::update(&mut self.model, msg, now)
    }

    fn is_opening(&self) -> bool {
        [Slot::Open, Slot::Page, Slot::Detail].into_iter().any(|slot| self.model.requests.is_open(slot))
    }

    fn draw(&mut self, frame: &mut Frame<'_>, now: Timestamp) {
        if self.model.settings != self.drawn_with {
            self.drawn_with = self.model.settings.clone();
            self.theme = theme_of(&self.drawn_with);
        }
        if let Some(deepest) = view::draw(&self.model, &self.theme, frame, now) {
            self.model.overlay.clamp_scroll(deepest);
            self.model.overlay.drawn();
        }
        self.model.drawn();
    }

    fn shown(&mut self, now: Timestamp) {
        self.model.shown_at(now);
    }
}
