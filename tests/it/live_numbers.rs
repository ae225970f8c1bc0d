//! The numbers on the console's screen beside what SQL says, while jobs die, are replayed, changed and removed, at any moment
//! between the questions that the console asks, and are committed late.
//!
//! The model is the console's own; its requests are answered by the store, one at a time in any order. `DLQ_TEST_LIVE_SEEDS`
//! tries more than a test run does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::fingerprint::Fingerprint;
use dlq_tui::domain::histogram::{Count, Exactness, Histogram};
use dlq_tui::domain::job::{JobId, State};
use dlq_tui::domain::load_share::LoadShare;
use dlq_tui::domain::time::Timestamp;
use dlq_tui::ledger::{Ledger, LedgerLocator, Operator};
use dlq_tui::store::{HistogramQuery, ScanMode, SourceError, StoreExt};
use dlq_tui::triage::StoreContext;
use dlq_tui::triage::contrast::count_values;
use dlq_tui::triage::freeze::{Ask, freeze};
use dlq_tui::triage::plan::ActionScope;
use dlq_tui::triage::run::{RunControl, RunOptions, execute};
use dlq_tui::tui::StoreChoice;
use dlq_tui::tui::app::model::{ArgumentCount, FilterState, Model, SourceState};
use dlq_tui::tui::app::{Effect, Msg, Opened, Reply, Request, RequestId, Settings, Slot, start, update};

use crate::fixtures::{Layout, sql};
use crate::harness::{self, Engine, OpenTransaction, TestDb};
use crate::store_desk::{budget, gentle_store, store};

/// Numbers that are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let at = self.below(of.len() as u64);
        &of[usize::try_from(at).expect("an index")]
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

const CLASSES: [&str; 3] = ["ChargeCard", "SendMail", "Sync"];
const ERRORS: [(&str, &str); 3] =
    [("Timeout", "boom after 3 s"), ("KeyError", "no key given"), ("Declined", "card declined")];
const QUEUES: [&str; 3] = ["low", "high", ""];
const STATES: [(State, &str); 3] =
    [(State::Dead, "failed"), (State::Resolved, "resolved"), (State::Ignored, "ignored")];

/// A table with its ledger, and what happens to it.
struct Incident<'a> {
    db: &'a TestDb,
    random: Random,
    desk: StoreContext,
    ledger: Ledger,
    replayed: BTreeSet<String>,
    held: Option<OpenTransaction>,
    n: u64,
}

impl Incident<'_> {
    /// A job that dies now, or that died long ago.
    fn death(&mut self) -> String {
        let engine = self.db.engine;
        let seconds =
            if self.random.chance(60) { 0 } else { u32::try_from(self.random.below(9_000)).expect("small") + 1_800 };
        let (error, message) = *self.random.one(&ERRORS);
        let (class, queue, (_, status)) =
            (*self.random.one(&CLASSES), *self.random.one(&QUEUES), *self.random.one(&STATES));
        let status = if self.random.chance(80) { "failed" } else { status };
        let queue = if queue.is_empty() { "null".to_owned() } else { format!("'{queue}'") };
        let (at, arguments) = (sql::ago(engine, seconds), self.random.below(3));
        self.n += 1;
        let (n, id) = (self.n, format!("00000000-0000-4000-8000-{:012}", self.n));
        format!(
            "insert into dead_letter_jobs (id, job_class, job_id, queue_name, arguments, error_class, error_message, failed_at, \
             status, created_at, updated_at, error_backtrace, metadata) values ('{id}', '{class}', 'j{n}', {queue}, \
             '{{\"n\": {arguments}}}', '{error}', '{message}', {at}, '{status}', {at}, {at}, '[]', '{{}}')"
        )
    }

    async fn some_ids(&mut self, condition: &str) -> Vec<String> {
        let all = self.db.column(&format!("select id from dead_letter_jobs where {condition} order by id")).await;
        let share = self.random.one(&[3, 10, 40]).to_owned();
        all.into_iter().filter(|_| self.random.chance(share)).collect()
    }

    /// Something that others do: every sort of it in one statement.
    async fn change(&mut self) -> Option<String> {
        let some = self.some_ids("1 = 1").await;
        let listed: Vec<String> = some.iter().map(|id| format!("'{id}'")).collect();
        let which = if listed.is_empty() { "1 = 0".to_owned() } else { format!("id in ({})", listed.join(", ")) };
        let now = sql::ago(self.db.engine, 0);
        Some(match self.random.below(6) {
            0 | 1 => (0..=self.random.below(4)).map(|_| self.death()).collect::<Vec<_>>().join("; "),
            2 => format!("delete from dead_letter_jobs where {which}"),
            3 => format!("update dead_letter_jobs set status = '{}' where {which}", self.random.one(&STATES).1),
            4 => format!("update dead_letter_jobs set error_class = '{}' where {which}", self.random.one(&ERRORS).0),
            // They die again.
            _ => format!("update dead_letter_jobs set status = 'failed', failed_at = {now} where {which}"),
        })
    }

    /// One thing that happens, committed at once or, where the database has more than one writer, some time later.
    async fn happen(&mut self) {
        if self.random.chance(15) {
            return self.replay().await;
        }
        if self.held.is_some() {
            if self.random.chance(40) {
                self.commit().await;
            }
            // What it has locked, nobody else can write.
            let death = self.death();
            return self.db.execute(&death).await;
        }
        let Some(change) = self.change().await else { return };
        if !self.random.chance(25) {
            return self.db.execute(&change).await;
        }
        match self.db.engine {
            Engine::Sqlite => self.db.execute(&change).await,
            _ => self.held = Some(self.db.begin(&change).await),
        }
    }

    async fn commit(&mut self) {
        if let Some(held) = self.held.take() {
            held.commit().await;
        }
    }

    async fn replay(&mut self) {
        self.commit().await;
        let some = self.some_ids("status = 'failed'").await;
        if some.is_empty() {
            return;
        }
        let jobs = some.iter().map(JobId::new).collect();
        let ask = Ask::new(ActionScope::Jobs(jobs), dlq_tui::domain::action::Action::Replay, Timestamp::now());
        // Jobs that came back too often are left out, which leaves nothing where all have.
        let Ok(plan) = freeze(&self.desk, &self.ledger, ask, &budget(), |_| {}).await else { return };
        let progress = crate::run::progress();
        let options = RunOptions { retry: Duration::from_millis(20), ..RunOptions::default() };
        execute(&self.desk, &self.ledger, &plan.run, options, &RunControl::new(), &progress).await.expect("a run");
        for id in some {
            if self.db.scalar(&format!("select status from dead_letter_jobs where id = '{id}'")).await != "failed" {
                self.replayed.insert(id);
            }
        }
    }

    /// A term of a filter, and the condition that is it.
    fn term(&mut self) -> (String, String) {
        let ((error, message), class, queue) =
            (*self.random.one(&ERRORS), *self.random.one(&CLASSES), *self.random.one(&["low", "high"]));
        let n = self.random.below(3);
        let argument = match self.db.engine {
            Engine::Postgres => format!("arguments->>'n' = '{n}'"),
            Engine::Mysql => format!("json_value(arguments, '$.n') = '{n}'"),
            Engine::Sqlite => format!("cast(arguments->>'$.n' as text) = '{n}'"),
        };
        let listed: Vec<String> = self.replayed.iter().map(|id| format!("'{id}'")).collect();
        let replayed = if listed.is_empty() { "1 = 0".to_owned() } else { format!("id in ({})", listed.join(", ")) };
        let id = self.random.below(self.n.max(1)) + 1;
        let hour_ago = sql::ago(self.db.engine, 1_200);
        let of_print = format!("error_class = '{error}' and error_message = '{message}'");
        match self.random.below(16) {
            0 => (format!("error:{error}"), format!("error_class = '{error}'")),
            1 => (format!("-error:{error}"), format!("error_class <> '{error}'")),
            2 => (format!("class:{}*", &class[..3]), format!("job_class like '{}%'", &class[..3])),
            3 => (format!("queue:{queue}"), format!("queue_name = '{queue}'")),
            4 => (format!("-queue:{queue}"), format!("(queue_name is null or queue_name <> '{queue}')")),
            5 => (format!("msg:\"{message}\""), format!("error_message = '{message}'")),
            6 => {
                let word = *self.random.one(&["boom", "given", "card"]);
                let has = |column: &str| format!("lower({column}) like '%{word}%'");
                let any = ["error_class", "job_class", "error_message"].map(has).join(" or ");
                (word.to_owned(), format!("({any})"))
            }
            7 => ("since:20m".to_owned(), format!("failed_at >= {hour_ago}")),
            8 => ("until:20m".to_owned(), format!("failed_at < {hour_ago}")),
            9 => (format!("args.n:{n}"), argument),
            10 => ("state:ignored".to_owned(), "status = 'ignored'".to_owned()),
            11 => ("native:resolved".to_owned(), "status = 'resolved'".to_owned()),
            12 => (format!("id:00000000-0000-4000-8000-{id:012}"), format!("id = '00000000-0000-4000-8000-{id:012}'")),
            13 => (format!("fp:{}", Fingerprint::of(Some(error), Some(message))), of_print),
            14 => ("replayed:>0".to_owned(), replayed),
            _ => ("replayed:0".to_owned(), format!("not ({replayed})")),
        }
    }
}

/// The console's model, whose requests a store answers.
struct Console {
    model: Model,
    now: Timestamp,
    asked: Vec<(RequestId, Slot, Request)>,
    wake: Option<Timestamp>,
    desk: StoreContext,
}

impl Console {
    async fn open(desk: &StoreContext, filter: &str, facet: Facet, share: LoadShare) -> Self {
        let source = SourceState { label: "shop".into(), ..SourceState::default() };
        let filter = FilterState { written: Filter::parse(filter).expect("a filter"), ..FilterState::default() };
        let settings = Settings { budget: share, ..Settings::default() };
        let model = Model::new(source, filter, settings, (140, 45));
        let mut console = Self { model, now: Timestamp::now(), asked: Vec::new(), wake: None, desk: desk.clone() };
        let effects = start(&mut console.model);
        console.take(effects);
        console.settle(&mut Random(1), None).await;
        if console.model.histogram.facet != facet {
            console.count_by(facet.word()).await;
        }
        assert_eq!(console.model.histogram.facet, facet);
        console
    }

    /// Types `:by` with a facet or a path of the arguments.
    async fn count_by(&mut self, word: &str) {
        let keys = format!(":by {word}").chars().map(crossterm::event::KeyCode::Char).collect::<Vec<_>>();
        for key in keys.into_iter().chain([crossterm::event::KeyCode::Enter]) {
            self.tell(Msg::Key(crossterm::event::KeyEvent::from(key)));
        }
        self.settle(&mut Random(1), None).await;
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask { id, slot, request } => {
                    self.asked.retain(|(_, s, _)| *s != slot);
                    self.asked.push((id, slot, request));
                }
                Effect::Cancel(slot) => self.asked.retain(|(_, s, _)| *s != slot),
                Effect::WakeAt(at) => self.wake = Some(at),
                _ => {}
            }
        }
    }

    fn tell(&mut self, msg: Msg) {
        self.wake = None;
        let effects = update(&mut self.model, msg, self.now);
        self.take(effects);
    }

    /// Answers what is asked until nothing is, in any order; in between, things happen.
    async fn settle(&mut self, random: &mut Random, mut incident: Option<&mut Incident<'_>>) {
        loop {
            while !self.asked.is_empty() {
                let at = usize::try_from(random.below(self.asked.len() as u64)).expect("an index");
                let (id, slot, request) = self.asked.remove(at);
                let reply = self.answer(request).await;
                if let Some(incident) = incident.as_mut().filter(|_| random.chance(30)) {
                    incident.happen().await;
                }
                self.tell(Msg::Reply { id, slot, reply });
            }
            match self.wake {
                Some(at) if at <= self.now => self.tell(Msg::Tick),
                _ => return,
            }
        }
    }

    async fn answer(&self, request: Request) -> Reply {
        let (desk, store, budget) = (&self.desk, &self.desk.store, budget());
        match request {
            Request::Choices => Reply::Choices(Ok(vec![StoreChoice { name: "shop".into(), title: "shop".into() }])),
            Request::Open(name) | Request::Reopen(name) => {
                Reply::Opened(Box::new(Ok(Opened { info: store.info().clone(), production: false, name })))
            }
            Request::Estimate(facet) => {
                let step = store.count(HistogramQuery::estimate(facet), &budget).await;
                Reply::Estimate(step.map(|step| Some(step.histogram)))
            }
            Request::Histogram(query) => Reply::Histogram(Box::new(desk.count(query, &budget).await)),
            // What completes the path.
            Request::Arguments(_) => Reply::Arguments(Err(SourceError::Cancelled)),
            Request::ArgumentCount { keys, filter } => {
                let as_of = store.clock();
                let counted = count_values(desk, &filter, &keys, &budget, &mut |_| ()).await;
                Reply::ArgumentCount(Box::new(counted.map(|values| {
                    let (bars, total) = values.counts(Exactness::Exact);
                    let counts = Histogram { facet: Facet::Error, bars, total, as_of, progress: None };
                    ArgumentCount { keys, filter, counts, near: None }
                })))
            }
            Request::Totals(asked) => {
                let step = store.count(HistogramQuery::states(asked), &budget).await;
                Reply::Totals(step.map(|step| step.histogram.by_state()))
            }
            Request::Page { query, screen } => Reply::Page(desk.scan(query, ScanMode::Screen(screen), &budget).await),
            Request::Rows(ids) => {
                let rows = store.rows(&ids, &budget).await;
                Reply::Rows(ids, rows)
            }
            Request::Detail(_) => Reply::Detail(Ok(None)),
            Request::Poll { since, facet, filter } => {
                Reply::Poll(Box::new(desk.changes(since.as_ref(), facet, &filter, &budget).await))
            }
            other => panic!("nobody asked for {other:?}"),
        }
    }

    /// The next poll, and all that follows from it.
    async fn poll(&mut self, random: &mut Random, incident: Option<&mut Incident<'_>>, after: Duration) {
        let next = self.model.live.next_poll.unwrap_or(self.now);
        self.now = self.now.after(after).max(next);
        self.tell(Msg::Tick);
        self.settle(random, incident).await;
    }
}

/// The bars that SQL counts.
async fn truth(db: &TestDb, facet: Facet, condition: &str) -> BTreeMap<String, u64> {
    let hour = match db.engine {
        Engine::Postgres => "to_char(failed_at, 'YYYY-MM-DD\"T\"HH24')",
        Engine::Mysql => "date_format(failed_at, '%Y-%m-%dT%H')",
        Engine::Sqlite => "strftime('%Y-%m-%dT%H', failed_at)",
    };
    let value = match facet {
        Facet::Error => "error_class",
        Facet::Class => "job_class",
        Facet::Queue => "coalesce(queue_name, '-')",
        Facet::State => "case status when 'failed' then 'dead' else status end",
        Facet::Hour => hour,
        Facet::Fingerprint => "concat(error_class, '|', error_message)",
        Facet::Reason | Facet::Worker => unreachable!("the layout has none"),
    };
    let value = if db.engine == Engine::Sqlite {
        value.replace("concat(error_class, '|', error_message)", "error_class || '|' || error_message")
    } else {
        value.to_owned()
    };
    let values = db.column(&format!("select {value} from dead_letter_jobs where {condition}")).await;
    let mut bars = BTreeMap::new();
    for value in values {
        let value = match (facet, value.split_once('|')) {
            (Facet::Fingerprint, Some((class, message))) => Fingerprint::of(Some(class), Some(message)).to_string(),
            _ => value,
        };
        *bars.entry(value).or_default() += 1;
    }
    bars
}

/// The jobs by the only value in their arguments.
async fn argument_truth(db: &TestDb, condition: &str) -> BTreeMap<String, u64> {
    let value = match db.engine {
        Engine::Postgres => "arguments->>'n'",
        Engine::Mysql => "json_value(arguments, '$.n')",
        Engine::Sqlite => "cast(arguments->>'$.n' as text)",
    };
    let mut bars = BTreeMap::new();
    for value in db.column(&format!("select {value} from dead_letter_jobs where {condition}")).await {
        *bars.entry(value).or_default() += 1;
    }
    bars
}

/// Compares each number that carries no mark. Returns how many did not.
async fn compare(console: &Console, incident: &Incident<'_>, facet: Facet, condition: &str, told: &str) -> (u64, u64) {
    let (mut exact, mut marked) = (0, 0);
    let shown = console.model.histogram.shown.as_ref().expect("counts");
    let bars = truth(incident.db, facet, condition).await;
    let mut check = |what: &str, count: Count, is: u64| match count.exactness {
        Exactness::Exact => {
            exact += 1;
            assert_eq!(count.n, is, "{told}: {what}");
        }
        Exactness::AtLeast => {
            marked += 1;
            assert!(count.n <= is, "{told}: {what} is ≥{} of {is}", count.n);
        }
        Exactness::Estimate => marked += 1,
    };
    check("matches", shown.total, bars.values().sum());
    if shown.total.exactness == Exactness::Exact {
        for bar in &shown.bars {
            let value = bar.value.as_ref().map_or("-", |value| value.exact());
            check(value, bar.count, bars.get(value).copied().unwrap_or(0));
        }
        assert_eq!(shown.bars.len(), bars.len(), "{told}: bars");
    }
    if let Some(argument) = &console.model.histogram.argument {
        let counts = argument.counts.as_ref().expect("counts by the path");
        let bars = argument_truth(incident.db, condition).await;
        check("jobs by args.n", counts.total, bars.values().sum());
        for bar in counts.bars.iter().filter(|_| counts.total.exactness == Exactness::Exact) {
            let value = bar.value.as_ref().map_or("-", |value| value.exact());
            check(&format!("args.n:{value}"), bar.count, bars.get(value).copied().unwrap_or(0));
        }
    }
    for (state, status) in STATES {
        let is = incident.db.count(&format!("dead_letter_jobs where status = '{status}'")).await;
        check(state.word(), console.model.total(state).unwrap_or(Count::exact(0)), is);
    }
    (exact, marked)
}

async fn incident<'a>(db: &'a TestDb, seed: u64, folder: &std::path::Path) -> Incident<'a> {
    let path = folder.join("ledger.sqlite3");
    let ledger = Ledger::open(&path).await.expect("a ledger");
    // One in two counts window by window.
    let inner = match seed % 2 {
        0 => store(db, Layout::DeadLetterJobs).await,
        _ => gentle_store(db, Layout::DeadLetterJobs).await,
    };
    let (store, operator, redactor) = (Arc::new(inner), Operator::default(), Arc::default());
    let ledger_locator = Some(LedgerLocator::new(path, None));
    let desk =
        StoreContext { store, source: "shop".into(), production: false, operator, redactor, ledger: ledger_locator };
    let random = Random(seed.wrapping_mul(7_919).wrapping_add(17));
    let mut incident = Incident { db, random, desk, ledger, replayed: BTreeSet::new(), held: None, n: 0 };
    let deaths: Vec<String> = (0..60).map(|_| incident.death()).collect();
    db.execute(&deaths.join("; ")).await;
    incident
}

fn seeds(usual: u64) -> u64 {
    std::env::var("DLQ_TEST_LIVE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Plays an incident under a filter; tells how many numbers were exact and how many carried a mark.
async fn play(db: &TestDb, seed: u64, share: LoadShare) -> (u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut incident = incident(db, seed, folder.path()).await;
    incident.replay().await;
    let terms: Vec<(String, String)> = (0..incident.random.below(3)).map(|_| incident.term()).collect();
    let texts: Vec<&str> = terms.iter().map(|(text, _)| text.as_str()).collect();
    let filter = texts.join(" ");
    let names_states = ["state:", "native:", "id:"].iter().any(|key| filter.contains(key));
    let facets = [Facet::Error, Facet::Class, Facet::Queue, Facet::State, Facet::Hour, Facet::Fingerprint];
    let facet = *incident.random.one(&facets);
    let mut console = Console::open(&incident.desk, &filter, facet, share).await;
    // One in two is counted by a path of the arguments as well.
    if seed % 4 < 2 {
        console.count_by("args.n").await;
    }
    let (mut exact, mut marked) = (0, 0);
    let mut random = Random(seed);
    for step in 0..10 {
        for _ in 0..random.below(4) {
            incident.happen().await;
        }
        let jump = Duration::from_secs(*random.one(&[6, 6, 6, 60, 900]));
        console.poll(&mut random, Some(&mut incident), jump).await;
        // Nothing happens any more until the numbers are compared.
        console.poll(&mut random, None, Duration::from_secs(6)).await;
        let listed: Vec<String> = incident.replayed.iter().map(|id| format!("'{id}'")).collect();
        let replayed = if listed.is_empty() { "1 = 0".to_owned() } else { format!("id in ({})", listed.join(", ")) };
        let now = |(text, condition): &(String, String)| match text.as_str() {
            "replayed:>0" => replayed.clone(),
            "replayed:0" => format!("not ({replayed})"),
            _ => condition.clone(),
        };
        let mut conditions = grouped(&terms, now);
        if !names_states {
            conditions.push("status = 'failed'".to_owned());
        }
        let condition = if conditions.is_empty() { "1 = 1".to_owned() } else { conditions.join(" and ") };
        let told = format!("{} seed {seed} step {step} `{filter}` by {facet}", db.engine.name());
        let (e, m) = compare(&console, &incident, facet, &condition, &told).await;
        (exact, marked) = (exact + e, marked + m);
    }
    incident.commit().await;
    (exact, marked)
}

/// Terms of the same key are alternatives, but for those that are negated; all others hold together.
fn grouped(terms: &[(String, String)], now: impl Fn(&(String, String)) -> String) -> Vec<String> {
    let mut keys: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (place, term) in terms.iter().enumerate() {
        let key = term.0.split_once(':').map_or("", |(key, _)| key);
        match key.is_empty() || key.starts_with('-') || ["since", "until"].contains(&key) {
            true => keys.entry(["a", "b", "c"][place]).or_default().push(now(term)),
            false => keys.entry(key).or_default().push(now(term)),
        }
    }
    keys.into_values().map(|any| format!("({})", any.join(" or "))).collect()
}

#[tokio::test]
async fn every_number_is_that_of_sql_one_look_after_a_change() {
    let share = LoadShare::parse("100%").expect("a share");
    for seed in 0..seeds(12) {
        for db in harness::every_engine(&format!("live{seed}")).await {
            Layout::DeadLetterJobs.install(&db).await;
            let (exact, marked) = play(&db, seed, share).await;
            assert!(exact > 0 && marked == 0, "{} seed {seed}: {marked} of {}", db.engine.name(), exact + marked);
        }
    }
}

#[tokio::test]
async fn every_number_of_a_table_that_is_dear_to_count_is_that_of_sql_or_marked() {
    let share = LoadShare::parse("0.001%").expect("a share");
    for seed in 100..100 + seeds(8) {
        for db in harness::every_engine(&format!("dear{seed}")).await {
            Layout::DeadLetterJobs.install(&db).await;
            let (exact, marked) = play(&db, seed, share).await;
            assert!(exact > 0 && marked > 0, "{} seed {seed}: {exact} exact, {marked} marked", db.engine.name());
        }
    }
}
