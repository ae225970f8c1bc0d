//! Ceilings for size, for names that are used twice, and for words that nobody can guess.
//!
//! Each ceiling is the number of today, and may only fall. A test fails when a number rises above its ceiling, and also when
//! it has fallen below: then write the new number here, so that it cannot rise again. Below its goal a number is free.

use std::collections::BTreeMap;

use super::sources;
use super::syntax::{Sizes, Syntax};

/// A size that has a goal.
struct Size {
    of: &'static str,
    unit: &'static str,
    goal: usize,
    /// The largest of today.
    largest: usize,
    /// How many are above the goal today.
    over_goal: usize,
    measure: fn(&Syntax) -> &Sizes,
}

#[rustfmt::skip]
const SIZES: &[Size] = &[
    Size { of: "function", unit: "lines",            goal: 60, largest:  60, over_goal:  0, measure: |s| &s.functions },
    Size { of: "struct",   unit: "fields",           goal: 12, largest:  19, over_goal:  2, measure: |s| &s.structs },
    Size { of: "type",     unit: "inherent methods", goal: 25, largest:  25, over_goal:  0, measure: |s| &s.methods },
    Size { of: "trait",    unit: "methods",          goal: 25, largest:  25, over_goal:  0, measure: |s| &s.traits },
    Size { of: "folder",   unit: "files",            goal: 16, largest:  16, over_goal:  0, measure: |s| &s.folders },
];

/// Of 100 definitions of types and traits, those that share their name with another one. Rounded up, so that not every new
/// type changes the number.
const SHARED_NAMES_GOAL: usize = 5;
const SHARED_NAMES: usize = 5;

/// Words that a stranger cannot guess or search for, what to write instead, and how many names contain them today. The goal
/// is none. A plural in -s counts as its singular. `=kept` is banned as a whole name only: `kept_rows` says what is kept.
#[rustfmt::skip]
const BANNED: &[(&str, &str, usize)] = &[
    ("look looked looking",     "poll (a source), theme (of the console), check",  0),
    ("recount recounted",       "full_count",                                     0),
    ("anew",                    "again, reload, reopen",                          0),
    ("outlook",                 "estimate",                                       0),
    ("spans",                   "key_ranges",                                     0),
    ("seldom",                  "selective",                                      0),
    ("glimpse",                 "first_page",                                     0),
    ("glance",                  "first_screen",                                   0),
    ("vitals",                  "table_stats",                                    0),
    ("ties",                    "foreign_keys",                                   0),
    ("signs",                   "change_token",                                   0),
    ("offer",                   "capability",                                     0),
    ("misread",                 "charset_check",                                  0),
    ("foresee",                 "dry_run, explain",                               0),
    ("rehearsal",               "rollback_only",                                  0),
    ("abreast beside",          "concurrent",                                     0),
    ("ahead",                   "prefetched, pipelined",                          0),
    ("heard",                   "logged, received",                               0),
    ("speech",                  "dialect",                                        0),
    ("judge judged",            "where_clause, filter",                           0),
    ("=loose",                  "prefilter",                                      0),
    ("along",                   "related",                                        0),
    ("=whole",                  "complete",                                       0),
    ("=kept",                   "row_snapshot, stored",                          0),
    ("twin",                    "archive_table",                                  0),
    ("books",                   "progress",                                       0),
    ("testimony",               "transaction_status",                             0),
    ("witness witnessed",       "transaction_id",                                 0),
    ("halt halted",             "stop_reason, stop",                              0),
    ("fate",                    "outcome",                                        0),
    ("board",                   "outcome_counts",                                 0),
    ("march",                   "batch_loop",                                     0),
    ("effort",                  "cost",                                           0),
    ("handed",                  "delivered",                                      0),
    ("purse outlay",            "query_budget, query_cost",                       0),
    ("pace paced",              "chunk_size (reads), rate (runs)",                0),
    ("news",                    "new_values",                                     0),
    ("desk",                    "store_context",                                  0),
    ("remark",                  "note",                                           0),
    ("watermark",               "poll_token",                                     0),
    ("ending",                  "transaction_status",                             0),
    ("settle settled",          "complete",                                       0),
    ("=hold",                   "run_lock",                                       0),
    ("rights",                  "privileges",                                     0),
    ("homes",                   "ledger_locator",                                 0),
    ("census",                  "cohort_stats",                                   0),
    ("told said",               "reported",                                       0),
    ("unwritten",               "draft_check",                                    0),
    ("way",                     "route, method, mode",                           0),
    ("errand",                  "external_program",                               0),
    ("ink",                     "text_role",                                      0),
    ("outside",                 "executor",                                       0),
];

#[test]
fn sizes_only_fall() {
    let syntax = Syntax::of(&sources());
    check(SIZES.iter().flat_map(|Size { of, unit, goal, largest, over_goal, measure }| {
        let mut sizes = measure(&syntax).clone();
        sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let over = sizes.iter().filter(|(_, size)| size > goal).count();
        let first = |n: usize| sizes[..n].iter().map(|(place, size)| format!("{size} {place}")).collect();
        let most = format!("{unit} of the largest {of}");
        let many = format!("{of}s over {goal} {unit}");
        [
            Ceiling { what: most, now: sizes[0].1, goal: *goal, ceiling: *largest, places: first(1) },
            Ceiling { what: many, now: over, goal: 0, ceiling: *over_goal, places: first(over) },
        ]
    }));
}

#[test]
fn names_that_types_share_only_become_fewer() {
    let types = Syntax::of(&sources()).types;
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, place) in &types {
        places.entry(name).or_default().push(place);
    }
    places.retain(|_, places| places.len() > 1);
    let now = (100 * places.values().map(Vec::len).sum::<usize>()).div_ceil(types.len());
    let places = places.iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    let what = "percent of types that share their name".to_owned();
    check([Ceiling { what, now, goal: SHARED_NAMES_GOAL, ceiling: SHARED_NAMES, places }]);
}

#[test]
fn words_that_nobody_can_guess_only_become_fewer() {
    let names = Syntax::of(&sources()).names;
    check(BANNED.iter().map(|(banned, instead, ceiling)| {
        let hits = names.iter().filter(|(name, _)| contains(name, banned));
        let places: Vec<String> = hits.map(|(name, place)| format!("{name} {place}")).collect();
        let what = format!("names with `{banned}` (write {instead})");
        Ceiling { what, now: places.len(), goal: 0, ceiling: *ceiling, places }
    }));
}

/// A number and the ceiling that it has to keep to.
struct Ceiling {
    what: String,
    now: usize,
    goal: usize,
    ceiling: usize,
    places: Vec<String>,
}

impl Ceiling {
    fn fault(&self) -> Option<String> {
        let Self { what, now, goal, ceiling, places } = self;
        if now > ceiling.max(goal) {
            return Some(format!(
                "{what}: {now}, above the ceiling of {ceiling}. Bring it down, the goal is {goal}:\n    {}",
                places.join("\n    ")
            ));
        }
        let lower = now.max(goal);
        (lower < ceiling).then(|| format!("{what}: {now}, well done. Lower the ceiling from {ceiling} to {lower}."))
    }
}

fn check(ceilings: impl IntoIterator<Item = Ceiling>) {
    let faults: Vec<String> = ceilings.into_iter().filter_map(|ceiling| ceiling.fault()).collect();
    super::none(&faults, "Ceilings only fall; they stand in tests/it/architecture/ceilings.rs.");
}

/// Whether one of the words of the name, `OpenAnew` or `open_anew`, is one of the banned.
fn contains(name: &str, banned: &str) -> bool {
    let mut words = String::new();
    for character in name.chars() {
        match character {
            '_' => words.push(' '),
            upper if upper.is_uppercase() => words.extend([' ', upper.to_ascii_lowercase()]),
            lower => words.push(lower),
        }
    }
    banned.split(' ').any(|banned| match banned.strip_prefix('=') {
        Some(name) => words.trim() == name,
        None => words.split(' ').any(|word| word == banned || word.strip_suffix('s') == Some(banned)),
    })
}

mod tests {
    use super::super::Source;
    use super::*;

    fn fault(now: usize, goal: usize, ceiling: usize) -> Option<String> {
        Ceiling { what: "things".to_owned(), now, goal, ceiling, places: vec!["here".to_owned()] }.fault()
    }

    #[test]
    fn a_ceiling_holds_from_above_and_follows_down_to_its_goal() {
        assert_eq!(fault(9, 5, 9), None);
        assert!(fault(10, 5, 9).expect("risen").contains("above the ceiling of 9"));
        assert!(fault(8, 5, 9).expect("fallen").contains("from 9 to 8"));
        assert!(fault(3, 5, 9).expect("below the goal").contains("from 9 to 5"));
        assert_eq!(fault(3, 5, 5), None);
    }

    #[test]
    fn words_are_found_in_both_cases_of_names_and_not_inside_other_words() {
        for name in ["look", "LookAgain", "on_look", "Looks"] {
            assert!(contains(name, "poll look"), "{name}");
        }
        for name in ["lookup", "outlook", "Lo_ok"] {
            assert!(!contains(name, "look"), "{name}");
        }
        assert!(contains("Kept", "=kept") && !contains("kept_rows", "=kept"));
    }

    #[test]
    fn sizes_are_those_of_the_sources() {
        let source = |path: &str, code: &str| Source { path: path.to_owned(), code: code.to_owned() };
        let syntax = Syntax::of(&[
            source("a/mod.rs", "struct S { x: u8 }\nimpl S {\n    fn f() {\n        1;\n        2;\n    }\n}"),
            source(
                "a/b.rs",
                "use super::S;\nimpl S { fn g() {} fn h() {} #[cfg(test)] fn t() {} }\nimpl Drop for S { fn drop(&mut self) {} }",
            ),
            source("c.rs", "struct S(u8, u8);\nimpl S { fn i() {} }\ntrait T { fn j(); fn k() {} }"),
        ]);
        let sizes = |sizes: &Sizes| sizes.iter().map(|(place, size)| format!("{place} {size}")).collect::<Vec<_>>();
        assert_eq!(sizes(&syntax.functions)[0], "src/a/mod.rs:3 f 2");
        assert_eq!(sizes(&syntax.structs), ["src/a/mod.rs:1 S 1", "src/c.rs:1 S 2"]);
        assert_eq!(sizes(&syntax.methods), ["src/a/mod.rs:1 S 3", "src/c.rs:1 S 1"]);
        assert_eq!(sizes(&syntax.traits), ["src/c.rs:3 T 2"]);
        assert_eq!(sizes(&syntax.folders), ["src/ 1", "src/a 2"]);
        let names: Vec<&str> = syntax.names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "S", "f", "b", "g", "h", "c", "S", "i", "T", "j", "k"]);
    }
}
