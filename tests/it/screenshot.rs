//! The pictures of README.md and docs/: the shipped console on its demo, as the terminal shows it, written as SVG.
//!
//! `cargo test --test it screenshot -- --ignored` writes them to `assets/`.

mod svg;

use std::path::Path;

use crate::pty::Pty;

/// The console on the demo, once it was watched for a while: growth, trend and what is new are there.
fn watched_demo() -> Pty {
    let demo = ["demo", "--rows", "20000", "--seed", "7"];
    let mut console = Pty::console(&demo).size(140, 40).env("COLORTERM", "truecolor").start();
    console.wait("growth", |screen| screen.contains("▲") && screen.contains("trend") && screen.contains(" new: g"));
    // Without what the demo proposes to try.
    console.send("T");
    console.wait("no proposal", |screen| !screen.contains("Try: "));
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

#[test]
#[ignore = "writes assets/incident.svg; run it when the screen has changed"]
fn screenshots_of_an_incident() {
    let mut console = watched_demo();
    let mut frames = Vec::new();
    let mut frame = |console: &Pty, caption| frames.push((caption, console.with_screen(vt100::Screen::clone)));
    console.send("j");
    console.wait("the jobs of a bar", |screen| screen.contains("narrows to them") && screen.contains("Enter narrow"));
    frame(&console, "1. See what is dying, and how fast.");
    console.send("<Enter>");
    console.wait("the filter", |screen| screen.contains(" match ") && screen.contains("Enter open"));
    console.send("vjjjjjjjjjv");
    console.wait("the marks", |screen| screen.contains("10 marked"));
    frame(&console, "2. Enter narrows the filter to it. v marks ten jobs.");
    console.send("R");
    console.wait("the plan", |screen| screen.contains("jobs to replay") && screen.contains("y replay 10 jobs"));
    frame(&console, "3. R shows the plan. Nothing happens before you press y.");
    console.press_until("y", "the receipt", |screen| {
        screen.contains("Receipt of") && screen.contains("Every planned job")
    });
    frame(&console, "4. The receipt says what was done.");
    console.send("q/<C-u>replayed:>0<Enter>");
    // By chance, the shop's worker fails some of the ten again, or none.
    console.wait("the jobs that came back", |screen| {
        !screen.contains("scanned")
            && !screen.contains("counting")
            && (screen.contains("replayed once before") || screen.contains("nothing matches in"))
    });
    frame(&console, "5. replayed:>0 finds jobs that died again. A and R replay the rest. L and U undo a run.");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/incident.svg");
    std::fs::write(path, svg::animate(&frames)).expect("the picture can be written");
    console.send("q");
}
