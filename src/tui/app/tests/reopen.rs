//! A store whose tables or server have become others under the open console.

use super::*;
use crate::store::Outdated;

fn columns_changed() -> Outdated {
    Outdated { table: "public.events".into(), columns: vec!["sla".into()] }
}

fn reopened(change: impl FnOnce(&mut StoreInfo)) -> Reply {
    let mut opened = opened();
    change(&mut opened.info);
    Reply::Reopened(Box::new(Ok(opened)))
}

fn disable(info: &mut StoreInfo, action: Action, why: &str) {
    for (_, availability) in info.capabilities.actions.iter_mut().filter(|(a, _)| *a == action) {
        *availability = Availability::Disabled(why.to_owned());
    }
}

fn notice(console: &Console) -> &str {
    console.model.screen.notice.as_ref().map_or("", |notice| notice.sentence.as_str())
}

fn reopens(console: &Console) -> bool {
    matches!(console.request(Slot::Open), Some(Request::Reopen(name)) if name == "events")
}

#[test]
fn a_run_that_changed_columns_stopped_has_the_store_opened_again_and_what_it_offers_now_holds() {
    let mut console = Console::with_jobs(9);
    console.keys("j Space j Space R").plan(2, Confirm::Yes);
    console.wait(Duration::from_secs(1)).keys("y");
    assert!(console.executes());
    console.tell(Msg::Outdated(columns_changed(), Some(RunId("r-1".into()))));
    assert!(reopens(&console));
    let tally = RunTally { planned: 2, not_started: 2, ..RunTally::default() };
    let stopped = Run { state: RunState::Stopped, tally, ..run("r-1") };
    console.answer(Slot::Act, Reply::Executed(Box::new(Ok(stopped))));
    console.keys("Esc j Space");
    let (cursor, marks) = (console.current().map(str::to_owned), console.model.list.marks.clone());
    console.answer(Slot::Open, reopened(|info| disable(info, Action::Discard, "a view")));
    assert_eq!(notice(&console), "public.events has other columns now (sla): reloaded; L R resumes the run");
    assert_eq!((console.current(), &console.model.list.marks), (cursor.as_deref(), &marks));
    assert!(console.request(Slot::Page).is_some() && console.request(Slot::Histogram).is_some());
    console.keys("D");
    assert_eq!(notice(&console), "a view");
    console.keys("R");
    assert!(matches!(console.request(Slot::Act), Some(Request::Plan { .. })));
}

#[test]
fn a_poll_that_finds_the_server_turned_has_the_store_opened_again_and_no_poll_soon_after_does() {
    let mut console = Console::with_jobs(9);
    console.model.source.opened.as_mut().expect("a store").info.read_only = Some("the server is a replica".into());
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 9)])))));
    console.keys("R");
    assert_eq!(notice(&console), "the server is a replica");
    let turned = || Reply::Poll(Box::new(Ok(Changes { needs_reopen: true, ..changes(Vec::new()) })));
    console.wait(Duration::from_secs(2)).answer(Slot::Poll, turned());
    assert!(reopens(&console));
    console.answer(Slot::Open, reopened(|_| {}));
    assert_eq!(notice(&console), "the server takes changes now");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 9)])))));
    console.wait(Duration::from_secs(2)).answer(Slot::Poll, turned());
    assert!(!reopens(&console), "at once again");
    console.keys("R");
    assert!(matches!(console.request(Slot::Act), Some(Request::Plan { .. })));
    console.keys("Esc").wait(Duration::from_secs(40)).answer(Slot::Poll, turned());
    assert!(reopens(&console));
    console.answer(Slot::Open, reopened(|info| info.read_only = Some("the server is a replica".into())));
    assert_eq!(notice(&console), "the server is a replica: nothing can be changed there any more");
    console.keys("R");
    assert_eq!(notice(&console), "the server is a replica");
}

#[test]
fn a_table_that_no_longer_fits_what_is_asked_of_it_is_read_again_once_and_stays_in_view_where_that_fails() {
    let mut console = Console::with_jobs(9);
    let unfit = || SourceError::Unfit { message: "column t.old does not exist".into(), code: "42703".into() };
    console.answer(Slot::Detail, Reply::Detail(Err(unfit())));
    assert!(reopens(&console) && notice(&console).contains("t.old"));
    console.answer(Slot::Open, reopened(|_| {}));
    assert_eq!(notice(&console), "events has changed: reloaded");
    assert!(matches!(console.request(Slot::Detail), Some(Request::Detail(_))));
    console.answer(Slot::Detail, Reply::Detail(Err(unfit())));
    assert!(!reopens(&console), "again and again");
    console.wait(Duration::from_secs(40)).keys("r").answer(Slot::Detail, Reply::Detail(Err(unfit())));
    let gone = SourceError::Input("there is no store `events` any more".into());
    console.answer(Slot::Open, Reply::Reopened(Box::new(Err(gone))));
    assert!(notice(&console).contains("cannot be reopened: there is no store"), "{}", notice(&console));
    assert_eq!((console.model.live.link == ConnectionState::Up, console.model.list.entries().len()), (true, 9));
}

#[test]
fn what_the_table_no_longer_offers_is_not_asked_for_again() {
    let mut console = Console::with_jobs(9);
    console.keys("]");
    assert_eq!(console.model.histogram.facet, Facet::Class);
    console.tell(Msg::Outdated(columns_changed(), None));
    console.answer(Slot::Open, reopened(|info| info.capabilities.facets = vec![Facet::Error]));
    assert_eq!(console.model.histogram.facet, Facet::Error);
    assert_eq!(notice(&console), "public.events has other columns now (sla): reloaded");
}
