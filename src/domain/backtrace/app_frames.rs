//! Whose frame it is: the application's, or a library's.

use serde::Deserialize;

use super::frame::Parsed;

/// Folders under which no application keeps its own code, anywhere in a path and at the start of a relative one.
const LIBRARY_FOLDERS: &[&str] = &[
    "/gems/",
    "/rubygems/",
    "/rubygems-integration/",
    "/lib/ruby/",
    "/bundle/ruby/",
    "/.rbenv/",
    "/.rvm/",
    "/site-packages/",
    "/dist-packages/",
    "/lib/python2.",
    "/lib/python3.",
    "/node_modules/",
    "/vendor/",
    "/deps/",
    "/pkg/mod/",
    "/go/src/runtime/",
    "/usr/local/go/",
    "/usr/lib/go",
    "/.cargo/",
    "/rustc/",
    "/third_party/",
];

/// What files of languages' own runtimes begin with. An `internal/` further in is many an application's folder.
const LIBRARY_FILES: &[&str] =
    &["<internal:", "<frozen ", "(eval", "node:", "internal/", "<anonymous>", "[internal function]"];

/// How the names of what languages bring along begin.
const LIBRARY_NAMES: &[&str] = &[
    "java.",
    "java.base/",
    "javax.",
    "jakarta.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "clojure.",
    "groovy.",
    "runtime.",
    "reflect.",
    "panic(",
    ":gen_",
    ":proc_lib",
];

/// Packages of the languages that name them in frames.
const LIBRARY_PACKAGES: &[&str] =
    &["elixir", "stdlib", "kernel", "erts", "logger", "mix", "iex", "ex_unit", "eex", "compiler", "crypto", "ssl"];

/// What is known of whose frames are whose; the `[backtrace]` table of a configuration or an adapter.
///
/// A word is a part of a path, the beginning of a function's name, or a package. Words for the application win.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct FrameOrigins {
    /// Of libraries, besides what every language's package manager tells.
    pub library: Vec<String>,
    /// Of the application.
    pub application: Vec<String>,
}

impl FrameOrigins {
    /// Takes names that begin like the job's class for the application's: `MyApp.Workers.Charge` speaks for `MyApp.`.
    #[must_use]
    pub fn with_job_class(mut self, class: &str) -> Self {
        self.application.extend(root(class));
        self
    }

    /// What all frames together tell about each.
    pub(super) fn classifier(&self, frames: &[&Parsed]) -> FrameClassifier<'_> {
        let judge = FrameClassifier { origins: self, own_seen: false };
        let own_seen = frames.iter().any(|frame| frame.by_name && (judge.is_own(frame) || is_bare(frame)));
        FrameClassifier { own_seen, ..judge }
    }
}

/// Judges the frames of one backtrace.
pub(super) struct FrameClassifier<'a> {
    origins: &'a FrameOrigins,
    /// Whether frames that only names tell apart have among them some that are surely the application's.
    own_seen: bool,
}

impl FrameClassifier<'_> {
    pub(super) fn is_library(&self, frame: &Parsed) -> bool {
        if self.is_own(frame) {
            return false;
        }
        let known = self.origins.library.iter().any(|word| fits(word, frame)) || is_well_known(frame);
        known || (frame.by_name && self.own_seen && !is_bare(frame))
    }

    fn is_own(&self, frame: &Parsed) -> bool {
        self.origins.application.iter().any(|word| fits(word, frame))
    }
}

/// A frame of a language that names packages, without one: it was run from a script.
fn is_bare(frame: &Parsed) -> bool {
    let script = frame.file.as_deref().is_some_and(|file| file.ends_with(".ex") || file.ends_with(".exs"));
    script && frame.package.is_none() && !is_well_known(frame)
}

fn is_well_known(frame: &Parsed) -> bool {
    let below = |file: &str, folder: &str| {
        file.contains(folder) || folder.strip_prefix('/').is_some_and(|relative| file.starts_with(relative))
    };
    let path = frame.file.as_deref().is_some_and(|file| {
        LIBRARY_FOLDERS.iter().any(|folder| below(file, folder))
            || LIBRARY_FILES.iter().any(|start| file.starts_with(start))
    });
    let name = frame.function.as_deref().is_some_and(|name| LIBRARY_NAMES.iter().any(|part| name.starts_with(part)));
    path || name || frame.package.as_deref().is_some_and(|package| LIBRARY_PACKAGES.contains(&package))
}

fn fits(word: &str, frame: &Parsed) -> bool {
    !word.is_empty()
        && (frame.package.as_deref() == Some(word)
            || frame.function.as_deref().is_some_and(|name| name.starts_with(word))
            || frame.file.as_deref().is_some_and(|file| file.contains(word)))
}

/// The namespace that a class belongs to: one capitalised word, or two of a domain's.
fn root(class: &str) -> Option<String> {
    let separator = if class.contains('\\') { '\\' } else { '.' };
    let mut parts = class.trim_start_matches(separator).split(separator);
    let (first, second) = (parts.next()?, parts.next()?);
    let domain = first.starts_with(|c: char| c.is_lowercase());
    match (domain, parts.next()) {
        (true, Some(_)) => Some(format!("{first}{separator}{second}{separator}")),
        (true, None) => None,
        (false, _) => Some(format!("{first}{separator}")),
    }
}
