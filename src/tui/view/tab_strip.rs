//! The strip of tabs over a pane: the open one in brackets, with digits while digits go to it.
//!
//! ```text
//! [1 Arguments 1.2 kB] 2 Backtrace 3.4 kB 3 Error 80 B
//! Arguments [Backtrace] Error
//! [2 Backtrace] 1 3
//! ```

use super::styled_text::Phrase;
use crate::tui::theme::{StyleRole, Theme};

/// How much of each tab is said, the longest form first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TabForm {
    /// All that there is to say.
    Whole,
    /// Its word, and more only of the open one.
    Short,
    /// The open one alone, with the digits of the others.
    Alone,
}

/// A strip.
pub struct TabStrip {
    /// Tabs.
    pub count: usize,
    /// The open one.
    pub open: Option<usize>,
    /// Whether digits go to it. They go to one strip at a time, and stand where they are heard.
    pub hears: bool,
    /// Whether its pane has the keys.
    pub focused: bool,
}

impl TabStrip {
    /// The longest form that fits, or the shortest. `label` tells what the `n`th tab is called in a form.
    pub fn fit(&self, room: usize, theme: &Theme, label: impl Fn(usize, TabForm) -> String) -> Phrase<'static> {
        let forms = [TabForm::Whole, TabForm::Short].map(|form| self.phrase(form, &label));
        let fitting = forms.into_iter().find(|phrase| phrase.width(theme) <= room);
        fitting.unwrap_or_else(|| self.phrase(TabForm::Alone, &label))
    }

    fn phrase(&self, form: TabForm, label: &impl Fn(usize, TabForm) -> String) -> Phrase<'static> {
        let mut phrase = Phrase::empty();
        for n in 0..self.count {
            let gap = if n == 0 { "" } else { " " };
            let number = if self.hears { format!("{} ", n + 1) } else { String::new() };
            phrase = match form {
                _ if self.open == Some(n) => {
                    let role = if self.focused { StyleRole::TitleFocused } else { StyleRole::Strong };
                    phrase.and(StyleRole::Title, gap).and(role, format!("[{number}{}]", label(n, form)))
                }
                TabForm::Alone => phrase.and(StyleRole::Key, format!("{gap}{number}").trim_end().to_owned()),
                _ => phrase.and(StyleRole::Key, format!("{gap}{number}")).and(StyleRole::Title, label(n, form)),
            };
        }
        phrase
    }
}
