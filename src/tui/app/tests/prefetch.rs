//! Keys and answers that come when something else is in front than what they were meant for.

use super::*;

/// Time between two presses that a held key makes.
const BETWEEN: Duration = Duration::from_millis(33);

impl Console {
    fn plans(&self) -> bool {
        matches!(self.request(Slot::Act), Some(Request::Plan { .. }))
    }

    /// Lets what was begun by one key come to its end: the job is gone, and the next one is under the cursor.
    fn end_of_one(&mut self, jobs: std::ops::Range<usize>) -> &mut Self {
        self.plan(1, Confirm::Key);
        assert!(self.executes());
        self.answer(Slot::Act, Reply::Executed(Box::new(Ok(run("r-1")))));
        self.answer(Slot::Page, Reply::Page(Ok(page(jobs, None))))
    }
}

#[test]
fn a_key_that_is_held_acts_on_one_job_and_not_on_those_that_follow_it() {
    // The second press of a held key comes after a rest, the others come quickly.
    for rest in [BETWEEN, Duration::from_millis(250), Duration::from_millis(660)] {
        for key in ["R", "I", "D"] {
            let mut console = Console::with_jobs(9);
            console.keys(key).end_of_one(1..9).wait(rest);
            for _ in 0..60 {
                console.keys(key);
                assert!(!console.plans(), "{key} after {rest:?}: nobody chose {:?}", console.current());
                console.wait(BETWEEN);
            }
            let notice = console.model.screen.notice.as_ref().expect("a reason");
            assert!(notice.sentence.contains(key), "{}", notice.sentence);
            console.wait(LONG_ENOUGH).keys(key);
            assert!(console.plans(), "released and pressed again it is meant");
        }
    }
}

#[test]
fn a_key_that_acts_waits_for_the_frame_that_shows_the_next_job() {
    let mut console = Console::with_jobs(9);
    console.stalled = true;
    console.keys("I").end_of_one(1..9).wait(LONG_ENOUGH).keys("I");
    assert!(!console.plans(), "the terminal still shows the job that is gone");
    console.stalled = false;
    console.wait(BETWEEN).wait(LONG_ENOUGH).keys("I");
    assert!(console.plans());
}

#[test]
fn a_job_that_was_gone_to_is_acted_on_at_once() {
    let mut console = Console::with_jobs(9);
    console.keys("I").end_of_one(1..9).wait(BETWEEN).keys("j I");
    assert!(console.plans());
}

#[test]
fn a_terminal_that_tells_repeats_never_acts_by_one() {
    let mut console = Console::with_jobs(9);
    for key in ["I", "R", "D", "U"] {
        console.press(key, KeyEventKind::Repeat);
        assert!(console.request(Slot::Act).is_none(), "{key}");
    }
    console.press("j", KeyEventKind::Repeat);
    assert_eq!(console.current(), Some("job-1"));
}

#[test]
fn the_page_of_runs_opens_over_nothing_that_was_opened_meanwhile() {
    let late = |keys: &str| {
        let mut console = Console::with_jobs(5);
        console.keys("L").keys(keys);
        console
    };
    let runs = || Reply::Runs(Ok(vec![run("r-2"), run("r-1")]));
    let mut typing = late("/ c l a s s");
    typing.answer(Slot::Runs, runs()).keys(": U");
    let Overlay::Line(line) = &typing.model.overlay else { panic!("the line is lost") };
    assert_eq!(line.input.value(), "class:U");

    let mut freezing = late("R");
    freezing.answer(Slot::Runs, runs());
    assert!(matches!(freezing.model.overlay, Overlay::Freezing(_)));
    freezing.plan(2, Confirm::Yes);
    assert!(matches!(freezing.model.overlay, Overlay::Plan(_)), "the plan is asked about");

    let mut planned = late("R");
    planned.plan(2, Confirm::Yes).answer(Slot::Runs, runs());
    assert!(matches!(planned.model.overlay, Overlay::Plan(_)));

    let mut nothing = late("j");
    nothing.answer(Slot::Runs, runs());
    assert!(matches!(nothing.model.overlay, Overlay::Runs(_)));
}

#[test]
fn a_choice_of_stores_opens_over_nothing_that_was_opened_meanwhile() {
    let mut console = Console::with_jobs(5);
    console.keys(":").text("stores").keys("Enter R");
    console.answer(Slot::Open, Reply::Choices(Ok(vec![choice("archive"), choice("events")])));
    console.plan(2, Confirm::Yes);
    assert!(matches!(console.model.overlay, Overlay::Plan(_)), "the plan is asked about");
}
