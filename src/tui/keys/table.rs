//! The bindings themselves.

use super::Place::{Anywhere, Detail, Histogram, Leave, List, Page, Picker, Plan, Run, Runs};
use super::{Binding, Command, Place};

const fn bind(
    keys: &'static [&'static str],
    places: &'static [Place],
    command: Command,
    hint: &'static str,
    rank: u8,
    help: &'static str,
) -> Binding {
    Binding { keys, places, command, hint, rank, help }
}

/// Every binding of the console. Within a place the first line that has the key wins.
pub static BINDINGS: &[Binding] = &[
    // Moving
    bind(&["j", "Down"], &[Anywhere, Picker, Page, Runs], Command::Down, "", 0, "Down."),
    bind(&["k", "Up"], &[Anywhere, Picker, Page, Runs], Command::Up, "", 0, "Up."),
    bind(&["Ctrl-d"], &[Anywhere, Page, Runs], Command::HalfDown, "", 0, "Half a page down."),
    bind(&["Ctrl-u"], &[Anywhere, Page, Runs], Command::HalfUp, "", 0, "Half a page up."),
    bind(&["PgDn", "Ctrl-f"], &[Anywhere, Page, Runs], Command::PageDown, "", 0, "A page down."),
    bind(&["PgUp", "Ctrl-b"], &[Anywhere, Page, Runs], Command::PageUp, "", 0, "A page up."),
    bind(
        &["g", "Home"],
        &[Anywhere, Page, Runs],
        Command::First,
        "",
        0,
        "To the first; in the list, with what is new.",
    ),
    bind(&["G", "End"], &[Anywhere, Page, Runs], Command::Last, "", 0, "To the last, however far away."),
    bind(&["h", "Left"], &[Anywhere], Command::Left, "", 0, "Fold, or scroll to the left."),
    bind(&["l", "Right"], &[Anywhere], Command::Right, "", 0, "Unfold, or scroll to the right."),
    bind(&["Tab"], &[Anywhere], Command::NextPane, "pane", 8, "To the next pane."),
    bind(&["Shift-Tab"], &[Anywhere], Command::PreviousPane, "", 0, "To the previous pane."),
    // What Enter does
    bind(&["Enter"], &[Histogram], Command::Open, "narrow", 1, "Narrow the filter to the bar, or to the marked bars."),
    bind(&["Enter"], &[List], Command::Open, "open", 1, "Open the job."),
    bind(&["Enter"], &[Detail], Command::Open, "fold", 6, "Fold or unfold what stands on the line."),
    bind(&["Enter"], &[Picker], Command::Open, "choose", 1, "Open the store."),
    bind(
        &["Esc"],
        &[Anywhere, Page, Runs, Picker],
        Command::Back,
        "",
        0,
        "Back: close, clear marks, widen the filter. Never quits.",
    ),
    bind(&["Enter"], &[Runs], Command::Open, "receipt", 1, "Show the receipt of the run."),
    bind(&["Esc"], &[Detail], Command::Back, "back", 1, "Back to where the job was opened; a search ends first."),
    bind(&["z"], &[Detail], Command::FoldAll, "", 0, "Fold or unfold everything."),
    bind(&["]"], &[Anywhere], Command::NextTab, "", 0, "The next facet or tab; `1` to `9` go to one directly."),
    // Writing: capitals only
    bind(
        &["R"],
        &[Histogram, List, Detail],
        Command::Replay,
        "replay",
        2,
        "Replay the marked jobs, or this one; in the histogram, the jobs of the bar.",
    ),
    bind(&["I"], &[Histogram, List, Detail], Command::Ignore, "ignore", 5, "Ignore them: out of sight, reversible."),
    bind(&["U"], &[Histogram, List, Detail], Command::Reopen, "", 0, "Undo an ignore: back among the dead."),
    bind(
        &["D"],
        &[Histogram, List, Detail],
        Command::Discard,
        "discard",
        7,
        "Discard them: kept whole in the ledger, then deleted.",
    ),
    // Marking
    bind(&["Space"], &[Histogram, List], Command::Mark, "mark", 4, "Mark or unmark, and down."),
    bind(&["v"], &[List], Command::Range, "", 0, "Begin a range of marks; again to end it."),
    bind(&["*"], &[List], Command::MarkShown, "", 0, "Mark all rows that are shown."),
    bind(&["A"], &[List], Command::MarkAll, "all", 9, "Mark all that the filter selects, shown or not."),
    // Looking
    bind(&["/"], &[Histogram, List], Command::Filter, "filter", 3, "Edit the filter."),
    bind(&["/"], &[Detail], Command::Search, "search", 3, "Search in the open job."),
    bind(&["f"], &[Anywhere], Command::Filter, "", 0, "Edit the filter, from any pane."),
    bind(&["n"], &[Detail], Command::NextMatch, "", 0, "The next match."),
    bind(&["N"], &[Detail], Command::PreviousMatch, "", 0, "The previous match."),
    bind(&["s"], &[Histogram, List], Command::Sort, "sort", 11, "The next order: time or attempts, down or up."),
    bind(&["w"], &[Detail], Command::Wrap, "wrap", 10, "Wrap long lines, or cut them."),
    bind(
        &["y"],
        &[Anywhere],
        Command::Copy,
        "copy",
        13,
        "Copy the open part, or the job's id, to the terminal's clipboard.",
    ),
    bind(&["e"], &[List, Detail], Command::Edit, "editor", 12, "Open the whole text in $VISUAL, $EDITOR or $PAGER."),
    bind(&["c"], &[Anywhere], Command::ShowCommand, "", 0, "Show the command line that gives the same."),
    bind(&["c"], &[Plan, Run, Page, Runs], Command::ShowCommand, "", 0, "Show the command line that does the same."),
    bind(&["p"], &[Anywhere], Command::Pause, "pause", 14, "Pause or continue the live watch."),
    bind(&["r"], &[Anywhere], Command::Refresh, "refresh", 15, "Read everything anew; the cursor stays on its job."),
    bind(&["L"], &[Anywhere], Command::Runs, "runs", 16, "The runs of the ledger, and the one that is going."),
    bind(&["M"], &[Anywhere], Command::Mouse, "", 0, "Take the mouse, or leave it to the terminal's own selection."),
    bind(&[":"], &[Anywhere], Command::CommandLine, "", 0, "Type a command; Tab completes."),
    bind(&["?"], &[Anywhere], Command::Help, "help", 0, "Show the keys."),
    bind(&["?"], &[Page, Runs], Command::Back, "", 0, "Close."),
    // Dialogs
    bind(&["y"], &[Plan], Command::Yes, "", 0, "Confirm. Large or production cohorts ask for the number instead."),
    bind(&["n", "Esc", "q", "Ctrl-c"], &[Plan], Command::No, "", 0, "Dismiss the plan: nothing is touched."),
    bind(&["Down", "j"], &[Plan], Command::Down, "", 0, "Scroll."),
    bind(&["Up", "k"], &[Plan], Command::Up, "", 0, "Scroll."),
    bind(&["s", "Ctrl-c"], &[Run], Command::StopRun, "stop", 1, "Stop after the current batch (cancels a freeze)."),
    bind(&["p"], &[Run], Command::PauseRun, "pause", 2, "Pause or continue between two batches."),
    bind(&["Esc", "q"], &[Run], Command::Back, "hide", 3, "Hide the gauge; the run goes on, `L` shows it again."),
    bind(&["q", "Enter"], &[Page], Command::Back, "close", 1, "Close."),
    bind(&["q"], &[Runs], Command::Back, "close", 2, "Close."),
    bind(&["y"], &[Page, Runs], Command::Copy, "", 0, "Copy the command line, or the id of the run."),
    bind(&["Ctrl-c"], &[Page, Runs], Command::Back, "", 0, "Close."),
    bind(&["y"], &[Leave], Command::Yes, "", 0, "Stop the run after its current batch, and leave."),
    bind(&["n", "Esc", "Ctrl-c"], &[Leave], Command::No, "", 0, "Stay."),
    // Leaving
    bind(&["q"], &[Anywhere, Picker], Command::Quit, "quit", 17, "Quit; asks while a run is going."),
    bind(
        &["Ctrl-c"],
        &[Anywhere, Picker],
        Command::Interrupt,
        "",
        0,
        "Cancel what is being read; when nothing is, quit.",
    ),
    bind(
        &["Ctrl-z"],
        &[Anywhere, Picker, Page, Runs, Run],
        Command::Suspend,
        "",
        0,
        "Suspend; the shell's `fg` continues.",
    ),
    bind(&["Ctrl-l"], &[Anywhere, Picker, Page, Runs, Run, Plan], Command::Repaint, "", 0, "Draw everything anew."),
];
