//! Digits before the key of an action, and digits alone.

use super::*;

fn planned(console: &Console) -> Option<(Action, u64, String)> {
    match console.request(Slot::Act) {
        Some(Request::Plan { action, scope: ActionScope::Filter(filter), limit: Some(limit), .. }) => {
            Some((*action, *limit, filter.to_string()))
        }
        _ => None,
    }
}

fn said(console: &Console) -> String {
    console.model.screen.notice.as_ref().map_or_else(String::new, |notice| notice.sentence.clone())
}

#[test]
fn a_count_before_the_key_of_an_action_is_its_limit() {
    let mut console = Console::with_jobs(5);
    console.keys("1 0 R");
    assert_eq!(planned(&console), Some((Action::Replay, 10, String::new())));
    let mut console = Console::with_jobs(5);
    console.keys("3 R");
    assert_eq!(planned(&console), Some((Action::Replay, 3, String::new())), "a digit that the key follows at once");
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("Boom", 40)])))));
    console.model.screen.focus = Focus::Histogram;
    console.keys("2 5 R");
    let (_, limit, filter) = planned(&console).expect("a plan");
    assert!(limit == 25 && filter.starts_with("error:"), "of the bar: {filter}");
    let mut console = Console::with_jobs(5);
    console.keys("1 R");
    assert!(planned(&console).is_none() && said(&console).contains("begins at 2"), "{}", said(&console));
}

#[test]
fn a_digit_alone_goes_to_its_facet_and_a_longer_number_to_none() {
    let mut console = Console::with_jobs(5);
    let second = opened().info.capabilities.facets[1];
    console.keys("2");
    assert_ne!(console.model.histogram.facet, second, "more digits may follow");
    console.wait(Duration::from_millis(300));
    assert_eq!(console.model.histogram.facet, second);
    let mut console = Console::with_jobs(5);
    console.keys("2 j");
    assert_eq!(console.model.histogram.facet, second, "another key does not wait");
    let mut console = Console::with_jobs(5);
    console.keys("2 0").wait(Duration::from_secs(1));
    assert!(said(&console).starts_with("20 jobs: R plans"), "{}", said(&console));
    console.keys("Esc");
    assert_eq!(said(&console), "");
    console.keys("R");
    assert!(planned(&console).is_none(), "the number was dropped");
    assert_ne!(console.model.histogram.facet, second);
    let mut console = Console::with_jobs(5);
    console.keys("2 0").wait(Duration::from_secs(6)).keys("R");
    assert!(planned(&console).is_none(), "it was typed too long ago");
}

#[test]
fn tabs_of_the_open_job_do_not_wait() {
    let mut console = Console::with_jobs(5);
    console.keys("Enter 2");
    assert!(console.model.screen.count.is_none());
}
