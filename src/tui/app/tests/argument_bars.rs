//! The bars by a path of the arguments: counted, followed, narrowed to.

use super::*;
use crate::domain::filter::Key;
use crate::domain::json::REDACTED;
use crate::tui::app::model::ArgumentCount;

fn count(filter: &str, bars: &[(Option<&str>, u64)], exactness: Exactness) -> ArgumentCount {
    let of = |n| Count { n, exactness };
    let total = bars.iter().map(|(_, n)| n).sum();
    let bars = bars.iter().map(|(value, n)| Bar::new(value.map(Untrusted::from), of(*n))).collect();
    let counts = Histogram { facet: Facet::Error, bars, total: of(total), as_of: Timestamp(0), progress: None };
    let filter = Filter::parse(filter).expect("a filter");
    ArgumentCount { keys: vec!["currency".into()], filter, counts, near: None }
}

/// A console whose bars are counted, asked for those by `args.currency`.
fn by_currency() -> Console {
    let mut console = Console::with_jobs(5);
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(super::counted(&[("Boom", 5)])))));
    console.keys(":").text("by args.currency").keys("Enter");
    console
}

/// The bars by `args.currency`, counted.
fn counted_by_currency() -> Console {
    let mut console = by_currency();
    let counted = count("", &[(Some("JPY"), 4), (None, 1)], Exactness::Exact);
    console.answer(Slot::ArgumentCount, Reply::ArgumentCount(Box::new(Ok(counted))));
    console.model.screen.focus = Focus::Histogram;
    console
}

fn drawn(console: &Console) -> Vec<String> {
    console.model.histogram.bars().iter().map(|bar| bar.count.to_string()).collect()
}

fn asked(console: &Console) -> Option<(String, Vec<String>)> {
    match console.request(Slot::ArgumentCount) {
        Some(Request::ArgumentCount { keys, filter }) => Some((filter.to_string(), keys.clone())),
        _ => None,
    }
}

#[test]
fn a_bar_of_a_value_narrows_to_its_jobs_and_is_left_out() {
    let mut console = counted_by_currency();
    console.keys("Enter");
    assert_eq!(console.model.filter.written.to_string(), "args.currency:JPY");
    assert_eq!(asked(&console), None, "polls see nothing of what changes before the facet is counted");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(super::counted(&[("Boom", 4)])))));
    assert_eq!(asked(&console), Some(("args.currency:JPY".into(), vec!["currency".into()])), "the path stays");
    let mut console = counted_by_currency();
    console.keys("j -");
    assert_eq!(console.model.filter.written.to_string(), "-args.currency:\"\"");
    let mut console = counted_by_currency();
    console.keys("c");
    let Overlay::Text { lines, .. } = &console.model.overlay else { panic!("no command line") };
    assert!(lines[0].contains("stats --by args.currency"), "{lines:?}");
}

#[test]
fn a_facet_takes_the_place_of_the_path_without_a_new_count() {
    let mut console = counted_by_currency();
    let by_facet = console.model.histogram.shown.clone().expect("bars");
    console.digit("1");
    assert_eq!(console.model.histogram.drawn(), Some(&by_facet));
    assert!(console.request(Slot::Histogram).is_none());
}

#[test]
fn a_count_under_way_is_a_lower_bound_and_one_of_another_filter_is_dropped() {
    let mut console = by_currency();
    console.tell(Msg::CountingArgument(Box::new(count("", &[(Some("JPY"), 2)], Exactness::AtLeast))));
    assert_eq!(drawn(&console), ["≥2"]);
    console.tell(Msg::CountingArgument(Box::new(count("queue:low", &[(Some("JPY"), 9)], Exactness::AtLeast))));
    assert_eq!(drawn(&console), ["≥2"]);
}

#[test]
fn jobs_that_came_since_the_count_began_make_an_estimate_of_it() {
    let mut console = counted_by_currency();
    console.wait(Duration::from_secs(60));
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(Changes { changed: true, ..changes(Vec::new()) }))));
    assert_eq!(drawn(&console), ["~4", "~1"]);
    assert!(asked(&console).is_some(), "the count was cheap: it is taken again");
    console.model.histogram.argument.as_mut().expect("a path").outdate();
    let counted = count("", &[(Some("JPY"), 5), (None, 1)], Exactness::Exact);
    console.answer(Slot::ArgumentCount, Reply::ArgumentCount(Box::new(Ok(counted))));
    assert_eq!(drawn(&console), ["~5", "~1"], "more came while it was taken");
}

#[test]
fn a_count_whose_times_were_resolved_anew_meanwhile_is_taken_again() {
    let mut console = by_currency();
    let earlier = count("since:2026-11-20T03:00:00Z", &[(Some("JPY"), 4)], Exactness::Exact);
    console.answer(Slot::ArgumentCount, Reply::ArgumentCount(Box::new(Ok(earlier.clone()))));
    assert!(asked(&console).is_some(), "the first");
    let mut console = counted_by_currency();
    console.wait(Duration::from_secs(60));
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(Changes { changed: true, ..changes(Vec::new()) }))));
    console.answer(Slot::ArgumentCount, Reply::ArgumentCount(Box::new(Ok(earlier))));
    assert_eq!(drawn(&console), ["~4", "~1"]);
    assert!(asked(&console).is_some(), "a later one");
}

#[test]
fn a_masked_value_is_no_filter() {
    let mut console = by_currency();
    let counted = count("", &[(Some(REDACTED), 5)], Exactness::Exact);
    console.answer(Slot::ArgumentCount, Reply::ArgumentCount(Box::new(Ok(counted))));
    console.model.screen.focus = Focus::Histogram;
    for keys in ["Enter", "-"] {
        console.keys(keys);
        assert!(console.model.filter.written.is_all());
        assert!(console.model.screen.notice.as_ref().is_some_and(|notice| notice.is_fault));
    }
}

#[test]
fn a_path_that_no_job_has_is_said_with_those_near_it() {
    let mut console = by_currency();
    let near = Some(vec![Key::Arg(vec!["order".into(), "currency".into()])]);
    let counted = ArgumentCount { near, ..count("", &[(None, 5)], Exactness::Exact) };
    console.answer(Slot::ArgumentCount, Reply::ArgumentCount(Box::new(Ok(counted))));
    let notice = console.model.screen.notice.as_ref().expect("a notice");
    assert_eq!(notice.sentence, "no job has a value at args.currency; paths seen: args.order.currency");
}
