//! The recipes of docs/capture.md, from an empty database: jobs die and are kept, are looked at, replayed, run, and die again.
//!
//! What stands in `assets/recipes` runs as it is. `DLQ_TEST_FRAMEWORKS` switches on what needs Debian's Ruby and Python
//! (`scripts/test --frameworks`); the SQL is tested in any case.

mod events;
mod python;
mod rails;
mod webhook;

use std::path::{Path, PathBuf};

use crate::cli::{Ended, User};
use crate::harness;

/// Whether tests run that need other languages.
fn is_on() -> bool {
    let on = std::env::var_os("DLQ_TEST_FRAMEWORKS").is_some_and(|value| !value.is_empty());
    if !on {
        harness::skip("frameworks", "real workers run with scripts/test --frameworks only");
    }
    on
}

/// A file of the recipes.
fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/recipes").join(name)
}

/// Puts files of the recipes into a folder.
fn copy(names: &[&str], to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for name in names {
        let from = recipe(name);
        let file = from.file_name().expect("a name");
        std::fs::copy(&from, to.join(file)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// The dead jobs as `list` tells them, ordered by class.
fn dead(user: &User, more: &[&str]) -> Vec<serde_json::Value> {
    let mut listed = user.json(&[&["list", "-o", "json"], more].concat());
    let mut jobs = std::mem::take(listed["jobs"].as_array_mut().expect("jobs"));
    jobs.sort_by_key(|job| (job["class"].to_string(), job["id"].to_string()));
    jobs
}

/// What a command printed; it must end well.
fn printed(command: &mut std::process::Command) -> String {
    let ended = Ended::from(command.output().expect("the program starts"));
    ended.with(0);
    ended.out.trim().to_owned()
}
