//! Filters of every kind on every database, compared row for row with the filter language's own judgement.

use std::borrow::Cow;
use std::collections::BTreeSet;

use chrono::Datelike;
use dlq_tui::domain::action::Action;
use dlq_tui::domain::filter::{Filter, Key, Pattern, Subject, Test};
use dlq_tui::domain::fingerprint::Fingerprint;
use dlq_tui::domain::job::{JobDetail, State};
use dlq_tui::domain::json;
use dlq_tui::domain::text::Untrusted;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, LedgerLocator};
use dlq_tui::store::{Cursor, Entry, PageQuery, ScanMode, Sort, Store, StoreExt};
use dlq_tui::triage::StoreContext;
use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::harness::{self, Engine};
use crate::store_desk::*;

const EVERYTHING: &str = "state:dead state:retrying state:resolved state:ignored";

/// Filters that name a state themselves or are for dead jobs; `{…}` is filled from a real row.
const FILTERS: &[&str] = &[
    "",
    EVERYTHING,
    "state:retrying",
    "-state:dead",
    "state:ignored state:resolved",
    "native:failed",
    "native:FAILED",
    "native:dead",
    "-native:failed",
    "error:{error}",
    "error:{ERROR}",
    "error:*Error",
    "error:*e*o*",
    "-error:{error}",
    "error:\"\"",
    "-error:\"\"",
    "error:/Time.?out/",
    "-error:/^[A-Z]/",
    "class:{class}",
    "class:\"\"",
    "attempts:\"\"",
    "-attempts:\"\"",
    "at:\"\"",
    "-at:\"\"",
    "idle:\"\"",
    "-class:{class}",
    "queue:\"\"",
    "-queue:low",
    "queue:low",
    "worker:web*",
    "-worker:\"\"",
    "reason:\"\"",
    "reason:x",
    "-reason:x",
    "msg:timed",
    "msg:TIMED",
    "msg:\"100%\"",
    "msg:_",
    "msg:!",
    "msg:?",
    "msg:é",
    "msg:*a*e*",
    "msg:/\\d{3,}/",
    "msg:/(?i)card/ msg:out",
    "-msg:e",
    "msg:\"\"",
    "card",
    "-card",
    "ΟΔΟΣ",
    "\"\\u{1f4a5}\"",
    "attempts:>=3",
    "attempts:5",
    "attempts:1..4",
    "-attempts:5",
    "attempts:<2",
    "at:2026-11-18",
    "since:2026-11-18T09:14:02.123456",
    "since:2026-11-18T09:14:02.123457",
    "until:2026-11-18T09:14:02.123456",
    "until:2026-11-18T09:14:02.123457",
    "-since:2026-11-18T09:15",
    "hour:2026-11-18T09",
    "since:1000-01-01",
    "until:9999-12-31",
    "idle:1h",
    "id:{id}",
    "-id:{id}",
    "id:{id} state:ignored",
    "id:*1*",
    "id:nonsense",
    "id:/[0-4]$/",
    "args:gid",
    "args:4242",
    "args:é",
    "args.order:6990",
    "args.card.last4:4242",
    "args.amount:>=5000",
    "args.amount:129900",
    "args.rows:12345678901234567890",
    "args.rows:>12345678901234567889",
    "args.x:\"\"",
    "-args.order:6990",
    "args._aj_globalid:gid*",
    "args.type:/charge|export/",
    "fp:{fp}",
    "-fp:{fp}",
    "fp:0 fp:1 fp:2 fp:3",
    "error:{error} attempts:>=1 -queue:low msg:e",
    "replayed:>0",
];

/// A job as tests see it: from its detail.
struct Job {
    detail: JobDetail,
    touched: Option<Timestamp>,
}

impl Subject for Job {
    fn text(&self, key: &Key) -> Option<Cow<'_, str>> {
        let row = &self.detail.row;
        let exact = |t: &Option<Untrusted>| t.as_ref().map(|t| Cow::Owned(t.exact().to_owned()));
        match key {
            Key::Error => exact(&row.error_class),
            Key::Class => exact(&row.job_class),
            Key::Queue => exact(&row.queue),
            Key::Worker => exact(&row.worker),
            Key::Message => exact(&self.detail.message),
            Key::Native => Some(row.native_state.exact().into()),
            Key::Id => Some(row.id.as_str().into()),
            Key::Fingerprint => Some(fingerprint(&self.detail).into()),
            _ => None,
        }
    }

    fn number(&self, key: &Key) -> Option<i64> {
        // The ledger judges `replayed:`; a store lets everything through.
        if *key == Key::Replayed { Some(1) } else { self.detail.row.attempts }
    }

    fn time(&self, key: &Key) -> Option<Timestamp> {
        if *key == Key::Idle { self.touched } else { self.detail.row.at }
    }

    fn state(&self) -> State {
        self.detail.row.state
    }

    fn arguments(&self) -> Option<Cow<'_, str>> {
        self.detail.arguments.as_ref().map(|a| a.exact().into())
    }

    fn argument_values(&self, path: &[String]) -> Vec<Cow<'_, str>> {
        let text = self.detail.arguments.as_ref().map_or("", |a| a.exact());
        let scalars = json::lookup(text, path).into_iter();
        scalars.filter(|s| s.kind != json::NodeKind::Null).map(|s| Cow::Owned(s.text)).collect()
    }
}

fn fingerprint(detail: &JobDetail) -> String {
    let text = |t: &Option<Untrusted>| t.as_ref().map(|t| t.exact().to_owned());
    Fingerprint::of(text(&detail.row.error_class).as_deref(), text(&detail.row.message).as_deref()).to_string()
}

async fn jobs(store: &dyn Store) -> Vec<Job> {
    let all = exhaust(store, &filter(EVERYTHING), Sort::default(), Cursor::Start, 200).await;
    let mut jobs = Vec::new();
    for entry in all {
        let detail = store.detail(&entry.row.id, &budget()).await.expect("a detail").expect("the job");
        // Bytes that are no text are shown as marks, which only a screen should be searched for; and SQLite's own
        // GLOB reads no further than a NUL.
        if detail.message.as_ref().is_some_and(|m| m.exact().contains("⟨x") || m.exact().contains('\0')) {
            continue;
        }
        let column = detail.metadata.iter().find(|(name, _)| name == "updated_at");
        let touched = match column {
            Some((_, value)) => value.as_ref().and_then(|v| instant(v.exact())),
            None => detail.row.at,
        };
        jobs.push(Job { detail, touched });
    }
    jobs
}

fn instant(text: &str) -> Option<Timestamp> {
    if let Some(text) = text.strip_suffix(" BC") {
        // The year before the first is the first of them.
        let at = instant(text)?.calendar()?;
        return Some(Timestamp(at.with_year(1 - at.year())?.timestamp_micros()));
    }
    let plain = text.split(['+', 'Z']).next().unwrap_or_default().replace('T', " ");
    let at = chrono::NaiveDateTime::parse_from_str(&plain, "%Y-%m-%d %H:%M:%S%.f").ok()?;
    Some(Timestamp(at.and_utc().timestamp_micros()))
}

/// Fills a filter's places from a job, so that it has something to find.
fn fill(text: &str, job: &JobDetail) -> String {
    let quoted = |t: &Option<Untrusted>| {
        let t = t.as_ref().map_or("none", |t| t.exact());
        format!("\"{}\"", t.replace('\\', "\\\\").replace('"', "\\\"").replace('*', "\\*").replace('\n', "\\n"))
    };
    text.replace("{error}", &quoted(&job.row.error_class))
        .replace("{ERROR}", &quoted(&job.row.error_class).to_uppercase())
        .replace("{class}", &quoted(&job.row.job_class))
        .replace("{id}", job.row.id.as_str())
        .replace("{fp}", &fingerprint(job)[..6])
}

async fn compare(store: &dyn Store, jobs: &[Job], context: &str) {
    let sample = &jobs[jobs.len() / 2].detail;
    let mut selective = 0;
    for template in FILTERS {
        let text = fill(template, sample);
        let parsed = filter(&text).resolve(Timestamp::now());
        let is_key = |test: &Test| matches!(test, Test::Text(Pattern::Equals(_)));
        let names_state = parsed.clauses().iter().any(|c| match c.key {
            Key::State | Key::Native => true,
            Key::Id => !c.negated && c.any.iter().all(is_key),
            _ => false,
        });
        let compiled = parsed.compile(Timestamp::now());
        let passes = |job: &&Job| compiled.matches(*job) && (names_state || job.detail.row.state == State::Dead);
        let expected: BTreeSet<&str> = jobs.iter().filter(passes).map(|j| j.detail.row.id.as_str()).collect();
        let found =
            exhaust(store, &parsed, Sort::default(), Cursor::Start, if jobs.len() > 100 { 101 } else { 7 }).await;
        let known: BTreeSet<&str> = jobs.iter().map(|j| j.detail.row.id.as_str()).collect();
        let unknown = found.iter().filter(|e| !known.contains(e.row.id.as_str())).count();
        let found: BTreeSet<&str> = found.iter().map(|e| e.row.id.as_str()).filter(|id| known.contains(id)).collect();
        let wrong: Vec<_> = found.symmetric_difference(&expected).collect();
        assert!(wrong.is_empty(), "{context}: {text}: {} and not {}: {wrong:?}", found.len(), expected.len());
        selective += usize::from(!expected.is_empty() && expected.len() < jobs.len());
        if jobs.len() > 100 {
            // The rows are heavy, and the other directions were tried on fewer.
            continue;
        }
        let backward = exhaust(store, &parsed, Sort::default(), Cursor::End, 101).await;
        assert_eq!(backward.len(), expected.len() + unknown, "{context}: {text} from the end");
        let step = histogram(store, dlq_tui::domain::facet::Facet::Error, &parsed).await;
        assert_eq!(step.histogram.total.n as usize, expected.len() + unknown, "{context}: {text} counted");
    }
    assert!(selective > 15, "{context}: too few filters tell rows apart: {selective}");
}

#[tokio::test]
async fn filters_select_what_the_language_says_on_believable_rows() {
    for layout in Layout::ALL {
        for db in harness::every_server(&format!("filters_{}", layout.table())).await {
            layout.rows(&db).await;
            let store = store(&db, layout).await;
            let jobs = jobs(&store).await;
            compare(&store, &jobs, &format!("{} on {}", layout.table(), db.engine.name())).await;
            let gentle = gentle_store(&db, layout).await;
            compare(&gentle, &jobs, &format!("{} on {} by windows", layout.table(), db.engine.name())).await;
        }
    }
}

#[tokio::test]
async fn filters_select_what_the_language_says_on_a_nasty_day() {
    for layout in Layout::ALL {
        for db in harness::every_server(&format!("nastyf_{}", layout.table())).await {
            layout.nasty_day(&db).await;
            let store = store(&db, layout).await;
            compare(&store, &jobs(&store).await, &format!("{} on {}", layout.table(), db.engine.name())).await;
        }
    }
}

/// Arguments in which a member `k` stands somewhere, or nowhere, with values that print much the same.
const SHAPES: &[&str] = &[
    r#"{"k":42}"#,
    r#"[{"k":"42"}]"#,
    r#"[[[{"k":[[42]]}]]]"#,
    r#"{"a":{"b":[1,{"k":{"z":"42"}}]}}"#,
    r#"{"x":1,"k":[1,2,{"q":[42]}]}"#,
    r#"{"a":[1,{"k":[]}],"b":{"k":"42"}}"#,
    r#"{"a":[1,{"k":{"k":42}}],"b":"42"}"#,
    r#"{"k":42.0}"#,
    r#"{"k":-5.50}"#,
    r#"{"k":"-5.50"}"#,
    r#"{"k":true,"z":false}"#,
    r#"{"k":"true"}"#,
    r#"{"k":null}"#,
    r#"{"k":"null"}"#,
    r#"{"k":100000}"#,
    r#"{"k":"1e5"}"#,
    r#"{"k":99999999999999999999999999999999999999999999}"#,
    r#"{"k":"it's a \"b\" \\ c"}"#,
    r#"{"k \"l\".m":"x"}"#,
    r#"{"k":"\u00e9\n\t"}"#,
    r#"{"\u00e9":"k"}"#,
    r#"{"k2":42}"#,
    r#"{"k":"a\n\u0001\u007f\\x41"}"#,
    r#"{"tab\t":"x"}"#,
    r#"{"":42}"#,
    r#"{"k":{"x":42}}"#,
    r#""{\"k\":42}""#,
    r#""k 42""#,
    r#"["k","42"]"#,
    "42",
    "[]",
];

const OF_MANY_DIGITS: &str = "args.k:99999999999999999999999999999999999999999999";

/// What is asked of them.
const OF_MEMBERS: &[&str] = &[
    "args.k:42",
    "args.k:42.0",
    "args.k:\"-5.50\"",
    "args.k:true",
    "args.z:false",
    "args.k:null",
    "args.k:100000",
    "args.k:1e5",
    OF_MANY_DIGITS,
    r#"args.k:"it's a \"b\" \\ c""#,
    r#"args."k \"l\".m":x"#,
    "args.k:\"é\\n\\t\"",
    "args.é:k",
    "args.k:\"a\\n\u{1}\u{7f}\\\\x41\"",
    "args.\"tab\\t\":x",
    "args.k.z:42",
    "args.a.b.k.z:42",
    "args.k.0:1",
    "args.k.k:42",
    "args.a.k.k:42",
    "args.b.k:42",
    "args.k:42 args.k:x args.k:true",
    "args.k:4",
    "args.nowhere:42",
    "-args.k:42",
];

#[tokio::test]
async fn a_member_is_found_in_whatever_its_path_leads_through_and_however_its_value_is_written() {
    for db in harness::every_server("members").await {
        let layout = Layout::DeadLetterJobs;
        layout.seed(&db, u32::try_from(SHAPES.len()).expect("few")).await;
        let store = store(&db, layout).await;
        let all = exhaust(&store, &filter(EVERYTHING), Sort::default(), Cursor::Start, 200).await;
        for (entry, shape) in all.iter().zip(SHAPES) {
            let shape = shape.replace('\'', "''");
            let shape = if db.engine == Engine::Mysql { shape.replace('\\', "\\\\") } else { shape };
            let set = "update dead_letter_jobs set status = 'failed', arguments = ";
            db.execute(&format!("{set}'{shape}' where id = '{}'", entry.row.id.as_str())).await;
        }
        let jobs = jobs(&store).await;
        assert_eq!(jobs.len(), SHAPES.len(), "{:?}", db.engine);
        for text in OF_MEMBERS {
            let (parsed, known) = (filter(text), filter(text).compile(Timestamp::now()));
            let expected: BTreeSet<&str> =
                jobs.iter().filter(|j| known.matches(*j)).map(|j| j.detail.row.id.as_str()).collect();
            let rows = exhaust(&store, &parsed, Sort::default(), Cursor::Start, 7).await;
            let rows: BTreeSet<&str> = rows.iter().map(|entry| entry.row.id.as_str()).collect();
            assert_eq!(rows, expected, "{text} on {:?}", db.engine);
            // MySQL keeps such a number as one that is nearly so.
            if *text == OF_MANY_DIGITS && db.engine == Engine::Mysql {
                continue;
            }
            assert_eq!(
                expected.is_empty(),
                ["args.k:4", "args.k.z:42", "args.k.k:42", "args.nowhere:42"].contains(text),
                "{text} on {:?}",
                db.engine
            );
        }
    }
}

#[tokio::test]
async fn terms_for_runs_select_what_became_of_their_jobs_and_go_with_all_others() {
    for db in harness::every_engine("filters_run").await {
        let name = db.engine.name();
        Layout::DlqEvents.seed(&db, 120).await;
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite3")).await.expect("a ledger");
        let desk = crate::run::desk(&db.url, "dlq_events").await;
        let desk = StoreContext { ledger: Some(LedgerLocator::known(ledger.clone())), ..desk };
        let ids = async |condition: &str| -> BTreeSet<String> {
            db.column(&format!("select id from dlq_events where {condition}")).await.into_iter().collect()
        };
        let of_run = ids("status = 'FAILED_PERMANENTLY' and retry_count <= 3").await;
        let run = crate::run::plan(&desk, &ledger, "attempts:<=3", Action::Replay).await.run;
        assert_eq!(crate::run::go(&desk, &ledger, &run).await.run.tally.done, of_run.len() as u64, "{name}");
        // Of its jobs some died again, some succeeded, and some wait.
        let listed: Vec<&str> = of_run.iter().map(String::as_str).collect();
        let listed = format!("id in ({})", listed.join(", "));
        for (place, status) in [(0, "FAILED_PERMANENTLY"), (1, "SUCCEEDED")] {
            db.execute(&format!("update dlq_events set status = '{status}' where id % 3 = {place} and {listed}")).await;
        }
        let known = exhaust(&*desk.store, &filter(EVERYTHING), Sort::default(), Cursor::Start, 50).await;
        let known: BTreeSet<String> = known.into_iter().map(|entry| entry.row.id.as_str().to_owned()).collect();
        let budget = budget();
        for (text, condition) in [
            ("run:RUN", listed.clone()),
            ("-run:RUN", format!("not ({listed})")),
            ("run:last", listed.clone()),
            ("run:RUN outcome:died", format!("{listed} and id % 3 = 0")),
            ("run:RUN -outcome:died", format!("{listed} and id % 3 <> 0")),
            ("run:RUN outcome:succeeded", format!("{listed} and id % 3 = 1")),
            ("run:RUN outcome:died outcome:succeeded", format!("{listed} and id % 3 < 2")),
            ("run:RUN outcome:died id:/[05]$/", format!("{listed} and id % 3 = 0 and id % 5 = 0")),
            ("-run:RUN -id:/[05]$/", format!("not ({listed}) and id % 5 <> 0")),
        ] {
            let expected: BTreeSet<String> = ids(&condition).await.intersection(&known).cloned().collect();
            let asked = filter(&format!("{EVERYTHING} {}", text.replace("RUN", &run.0)));
            for from in [Cursor::Start, Cursor::End] {
                let read = |query| -> BoxFuture<'_, _> { Box::pin(desk.scan(query, ScanMode::List, &budget)) };
                let found = exhaust_by(&read, &asked, Sort::default(), from, 7).await;
                let found: BTreeSet<String> = found.into_iter().map(|e| e.row.id.as_str().to_owned()).collect();
                assert_eq!(found, expected, "{name}: {text}");
            }
            let count = |query| -> BoxFuture<'_, _> { Box::pin(desk.count(query, &budget)) };
            let step = histogram_by(&count, dlq_tui::domain::facet::Facet::Error, &asked).await;
            assert_eq!(step.histogram.total.n as usize, expected.len(), "{name}: {text} counted");
            assert!(!expected.is_empty() && expected.len() < known.len(), "{name}: {text} tells no rows apart");
        }
    }
}

#[test]
fn every_filter_of_the_comparison_parses() {
    for text in FILTERS.iter().filter(|t| !t.contains('{') || t.contains("\\u{") || t.contains("\\d{")) {
        assert!(Filter::parse(text).is_ok(), "{text}");
    }
}

#[tokio::test]
async fn a_window_reads_no_more_rows_than_it_says_however_many_lie_beyond_it() {
    let Some(server) = harness::mariadb() else { return };
    for layout in Layout::ALL {
        let db = server.database("window").await;
        layout.seed(&db, 30_000).await;
        let store = gentle_store(&db, layout).await;
        let query = |filter| PageQuery { filter, sort: Sort::default(), cursor: Cursor::Start, limit: 50 };
        let before = rows_read(&db).await;
        let page = store.scan(query(filter("args.nowhere:1")), ScanMode::List, &budget()).await.expect("a page");
        let (read, scanned) = (rows_read(&db).await - before, page.scanned.expect("a scan").rows);
        // Each is read once in order and once by its key; the ends of the table are looked up for the progress.
        assert!(scanned > 0 && read <= 3 * scanned + 100, "{layout:?}: read {read} rows for {scanned}");
    }
}

#[tokio::test]
async fn what_died_outside_of_a_span_of_time_is_not_looked_at() {
    for db in harness::every_server("span").await {
        Layout::DeadLetterJobs.seed(&db, 3_000).await;
        // One that can only go by windows, from the newest job on.
        let store = gentle_store(&db, Layout::DeadLetterJobs).await;
        let all = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 500).await;
        let time = |entry: &Entry| entry.row.at.expect("a time").to_rfc3339();
        let (until, since) = (time(&all[all.len() - 200]), time(&all[all.len() - 100]));
        let meant: Vec<&Entry> = all.iter().filter(|entry| (&since..&until).contains(&&time(entry))).collect();
        assert!(meant.len() > 50, "{}", meant.len());
        let query = |cursor| PageQuery {
            filter: filter(&format!("since:{since} until:{until} msg:/./")),
            sort: Sort::default(),
            cursor,
            limit: 1_000,
        };
        let (mut found, mut looked_at, mut next) = (Vec::new(), 0, Some(Cursor::Start));
        while let Some(cursor) = next {
            let page = store.scan(query(cursor), ScanMode::List, &budget()).await.expect("a page");
            looked_at += page.scanned.expect("windows").rows;
            found.extend(page.entries.into_iter().map(|entry| entry.row.id));
            next = page.next;
        }
        assert!(meant.iter().map(|entry| &entry.row.id).eq(&found), "{:?}", db.engine);
        assert!(looked_at < 1_000, "{looked_at} of 3,000 on {:?}", db.engine);
    }
}
