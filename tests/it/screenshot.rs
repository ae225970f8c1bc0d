//! The README's pictures: the shipped console on its demo, as the terminal shows it, written as SVG.
//!
//! `cargo test --test it screenshot -- --ignored` writes them to `assets/`.

mod svg;

use std::path::Path;

use crate::pty::Pty;

/// The console on the demo, once it was watched for a while: growth, trend and what is new are there.
fn watched_demo() -> Pty {
    let demo = ["demo", "--rows", "20000", "--seed", "7"];
    let console = Pty::console(&demo).size(140, 40).env("COLORTERM", "truecolor").start();
    console.wait("growth", |screen| screen.contains("▲") && screen.contains("trend") && screen.contains(" new: g"));
    console
}

fn save(console: &Pty, name: &str) {
    let image = console.with_screen(svg::render);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(name);
    std::fs::write(path, image).expect("the picture can be written");
}

#[test]
#[ignore = "writes assets/screenshot.svg; run it when the screen has changed"]
fn screenshot_of_the_demo() {
    let mut console = watched_demo();
    // The second tab, and the keys back with the bars: the list and the open job follow the cursor on them.
    console.send("<Tab><Enter>2");
    console.wait("the backtrace", |screen| screen.contains("[2 Backtrace") && screen.contains("/ search"));
    console.press_until("<Esc>", "the list", |screen| screen.contains("[Jobs]"));
    console.send("<Tab><Tab>j");
    // The footer is the last to be drawn: with it, the frame is whole.
    console.wait("the jobs of a bar", |screen| {
        screen.contains("narrows to them")
            && screen.contains("time UTC    job class")
            && screen.contains("Net::ReadTimeout: ")
            && screen.contains("[Backtrace")
            && screen.contains("Enter narrow")
    });
    save(&console, "screenshot.svg");
    console.send("q");
}

#[test]
#[ignore = "writes assets/plan.svg; run it when the screen has changed"]
fn screenshot_of_a_plan() {
    let mut console = watched_demo();
    console.send("jR");
    console.wait("the plan", |screen| screen.contains("Replay") && screen.contains("Type"));
    save(&console, "plan.svg");
    console.send("<Esc>q");
}
