//! The house rules that a compiler does not know, checked against the sources.

mod ceilings;
mod syntax;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The floors of the house from the ground up. A floor may use those below it, never one beside or above it.
const FLOORS: &[&[&str]] =
    &[&["domain"], &["config"], &["adapter"], &["db"], &["store"], &["ledger"], &["triage"], &["tui"], &["cli"]];

/// The rooms of the console, from the ground up.
const CONSOLE_FLOORS: &[&[&str]] = &[&["theme"], &["keys"], &["app"], &["view"], &["runtime"]];

/// The rooms of the SQL store, from the ground up.
const SQL_FLOORS: &[&[&str]] = &[
    &["dialect"],
    &["schema"],
    &["install"],
    &["query"],
    &["context"],
    &["read"],
    &["count"],
    &["write"],
    &["undo"],
    &["open"],
    &["diagnostics"],
    &["verbs"],
];

/// The floors that take any store, whatever it is kept in, and what they may not name.
const ABOVE_STORE: &[(&str, &[&str])] = &[
    // A record in the source is tables there.
    ("ledger", &["store::sql"]),
    ("triage", &["store::sql", "db"]),
    ("tui", &["store::sql", "db"]),
    ("cli", &["store::sql", "db"]),
];

/// What opens stores, by the scheme of the URL: it alone in `store/` knows that there are databases.
const SURVEY: &str = "store/survey";

/// What the survey passes on from below: addresses of sources, how to connect, and what `init` installs.
const PASSED_ON: &[&str] = &[
    "db::EngineOptions",
    "db::target::NAMING",
    "db::target::Target",
    "db::target::Transport",
    "store::sql::grant_script",
    "store::sql::install::Installation",
    "store::sql::install::PRESETS",
    "store::sql::install::Preset",
];

/// Frameworks are adapters: data. Not one of their names belongs into code.
const FRAMEWORKS: &[&str] = &[
    "rails",
    "active_?job",
    "sidekiq",
    "resque",
    "solid_?queue",
    "good_?job",
    "delayed_?job",
    "oban",
    "laravel",
    "celery",
    "pg-?boss",
    "graphile",
    "procrastinate",
    "bullmq",
    "faktory",
    "hangfire",
];

/// A file this long wants to be two; see the last line of the failure for where the limits are.
const WARN_LINES: usize = 300;
const MOST_LINES: usize = 450;

/// How a module that holds only tests begins.
const TEST_MODULE: &str = "#[cfg(test)]\nmod ";

/// A source file, its test module cut off.
struct Source {
    /// Below `src/`, such as `tui/view/list.rs`.
    path: String,
    code: String,
}

impl Source {
    /// The module's own path: `["tui", "view", "list"]`.
    fn module(&self) -> Vec<&str> {
        let path = self.path.trim_end_matches(".rs");
        let path = path.strip_suffix("/mod").unwrap_or(path);
        path.split('/').filter(|part| !matches!(*part, "lib" | "main" | "mod")).collect()
    }

    /// Lines with their numbers, comments blanked.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.lines().enumerate();
        lines.map(|(at, line)| (at + 1, if line.trim_start().starts_with("//") { "" } else { line }))
    }

    fn code_only(&self) -> String {
        self.lines().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }
}

fn sources() -> Vec<Source> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    let tests: BTreeSet<String> = sources.iter().flat_map(test_modules).collect();
    sources.retain(|source| (1..=source.module().len()).all(|n| !tests.contains(&source.module()[..n].join("/"))));
    for source in &mut sources {
        source.code.truncate(without_tests(&source.code).len());
    }
    assert!(sources.len() > 10, "the sources were not found");
    sources
}

fn collect(root: &Path, folder: &Path, into: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let code = std::fs::read_to_string(&path).expect("a source file");
            let below = path.strip_prefix(root).expect("below src").to_string_lossy().into_owned();
            into.push(Source { path: below, code });
        }
    }
}

/// The text up to its test module, which stands last in a file. Test modules in files of their own are left out whole.
fn without_tests(text: &str) -> &str {
    let mut modules = text.match_indices(TEST_MODULE);
    let inline = modules.find(|(at, _)| !first_line(&text[at + TEST_MODULE.len()..]).ends_with(';'));
    inline.map_or(text, |(at, _)| &text[..at])
}

/// Modules that the file declares for tests only: `triage/fake` for `#[cfg(test)] mod fake;` in `triage/mod.rs`.
fn test_modules(source: &Source) -> Vec<String> {
    let declared = source.code.split(TEST_MODULE).skip(1).filter_map(|rest| first_line(rest).strip_suffix(';'));
    declared.map(|name| [source.module(), vec![name]].concat().join("/")).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Every path that the code names from the crate's root, `super` resolved: `["tui", "app"]` for `crate::tui::app::Model`.
fn named_modules(source: &Source) -> BTreeSet<Vec<String>> {
    let code = source.code_only();
    let module = source.module();
    let mut named = BTreeSet::new();
    let start = Regex::new(r"\b(?:crate|dlq_tui)::|\b(?:super::)+").expect("a valid expression");
    for found in start.find_iter(&code) {
        let ups = found.as_str().matches("super::").count();
        let Some(depth) = module.len().checked_sub(ups) else { continue };
        let base: Vec<String> =
            if ups == 0 { Vec::new() } else { module[..depth].iter().map(|s| s.to_string()).collect() };
        expand(&code[found.end()..], &base, &mut named);
    }
    named
}

/// Follows a path, and into the braces of a group: `tui::{app, view::list}`.
fn expand(text: &str, base: &[String], named: &mut BTreeSet<Vec<String>>) {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let mut depth = 0usize;
        let mut from = 0;
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                '}' | ',' if depth == 0 => {
                    expand(&group[from..at], base, named);
                    from = at + 1;
                    if character == '}' {
                        return;
                    }
                }
                _ => {}
            }
        }
        return;
    }
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() {
        return;
    }
    let mut path = base.to_vec();
    path.push(name.clone());
    match text[name.len()..].strip_prefix("::") {
        Some(rest) => expand(rest, &path, named),
        None => drop(named.insert(path)),
    }
}

/// Where `module` stands below `prefix` in a list of floors.
fn floor_of(module: &[&str], prefix: &[&str], floors: &[&[&str]]) -> Option<usize> {
    let room = module.strip_prefix(prefix)?.first()?;
    floors.iter().position(|floor| floor.contains(room))
}

fn upward_uses(source: &Source, prefix: &[&str], floors: &[&[&str]]) -> Vec<String> {
    let module = source.module();
    let Some(own) = floor_of(&module, prefix, floors) else { return Vec::new() };
    let own_room = module[prefix.len()];
    let mut faults = Vec::new();
    for path in named_modules(source) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let Some(other) = floor_of(&path, prefix, floors) else { continue };
        if other >= own && path[prefix.len()] != own_room {
            faults.push(format!("src/{} uses {}, which is not below {own_room}", source.path, path.join("::")));
        }
    }
    faults
}

/// Whether a path is of a module or something in it.
fn is_in(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// What names the SQL store or its databases from above it, or in the contract of stores.
fn uses_of_sql(source: &Source) -> Vec<String> {
    let is_engine = ["store/sql/", "store/redis/", SURVEY].iter().any(|engine| source.path.starts_with(engine));
    let is_contract = source.path.starts_with("store/") && !is_engine;
    let module = source.module();
    let above = ABOVE_STORE.iter().find(|(floor, _)| module.first() == Some(floor)).map(|(_, banned)| *banned);
    let banned = if is_contract { &["store::sql", "store::redis", "db"] } else { above.unwrap_or_default() };
    let named = named_modules(source).into_iter().map(|path| path.join("::"));
    let named = named.filter(|path| banned.iter().any(|module| is_in(path, module)));
    named.map(|path| format!("src/{} uses {path}", source.path)).collect()
}

/// What a file passes on from the databases and the SQL store.
fn passed_on(source: &Source) -> Vec<String> {
    let text = source.code_only();
    let public = text.split(';').filter_map(|text| Some(text.split_once("pub use ")?.1));
    let code = public.map(|path| format!("use {path};\n")).collect();
    let named = named_modules(&Source { path: source.path.clone(), code });
    let named = named.into_iter().map(|path| path.join("::"));
    named.filter(|path| ["store::sql", "db"].iter().any(|module| is_in(path, module))).collect()
}

/// Lines that match, as `src/file.rs:12: text`.
fn matches(sources: &[Source], pattern: &str, wanted: impl Fn(&Source) -> bool, comments: bool) -> Vec<String> {
    let pattern = Regex::new(pattern).expect("a valid expression");
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| wanted(source)) {
        let lines: Vec<(usize, &str)> = if comments {
            source.code.lines().enumerate().map(|(at, l)| (at + 1, l)).collect()
        } else {
            source.lines().collect()
        };
        for (number, line) in lines.into_iter().filter(|(_, line)| pattern.is_match(line)) {
            found.push(format!("src/{}:{number}: {}", source.path, line.trim()));
        }
    }
    found
}

fn none(faults: &[String], rule: &str) {
    assert!(faults.is_empty(), "{rule}\n  {}\n", faults.join("\n  "));
}

fn framework_pattern() -> String {
    format!(r"(?i)(?:\b|_)(?:{})", FRAMEWORKS.join("|"))
}

#[test]
fn each_floor_uses_only_the_floors_below_it() {
    let sources = sources();
    let faults: Vec<String> = sources.iter().flat_map(|source| upward_uses(source, &[], FLOORS)).collect();
    none(&faults, "Each floor imports only downward. Move the shared thing down, or pass it in from above.");
}

#[test]
fn each_room_of_the_console_uses_only_the_rooms_below_it() {
    let sources = sources();
    let faults: Vec<String> = sources.iter().flat_map(|source| upward_uses(source, &["tui"], CONSOLE_FLOORS)).collect();
    none(&faults, "runtime > view > app > keys > theme: each imports only downward.");
}

#[test]
fn each_room_of_the_sql_store_uses_only_the_rooms_below_it() {
    let sources = sources();
    let upward = |source: &Source| upward_uses(source, &["store", "sql"], SQL_FLOORS);
    let faults: Vec<String> = sources.iter().flat_map(upward).collect();
    none(&faults, "The order stands in SQL_FLOORS: each room imports only those that are named before it.");
}

#[test]
fn nothing_above_the_store_knows_that_it_is_sql() {
    let sources = sources();
    let faults: Vec<String> = sources.iter().flat_map(uses_of_sql).collect();
    none(&faults, "The contract and what is above take any store: name no database, and open stores by the survey.");
}

#[test]
fn the_survey_passes_on_nothing_of_sql_but_what_is_listed() {
    let sources = sources();
    let passed: Vec<String> =
        sources.iter().filter(|source| source.path.starts_with(SURVEY)).flat_map(passed_on).collect();
    assert_eq!(
        passed, PASSED_ON,
        "what is above would know of databases through it: wrap it, or list it if it fits any source"
    );
}

#[test]
fn the_text_of_queries_is_made_without_asking_a_database() {
    let text = |source: &Source| {
        ["query", "dialect"].iter().any(|room| source.path.starts_with(&format!("store/sql/{room}/")))
    };
    none(&matches(&sources(), r"\.await\b", text, false), "What asks a database is in read, count, write or open.");
}

#[test]
fn every_folder_has_its_floor() {
    let sources = sources();
    for (list, below, floors) in [("FLOORS", "", FLOORS), ("SQL_FLOORS", "store/sql/", SQL_FLOORS)] {
        let known: Vec<&str> = floors.iter().flat_map(|floor| floor.iter().copied()).collect();
        let unknown: BTreeSet<&str> = sources
            .iter()
            .filter_map(|source| source.path.strip_prefix(below)?.split_once('/'))
            .map(|(room, _)| room)
            .filter(|room| !known.contains(room) && *room != "bin")
            .collect();
        assert!(unknown.is_empty(), "Say in tests/it/architecture/mod.rs ({list}) where these stand: {unknown:?}");
    }
}

#[test]
fn no_framework_is_named_in_code() {
    // The list of files that are compiled in has to spell their paths.
    let path = Regex::new(r#"include_str!\("[^"]*/assets/[^"]*"\)"#).expect("a valid expression");
    let mut sources = sources();
    for source in &mut sources {
        source.code = path.replace_all(&source.code, "").into_owned();
    }
    let faults = matches(&sources, &framework_pattern(), |_| true, true);
    none(&faults, "Frameworks are adapters, TOML under assets/adapters: no name of one in Rust code or its comments.");
}

#[test]
fn nothing_in_the_console_writes_past_the_renderer() {
    let faults = matches(&sources(), r"\be?print(?:ln)?!|\bdbg!", |source| source.path.starts_with("tui/"), false);
    none(&faults, "One stray line scrolls the whole screen: while the console is up, only its renderer writes.");
}

#[test]
fn the_terminal_is_never_cleared_through_ratatui() {
    let faults = matches(&sources(), r"Terminal::clear\b|\bterminal\.clear\(", |_| true, false);
    none(&faults, "Terminal::clear asks the terminal for its cursor, and fails where nobody answers. Resize instead.");
}

#[test]
fn only_the_runtime_of_the_console_spawns_and_sleeps() {
    let elsewhere = |source: &Source| source.path.starts_with("tui/") && !source.path.starts_with("tui/runtime");
    let faults = matches(
        &sources(),
        r"\b(?:spawn(?:_blocking)?|sleep|Instant::now|SystemTime::now|Utc::now)\(",
        elsewhere,
        false,
    );
    none(
        &faults,
        "Model, views and keys are pure: time is an argument, work is an effect that tui/runtime carries out.",
    );
}

#[test]
fn files_stay_short_enough_to_hold_in_mind() {
    let mut too_long = Vec::new();
    for source in sources() {
        let lines = source.code.lines().count();
        if lines > MOST_LINES {
            too_long.push(format!("src/{}: {lines} lines", source.path));
        } else if lines > WARN_LINES {
            let _ = writeln!(std::io::stderr(), "LONG src/{}: {lines} lines, tests not counted", source.path);
        }
    }
    none(&too_long, &format!("Over {MOST_LINES} lines without tests a room is missing: split at the seam."));
}

#[test]
fn the_paths_of_the_architecture_page_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page");
    let path = Regex::new("`([A-Za-z_./-]+/[A-Za-z_./-]*)`").expect("a valid expression");
    let named: BTreeSet<&str> = path.captures_iter(&page).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let is_there = |path: &&str| ["", "src", "tests/it"].iter().any(|folder| root.join(folder).join(path).exists());
    let gone: Vec<String> = named.iter().filter(|path| !is_there(path)).map(|path| (*path).to_owned()).collect();
    assert!(named.len() > 50, "{named:?}");
    none(&gone, "ARCHITECTURE.md names these, and they are not below src or tests/it any more.");
}

mod tests {
    use super::*;

    fn source(path: &str, code: &str) -> Source {
        Source { path: path.to_owned(), code: without_tests(code).to_owned() }
    }

    fn faults(path: &str, code: &str) -> Vec<String> {
        let source = source(path, code);
        [upward_uses(&source, &[], FLOORS), upward_uses(&source, &["tui"], CONSOLE_FLOORS)].concat()
    }

    #[test]
    fn upward_imports_are_found_however_they_are_written() {
        assert_eq!(faults("store/mod.rs", "use crate::tui::app::Model;").len(), 1);
        assert_eq!(faults("store/sql/run.rs", "use crate::{domain::job, triage::{plan, run}};").len(), 2);
        assert_eq!(faults("domain/job.rs", "fn f() -> crate::config::Config { todo() }").len(), 1);
        assert_eq!(faults("tui/view/list.rs", "use super::super::runtime::Loop;").len(), 1);
        assert_eq!(faults("tui/keys/mod.rs", "use super::app::Msg;").len(), 1);
        assert_eq!(faults("tui/app/mod.rs", "use crate::tui::{\n    keys::Key,\n    view::draw,\n};").len(), 1);
        assert_eq!(faults("tui/mod.rs", "use crate::cli::Args;").len(), 1);
    }

    #[test]
    fn the_sql_store_is_found_by_any_spelling_from_above_only() {
        let uses = |path: &str, code: &str| uses_of_sql(&source(path, code)).len();
        assert_eq!(uses("cli/doctor/stores.rs", "use crate::store::{self, sql::{open, detect}, Store};"), 2);
        assert_eq!(uses("tui/mod.rs", "fn f() -> crate::store::sql::SqlStore { g() }"), 1);
        assert_eq!(uses("cli/mod.rs", "use crate::store::survey::Survey;"), 0);
        assert_eq!(uses("store/survey.rs", "use super::sql::open;"), 0);
        assert_eq!(uses("cli/source/init.rs", "use crate::db::{Engine, target::Target};"), 2);
        assert_eq!(uses("ledger/schema.rs", "use crate::{db::Engine, store::sql::quote};"), 1);
        assert_eq!(uses("store/journal.rs", "use crate::db::TxJournal;"), 1);
        assert_eq!(uses("store/mod.rs", "use sql::SqlStore;\nuse crate::db_like::Thing;"), 0);
        let survey =
            source("store/survey.rs", "pub use super::sql::{a::B, c};\nuse crate::db::Engine;\npub use crate::db::D;");
        assert_eq!(passed_on(&survey), ["db::D", "store::sql::a::B", "store::sql::c"]);
    }

    #[test]
    fn downward_imports_comments_and_tests_are_no_fault() {
        assert!(faults("tui/view/list.rs", "use crate::domain::job::Job;\nuse super::super::app::Model;").is_empty());
        assert!(faults("store/mod.rs", "/// See [`crate::tui`].\nuse crate::adapter::Adapter;").is_empty());
        assert!(faults("store/mod.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests { use crate::tui::app; }").is_empty());
        assert!(faults("domain/filter/mod.rs", "use super::job::Job;\nuse crate::domain::time;").is_empty());
        assert!(faults("main.rs", "use dlq_tui::cli;").is_empty());
    }

    #[test]
    fn a_test_module_in_a_file_hides_nothing_behind_its_declaration() {
        let code = "#[cfg(test)]\nmod fake;\n\nuse crate::tui::app;";
        assert_eq!(test_modules(&source("store/mod.rs", code)), ["store/fake"]);
        assert_eq!(faults("store/mod.rs", code).len(), 1);
    }

    #[test]
    fn framework_names_are_found_in_any_spelling_but_not_inside_other_words() {
        let pattern = Regex::new(&framework_pattern()).expect("a valid expression");
        for named in ["// as Rails does", "enum Kind { Sidekiq }", "is_oban_job", "\"good_job\"", "ActiveJob::Base"] {
            assert!(pattern.is_match(named), "{named}");
        }
        for innocent in ["trails", "guardrails", "probandum"] {
            assert!(!pattern.is_match(innocent), "{innocent}");
        }
    }
}
