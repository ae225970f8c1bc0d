//! The look for the settings as they stand: worked out anew only when they have changed.

use super::Look;
use crate::tui::app::Settings;

/// The variables of the environment that say what a terminal shows.
const VARIABLES: [&str; 7] = ["TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"];

/// What a terminal shows, and the look that was last worked out for it.
#[derive(Clone, Debug)]
pub struct Wardrobe {
    variables: [Option<String>; VARIABLES.len()],
    theme: String,
    ascii: bool,
    look: Look,
}

impl Wardrobe {
    /// For the terminal whose environment `var` reads; it is read once.
    pub fn new(settings: &Settings, var: impl Fn(&str) -> Option<String>) -> Self {
        let variables = VARIABLES.map(var);
        let look = worked_out(settings, &variables);
        Self { variables, theme: settings.theme.clone(), ascii: settings.ascii, look }
    }

    /// The look for these settings: call it for each frame.
    pub fn look(&mut self, settings: &Settings) -> Look {
        if self.theme != settings.theme || self.ascii != settings.ascii {
            self.look = worked_out(settings, &self.variables);
            self.theme.clone_from(&settings.theme);
            self.ascii = settings.ascii;
        }
        self.look
    }
}

fn worked_out(settings: &Settings, variables: &[Option<String>]) -> Look {
    Look::of(settings, |name| {
        let at = VARIABLES.iter().position(|known| *known == name)?;
        variables.get(at)?.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::look::Depth;

    #[test]
    fn a_changed_theme_changes_the_look_and_back() {
        let mut settings = Settings::default();
        let mut wardrobe = Wardrobe::new(&settings, |name| (name == "TERM").then(|| "xterm-256color".into()));
        let before = wardrobe.look(&settings);
        settings.theme = "none".into();
        assert_eq!(wardrobe.look(&settings).depth, Depth::None);
        settings.ascii = true;
        assert!(wardrobe.look(&settings).glyphs.is_plain());
        assert_eq!(wardrobe.look(&Settings::default()), before);
    }

    #[test]
    fn every_variable_that_a_look_asks_for_is_kept() {
        Look::of(&Settings::default(), |name| {
            assert!(VARIABLES.contains(&name), "{name}");
            None
        });
    }
}
