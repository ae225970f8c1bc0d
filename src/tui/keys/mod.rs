//! The one table of bindings. Dispatch, footer, help and the key reference are projections of it.
//!
//! Moves are free, writes are deliberate: a write is never a bare lowercase letter.

mod chord;
mod map;
mod plan_option;
mod table;

use std::fmt::Write as _;

pub use chord::Chord;
pub use map::{BoundKeys, Keymap, Misbound};
pub use plan_option::PlanOption;
pub use table::BINDINGS;

use crate::domain::action::Action;

/// What a key asks for. What becomes of it is the model's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCommand {
    /// Up by one.
    Up,
    /// Down by one.
    Down,
    /// Up by half a page.
    HalfUp,
    /// Down by half a page.
    HalfDown,
    /// Up by a page.
    PageUp,
    /// Down by a page.
    PageDown,
    /// To the first.
    First,
    /// To the last.
    Last,
    /// To the left: fold, or scroll.
    Left,
    /// To the right: unfold, or scroll.
    Right,
    /// To the next pane.
    NextPane,
    /// To the previous pane.
    PreviousPane,
    /// The facet or tab of that number, from 1.
    Nth(u8),
    /// Change an option of the plan.
    Change(PlanOption),
    /// Let the jobs behind the canary follow, whatever became of these.
    SkipGate,
    /// The next facet or tab.
    NextTab,
    /// Open, narrow, choose, fold: what Enter does here.
    Open,
    /// Back, close; never quits.
    Back,
    /// Fold or unfold everything.
    FoldAll,
    /// Edit the filter.
    Filter,
    /// Search in the open job.
    Search,
    /// The next match.
    NextMatch,
    /// The previous match.
    PreviousMatch,
    /// Type a command.
    CommandLine,
    /// Show the keys.
    Help,
    /// Mark or unmark, then down.
    Mark,
    /// Begin or end a range of marks.
    Range,
    /// Mark all that are shown.
    MarkShown,
    /// Mark all that the filter selects, shown or not.
    MarkAll,
    /// Pause or continue the live watch.
    Pause,
    /// Read everything again.
    Refresh,
    /// The next order of the list.
    Sort,
    /// Wrap long lines or cut them.
    Wrap,
    /// Copy to the terminal's clipboard.
    Copy,
    /// Open in the editor.
    Edit,
    /// Change the arguments of the job in the editor.
    EditArguments,
    /// Edit the arguments again, from what was typed.
    EditAgain,
    /// Plan this verb for the job with the arguments that were edited.
    WriteEdited(Action),
    /// Show the command line that gives the same.
    ShowCommand,
    /// Show the runs of the ledger.
    Runs,
    /// List the jobs of a run.
    RunJobs,
    /// Show the receipt of a run.
    Receipt,
    /// Show or hide plans that were not confirmed.
    AllRuns,
    /// Compare the jobs with others.
    Contrast,
    /// Only the jobs that have what the line says.
    Include,
    /// Only the jobs that do not.
    Exclude,
    /// Count in all jobs what a sample has shown.
    CountAll,
    /// Take or release the mouse.
    Mouse,
    /// Hide the line with the next thing to try.
    HideTour,
    /// Plan this verb for the jobs that are marked, or at the cursor.
    Act(Action),
    /// Undo: the ignore of these jobs, the last run, or the run at the cursor.
    Undo,
    /// Go on with the run at the cursor.
    Resume,
    /// Yes to what is asked.
    Yes,
    /// No to what is asked.
    No,
    /// Stop the run after its current batch.
    StopRun,
    /// Pause or continue the run.
    PauseRun,
    /// Cancel what is running; when nothing is, leave.
    Interrupt,
    /// Stop the process until the shell continues it.
    Suspend,
    /// Draw everything again.
    Repaint,
    /// Leave.
    Quit,
}

impl KeyCommand {
    /// Commands that write jobs: no bare lowercase letter asks for one.
    pub fn writes(self) -> bool {
        matches!(self, KeyCommand::Act(_) | KeyCommand::Undo | KeyCommand::Resume)
    }

    /// Its name in the config: `half-down`. `None` where keys cannot be chosen: what Enter, Esc, `y`, `n` and Ctrl-C mean is
    /// the same everywhere, and nobody should confirm by a key that was a move elsewhere.
    pub fn name(self) -> Option<String> {
        if matches!(
            self,
            KeyCommand::Open
                | KeyCommand::Back
                | KeyCommand::Yes
                | KeyCommand::No
                | KeyCommand::Interrupt
                | KeyCommand::Nth(_)
                | KeyCommand::Change(_)
                | KeyCommand::SkipGate
                | KeyCommand::EditAgain
                | KeyCommand::WriteEdited(_)
        ) {
            return None;
        }
        if let KeyCommand::Act(action) = self {
            return Some(action.word().to_owned());
        }
        let mut name = String::new();
        for c in format!("{self:?}").chars() {
            if c.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(c.to_ascii_lowercase());
        }
        Some(name)
    }
}

/// Where a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyContext {
    /// Everywhere but where text is typed.
    Anywhere,
    /// The histogram.
    Histogram,
    /// The list of jobs.
    List,
    /// The open job.
    Detail,
    /// A list to choose a store from.
    Picker,
    /// The confirm dialog.
    Plan,
    /// The gauge of a freeze or a run.
    Run,
    /// Pages that are only read: help, receipts.
    Page,
    /// The runs of the ledger.
    Runs,
    /// What jobs have in common.
    Contrast,
    /// The arguments of a job after they were edited.
    Edit,
    /// The question before a run is gone on with.
    Resume,
    /// The question before leaving.
    Leave,
}

impl KeyContext {
    /// Every place, in the order of the reference.
    pub const ALL: [KeyContext; 13] = [
        KeyContext::Anywhere,
        KeyContext::List,
        KeyContext::Histogram,
        KeyContext::Detail,
        KeyContext::Plan,
        KeyContext::Run,
        KeyContext::Picker,
        KeyContext::Page,
        KeyContext::Runs,
        KeyContext::Contrast,
        KeyContext::Edit,
        KeyContext::Resume,
        KeyContext::Leave,
    ];

    /// The title over its keys.
    pub fn title(self) -> &'static str {
        match self {
            KeyContext::Anywhere => "Anywhere",
            KeyContext::Histogram => "Histogram",
            KeyContext::List => "Job list",
            KeyContext::Detail => "Open job",
            KeyContext::Picker => "Choosing a store",
            KeyContext::Plan => "Confirming a plan",
            KeyContext::Run => "While a run is going",
            KeyContext::Page => "Help, receipts",
            KeyContext::Runs => "Runs of the ledger",
            KeyContext::Contrast => "What jobs have in common",
            KeyContext::Edit => "Edited arguments",
            KeyContext::Resume => "Resuming a run",
            KeyContext::Leave => "Leaving",
        }
    }

    /// Whether the keys that hold anywhere hold here: dialogs answer to their own keys only.
    pub fn inherits(self) -> bool {
        matches!(self, KeyContext::Histogram | KeyContext::List | KeyContext::Detail)
    }
}

/// A line of the table: some keys, what they ask for, and what to say of it.
#[derive(Debug)]
pub struct Binding {
    /// Keys as text: `j`, `Down`, `Ctrl-d`; parsed by [`Chord`].
    pub keys: &'static [&'static str],
    /// Where it holds.
    pub places: &'static [KeyContext],
    /// What it asks for.
    pub command: KeyCommand,
    /// One word or two for the footer; empty where the footer never shows it.
    pub hint: &'static str,
    /// Place in the footer: the smallest are kept longest.
    pub rank: u8,
    /// A sentence for help and reference.
    pub help: &'static str,
}

/// The key reference, as Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Keys\n\nGenerated from the table of bindings. A write is never a bare lowercase letter.\n\nWhat has a name can be \
             bound to other keys, in the config: `[keys]` with `sort = \"o\"`, or `page-down = [\"PgDn\", \"Ctrl-n\"]`. Keys are \
             written as below; help and footer follow.\n",
    );
    for place in KeyContext::ALL {
        let _ = write!(out, "\n## {}\n\n| keys | | name |\n|---|---|---|\n", place.title());
        for binding in BINDINGS.iter().filter(|b| b.places.contains(&place)) {
            let keys: Vec<String> = binding.keys.iter().map(|k| format!("`{}`", k.replace('|', "\\|"))).collect();
            let name = binding.command.name().map(|name| format!("`{name}`")).unwrap_or_default();
            let _ = writeln!(out, "| {} | {} | {name} |", keys.join(" "), binding.help);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_key_of_the_table_can_be_typed_on_a_plain_terminal() {
        for binding in BINDINGS {
            for key in binding.keys {
                let chord = Chord::parse(key).unwrap_or_else(|| panic!("{key} is no key"));
                assert!(chord.is_legacy(), "{key} needs a keyboard protocol that ssh and tmux do not carry");
            }
        }
    }

    #[test]
    fn no_key_means_two_things_in_one_place() {
        for place in KeyContext::ALL {
            let mut seen = HashSet::new();
            for binding in BINDINGS.iter().filter(|b| b.places.contains(&place)) {
                for key in binding.keys {
                    assert!(seen.insert(*key), "{key} is bound twice at {place:?}");
                }
            }
        }
    }

    #[test]
    fn no_write_is_a_bare_lowercase_letter() {
        for binding in BINDINGS.iter().filter(|b| b.command.writes()) {
            for key in binding.keys {
                assert!(!(key.len() == 1 && key.chars().all(|c| c.is_ascii_lowercase())), "{key} writes");
            }
        }
    }

    #[test]
    fn enter_never_confirms_a_plan() {
        assert_ne!(Keymap::default().dispatch(KeyContext::Plan, Chord::parse("Enter").unwrap()), Some(KeyCommand::Yes));
    }

    #[test]
    fn a_dialog_does_not_answer_to_the_keys_below_it() {
        assert_eq!(Keymap::default().dispatch(KeyContext::Plan, Chord::parse("R").unwrap()), None);
        assert_eq!(
            Keymap::default().dispatch(KeyContext::List, Chord::parse("R").unwrap()),
            Some(KeyCommand::Act(Action::Replay))
        );
    }
}
