//! What the console shows, copies and offers of values that hold secrets.

use super::*;

#[test]
fn what_is_copied_of_a_bar_is_masked_and_what_it_selects_is_not() {
    let secret = "login: password=hunter2 refused";
    let mut console = Console::with_jobs(5);
    console.counting();
    console.model.screen.focus = Focus::Histogram;
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[(secret, 3)])))));
    console.keys("y");
    assert!(
        matches!(console.other.as_slice(), [Effect::Copy(copied)] if copied == "login: password=[redacted] refused")
    );
    console.keys("Enter");
    assert_eq!(console.model.filter.written.to_string(), format!("error:\"{secret}\""));
}

#[test]
fn a_value_that_holds_a_secret_is_offered_without_it_and_finds_its_jobs() {
    let secret = "login: password=hunter2 refused";
    let mut console = Console::with_jobs(5);
    console.counting();
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[(secret, 3), ("a*b", 1)])))));
    console.keys("/").text("error:");
    let Overlay::Line(line) = &console.model.overlay else { panic!("no line") };
    let offered: Vec<(&str, &str)> = line.candidates.iter().map(|c| (c.insert.as_str(), c.label.as_str())).collect();
    assert_eq!(offered[0], ("\"login: password=* refused\" ", "login: password=[redacted] refused"));
    assert_eq!(offered[1], ("\"a\\*b\" ", "a*b"));
    // What is typed is not looked for in what is hidden.
    console.text("hunter");
    let Overlay::Line(line) = &console.model.overlay else { panic!("no line") };
    assert!(line.candidates.is_empty(), "{:?}", line.candidates);
}
