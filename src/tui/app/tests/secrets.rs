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

#[test]
fn a_bar_of_megabytes_is_drawn_from_its_beginning_masked_and_copied_whole() {
    let long = format!("password=hunter2 {}", "é".repeat(5_000_000));
    let mut console = Console::with_jobs(5);
    console.counting();
    console.model.screen.focus = Focus::Histogram;
    console.answer(Slot::Histogram, Reply::Histogram(Box::new(Ok(counted(&[(&long, 3)])))));
    let shown = console.model.shown(&long).into_owned();
    assert!(shown.starts_with("password=[redacted] éé") && shown.ends_with("é…"), "{}", shown.len());
    assert!(shown.chars().count() < 5_000, "each frame looks through {} characters", shown.chars().count());
    assert_eq!(console.model.shown("short"), "short");
    console.keys("/").text("error:");
    assert!(
        matches!(&console.model.overlay, Overlay::Line(line) if line.candidates.is_empty()),
        "no line has room for it"
    );
    console.keys("Esc y");
    let copied = long.replace("hunter2", "[redacted]");
    assert!(matches!(console.other.as_slice(), [Effect::Copy(text)] if *text == copied));
    console.keys("Enter");
    assert!(console.model.filter.written.to_string().contains(&long), "what the bar selects is the whole of it");
}
