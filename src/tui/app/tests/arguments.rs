//! Paths and values of arguments, offered while a filter is typed.

use super::*;
use crate::domain::contrast::{ComparedJob, ValueCounts};
use crate::domain::json::{Document, JsonHighlights};

/// Three jobs.
fn values() -> Arc<ValueCounts> {
    let mut counts = ValueCounts::default();
    for json in [
        r#"{"currency":"JPY","customer":{"id":7}}"#,
        r#"{"currency":"JPY","customer":{"id":8}}"#,
        r#"{"currency":"EUR"}"#,
    ] {
        let document = Document::parse(json.to_owned()).expect("JSON");
        let marks = JsonHighlights::default();
        counts.add(&ComparedJob { fields: &[], arguments: Some(&document), marks: &marks });
    }
    Arc::new(counts)
}

/// What is offered, with its note.
fn offered(console: &Console) -> Vec<(String, String)> {
    let Overlay::Line(line) = &console.model.overlay else { panic!("no line") };
    line.candidates.iter().map(|c| (c.insert.clone(), c.note.clone())).collect()
}

fn pair(insert: &str, note: &str) -> (String, String) {
    (insert.to_owned(), note.to_owned())
}

#[test]
fn a_path_offers_the_real_ones_and_then_their_values_and_they_are_read_once() {
    let mut console = Console::with_jobs(3);
    console.keys("/").text("args.cu");
    let Some(Request::Arguments(filter)) = console.request(Slot::Values) else { panic!("not asked") };
    assert!(filter.is_all());
    assert_eq!(offered(&console), []);
    console.answer(Slot::Values, Reply::Arguments(Ok(values())));
    assert_eq!(offered(&console), [pair("args.currency:", "3 of 3 read"), pair("args.customer.id:", "2 of 3 read")]);
    console.keys("Tab").text("j");
    assert_eq!(offered(&console), [pair("JPY ", "2 of 3 read")]);
    assert!(console.request(Slot::Values).is_none(), "it is known already");
    console.keys("Tab Enter");
    assert_eq!(console.model.filter.written.to_string(), "args.currency:JPY");
}

#[test]
fn a_term_on_arguments_does_not_narrow_what_is_offered_in_its_place() {
    let mut console = Console::with_jobs(3);
    console.keys("/").text("queue:low args.currency:JPY").keys("Enter /").text("args.currency:");
    let Some(Request::Arguments(filter)) = console.request(Slot::Values) else { panic!("not asked") };
    assert_eq!(filter.to_string(), "queue:low");
}

/// The filter after a key on a line of the open job's arguments.
fn narrowed(written: &str, down: usize, key: &str) -> String {
    let mut console = Console::with_jobs(3);
    console.keys("/").text(written).keys("Enter");
    console.answer(Slot::Page, Reply::Page(Ok(page(0..3, None))));
    let id = console.current().expect("a job").to_owned();
    let job = with_arguments(&id, Some(r#"{"user":{"id":7},"note":null}"#));
    console.answer(Slot::Detail, Reply::Detail(Ok(Some(job))));
    console.keys("Enter");
    assert_eq!(console.model.screen.focus, Focus::Detail);
    console.keys(&"j ".repeat(down)).keys(key);
    console.model.filter.written.to_string()
}

#[test]
fn a_value_of_the_open_job_narrows_the_list_or_is_left_out_of_it() {
    assert_eq!(narrowed("queue:low", 2, "+"), "queue:low args.user.id:7");
    assert_eq!(narrowed("queue:low", 2, "-"), "queue:low -args.user.id:7");
    assert_eq!(narrowed("queue:low", 4, "+"), r#"queue:low args.note:"""#);
    assert_eq!(narrowed("queue:low", 1, "+"), "queue:low", "a container has no single value");
    assert_eq!(narrowed("args.user.id:8 queue:low", 2, "+"), "queue:low args.user.id:7", "not one or the other");
    assert_eq!(narrowed("-args.user.id:8", 2, "-"), "-args.user.id:8 -args.user.id:7");
}

#[test]
fn a_bar_is_left_out_of_the_filter() {
    let mut console = Console::with_jobs(3);
    console.counting();
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("Boom", 2), ("Crash", 1)])))));
    console.model.screen.focus = Focus::Histogram;
    console.keys("-");
    assert_eq!(console.model.filter.written.to_string(), "-error:Boom");
}

#[test]
fn what_bars_are_counted_by_is_completed_with_real_paths() {
    let mut console = Console::with_jobs(3);
    console.keys(":").text("by ar");
    assert_eq!(offered(&console), [pair("args.", "")]);
    console.text("gs.cu");
    let Some(Request::Arguments(filter)) = console.request(Slot::Values) else { panic!("not asked") };
    assert!(filter.is_all());
    console.answer(Slot::Values, Reply::Arguments(Ok(values())));
    assert_eq!(offered(&console), [pair("args.currency", "3 of 3 read"), pair("args.customer.id", "2 of 3 read")]);
    console.keys("Tab Enter");
    let keys = console.model.histogram.argument.as_ref().map(|bars| bars.keys.clone());
    assert_eq!(keys, Some(vec!["currency".to_owned()]));
}
