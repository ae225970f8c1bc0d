//! Marks: set, offered while one types, and compared with.

use super::*;
use crate::domain::mark::comparison::{Change, ComparedBar};
use crate::domain::mark::{MarkName, NamedMoment};
use crate::triage::mark_comparison::{ComparedBy, MarkComparison};
use crate::tui::app::MarkRequest;

fn moment(name: &str) -> NamedMoment {
    NamedMoment { name: MarkName::parse(name).expect("a name"), at: Timestamp(1_795_144_329_000_000) }
}

fn comparison(by: ComparedBy, bars: &[(&str, u64, u64, Change)]) -> Reply {
    let bar = |(value, before, after, change): &(&str, u64, u64, Change)| {
        let value = Some(Untrusted::from(*value));
        ComparedBar { value, before: *before, after: *after, change: *change, example: None }
    };
    let (mark, bars) = (moment("v1"), bars.iter().map(bar).collect());
    let as_of = mark.at.after(Duration::from_secs(60));
    Reply::MarkComparison(Box::new(Ok(MarkComparison { mark, as_of, filter: Filter::all(), by, bars })))
}

/// A console whose bars are counted.
fn counted_console() -> Console {
    let mut console = Console::with_jobs(5);
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("Boom", 5), ("Flat", 3)])))));
    console
}

/// The same, compared with a mark.
fn compared() -> Console {
    let mut console = counted_console();
    console.keys(":").text("compare @v1").keys("Enter");
    let bars = [("Boom", 0, 5, Change::New), ("Flat", 3, 3, Change::Steady), ("Away", 4, 0, Change::Gone)];
    console.answer(Slot::MarkComparison, comparison(ComparedBy::Facet(Facet::Error), &bars));
    console
}

fn asked(console: &Console) -> Option<(String, ComparedBy, String)> {
    match console.request(Slot::MarkComparison) {
        Some(Request::Marks(MarkRequest::Compare { name, by, filter })) => {
            Some((name.to_string(), by.clone(), filter.to_string()))
        }
        _ => None,
    }
}

fn words(console: &Console) -> Vec<String> {
    let pane = &console.model.histogram;
    let word = |bar: &Bar| pane.change(bar).map_or("-", Change::word).to_owned();
    pane.bars()
        .iter()
        .map(|bar| format!("{} {} {}", bar.value.as_ref().map_or("", |v| v.exact()), bar.count, word(bar)))
        .collect()
}

fn fault(console: &Console) -> Option<&str> {
    console.model.screen.notice.as_ref().filter(|notice| notice.is_fault).map(|notice| notice.sentence.as_str())
}

#[test]
fn each_bar_gets_a_word_and_what_is_gone_is_listed_behind_them() {
    let mut console = compared();
    assert_eq!(words(&console), ["Boom 5 new", "Flat 3 -", "Away 0 gone"]);
    // Live counts do not know what is gone.
    let height = console.model.histogram_rows();
    console.model.histogram.show_counts(height);
    assert_eq!(words(&console), ["Boom 5 new", "Flat 3 -", "Away 0 gone"]);
    console.keys(":").text("compare off").keys("Enter");
    assert_eq!(words(&console), ["Boom 5 -", "Flat 3 -"]);
}

#[test]
fn another_filter_and_other_bars_are_compared_with_the_same_mark() {
    let mut console = compared();
    assert_eq!(asked(&console), None);
    console.keys("/").text("queue:low").keys("Enter");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("Flat", 2)])))));
    assert_eq!(words(&console), ["Flat 2 -"], "no word is left of other jobs");
    let facet = ComparedBy::Facet(Facet::Error);
    assert_eq!(asked(&console), Some(("v1".into(), facet, "queue:low".into())));
    let mut console = compared();
    console.keys(":").text("by args.currency").keys("Enter");
    assert_eq!(words(&console), [] as [&str; 0]);
}

#[test]
fn a_mark_that_is_unknown_ends_the_comparison_with_a_sentence() {
    let mut console = counted_console();
    console.keys(":").text("compare @v9").keys("Enter");
    let unknown = SourceError::Input("there is no mark `v9`: did you mean `v1`?".into());
    console.answer(Slot::MarkComparison, Reply::MarkComparison(Box::new(Err(unknown))));
    assert!(fault(&console).is_some_and(|said| said.contains("did you mean `v1`?")), "{:?}", fault(&console));
    assert!(console.model.histogram.compared.is_none());
    console.keys(":").text("compare a b").keys("Enter");
    assert!(fault(&console).is_some_and(|said| said.contains("cannot be the name of a mark")));
}

#[test]
fn a_mark_is_set_now_or_at_a_time() {
    let mut console = Console::with_jobs(5);
    let mut set = |typed: &str| {
        console.keys(":").text(typed).keys("Enter");
        match console.request(Slot::Marks) {
            Some(Request::Marks(MarkRequest::Set { name, at })) => Some((name.to_string(), at.is_some())),
            _ => None,
        }
    };
    assert_eq!(set("mark v2.3.1"), Some(("v2.3.1".into(), false)));
    assert_eq!(set("mark v2.3.1 10m"), Some(("v2.3.1".into(), true)));
    let mut console = Console::with_jobs(5);
    for wrong in ["mark", "mark a:b", "mark v1 yesterday"] {
        console.keys(":").text(wrong).keys("Enter");
        assert!(console.request(Slot::Marks).is_none() && fault(&console).is_some(), "{wrong}");
    }
    console.keys(":").text("mark v1").keys("Enter");
    console.answer(Slot::Marks, Reply::MarkSet(Ok(moment("v1"))));
    let said = console.model.screen.notice.as_ref().map(|notice| notice.sentence.clone());
    assert_eq!(said.as_deref(), Some("mark v1 is set at 2026-11-20 03:12:09Z: `:compare @v1` compares with it"));
}

#[test]
fn marks_are_offered_with_their_times_where_one_fits() {
    let offered = |open: &str, typed: &str| {
        let mut console = Console::with_jobs(5);
        console.keys(open).text(typed);
        let Some(Request::Marks(MarkRequest::List)) = console.request(Slot::Marks) else { return Vec::new() };
        console.answer(Slot::Marks, Reply::Marks(Ok(vec![moment("v2"), moment("v1")])));
        let Overlay::Line(line) = &console.model.overlay else { panic!("no line") };
        line.candidates.iter().map(|candidate| format!("{} {}", candidate.label, candidate.note)).collect::<Vec<_>>()
    };
    assert_eq!(offered("/", "since:"), ["@v2 2026-11-20 03:12:09Z", "@v1 2026-11-20 03:12:09Z"]);
    assert_eq!(offered("/", "error:x until:@v1"), ["@v1 2026-11-20 03:12:09Z"]);
    assert_eq!(offered(":", "compare @v2"), ["@v2 2026-11-20 03:12:09Z"]);
    assert_eq!(offered("/", "queue:"), [] as [&str; 0]);
    let mut console = Console::with_jobs(5);
    console.keys("/").text("since:@").answer(Slot::Marks, Reply::Marks(Ok(vec![moment("v1")])));
    console.keys("Tab Enter");
    assert_eq!(console.model.filter.written.to_string(), "since:@v1");
}
