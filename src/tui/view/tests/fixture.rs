//! Two consoles to look at: a believable night, and a nasty one.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::action::Action;
use crate::domain::contrast::Counts;
use crate::domain::display_rules::Notation;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram};
use crate::domain::job::{JobDetail, JobId, JobRow, State};
use crate::domain::json::NodeKind;
use crate::domain::outcome::OutcomeCounts;
use crate::domain::redact::Redactor;
use crate::domain::repair::{ArgumentChange, ChangeShape, RepairGroup, ShownValue};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::ledger::{LedgerLocation, Operator, Run, RunId, RunIntent, RunState, RunTally};
use crate::store::{
    Availability, Capabilities, Cell, Cursor, Entry, Evidence, HistogramStep, Page, Position, SortKey, StoreInfo,
};
use crate::triage::contrast::{Comparison, DifferenceLine};
use crate::triage::plan::{CohortBreakdown, CohortShare, Confirm, Plan};
use crate::triage::progress::RunProgress;
use crate::triage::repair::RepairReport;
use crate::tui::app::model::{
    ConnectionState, ContrastPage, FilterState, Focus, ListSide, Loss, Model, Overlay, SelectionMarks, SourceState,
    Stale,
};
use crate::tui::app::{JobDocument, Opened, Settings};

/// 2026-11-20 03:12:13Z: somebody was paged.
pub const NOW: Timestamp = Timestamp(1_795_144_333_000_000);

fn ago(seconds: u64) -> Timestamp {
    NOW.before(Duration::from_secs(seconds))
}

fn text(text: &str) -> Option<Untrusted> {
    Some(Untrusted::new(text))
}

/// What the night is made of: error class, job class, queue, message, count, first and last seen in seconds.
type Kind = (&'static str, &'static str, &'static str, &'static str, u64, u64, u64);

const NIGHT: &[Kind] = &[
    (
        "Net::ReadTimeout",
        "ChargeCardJob",
        "billing",
        "execution expired after 30.0 s: POST https://api.pay.example/v1/charges",
        48_213,
        7_500,
        1,
    ),
    ("Stripe::CardError", "CapturePaymentJob", "billing", "Your card was declined.", 9_120, 86_400 * 9, 4),
    (
        "ActiveRecord::Deadlocked",
        "SettleInvoiceJob",
        "critical",
        "deadlock detected: process 4711 waits for ShareLock",
        2_004,
        7_100,
        9,
    ),
    (
        "Errno::ECONNREFUSED",
        "WebhookDeliveryJob",
        "webhooks",
        "Connection refused - connect(2) for hooks.customer.example:443",
        871,
        86_400 * 21,
        40,
    ),
    ("JSON::ParserError", "ImportOrdersJob", "imports", "unexpected token at '<html>'", 90, 86_400 * 3, 3_700),
    (
        "Payments::IdempotencyConflict",
        "ChargeCardJob",
        "billing",
        "key ch_10442 was used with other parameters",
        41,
        180,
        6,
    ),
    ("Timeout::Error", "SyncLedgerJob", "low", "execution expired", 12, 86_400 * 40, 86_400),
];

fn bar(kind: &Kind, nth: u32) -> Bar {
    let trend = (0..24u32).map(|slot| if slot + nth * 3 > 18 { (slot * slot * 7 + nth * 13) % 97 } else { nth % 2 });
    Bar {
        value: text(kind.0),
        count: Count::exact(kind.4),
        first_seen: Some(ago(kind.5)),
        last_seen: Some(ago(kind.6)),
        trend: trend.collect(),
        example: None,
    }
}

fn histogram(bars: Vec<Bar>) -> Histogram {
    let total = bars.iter().fold(Count::exact(0), |sum, bar| sum.plus(bar.count));
    Histogram { facet: Facet::Error, bars, total, as_of: NOW, progress: None }
}

fn row(n: usize, kind: &Kind, seconds: u64) -> JobRow {
    JobRow {
        id: JobId::new(format!("8f3a2c{n:04}")),
        at: Some(ago(seconds)),
        state: State::Dead,
        native_state: Untrusted::new("failed"),
        error_class: text(kind.0),
        message: text(kind.3),
        job_class: text(kind.1),
        queue: text(kind.2),
        worker: text("worker-7"),
        reason: None,
        attempts: Some(5),
        max_attempts: Some(25),
    }
}

fn entry(row: JobRow) -> Entry {
    let position = Position { key: row.at.map(|at| at.0.to_string()), id: row.id.clone() };
    Entry { row, position, lineage: None, arguments: None, compared: None }
}

fn opened() -> Opened {
    let ready = Availability::Ready { notes: Vec::new() };
    let availability = |action: Action| match action {
        Action::Ignore => Availability::Disabled("this layout has no place for ignored jobs".into()),
        _ => ready.clone(),
    };
    let actions: Vec<_> = Action::ALL.map(|action| (action, availability(action))).into();
    let info = StoreInfo {
        adapter: "dead_letter_jobs".into(),
        title: "public.dead_letter_jobs".into(),
        server: "PostgreSQL 15.18".into(),
        database: "shop_production".into(),
        user: "ops".into(),
        newest_by: None,
        destination: None,
        notation: Arc::default(),
        read_only: None,
        replica: false,
        warnings: Vec::new(),
        capabilities: Capabilities {
            facets: vec![Facet::Error, Facet::Class, Facet::Queue, Facet::State, Facet::Hour],
            sorts: vec![SortKey::Time, SortKey::Attempts],
            actions,
            defers: true,
            evidence: Evidence::Transaction,
            ..Capabilities::default()
        },
    };
    Opened { info, production: true, name: "dead_letter_jobs".into() }
}

fn blank(size: (u16, u16)) -> Model {
    let reach = vec!["--source".into(), "shop".into()];
    let source = SourceState { label: "shop".into(), reach, ..SourceState::default() };
    let mut model = Model::new(source, FilterState::default(), Settings::default(), size);
    model.screen.focus = Focus::List;
    model.source.opened = Some(opened());
    model.live.link = ConnectionState::Up;
    model.live.heard_at = Some(ago(1));
    model.live.next_poll = Some(NOW);
    model.live.cost = Duration::from_micros(1_240);
    model
}

const ARGUMENTS: &str = r#"{"order_id": 104420000000000000017, "amount": {"cents": 129900, "currency": "EUR"}, "customer": {"id": 77, "name": "Ada Lovelace", "tags": ["vip", "net30"]}, "retry": false, "note": null}"#;
const BACKTRACE: &str = r#"["/app/app/clients/pay_client.rb:41:in `post'", "/app/app/jobs/charge_card_job.rb:12:in `perform'", "/usr/local/bundle/gems/activejob-7.1.3/lib/active_job/execution.rb:53:in `block in perform_now'"]"#;

fn document(row: JobRow, arguments: &str) -> Arc<JobDocument> {
    let detail = JobDetail {
        message: row.message.clone(),
        row,
        arguments: text(arguments),
        undecodable: false,
        backtrace: text(BACKTRACE),
        metadata: vec![("created_at".into(), text("2026-11-19 23:50:11")), ("retried_by".into(), None)],
        decoded_from: Vec::new(),
        lineage: None,
    };
    Arc::new(JobDocument::build(detail, Vec::new(), &Notation::default(), &Redactor::default()))
}

/// A night on which payments time out.
pub fn night(size: (u16, u16)) -> Model {
    let mut model = blank(size);
    let totals = [(State::Dead, 60_351), (State::Retrying, 12), (State::Resolved, 4_011), (State::Ignored, 9)];
    model.live.totals.read = Some((ago(2), totals.map(|(state, n)| (state, Count::exact(n))).to_vec()));
    let bars: Vec<Bar> = NIGHT.iter().zip(0..).map(|(kind, n)| bar(kind, n)).collect();
    let rows = model.histogram_rows();
    let known = bars.iter().filter(|b| b.count.n != 41).cloned().collect();
    let step = |bars, as_of| HistogramStep::of(Histogram { as_of, ..histogram(bars) });
    model.histogram.take_count(&step(known, ago(400)), None, rows);
    if let Some(counts) = &mut model.histogram.counts {
        let cell = |value: &str, n| Cell {
            bucket: 1,
            value: text(value),
            n,
            first_seen: Some(ago(180)),
            last_seen: Some(ago(1)),
            example: None,
        };
        counts.take_in(Some((1, &[cell(NIGHT[0].0, 1_163), cell(NIGHT[5].0, 41)])), ago(1));
    }
    model.histogram.take_count(&step(bars, NOW), None, rows);
    let jobs = (0..60).map(|n| entry(row(n, &NIGHT[[0, 0, 1, 0, 2, 0, 5, 3][n % 8]], 4 + n as u64 * n as u64 * 40)));
    let jobs: Vec<Entry> = jobs.collect();
    let first = jobs[0].row.clone();
    let height = model.list_rows();
    model.list.receive(ListSide::Start, Page { entries: jobs, next: None, scanned: None }, height);
    model.list.step(0, height);
    model.list.freshness.arrived = 37;
    model.list.marks.add([JobId::new("8f3a2c0002"), JobId::new("8f3a2c0003")]);
    model.list.freshness.stale.insert(JobId::new("8f3a2c0004"), Stale::Gone);
    let mut changed = entry(row(5, &NIGHT[0], 1_000));
    changed.row.state = State::Resolved;
    model.list.freshen(&[JobId::new("8f3a2c0005")], &[changed]);
    model.detail.turn_to(first.id.clone());
    model.detail.document = Some(document(first, ARGUMENTS));
    model
}

/// What jobs brought that should never reach a terminal as it is.
const NASTY: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;owned\u{7}red\u{1b}[31m",
    "user\u{202e}gpj.exe\u{2066}",
    "👩‍👩‍👧‍👦👍🏽🇩🇪",
    "日本語のとても長いエラーメッセージがここに続きます続きます続きます",
    "tab\there\r\nand\rthere",
    "\u{9b}31mC1\u{85}\u{ad}",
    "Z\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}algo",
    "",
];

/// A console full of them: missing values, times from nowhere, and text that would act.
pub fn nasty(size: (u16, u16)) -> Model {
    let mut model = blank(size);
    model.source.label = "名前\u{202e}source".into();
    let nasty = |n: usize| text(NASTY[n % NASTY.len()]);
    let mut bars: Vec<Bar> = (0..NASTY.len()).map(|n| bar(&NIGHT[n % NIGHT.len()], 3)).collect();
    for (n, bar) in bars.iter_mut().enumerate() {
        bar.value = nasty(n);
        bar.count.exactness = [Exactness::Estimate, Exactness::AtLeast, Exactness::Exact][n % 3];
    }
    bars.push(Bar::new(None, Count::exact(0)));
    bars.push(Bar {
        value: text("max"),
        count: Count::exact(u64::MAX),
        first_seen: Some(Timestamp(i64::MIN)),
        last_seen: Some(Timestamp(i64::MAX)),
        trend: vec![u32::MAX; 500],
        example: None,
    });
    let mut counts = histogram(bars);
    counts.progress = Some(0.4);
    let height = model.histogram_rows();
    model.histogram.show(counts, height);
    let jobs: Vec<Entry> = (0..40).map(|n| entry(nasty_row(n))).collect();
    let first = jobs[0].row.clone();
    let height = model.list_rows();
    let scanned = Some(crate::store::Scanned { rows: 1_200_000, share: 0.4 });
    let next = Some(Cursor::After(jobs[39].position.clone()));
    model.list.receive(ListSide::Start, Page { entries: jobs, next, scanned: None }, height);
    model.list.scan = scanned;
    model.list.halted = true;
    model.list.step(2, height);
    model.list.marks = SelectionMarks::All;
    let filter = Filter::parse("msg:\"\u{202e}日本\u{7}\" state:ignored").unwrap_or_else(|_| Filter::all());
    model.filter.set(filter, NOW);
    model.detail.turn_to(first.id.clone());
    model.detail.document = Some(document(
        first,
        &format!("{{\"a\":\"{}\"}}", NASTY.join("").replace(['\u{1b}', '\r', '\n', '\t', '\u{7}'], "\\u001b")),
    ));
    let reason = "server closed the connection \u{1b}[1munexpectedly\u{1b}[0m".to_owned();
    model.live.link = ConnectionState::Down {
        loss: Loss::Connection,
        reason,
        retry_at: NOW.after(Duration::from_millis(3_400)),
        attempts: 3,
    };
    model
}

fn nasty_row(n: usize) -> JobRow {
    let nasty = |k: usize| text(NASTY[(n + k) % NASTY.len()]).filter(|_| (n + k) % 5 != 4);
    JobRow {
        id: JobId::new(format!("{n}{}", NASTY[n % NASTY.len()])),
        at: [Some(Timestamp(i64::MIN)), None, Some(Timestamp(i64::MAX)), Some(NOW), Some(ago(40_000_000))][n % 5],
        state: State::ALL[n % 4],
        native_state: Untrusted::new(NASTY[(n + 1) % NASTY.len()]),
        error_class: nasty(0),
        message: nasty(1),
        job_class: nasty(2),
        queue: nasty(3),
        worker: nasty(4),
        reason: None,
        attempts: [Some(i64::MAX), None, Some(-1)][n % 3],
        max_attempts: [None, Some(i64::MIN)][n % 2],
    }
}

/// A plan for all that timed out.
pub fn plan(confirm: Confirm) -> Plan {
    let share = |kind: &Kind, value: &str| CohortShare { value: text(value), n: kind.4, rest: false };
    Plan {
        run: RunId("r-7".into()),
        action: Action::Replay,
        filter: Some("error:/Timeout/ at:>=2026-11-20T01:12:13Z".into()),
        count: 60_351,
        breakdown: CohortBreakdown {
            canary: Vec::new(),
            by_error: NIGHT.iter().map(|k| share(k, k.0)).collect(),
            by_class: NIGHT.iter().take(4).map(|k| share(k, k.1)).collect(),
            span: Some((ago(7_500), ago(1))),
            by_change: None,
        },
        sample: (0..5).map(|n| row(n, &NIGHT[n], 4 + n as u64 * 70)).collect(),
        warnings: vec!["12 of them were replayed before".into()],
        notes: vec!["A new ActiveJob with executions 0 is put into jobs; the dead row becomes resolved.".into()],
        creates: None,
        outlook: Vec::new(),
        options: Default::default(),
        confirm,
    }
}

/// A run that is half done.
pub fn progress() -> RunProgress {
    RunProgress {
        run: RunId("r-7".into()),
        state: RunState::Running,
        tally: RunTally { not_started: 34_400, ..tally() },
        rate: 1_310.4,
        eta: Some(Duration::from_secs(26)),
        waiting: None,
    }
}

fn tally() -> RunTally {
    RunTally {
        planned: 60_351,
        done: 25_939,
        skipped: vec![("changed meanwhile".into(), 8), ("gone".into(), 2)],
        failed: vec![(Untrusted::new("duplicate key value violates unique constraint \"jobs_uniq\""), 2)],
        in_doubt: 0,
        not_started: 34_400,
    }
}

/// The same run, stopped.
pub fn run() -> Run {
    let operator =
        Operator { user: "ada".into(), database_user: "ops".into(), host: "bastion-1".into(), ssh_client: None };
    let intent = RunIntent {
        action: Action::Replay,
        source: "shop".into(),
        store: "dead_letter_jobs public.dead_letter_jobs".into(),
        filter: "error:/Timeout/ since:2h".into(),
        resolved: "error:/Timeout/ at:>=2026-11-20T01:12:13Z".into(),
        reason: Some("pay.example is back".into()),
        operator,
        options: Default::default(),
        database: None,
        destination: None,
        frozen_at: ago(60),
    };
    Run {
        id: RunId("r-7".into()),
        place: LedgerLocation::Local,
        intent,
        state: RunState::Stopped,
        started_at: Some(ago(48)),
        ended_at: Some(ago(3)),
        tally: tally(),
        outcomes: Some(OutcomeCounts {
            replayed: 25_939,
            retrying: 12,
            succeeded: 25_900,
            died_same: 20,
            died_other: 7,
            died_by_class: vec![(Some("Net::ReadTimeout".into()), 20), (Some("KeyError".into()), 7)],
            ..OutcomeCounts::default()
        }),
        rollout: None,
    }
}

/// The console with its keys in another pane.
/// A comparison whose first line says this, with the cursor there or elsewhere.
pub fn contrast(first: &str, at: usize) -> Overlay {
    let line = |words: &str, filter: Option<&str>, chosen, others| DifferenceLine {
        attributes: vec![words.to_owned()],
        also: Vec::new(),
        filter: filter.map(str::to_owned),
        counts: Counts { chosen, others },
    };
    let found = Comparison {
        headline: "~ the newest 1,900 jobs, compared with ~ the newest 3,100 other dead jobs of Billing::ChargeJob"
            .into(),
        jobs: Counts { chosen: 1_900, others: 3_100 },
        is_sample: true,
        lines: vec![
            line(first, Some("args.currency:JPY"), 1_866, 9),
            line("args.amount is a number of 5 digits", None, 1_204, 310),
            line("queue = billing", Some("queue:billing"), 1_100, 902),
        ],
    };
    let chosen = Filter::parse("error:Stripe::CardError").expect("a filter");
    Overlay::Contrast(Box::new(ContrastPage { chosen, found: Some(found), at, ..ContrastPage::default() }))
}

pub fn focused(mut model: Model, focus: Focus) -> Model {
    model.screen.focus = focus;
    model
}

/// A source without dead jobs, or without an answer yet.
pub fn empty(size: (u16, u16)) -> Model {
    let mut model = blank(size);
    let rows = model.histogram_rows();
    model.histogram.show(histogram(Vec::new()), rows);
    model.list.receive(ListSide::Start, Page { entries: Vec::new(), next: None, scanned: None }, rows);
    model
}

/// What an expression makes of jobs.
pub fn repair() -> RepairReport {
    let group = |jobs, shape| RepairGroup { jobs, shape, example: JobId::new("1") };
    let value = |json: &str| Some(ShownValue { kind: NodeKind::String, json: json.into() });
    let change = |after| ArgumentChange { path: ".currency".into(), before: value("null"), after: value(after) };
    let groups = vec![
        group(60_351, ChangeShape::Same(vec![change("\"EUR\"")])),
        group(1_204, ChangeShape::Unchanged),
        group(3, ChangeShape::Failed("cannot use <n> as iterable (array or object)".into())),
    ];
    RepairReport { jobs: 61_558, changed: 60_351, groups, examples: Vec::new() }
}
