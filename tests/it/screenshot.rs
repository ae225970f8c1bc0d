//! The README's picture: the shipped console on its demo, as the terminal shows it, written as SVG.
//!
//! `cargo test --test it screenshot -- --ignored` writes `assets/screenshot.svg`.

mod svg;

use std::path::Path;

use crate::pty::Pty;

#[test]
#[ignore = "writes assets/screenshot.svg; run it when the screen has changed"]
fn screenshot_of_the_demo() {
    let mut console =
        Pty::console(&["demo", "--rows", "20000", "--seed", "7"]).size(140, 40).env("COLORTERM", "truecolor").start();
    // Watched for a while: growth, trend and what is new are there.
    console.wait("growth", |screen| screen.contains(" in 1") && screen.contains("trend") && screen.contains(" new: g"));
    // The second tab, with the keys back in the list: what an operator looks at first.
    console.send("<Enter>2");
    // The footer is the last to be drawn: with it, the frame is whole.
    console.wait("the backtrace", |screen| screen.contains("[2 Backtrace") && screen.contains("/ search"));
    let image = console.with_screen(svg::render);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/screenshot.svg");
    std::fs::write(path, image).expect("the picture can be written");
    console.send("q");
}
