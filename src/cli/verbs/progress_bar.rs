//! How far a run is, on one line of a terminal, or as a sentence elsewhere.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::cli::output::{self, CLEAR};
use crate::cli::table::terminal_columns;
use crate::domain::histogram::grouped;
use crate::domain::text::Clean;
use crate::domain::time::short_span;
use crate::triage::progress::RunProgress;
use crate::tui::theme::{Glyphs, Theme};

/// How often the line on a terminal is drawn again at the most.
const REDRAW: Duration = Duration::from_millis(100);
/// How often a run without a terminal says how far it is.
const INTERVAL: Duration = Duration::from_secs(10);
/// Columns of the bar, where there is room.
const BAR: std::ops::RangeInclusive<usize> = 10..=40;

/// Keeps one line on a terminal up to date; elsewhere says now and then how far the run is, and always why it waits.
/// Ends with the run, and leaves nothing on the line.
pub async fn report(mut told: watch::Receiver<RunProgress>) {
    let terminal = output::redraws();
    let glyphs = Theme::of("none", false, |name| std::env::var(name).ok()).glyphs;
    let mut said = None;
    let mut last = Instant::now();
    while told.changed().await.is_ok() {
        let progress = told.borrow_and_update().clone();
        if progress.waiting != said {
            said.clone_from(&progress.waiting);
            if let Some(why) = &said {
                output::say(&format!("{}waiting: {}", if terminal { CLEAR } else { "" }, Clean::line(why)));
            }
        }
        if terminal {
            output::hint(&format!("{CLEAR}{}", line(&progress, terminal_columns().unwrap_or(80), &glyphs)));
            // What comes meanwhile is drawn in one; the end of the run is not kept waiting.
            tokio::select! {
                () = tokio::time::sleep(REDRAW) => {}
                () = ended(told.clone()) => {}
            }
        } else if last.elapsed() >= INTERVAL {
            last = Instant::now();
            output::say(&format!("{}: {}", progress.run, sentence(&progress)));
        }
    }
    if terminal {
        output::hint(CLEAR);
    }
}

async fn ended(mut told: watch::Receiver<RunProgress>) {
    while told.changed().await.is_ok() {}
}

/// Takes the progress line away, so that something can be said in its place.
pub fn clear() {
    if output::redraws() {
        output::hint(CLEAR);
    }
}

/// How far a run is: `12,000 of 800,000, 3400/s, 3m left`.
fn sentence(progress: &RunProgress) -> String {
    parts(progress).join(", ")
}

fn parts(progress: &RunProgress) -> Vec<String> {
    let counts = format!("{} of {}", grouped(progress.tally.behind()), grouped(progress.tally.planned));
    let mut parts = vec![counts, format!("{:.0}/s", progress.rate)];
    parts.extend(progress.eta.map(|eta| format!("{} left", short_span(eta))));
    parts
}

/// The same with a bar and the share, in fewer columns than `width`: where there is no room, the last parts and then the
/// bar are left out.
fn line(progress: &RunProgress, width: usize, glyphs: &Glyphs) -> String {
    // A line that fills the last column makes some terminals begin the next one.
    let width = width.saturating_sub(1);
    let (reached, planned) = (progress.tally.behind(), progress.tally.planned.max(1));
    // Rounded down: it is not at 100 % before its end.
    let percent = format!("{:>3} %", reached.saturating_mul(100) / planned);
    let mut parts = parts(progress);
    if progress.waiting.is_some() {
        parts.truncate(1);
        parts.push("waiting".to_owned());
    }
    let mut rest = format!("{percent}  {}", parts.join("  "));
    while rest.len() > width && !parts.is_empty() {
        parts.pop();
        rest = format!("{percent}  {}", parts.join("  ")).trim_end().to_owned();
    }
    match width.saturating_sub(rest.len() + 3) {
        room if room >= *BAR.start() => format!("[{}] {rest}", gauge(reached, planned, room.min(*BAR.end()), glyphs)),
        _ if rest.len() <= width => rest,
        _ => String::new(),
    }
}

/// A bar of exactly `width` columns.
fn gauge(n: u64, most: u64, width: usize, glyphs: &Glyphs) -> String {
    let eighths = u128::from(n) * (width as u128) * 8 / u128::from(most);
    let eighths = usize::try_from(eighths).unwrap_or(usize::MAX).min(width * 8);
    let mut bar = glyphs.bar[7].repeat(eighths / 8);
    let mut drawn = eighths / 8;
    if eighths % 8 > 0 && !glyphs.is_plain() {
        bar.push_str(glyphs.bar[eighths % 8 - 1]);
        drawn += 1;
    }
    bar + &" ".repeat(width - drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{RunId, RunState, RunTally};

    fn glyphs(ascii: bool) -> Glyphs {
        Theme::of("none", ascii, |_| None).glyphs
    }

    fn progress(eta: Option<Duration>) -> RunProgress {
        let tally =
            RunTally { planned: 800_000, done: 399_990, skipped: vec![("gone".into(), 10)], ..RunTally::default() };
        let run = RunId("r-1".into());
        RunProgress { run, state: RunState::Running, tally, rate: 3_400.4, eta, waiting: None }
    }

    #[test]
    fn a_sentence_tells_how_far_a_run_is() {
        assert_eq!(sentence(&progress(None)), "400,000 of 800,000, 3400/s");
        assert_eq!(sentence(&progress(Some(Duration::from_secs(200)))), "400,000 of 800,000, 3400/s, 3m left");
    }

    #[test]
    fn a_line_fills_what_there_is_and_never_more() {
        let late = progress(Some(Duration::from_secs(200)));
        let wide = line(&late, 200, &glyphs(true));
        assert!(
            wide.starts_with("[####################                    ]  50 %  400,000 of 800,000  3400/s"),
            "{wide}"
        );
        assert_eq!(line(&late, 40, &glyphs(true)), " 50 %  400,000 of 800,000  3400/s");
        assert_eq!(line(&late, 9, &glyphs(true)), " 50 %");
        for width in 0..200 {
            for ascii in [true, false] {
                let line = line(&late, width, &glyphs(ascii));
                assert!(line.chars().count() < width.max(1), "{width}: {line}");
                assert_eq!(line.is_ascii(), ascii || !line.contains('['), "{line}");
            }
        }
    }

    #[test]
    fn a_bar_is_full_at_the_end_only() {
        assert_eq!(gauge(799_999, 800_000, 10, &glyphs(true)), "######### ");
        assert_eq!(gauge(799_999, 800_000, 10, &glyphs(false)), "█████████▉");
        assert_eq!(gauge(800_000, 800_000, 10, &glyphs(true)), "##########");
        assert_eq!(gauge(0, 1, 10, &glyphs(false)), "          ");
        let mut nearly = progress(None);
        nearly.tally.done = 799_989;
        assert!(line(&nearly, 80, &glyphs(true)).contains(" 99 %"));
    }
}
