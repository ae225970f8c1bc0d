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
    console.wait("growth", |screen| screen.contains(" in ") && screen.contains("trend") && screen.contains(" new: g"));
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
    // The second tab, with the keys back in the list: what an operator looks at first.
    console.send("<Enter>2");
    // The footer is the last to be drawn: with it, the frame is whole.
    console.wait("the backtrace", |screen| screen.contains("[2 Backtrace") && screen.contains("/ search"));
    save(&console, "screenshot.svg");
    console.send("q");
}

#[test]
#[ignore = "writes assets/plan.svg; run it when the screen has changed"]
fn screenshot_of_a_plan() {
    let mut console = watched_demo();
    console.send("<Tab><Tab>jR");
    console.wait("the plan", |screen| screen.contains("Replay") && screen.contains("Type"));
    save(&console, "plan.svg");
    console.send("<Esc>q");
}
