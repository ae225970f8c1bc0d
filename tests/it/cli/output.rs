//! `docs/output.md`: the fields of what commands print are exactly those that it names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::User;
use super::monitors::scraped;
use crate::fixtures::Layout;
use crate::harness;

const PAGE: &str = include_str!("../../../docs/output.md");

/// A field of a shape: what it is, in the words of the page.
type Shape = BTreeMap<String, String>;

/// What the page says.
struct Page(BTreeMap<String, Shape>);

impl Page {
    fn read() -> Page {
        let mut shapes: BTreeMap<String, Shape> = BTreeMap::new();
        let mut heading = String::new();
        for line in PAGE.lines() {
            if let Some(title) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')) {
                heading = title.to_owned();
            }
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if let ([field, is, _], true) = (cells.as_slice(), line.starts_with("| `")) {
                let name = field.trim_matches('`').to_owned();
                shapes.entry(heading.clone()).or_default().insert(name, (*is).to_owned());
            }
        }
        Page(shapes)
    }

    fn shape(&self, name: &str) -> Shape {
        self.0.get(name).unwrap_or_else(|| panic!("the page has no section {name}")).clone()
    }

    /// A shape with the fields of others: `show` is `Job` and `Whole job` and its own.
    fn all(&self, names: &[&str]) -> Shape {
        names.iter().flat_map(|name| self.shape(name)).collect()
    }

    /// A line of a list has the version beside its fields.
    fn line(&self, names: &[&str]) -> Shape {
        let mut shape = self.all(names);
        shape.insert("version".to_owned(), "number".to_owned());
        shape
    }

    /// What a link leads to.
    fn linked(&self, title: &str) -> Shape {
        match title {
            "listed job" => self.all(&["Job", "Listed job"]),
            _ => self.shape(&(title[..1].to_uppercase() + &title[1..])),
        }
    }

    /// Asserts that documents have together exactly the fields of a shape, each of its kind.
    fn holds(&self, what: &str, shape: &Shape, documents: &[Value]) {
        let mut seen = BTreeSet::new();
        assert!(!documents.is_empty(), "{what}: nothing to look at");
        for document in documents {
            let fields = document.as_object().unwrap_or_else(|| panic!("{what}: {document}"));
            for (name, value) in fields {
                let is = shape.get(name).unwrap_or_else(|| panic!("{what}: the page does not name {name}: {document}"));
                seen.insert(name.clone());
                self.is(&format!("{what}.{name}"), is.trim_end_matches(", may be missing"), value);
            }
            let needed = shape.iter().filter(|(_, is)| !is.ends_with("may be missing")).map(|(name, _)| name);
            for name in needed {
                assert!(fields.contains_key(name), "{what} has no {name}: {document}");
            }
        }
        let named: BTreeSet<String> = shape.keys().cloned().collect();
        assert_eq!(seen, named, "{what}: each field that the page names was seen");
    }

    fn is(&self, what: &str, is: &str, value: &Value) {
        if let Some(element) = is.strip_prefix("list of ") {
            let list = value.as_array().unwrap_or_else(|| panic!("{what} is {value}"));
            list.iter().for_each(|value| self.is(what, element, value));
            return;
        }
        if is.ends_with(" or null") && value.is_null() {
            return;
        }
        if let Some(title) = is.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let shape = self.linked(title);
            // Whether every field is seen somewhere is asked of the part itself.
            let known = |name: &String| value.get(name).is_some() || !shape[name].ends_with("may be missing");
            let shape = shape.iter().filter(|(name, _)| known(name)).map(|(n, i)| (n.clone(), i.clone())).collect();
            self.holds(what, &shape, std::slice::from_ref(value));
            return;
        }
        let is_time = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z')
        };
        let right = match is.strip_suffix(" or null") {
            Some(_) if value.is_null() => true,
            kind => match kind.unwrap_or(is) {
                "text" => value.is_string(),
                "time" => is_time(value),
                "number" => value.is_number(),
                "true or false" => value.is_boolean(),
                "object" => value.as_object().is_some_and(|o| o.values().all(|v| v.is_string() || v.is_null())),
                "any JSON" => true,
                other => panic!("{what}: what is `{other}`?"),
            },
        };
        assert!(right, "{what} is {is}, says the page, and it is {value}");
    }
}

/// A part is seen with every field that the page names.
fn parts(documents: &[Value], path: &str) -> Vec<Value> {
    let step = |values: Vec<Value>, name: &str| -> Vec<Value> {
        let named = values.into_iter().filter_map(|value| value.get(name).cloned());
        named.flat_map(|value| if let Value::Array(list) = value { list } else { vec![value] }).collect()
    };
    path.split('.').fold(documents.to_vec(), step)
}

struct Desk {
    user: User,
    page: Page,
}

impl Desk {
    fn lines(&self, args: &[&str]) -> Vec<Value> {
        let ended = self.user.run(&[args, &["-o", "jsonl"]].concat());
        assert!(matches!(ended.code, 0 | 5), "{args:?}: {}", ended.err);
        ended.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    }

    fn whole(&self, args: &[&str]) -> Value {
        let ended = self.user.run(&[args, &["-o", "json"]].concat());
        assert!(matches!(ended.code, 0 | 5), "{args:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}", ended.out))
    }

    /// A command whose `json` is a section of the page and whose lines are a part of it.
    fn both(&self, args: &[&str], section: &str, element: &[&str], list: &str) {
        let whole = self.whole(args);
        self.page.holds(section, &self.page.shape(section), std::slice::from_ref(&whole));
        let lines = self.lines(args);
        self.page.holds(&format!("a line of {section}"), &self.page.line(element), &lines);
        assert_eq!(whole[list].as_array().map(Vec::len), Some(lines.len()), "{section}");
    }

    fn csv(&self, command: &str, args: &[&str], facet: &str) {
        let (_, tables) = PAGE.split_once("## Comma-separated values").expect("a section");
        let row = tables.lines().find(|line| line.starts_with(&format!("| {command} |"))).expect(command);
        let names = row.trim_end_matches("` |").rsplit('`').next().expect("names").replace("FACET", facet);
        let ended = self.user.run(&[args, &["-o", "csv"]].concat());
        assert!(matches!(ended.code, 0 | 5), "{args:?}: {}", ended.err);
        assert_eq!(ended.out.lines().next(), Some(names.as_str()), "{args:?}");
    }
}

#[tokio::test]
async fn what_commands_that_read_print_is_what_the_page_names() {
    let db = harness::sqlite("output reads").await;
    Layout::DeadLetterJobs.seed(&db, 60).await;
    let desk = Desk { user: User::of(&db), page: Page::read() };
    let page = &desk.page;
    desk.both(&["sources"], "`sources`", &["Source"], "sources");
    page.holds("a store", &page.shape("Store"), &parts(&desk.lines(&["sources"]), "stores"));
    desk.both(&["doctor"], "`doctor`", &["Diagnosis"], "findings");
    desk.both(&["stats", "--by", "fp"], "`stats`", &["Bar"], "bars");
    desk.user.run(&["mark", "v1", "--at", "2020-01-01"]).with(0);
    desk.both(&["stats", "--by", "fp", "--against", "@v1"], "`stats --against`", &["Compared bar"], "bars");
    desk.both(&["mark"], "`mark`", &["Mark of a source"], "marks");
    desk.both(&["list"], "`list`", &["Job", "Listed job"], "jobs");
    let repair = ["repair", "--all", "if length > 1 then [.[0], {n: 1}] else error(\"none\") end", "--dry-run"];
    let repair_shown = [&repair[..], &["--show", "2"]].concat();
    desk.both(&repair_shown, "`repair`", &["Repair group"], "groups");
    let repairs = [desk.whole(&repair_shown)];
    page.holds("an example", &page.shape("Repair example"), &parts(&repairs, "examples"));
    page.holds("a change", &page.shape("Repair change"), &parts(&repairs, "groups.changes"));
    desk.both(&["check", "--max", "total:1", "--max-age", "1h"], "`check`", &["Finding"], "checks");
    desk.both(&["adapters", "list"], "`adapters list`", &["Adapter"], "adapters");
    desk.both(&["config"], "`config`", &["Setting"], "settings");
    let id = desk.whole(&["list", "--limit", "1"])["jobs"][0]["id"].as_str().expect("an id").to_owned();
    let shown = [desk.whole(&["show", &id]), desk.lines(&["show", &id]).remove(0)];
    page.holds("show", &page.all(&["Job", "Whole job", "`show`"]), &shown);
    page.holds("export", &page.line(&["Job", "Whole job"]), &desk.lines(&["export"]));
    for (command, args, facet) in [
        ("`sources`", &["sources"][..], ""),
        ("`doctor`", &["doctor"], ""),
        ("`stats`", &["stats", "--by", "class"], "class"),
        ("`stats --against`", &["stats", "--by", "class", "--against", "@v1"], "class"),
        ("`mark`", &["mark"], ""),
        ("`list`", &["list"], ""),
        ("`repair`", &repair, ""),
        ("`export`", &["export"], ""),
        ("`check`", &["check", "--max", "total:1"], ""),
        ("`adapters list`", &["adapters", "list"], ""),
        ("`config`", &["config"], ""),
    ] {
        desk.csv(command, args, facet);
    }
    desk.user.run(&["show", &id, "-o", "csv"]).with(2);
}

#[tokio::test]
async fn what_commands_that_act_print_is_what_the_page_names() {
    let db = harness::sqlite("output acts").await;
    Layout::JobsDlq.seed(&db, 60).await;
    let desk = Desk { user: User::of(&db), page: Page::read() };
    let page = &desk.page;
    let wishes = ["--batch", "9", "--rate", "500/s", "--spread", "1s", "--to-queue", "low", "--attempts", "reset"];
    let more = ["--keep", "--validate", "sh -c true", "--canary", "2", "--settle", "1m", "--ramp", "--dry-run"];
    let replay = [&["replay", "--all"], wishes.as_slice(), &more].concat();
    let receipt = desk.whole(&["discard", "--all", "--limit", "20", "--reason", "why", "--yes"]);
    let run = receipt["run"].as_str().expect("a run");
    let plans = [
        desk.whole(&replay),
        desk.lines(&replay).remove(0),
        desk.whole(&["discard", "--all", "--no-archive", "--reason", "x", "--dry-run"]),
        desk.whole(&["archive", "--all", "--dry-run"]),
        desk.whole(&["purge", "--state", "dead", "--older-than", "1s", "--dry-run"]),
        desk.whole(&["undo", run, "--dry-run"]),
        desk.whole(&["replay", "-f", "class:NoSuchClass", "--dry-run"]),
    ];
    page.holds("a plan", &page.line(&["Plan"]), &plans);
    let repaired = desk.whole(&["repair", "--all", "[.]", "--limit", "1", "--yes"]);
    page.holds("options", &page.shape("Options"), &parts(&[plans.to_vec(), vec![repaired]].concat(), "options"));
    page.holds("a rule", &page.shape("Rule"), &parts(&plans, "options.rollout"));
    page.holds("a validator", &page.shape("Validator"), &parts(&plans, "options.validate"));
    page.holds("a table", &page.shape("Table"), &parts(&plans, "creates"));
    page.holds("a share", &page.shape("Share"), &parts(&plans, "by_error"));
    page.holds("an outlook", &page.shape("Reason"), &parts(&plans, "outlook"));
    db.execute("insert into jobs_dlq (id, payload, failed_at) values (900, '{}', '2026-11-20 10:00:00')").await;
    let again = desk.lines(&["discard", "900", "--yes"]).remove(0);
    let proven = desk.whole(&["replay", "--all", "--limit", "1", "--stop-above", "5%", "--yes"]);
    let receipts =
        [proven, receipt.clone(), again.clone(), desk.whole(&["runs", run]), desk.lines(&["runs", run]).remove(0)];
    page.holds("a receipt", &page.line(&["Run"]), &receipts);
    page.holds("a rollout", &page.shape("Rollout"), &parts(&receipts[..1], "rollout"));
    page.holds("an operator", &page.shape("Operator"), &parts(&receipts, "operator"));
    desk.both(&["runs"], "`runs`", &["Run"], "runs");
    desk.both(&["runs", run, "--jobs"], "`runs RUN --jobs`", &["Job of a run"], "jobs");
    let planned = [desk.lines(&["undo", run, "--dry-run"]), desk.lines(&["runs", run, "--jobs"])].concat();
    page.holds("jobs of an undo", &page.line(&["Job of a run"]), &planned);
    desk.user.run(&["--reveal", "list"]).with(0);
    desk.both(&["runs", "--reveals"], "`runs --reveals`", &["Reveal"], "reveals");
    let of_runs = "`runs`, `runs RUN`, and every command that acts";
    let of_jobs = "`runs RUN --jobs`, `undo RUN --dry-run`";
    for (command, args) in [
        (of_runs, &["runs"][..]),
        (of_runs, &["runs", run]),
        (of_runs, &["replay", "--all", "--dry-run"]),
        (of_runs, &["discard", "--all", "--limit", "1", "--yes"]),
        (of_jobs, &["runs", run, "--jobs"]),
        (of_jobs, &["undo", run, "--dry-run"]),
        ("`runs --reveals`", &["runs", "--reveals"]),
    ] {
        desk.csv(command, args, "");
    }
}

#[tokio::test]
async fn what_goes_on_is_what_the_page_names() {
    let db = harness::sqlite("output watch").await;
    Layout::DeadLetterJobs.seed(&db, 60).await;
    let user = User::of(&db);
    let page = Page::read();
    let change = super::monitors::first_change(&user, &["watch", "--interval", "1s", "-o", "jsonl"], async || {
        db.execute("update dead_letter_jobs set error_class = 'Fresh' where status = 'failed'").await;
    });
    let change: Value = serde_json::from_str(&change.await).expect("JSON");
    page.holds("a change", &page.shape("`watch`"), &[change]);
    let scrape = scraped(&user);
    let told: BTreeSet<&str> = scrape.lines().filter_map(|line| line.split_once('{')).map(|(name, _)| name).collect();
    assert_eq!(told, page.0["Metrics"].keys().map(String::as_str).collect());
}
