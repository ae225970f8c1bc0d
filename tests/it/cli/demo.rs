//! The demo without its console: a shop whose jobs fail, and a worker that runs what is replayed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::User;

/// A demo that serves its database, ended with the value.
struct Served {
    child: Child,
    user: User,
}

impl Served {
    fn start(args: &[&str]) -> Self {
        let mut user = User::new();
        let folder = user.home().to_string_lossy().into_owned();
        let args = [&["demo", "--serve", &folder], args].concat();
        let mut child = user.command(&args).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("where the database is");
        user.database_url = Some(line.trim().to_owned());
        Self { child, user }
    }

    fn total(&self, filter: &str) -> u64 {
        let stats = self.user.json(&["stats", "-f", filter, "-o", "json"]);
        stats["total"]["n"].as_u64().expect("a count")
    }

    /// Waits until a total is what it should be.
    fn until(&self, what: &str, filter: &str, holds: impl Fn(u64) -> bool) -> u64 {
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let total = self.total(filter);
            if holds(total) {
                return total;
            }
            assert!(Instant::now() < patience, "{what}: still {total}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn jobs_keep_dying_and_what_is_replayed_is_executed() {
    let demo = Served::start(&["--rows", "600"]);
    let start = demo.total("");
    assert!(start >= 600);
    let classes = demo.user.json(&["stats", "-o", "json"])["bars"].as_array().map_or(0, Vec::len);
    assert!(classes >= 25, "{classes} error classes");
    demo.until("jobs die", "", |n| n > start);

    // Declined cards stay declined: nearly all of them die again, of the same error.
    let declined = demo.total("error:Stripe::CardError");
    let receipt = demo.user.json(&["replay", "-f", "error:Stripe::CardError", "--yes", "-o", "json"]);
    assert!(receipt["done"].as_u64() >= Some(declined));
    demo.until("declined cards come back", "error:Stripe::CardError", |n| n * 2 > declined);

    // A deadlock is over when it is over.
    let (before, _) =
        (demo.total("error:Net::ReadTimeout"), demo.user.run(&["replay", "-f", "error:Net::ReadTimeout", "--yes"]));
    demo.until("timeouts succeed", "error:Net::ReadTimeout", |n| n * 2 < before);
}

#[test]
fn the_other_layout_replays_into_its_live_table() {
    let demo = Served::start(&["--rows", "120", "--layout", "dead_letter_jobs"]);
    let url = demo.user.database_url.clone().expect("served");
    let user = User::new().configured(&format!("[sources.shop]\nurl = \"{url}\"\nreplay = {{ table = \"jobs\" }}\n"));
    let receipt = user.json(&["replay", "-f", "queue:payments", "--yes", "-o", "json"]);
    assert!(receipt["done"].as_u64() > Some(20), "{receipt}");
    assert_eq!(receipt["done"], receipt["planned"]);
    demo.until("the rows are marked", "state:resolved", |n| Some(n) == receipt["done"].as_u64());
}

#[test]
fn a_folder_that_holds_a_demo_is_left_alone() {
    let demo = Served::start(&["--rows", "5"]);
    let folder = demo.user.home().to_string_lossy().into_owned();
    assert!(demo.user.run(&["demo", "--serve", &folder]).with(1).contains("there already"));
    demo.user.run(&["demo", "--rows", "2M"]).with(2);
}
