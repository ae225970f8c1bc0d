//! Recounts that the watch begins by itself: window by window, as they are paid for.

use super::*;
use crate::store::Token;

/// A step of a count that goes on.
fn window(cost: u64) -> HistogramStep {
    let resume = Some(Token::new(()));
    HistogramStep { resume, cost: Duration::from_millis(cost), ..counted(&[("A", 1)]) }
}

/// A count that is complete, and too dear to be made with every poll.
fn dear(jobs: u64) -> Reply {
    Reply::Histogram(Box::new(Ok(HistogramStep { cost: Duration::from_secs(3), ..counted(&[("A", jobs)]) })))
}

/// A console whose counts a poll has found to be old, and which counts again.
fn recounting() -> Console {
    let mut console = Console::with_jobs(5);
    console.counting();
    console.answer(Slot::Histogram, dear(5));
    console.wait(Duration::from_secs(60));
    let seen = Changes { server_time: Timestamp(60_000_000), ..changes(Vec::new()) };
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(seen))));
    assert!(console.request(Slot::Histogram).is_none(), "it would be overtaken");
    polled(console.wait(Duration::from_secs(2)), false);
    console
}

fn shown(console: &Console) -> u64 {
    console.model.histogram.shown.as_ref().map_or(0, |shown| shown.total.n)
}

#[test]
fn the_windows_of_a_recount_come_as_the_share_of_the_database_pays_for_them() {
    let mut console = recounting();
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Histogram(query)) if query.resume.is_none()));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(window(150)))));
    assert_eq!(shown(&console), 5, "half a count is not shown");
    console.wait(Duration::from_secs(7));
    assert!(console.request(Slot::Histogram).is_none(), "150 ms are paid for after 7.5 s");
    assert!(console.request(Slot::Poll).is_some(), "polls go on");
    console.wait(Duration::from_secs(1));
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Histogram(query)) if query.resume.is_some()));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 4)])))));
    assert_eq!(shown(&console), 4);
}

#[test]
fn how_far_a_recount_has_got_is_told_while_the_counts_are_old_or_when_it_was_asked_for() {
    let half = || {
        let mut step = window(150);
        step.histogram.progress = Some(0.5);
        Reply::Histogram(Box::new(Ok(step)))
    };
    let mut console = recounting();
    console.answer(Slot::Histogram, half());
    assert_eq!(console.model.histogram.count_progress(), Some(0.5), "the counts are a minute old");
    console.keys("r");
    assert_eq!(console.model.histogram.count_progress(), None);
    console.answer(Slot::Histogram, half());
    assert_eq!(console.model.histogram.count_progress(), Some(0.5));
    let mut whole = counted(&[("A", 4)]);
    whole.histogram.as_of = console.now;
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(whole))));
    assert_eq!(console.model.histogram.count_progress(), None);
}

#[test]
fn a_recount_rests_while_the_watch_is_paused_and_what_is_asked_for_does_not() {
    let mut console = recounting();
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(window(150)))));
    console.keys("p").wait(Duration::from_secs(60));
    assert!(console.request(Slot::Histogram).is_none());
    console.keys("r");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(window(150)))));
    assert!(console.request(Slot::Histogram).is_some(), "at once");
}

#[test]
fn polls_that_take_too_long_come_less_often_and_begin_again_behind_a_count() {
    let mut console = Console::with_jobs(5);
    console.counting();
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    let slow = || Reply::Poll(Box::new(Err(SourceError::Timeout(Duration::from_secs(2)))));
    let mut rests = Vec::new();
    console.wait(Duration::from_secs(1)).answer(Slot::Poll, slow());
    let count_at = console.model.live.next_count.expect("a count");
    assert_eq!(console.now.age(count_at).as_secs(), 100, "what the poll has cost is paid for first");
    while console.request(Slot::Histogram).is_none() {
        let next = console.model.live.next_poll.expect("a next poll");
        rests.push(console.now.age(next).as_secs());
        console.wait(console.now.age(next.min(count_at)));
        if console.request(Slot::Poll).is_some() {
            console.answer(Slot::Poll, slow());
        }
        assert_eq!((shown(&console), console.model.live.poll.given_up().is_some()), (5, true));
    }
    assert_eq!((rests, console.now), (vec![6, 24, 96], count_at));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 6)])))));
    assert_eq!(shown(&console), 6);
    polled(console.wait(Duration::from_secs(5)), false);
    assert_eq!(console.model.live.poll.given_up(), None);
    assert_eq!(console.model.live.poll.interval(), console.model.settings.refresh);
}

#[test]
fn a_poll_that_gets_through_again_needs_no_count_in_its_place() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    let slow = Reply::Poll(Box::new(Err(SourceError::Timeout(Duration::from_millis(50)))));
    console.wait(Duration::from_secs(60)).answer(Slot::Poll, slow);
    polled(console.wait(Duration::from_secs(6)), true);
    assert_eq!(console.model.live.next_count, None);
    assert!(console.request(Slot::Histogram).is_some(), "it is cheap, and counted with each poll");
}

/// A poll that finds something changed, or nothing.
fn polled(console: &mut Console, changed: bool) {
    let seen = Changes { changed, server_time: console.now, ..changes(Vec::new()) };
    console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(seen))));
}

#[test]
fn totals_are_read_again_when_something_has_changed_and_not_before() {
    let mut console = Console::with_jobs(5);
    console.counting();
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    console.answer(Slot::Totals, Reply::Totals(Ok(vec![(State::Dead, Count::exact(5))])));
    for _ in 0..5 {
        console.wait(Duration::from_secs(60));
        polled(&mut console, false);
        assert!(console.request(Slot::Totals).is_none());
    }
    polled(console.wait(Duration::from_secs(60)), true);
    assert!(console.request(Slot::Totals).is_none(), "behind the count");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    console.wait(Duration::ZERO);
    assert!(console.request(Slot::Totals).is_some());
    console.answer(Slot::Totals, Reply::Totals(Err(SourceError::Locked("a migration".into()))));
    let dead = |console: &Console| console.model.live.totals.read.as_ref().map(|(_, totals)| totals[0].1.exactness);
    assert_eq!(dead(&console), Some(Exactness::Estimate), "a change is known that they do not have");
    console.wait(Duration::from_secs(60));
    assert!(console.request(Slot::Totals).is_some(), "they are still old");
}

#[test]
fn counts_that_somebody_asked_for_are_not_paid_for_and_the_one_after_a_lost_connection_is() {
    let recounts_after = |mut console: Console| {
        let dear = HistogramStep { cost: Duration::from_secs(3), ..counted(&[("A", 5)]) };
        console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(dear))));
        let mut seconds = 0;
        while console.request(Slot::Histogram).is_none() && seconds < 600 {
            seconds += 10;
            polled(console.wait(Duration::from_secs(10)), seconds == 10);
        }
        seconds
    };
    let mut console = Console::with_jobs(5);
    console.counting();
    assert_eq!(recounts_after(console), 20, "to open a source is to ask");
    let mut console = Console::connecting();
    console.model.filter.written = Filter::parse("queue:mail").expect("a filter");
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("events")])));
    console.answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    assert_eq!(recounts_after(console), 20, "with a filter as without");
    let mut console = Console::with_jobs(5);
    let locked = Reply::Histogram(Box::new(Err(SourceError::Locked("a migration".into()))));
    console.counting().answer(Slot::Histogram, locked);
    console.wait(Duration::from_secs(3));
    assert_eq!(recounts_after(console), 20, "that it had to wait changes nothing");
    let whole = || Reply::Histogram(Box::new(Ok(counted(&[("A", 5)]))));
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, whole());
    console.keys("r");
    assert_eq!(recounts_after(console), 20);
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, whole());
    console.wait(Duration::from_secs(60));
    console.answer(Slot::Poll, Reply::Poll(Box::new(Err(SourceError::Unreachable("gone".into())))));
    console.wait(Duration::from_secs(60)).answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    assert!(console.request(Slot::Histogram).is_some(), "all is counted anew");
    assert_eq!(recounts_after(console), 150, "two in a hundred");
}

#[test]
fn the_first_totals_are_not_paid_for_and_those_after_them_are() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, dear(5));
    let totals = || Reply::Totals(Ok(vec![(State::Dead, Count::exact(5))]));
    let is_paid = |console: &Console| console.model.live.query_budget.is_paid(console.now);
    let is_asked = |console: &Console| match console.request(Slot::Totals) {
        Some(Request::Totals(asked)) => Some(*asked),
        _ => None,
    };
    assert_eq!(is_asked(&console), Some(true), "what took too long lately is tried for them");
    console.wait(Duration::from_secs(1)).answer(Slot::Totals, totals());
    assert!(is_paid(&console));
    polled(console.wait(Duration::from_secs(240)), true);
    console.wait(Duration::from_secs(2));
    assert_eq!(is_asked(&console), Some(false));
    console.wait(Duration::from_secs(1)).answer(Slot::Totals, totals());
    assert!(!is_paid(&console));
}

#[test]
fn a_count_that_fails_is_paid_for_as_the_one_that_is_tried_in_its_place() {
    let failed = |error| Reply::Histogram(Box::new(Err(error)));
    let paid_after =
        |console: &Console| console.now.age(console.model.live.query_budget.paid_at().max(console.now)).as_secs();
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, failed(SourceError::Timeout(Duration::from_secs(2))));
    assert_eq!(paid_after(&console), 100, "the server has worked for it");
    console.wait(Duration::from_secs(99));
    assert!(console.request(Slot::Histogram).is_none(), "an ill server is left alone until then");
    console.wait(Duration::from_secs(2));
    assert!(console.request(Slot::Histogram).is_some(), "it is tried again");
    let dear =
        || Reply::Histogram(Box::new(Ok(HistogramStep { cost: Duration::from_secs(1), ..counted(&[("A", 5)]) })));
    console.answer(Slot::Histogram, dear());
    assert_eq!(paid_after(&console), 50);

    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    console.keys("r");
    console.answer(Slot::Histogram, failed(SourceError::Locked("a migration".into())));
    console.wait(Duration::from_secs(60));
    assert!(console.request(Slot::Histogram).is_some(), "it is tried again");
    console.answer(Slot::Histogram, dear());
    assert_eq!(paid_after(&console), 0, "the operator asked for it");
}

#[test]
fn totals_that_are_dear_leave_recounts_their_part() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, dear(5));
    let totals = || Reply::Totals(Ok(vec![(State::Dead, Count::exact(5))]));
    console.wait(Duration::from_secs(1)).answer(Slot::Totals, totals());
    polled(console.wait(Duration::from_secs(29)), true);
    polled(console.wait(Duration::from_secs(2)), false);
    assert!(console.request(Slot::Histogram).is_some());
    console.answer(Slot::Histogram, dear(4));
    console.wait(Duration::from_secs(160));
    assert!(console.request(Slot::Totals).is_none(), "a second of totals is a quarter of the share for 200 s");
    console.wait(Duration::from_secs(10));
    assert!(console.request(Slot::Totals).is_some());
}

#[test]
fn a_count_that_a_change_overtook_is_in_doubt_until_the_next_one() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, dear(5));
    polled(console.wait(Duration::from_secs(8)), true);
    polled(console.wait(Duration::from_secs(2)), false);
    assert!(console.request(Slot::Histogram).is_some());
    let began = console.now;
    polled(console.wait(Duration::from_secs(5)), true);
    console.wait(Duration::from_secs(60));
    polled(&mut console, false);
    let step = HistogramStep { recent_from: Some(0), ..counted(&[("A", 4)]) };
    let step = HistogramStep { histogram: Histogram { as_of: began, ..step.histogram }, ..step };
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(step))));
    let shown = |console: &Console| console.model.histogram.shown.as_ref().map(|shown| shown.total);
    assert_eq!(shown(&console), Some(Count { n: 4, exactness: Exactness::Estimate }));
    polled(console.wait(Duration::from_secs(100)), false);
    assert!(console.request(Slot::Histogram).is_some(), "what has changed since it began is to be counted");
    let step = HistogramStep { recent_from: Some(0), ..counted(&[("A", 4)]) };
    let step = HistogramStep { histogram: Histogram { as_of: console.now, ..step.histogram }, ..step };
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(step))));
    assert_eq!(shown(&console), Some(Count::exact(4)));
}

#[test]
fn totals_that_are_dear_to_read_are_estimates_once_something_has_changed() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, dear(5));
    let totals = || Reply::Totals(Ok(vec![(State::Dead, Count::exact(5)), (State::Ignored, Count::exact(2))]));
    console.wait(Duration::from_secs(1)).answer(Slot::Totals, totals());
    let ignored = |console: &Console| console.model.total(State::Ignored).map(|total| total.exactness);
    polled(console.wait(Duration::from_secs(60)), false);
    assert_eq!(ignored(&console), Some(Exactness::Exact));
    polled(console.wait(Duration::from_secs(2)), true);
    assert_eq!(ignored(&console), Some(Exactness::Estimate));
    console.wait(Duration::from_secs(600)).answer(Slot::Totals, totals());
    assert_eq!(ignored(&console), Some(Exactness::Exact));
}

#[test]
fn everything_is_counted_again_with_each_poll_while_that_is_cheap() {
    let mut console = Console::with_jobs(5);
    console.counting();
    let counts = |jobs| Reply::Histogram(Box::new(Ok(counted(&[("A", jobs)]))));
    let totals = |jobs| Reply::Totals(Ok(vec![(State::Dead, Count::exact(jobs)), (State::Ignored, Count::exact(2))]));
    console.answer(Slot::Histogram, counts(5));
    console.answer(Slot::Totals, totals(5));
    for jobs in [4, 3, 2] {
        polled(console.wait(Duration::from_secs(2)), true);
        assert!(console.request(Slot::Totals).is_none(), "they follow the count, so that nothing lies between");
        console.answer(Slot::Histogram, counts(jobs));
        console.wait(Duration::ZERO).answer(Slot::Totals, totals(jobs));
        assert_eq!((shown(&console), console.model.total(State::Dead)), (jobs, Some(Count::exact(jobs))));
        assert_eq!(console.model.total(State::Ignored), Some(Count::exact(2)));
    }
    polled(console.wait(Duration::from_secs(2)), false);
    assert!(console.request(Slot::Histogram).is_none(), "nothing has changed");
    let seen = Changes { changed: false, unsettled: true, server_time: console.now, ..changes(Vec::new()) };
    console.wait(Duration::from_secs(2)).answer(Slot::Poll, Reply::Poll(Box::new(Ok(seen))));
    assert!(console.request(Slot::Histogram).is_some(), "the poll before may have been too early");
    // It costs more than it did before.
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(window(150)))));
    assert!(console.request(Slot::Histogram).is_none(), "the rest of it is paid for first");
    console.wait(Duration::from_secs(10));
    assert!(console.request(Slot::Histogram).is_some());
}

#[test]
fn a_poll_that_is_to_be_followed_by_a_count_waits_until_it_is_paid_for() {
    let mut console = Console::with_jobs(5);
    console.counting();
    let counts =
        || Reply::Histogram(Box::new(Ok(HistogramStep { cost: Duration::from_millis(60), ..counted(&[("A", 5)]) })));
    console.answer(Slot::Histogram, counts());
    polled(console.wait(Duration::from_secs(1)), true);
    console.answer(Slot::Histogram, counts());
    console.wait(Duration::from_millis(2_900));
    assert!(console.request(Slot::Poll).is_none(), "60 ms are paid for after 3 s");
    polled(console.wait(Duration::from_millis(100)), true);
    assert!(console.request(Slot::Histogram).is_some());
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Err(SourceError::Locked("a migration".into())))));
    let exactness = console.model.histogram.shown.as_ref().map(|shown| shown.total.exactness);
    assert_eq!(exactness, Some(Exactness::Estimate), "it could not be counted");
}

#[test]
fn numbers_that_only_a_count_can_tell_are_counted_with_each_look() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, dear(5));
    let uncounted = |console: &mut Console| {
        console.wait(Duration::from_secs(2));
        let seen = Changes { changed: false, uncounted: true, server_time: console.now, ..changes(Vec::new()) };
        console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(seen))));
        console.model.histogram.shown.as_ref().map(|shown| shown.total.exactness)
    };
    assert_eq!(uncounted(&mut console), Some(Exactness::Estimate), "no poll can tell");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 7)])))));
    assert_eq!((shown(&console), console.model.list.freshness.arrived), (7, 2), "what it finds is new in the list");
    assert_eq!(uncounted(&mut console), Some(Exactness::Exact), "it is cheap, and counted");
    assert!(console.request(Slot::Histogram).is_some());
}

#[test]
fn a_recount_that_fails_is_begun_again_when_it_is_paid_for_and_no_poll_takes_its_place() {
    let failed = |error| Reply::Histogram(Box::new(Err(error)));
    let slow = || SourceError::Timeout(Duration::from_secs(2));
    let mut console = recounting();
    console.answer(Slot::Histogram, failed(SourceError::Interrupted));
    for _ in 0..5 {
        polled(console.wait(Duration::from_secs(10)), true);
        assert!(console.request(Slot::Histogram).is_none(), "a minute's rest, whatever polls find");
    }
    console.wait(Duration::from_secs(11));
    assert!(console.request(Slot::Histogram).is_some());
    console.answer(Slot::Histogram, failed(slow()));
    let paid_at = console.model.live.query_budget.paid_at();
    assert!(console.now.age(paid_at) >= Duration::from_secs(100));
    while console.now.age(paid_at) > Duration::from_secs(10) {
        console.wait(Duration::from_secs(10));
        if console.request(Slot::Poll).is_some() {
            console.answer(Slot::Poll, Reply::Poll(Box::new(Err(slow()))));
        }
        assert!(console.request(Slot::Histogram).is_none(), "it is not paid for");
    }
}

#[test]
fn a_count_that_was_cancelled_keeps_no_recount_from_coming() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    console.keys("r").answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(window(150)))));
    console.keys("Ctrl-c");
    assert!(console.request(Slot::Histogram).is_none());
    polled(console.wait(Duration::from_secs(60)), true);
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Histogram(query)) if query.resume.is_none()));
}

#[test]
fn a_recount_at_leisure_is_nothing_that_is_waited_for_and_cancelled() {
    let mut console = recounting();
    assert!(console.request(Slot::Histogram).is_some());
    console.keys("Ctrl-c");
    assert!(console.request(Slot::Histogram).is_some());
    assert!(console.other.iter().any(|effect| matches!(effect, Effect::Quit)));
}

#[test]
fn what_the_operator_asked_for_and_failed_is_paid_for_when_it_is_tried_again() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    console.keys("r");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Err(SourceError::Timeout(Duration::from_secs(2))))));
    console.wait(Duration::from_secs(99));
    assert!(console.request(Slot::Histogram).is_none(), "nobody has asked for it again");
    console.wait(Duration::from_secs(2));
    assert!(console.request(Slot::Histogram).is_some());
}

#[test]
fn totals_that_a_refresh_reads_are_asked_for_and_not_paid_for() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    let totals = || Reply::Totals(Ok(vec![(State::Dead, Count::exact(5))]));
    console.answer(Slot::Totals, totals());
    console.keys("r");
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    assert!(console.request(Slot::Totals).is_some());
    console.wait(Duration::from_secs(3)).answer(Slot::Totals, totals());
    assert!(console.model.live.query_budget.is_paid(console.now));
}

#[test]
fn totals_are_in_doubt_where_a_count_has_seen_a_change_that_no_poll_tells_of() {
    let ignored_after = |moment: &str| {
        let token = |moment: &str| Token::at((), [moment.to_owned()]);
        let mut console = Console::with_jobs(5);
        console.counting().answer(Slot::Histogram, dear(5));
        let totals = vec![(State::Dead, Count::exact(5)), (State::Ignored, Count::exact(2))];
        console.wait(Duration::from_secs(1)).answer(Slot::Totals, Reply::Totals(Ok(totals)));
        let quiet = Changes { changed: false, token: token("7"), server_time: console.now, ..changes(Vec::new()) };
        console.answer(Slot::Poll, Reply::Poll(Box::new(Ok(quiet))));
        console.digit("2");
        let mut step = HistogramStep { token: Some(token(moment)), ..counted(&[("A", 5)]) };
        step.histogram.facet = Facet::Class;
        console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(step))));
        console.model.total(State::Ignored).map(|total| total.exactness)
    };
    assert_eq!(ignored_after("7"), Some(Exactness::Exact), "nothing was written between the two");
    assert_eq!(ignored_after("8"), Some(Exactness::Estimate));
}

#[test]
fn a_dear_count_after_a_lost_connection_goes_on_in_the_background() {
    let mut console = Console::with_jobs(5);
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[("A", 5)])))));
    console.wait(Duration::from_secs(60));
    console.answer(Slot::Poll, Reply::Poll(Box::new(Err(SourceError::Unreachable("gone".into())))));
    console.wait(Duration::from_secs(60)).answer(Slot::Open, Reply::Opened(Box::new(Ok(opened()))));
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(window(150)))));
    polled(console.wait(Duration::ZERO), true);
    assert!(console.request(Slot::Histogram).is_none(), "150 ms are paid for after 7.5 s");
    let shown = console.model.histogram.shown.as_ref().map(|shown| shown.total);
    assert_eq!(shown, Some(Count { n: 5, exactness: Exactness::Estimate }), "polls tell what has changed meanwhile");
    console.wait(Duration::from_secs(8));
    assert!(matches!(console.request(Slot::Histogram), Some(Request::Histogram(query)) if query.resume.is_some()));
}

#[test]
fn counts_in_the_background_rest_for_a_minute_however_cheap_they_are() {
    let mut console = Console::with_jobs(5);
    let mut step = HistogramStep { cost: Duration::from_millis(150), ..counted(&[("A", 5)]) };
    step.histogram.as_of = console.now;
    console.counting().answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(step))));
    for _ in 0..5 {
        polled(console.wait(Duration::from_secs(10)), true);
        assert!(console.request(Slot::Histogram).is_none(), "it would be paid for after 7.5 s");
    }
    polled(console.wait(Duration::from_secs(10)), true);
    assert!(console.request(Slot::Histogram).is_some());
}
