//! What MariaDB keeps in tables that other databases do not: numbers without a sign, text in wide character sets, dates that
//! are none.

use std::time::Duration;

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::histogram::{Count, Exactness};
use dlq_tui::domain::job::JobId;
use dlq_tui::store::{Availability, Budget, Cursor, HistogramQuery, Sort, SourceError, Store, StoreExt};

use crate::cli::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::store_desk::*;
use crate::undo::{Bench, content};

/// Around the largest number that has a sign, and the largest of all.
const IDS: [&str; 6] = [
    "18446744073709551615",
    "18446744073709551614",
    "9223372036854775809",
    "9223372036854775808",
    "9223372036854775807",
    "5",
];

async fn unsigned(name: &str, how: &str) -> Option<TestDb> {
    let db = harness::mariadb()?.database(name).await;
    Layout::JobsDlq.install(&db).await;
    db.execute(&format!(
        "alter table jobs_dlq modify id bigint unsigned {how} not null; \
         alter table jobs modify id bigint unsigned {how} not null auto_increment, auto_increment = 9223372036854775800"
    ))
    .await;
    for id in IDS {
        db.execute(&format!(
            "insert into jobs_dlq (id, payload, attempts, error_class, failed_at) \
             values ({id}, '{{\"class\":\"A\"}}', 1, 'Boom', '2026-11-18 09:00:00')"
        ))
        .await;
    }
    Some(db)
}

#[tokio::test]
async fn ids_beyond_the_largest_signed_number_are_read_in_order_and_found() {
    let Some(db) = unsigned("unsigned", "").await else { return };
    for store in [store(&db, Layout::JobsDlq).await, gentle_store(&db, Layout::JobsDlq).await] {
        for (from, limit) in [(Cursor::Start, 1), (Cursor::Start, 2), (Cursor::End, 1), (Cursor::End, 4)] {
            let all = exhaust(&store, &Filter::all(), Sort::default(), from.clone(), limit).await;
            let read: Vec<&str> = all.iter().map(|entry| entry.row.id.as_str()).collect();
            assert_eq!(read, IDS, "{from:?} by {limit}");
        }
        let ids = IDS.map(JobId::new);
        assert_eq!(store.rows(&ids, &budget()).await.expect("rows").len(), IDS.len());
        assert_eq!(store.details(&ids, &budget()).await.expect("details").len(), IDS.len());
        for id in IDS {
            let found = exhaust(&store, &filter(&format!("id:{id}")), Sort::default(), Cursor::Start, 9).await;
            assert_eq!(found.len(), 1, "{id}");
        }
        // As a number that wraps, this is the largest.
        for other in ["-1", "18446744073709551616", "-9223372036854775808"] {
            let found = exhaust(&store, &filter(&format!("id:{other}")), Sort::default(), Cursor::Start, 9).await;
            assert!(found.is_empty(), "{other}");
            assert!(store.rows(&[JobId::new(other)], &budget()).await.expect("rows").is_empty(), "{other}");
        }
        assert_eq!(histogram(&store, Facet::Error, &Filter::all()).await.histogram.total.n, 6);
    }
}

#[tokio::test]
async fn a_new_job_with_such_an_id_is_seen_by_the_next_look() {
    let Some(db) = unsigned("unsignednews", "").await else { return };
    let store = store(&db, Layout::JobsDlq).await;
    db.execute("delete from jobs_dlq where id in (18446744073709551615, 5)").await;
    let look = async |since| store.changes(since, Facet::Error, &Filter::all(), &budget()).await.expect("changes");
    let first = look(None).await;
    db.execute(
        "insert into jobs_dlq (id, payload, attempts, error_class, failed_at) \
         values (18446744073709551615, '{}', 1, 'Late', '2026-11-18 09:00:00')",
    )
    .await;
    let again = look(Some(&first.token)).await;
    let of = |changes: &dlq_tui::store::Changes, class: &str| -> u64 {
        let cells = changes.cells.iter();
        cells.filter(|cell| cell.value.as_ref().is_some_and(|v| v.exact() == class)).map(|cell| cell.n).sum()
    };
    assert_eq!((of(&first, "Late"), of(&again, "Late"), of(&again, "Boom")), (0, 1, 4));
}

#[tokio::test]
async fn jobs_with_such_ids_are_replayed_discarded_and_put_back_as_others_are() {
    for how in ["", "zerofill"] {
        let Some(db) = unsigned("unsignedacts", how).await else { return };
        let before = content(&db, "jobs_dlq").await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        for action in [Action::Discard, Action::Replay] {
            let (run, tally) = bench.act("", action).await;
            assert_eq!((tally.done, db.count("jobs_dlq").await), (6, 0), "{action:?} {how}: {tally:?}");
            let (_, tally) = bench.undo(&run).await;
            assert_eq!(tally.done, 6, "{action:?} {how}: {tally:?}");
            assert_eq!(content(&db, "jobs_dlq").await, before, "{action:?} {how}");
            assert_eq!(db.count("jobs").await, 0, "{action:?} {how}");
        }
        let results = apply(&store(&db, Layout::JobsDlq).await, batch(Action::Replay, IDS.map(JobId::new))).await;
        assert!(results.values().all(|result| *result == JobResult::Done), "{how}: {results:?}");
    }
}

/// Character sets in which a letter takes two bytes or more.
const WIDE: [&str; 4] = ["utf16", "utf16le", "utf32", "ucs2"];

#[tokio::test]
async fn text_in_wide_character_sets_is_read_searched_and_acted_upon() {
    let Some(server) = harness::mariadb() else { return };
    let mut wrong = Vec::new();
    for charset in WIDE {
        for layout in Layout::ALL {
            let db = server.database(charset).await;
            layout.seed(&db, 60).await;
            // What JSON functions take apart stays as it is.
            let columns = "select concat(table_name, ' modify ', column_name, ' ', column_type, ' character set ', @c, \
                 if(is_nullable = 'NO', ' not null', '')) from information_schema.columns where table_schema = database() \
                 and collation_name is not null and column_name not in ('payload', 'metadata', 'arguments', 'event_payload', \
                 'error_backtrace', 'context')";
            for column in db.column(&columns.replace("@c", &format!("'{charset}'"))).await {
                db.execute(&format!("alter table {column}")).await;
            }
            if tokio::spawn(of_wide(db, layout)).await.is_err() {
                wrong.push(format!("{charset}: {layout:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn json_in_a_wide_character_set_is_refused_with_what_to_do() {
    let Some(server) = harness::mariadb() else { return };
    for charset in WIDE {
        let db = server.database(charset).await;
        Layout::JobsDlq.seed(&db, 3).await;
        db.execute(&format!("alter table jobs_dlq convert to character set {charset}")).await;
        let ended = User::of(&db).run(&["stats"]);
        let told = format!("jobs_dlq.payload holds its text in {charset}");
        let remedy = "`ALTER TABLE jobs_dlq CONVERT TO CHARACTER SET utf8mb4`";
        assert!(ended.with(1).contains(&told) && ended.err.contains(remedy), "{}", ended.err);
        db.execute("alter table jobs_dlq convert to character set utf8mb4").await;
        User::of(&db).run(&["stats"]).with(0);
    }
}

async fn of_wide(db: TestDb, layout: Layout) {
    let dead = layout.count_dead(&db).await;
    for store in [store(&db, layout).await, gentle_store(&db, layout).await] {
        let all = exhaust(&store, &filter("state:dead"), Sort::default(), Cursor::Start, 7).await;
        assert_eq!(all.len() as u64, dead);
        assert_eq!(histogram(&store, Facet::Error, &Filter::all()).await.histogram.total.n, dead);
        let entry = &all[3].row;
        let class = entry.error_class.as_ref().expect("a class").exact().to_owned();
        let of_class = all.iter().filter(|e| e.row.error_class == entry.error_class).count();
        for (text, n) in [
            (format!("error:{class}"), of_class),
            (format!("error:{class}*"), of_class),
            (format!("id:{}", entry.id.as_str()), 1),
            ("error:💥".to_owned(), 0),
            ("error:日本".to_owned(), 0),
            ("\"no such words\"".to_owned(), 0),
            ("msg:/no such/".to_owned(), 0),
        ] {
            let text = format!("state:dead {text}");
            let found = exhaust(&store, &filter(&text), Sort::default(), Cursor::Start, 9).await;
            let counted = histogram(&store, Facet::Class, &filter(&text)).await.histogram.total.n;
            assert_eq!((found.len(), counted as usize >= n), (n, true), "{text}");
        }
        let ids = [entry.id.clone()];
        assert_eq!(store.details(&ids, &budget()).await.expect("details").len(), 1);
        store.changes(None, Facet::Error, &Filter::all(), &budget()).await.expect("changes");
        store.outcomes(&ids, &[], &budget()).await.expect("fates");
    }
    let before = content(&db, layout.table()).await;
    let bench = Bench::new(&db, layout).await;
    let can = |action| {
        let ways = &bench.desk.store.info().capabilities.actions;
        ways.iter().any(|(a, way)| *a == action && matches!(way, Availability::Ready { .. }))
    };
    for (action, back) in
        [(Action::Discard, Action::Restore), (Action::Replay, Action::Recall), (Action::Ignore, Action::Reopen)]
    {
        if !can(action) {
            continue;
        }
        let (run, tally) = bench.act("state:dead", action).await;
        assert_eq!(tally.done, dead, "{action:?}: {tally:?}");
        if can(back) {
            let (_, tally) = bench.undo(&run).await;
            assert_eq!(tally.done, dead, "{back:?}: {tally:?}");
        }
    }
    if can(Action::Restore) && !can(Action::Ignore) {
        assert_eq!(content(&db, layout.table()).await, before);
    }
}

#[tokio::test]
async fn a_replay_of_jobs_in_an_old_character_set_is_undone() {
    let Some(server) = harness::mariadb() else { return };
    for (charset, word) in [("cp1251", "счёт"), ("latin2", "účet"), ("sjis", "請求ソ")] {
        let db = server.database(charset).await;
        Layout::JobsDlq.install(&db).await;
        db.execute(&format!(
            "alter table jobs_dlq convert to character set {charset}; insert into jobs_dlq \
             (payload, attempts, error_class, error_msg, failed_at) values \
             ('{{\"class\":\"A\",\"name\":\"{word}\"}}', 1, '{word}', '{word}', '2026-11-18 09:00:00')"
        ))
        .await;
        let before = content(&db, "jobs_dlq").await;
        let bench = Bench::new(&db, Layout::JobsDlq).await;
        for action in [Action::Replay, Action::Discard] {
            let (run, tally) = bench.act("", action).await;
            assert_eq!(tally.done, 1, "{charset}: {tally:?}");
            let (_, tally) = bench.undo(&run).await;
            assert_eq!((tally.done, content(&db, "jobs_dlq").await), (1, before.clone()), "{charset}: {tally:?}");
        }
    }
}

/// Values that only a session takes which is not strict: none that the type knows, and days that no calendar has.
async fn grudged(name: &str) -> Option<TestDb> {
    let db = harness::mariadb()?.database(name).await;
    Layout::JobsDlq.seed(&db, 6).await;
    db.execute(
        "set sql_mode = 'ALLOW_INVALID_DATES'; alter table jobs_dlq add kind enum('mail', 'it''s') not null default 'mail', \
         add due date, add seen datetime(3), add note varchar(20) default 'a note of its own'; \
         update jobs_dlq set kind = 'fax', due = '2026-02-31', seen = '2026-04-31 10:00:00.125' where id = 1; \
         update jobs_dlq set due = '0000-00-00', seen = '2026-00-10 00:00:00' where id = 2; \
         update jobs_dlq set kind = '', failed_at = '2026-02-30 09:00:00' where id = 3",
    )
    .await;
    assert_eq!(db.column("select kind + 0 from jobs_dlq order by id").await, ["0", "1", "0", "1", "1", "1"]);
    Some(db)
}

#[tokio::test]
async fn values_that_a_strict_session_refuses_come_back_as_they_were() {
    let Some(db) = grudged("grudged").await else { return };
    let before = content(&db, "jobs_dlq").await;
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    for action in [Action::Discard, Action::Replay] {
        let (run, tally) = bench.act("", action).await;
        assert_eq!((tally.done, db.count("jobs_dlq").await), (6, 0), "{action}: {tally:?}");
        let (_, tally) = bench.undo(&run).await;
        assert_eq!(tally.done, 6, "{action}: {tally:?}");
        assert_eq!(content(&db, "jobs_dlq").await, before, "{action}");
    }
    assert_eq!(db.column("select kind + 0 from jobs_dlq order by id").await, ["0", "1", "0", "1", "1", "1"]);
}

#[tokio::test]
async fn a_row_with_such_a_value_is_not_put_back_in_part_where_another_no_longer_fits() {
    let Some(db) = grudged("grudgednarrow").await else { return };
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    let (run, _) = bench.act("id:1 id:2 id:3", Action::Discard).await;
    db.execute("update jobs_dlq set note = 'short'; alter table jobs_dlq modify note varchar(6)").await;
    let (_, tally) = bench.undo(&run).await;
    assert_eq!((tally.done, tally.failed_total(), db.count("jobs_dlq").await), (0, 3, 3), "{tally:?}");
    assert!(tally.failed.iter().any(|(why, _)| why.exact().contains("would not hold it")), "{tally:?}");
    db.execute("alter table jobs_dlq modify note varchar(20)").await;
    assert_eq!(bench.undo(&run).await.1.done, 3);
}

#[tokio::test]
async fn values_are_told_apart_by_every_byte() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("bytes").await;
    Layout::DeadLetterJobs.seed(&db, 60).await;
    let values = ["Boom", "boom", "Boom ", "Boom  ", "Böom", "Bo\u{308}om", "BOOM", "Boom\u{0}", ""];
    db.execute("alter table dead_letter_jobs modify error_class varchar(80) character set utf8mb4 not null").await;
    for (n, value) in values.iter().enumerate() {
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        let rows = "status = 'failed' and error_class not like 'b%' and error_class <> ''";
        db.execute(&format!(
            "update dead_letter_jobs set error_class = convert(x'{hex}' using utf8mb4) where id in \
             (select id from (select id from dead_letter_jobs where {rows} order by id limit {}) as some)",
            n + 1
        ))
        .await;
    }
    for store in [store(&db, Layout::DeadLetterJobs).await, gentle_store(&db, Layout::DeadLetterJobs).await] {
        let counted = bars(&histogram(&store, Facet::Error, &Filter::all()).await.histogram);
        for (n, value) in values.iter().enumerate() {
            assert_eq!(counted.get(&Some((*value).to_owned())), Some(&(n as u64 + 1)), "{value:?} in {counted:?}");
        }
    }
}

#[tokio::test]
async fn only_the_very_word_of_a_state_is_that_state() {
    let Some(server) = harness::mariadb() else { return };
    // As the connection speaks it, and in a character set of its own.
    for charset in ["utf8mb4", "latin1"] {
        let db = server.database("words").await;
        Layout::DeadLetterJobs.seed(&db, 60).await;
        db.execute(&format!(
            "alter table dead_letter_jobs modify status varchar(80) character set {charset} not null; \
             update dead_letter_jobs set status = 'failed'"
        ))
        .await;
        for other in ["FAILED", "failed ", "fäiled", "failed2", ""] {
            let one =
                "(select id from (select id from dead_letter_jobs where binary status = 'failed' limit 1) as one)";
            db.execute(&format!("update dead_letter_jobs set status = '{other}' where id = {one}")).await;
        }
        let store = store(&db, Layout::DeadLetterJobs).await;
        for text in ["", "native:failed", "class:* native:failed"] {
            let counted = histogram(&store, Facet::Error, &filter(text)).await.histogram.total;
            assert_eq!(counted, Count::exact(55), "{charset}: {text}");
        }
        for (word, n) in [("FAILED", 1), ("\"failed \"", 1), ("fäiled", 1), ("failed native:FAILED", 56)] {
            let counted = histogram(&store, Facet::Error, &filter(&format!("native:{word}"))).await.histogram.total;
            assert_eq!(counted, Count::exact(n), "{charset}: {word}");
        }
    }
}

#[tokio::test]
async fn a_text_is_found_as_it_was_typed_whatever_patterns_mean_on_the_server() {
    let Some(server) = harness::private_mariadb() else { return };
    let messages =
        ["Lost a (b) [c] {d}", "50% off_peak!", "A.B*C+D?E|F^G$", "back\\\\slash #1", "x\ty", "Kelvin \u{212a}", "ſs"];
    for (charset, flags) in [("utf8mb4", ""), ("utf8mb4", "EXTENDED,MULTILINE,UNGREEDY"), ("latin1", "")] {
        let db = server.database("typed").await;
        db.execute(&format!("set global default_regex_flags = '{flags}'")).await;
        Layout::DeadLetterJobs.seed(&db, 60).await;
        let column = format!("error_message longtext character set {charset}");
        db.execute(&format!(
            "update dead_letter_jobs set error_message = ''; alter table dead_letter_jobs modify {column}"
        ))
        .await;
        let held = if charset == "latin1" { &messages[..5] } else { &messages[..] };
        for message in held {
            let one = "(select id from (select id from dead_letter_jobs where error_message = '' limit 1) as one)";
            db.execute(&format!(
                "update dead_letter_jobs set status = 'failed', error_message = '{message}' where id = {one}"
            ))
            .await;
        }
        if charset == "utf8mb4" {
            // Half a pair of surrogates, which is no text to what reads it by characters, and is stored all the same.
            db.execute(
                "update dead_letter_jobs set status = 'failed', error_message = concat(convert(x'EDA080' using utf8mb4), ' Half a pair') \
                 where error_message = '' limit 1",
            )
            .await;
            assert_eq!(db.count("dead_letter_jobs where hex(error_message) like 'EDA080%'").await, 1);
        }
        let store = store(&db, Layout::DeadLetterJobs).await;
        for (text, n) in [
            ("lost A (B)", 1),
            ("[C] {d}", 1),
            ("lost a.(b)", 0),
            ("50% OFF_peak!", 1),
            ("50x", 0),
            ("off?peak", 0),
            ("c+D?e|f^g$", 1),
            ("ccd", 0),
            ("BACK\\\\SLASH #1", 1),
            ("X\ty", 1),
            ("kelvin k", 0),
            ("half A pair", u64::from(charset == "utf8mb4")),
            ("ss", 0),
        ] {
            let counted = histogram(&store, Facet::Error, &filter(&format!("msg:\"{text}\""))).await.histogram.total;
            assert_eq!(counted, Count::exact(n), "{charset} {flags}: {text}");
        }
        // Its pieces are asked for, as they stand, before the pattern has the last word.
        for (pattern, n) in
            [("Lost a .b.", 1), ("lost a .b.", 0), ("50% off.peak", 1), ("peak.*off", 0), ("A[.]B[*]C", 1)]
        {
            let counted = histogram(&store, Facet::Error, &filter(&format!("msg:/{pattern}/"))).await.histogram.total;
            assert_eq!(counted, Count::exact(n), "{charset} {flags}: {pattern}");
        }
    }
}

#[tokio::test]
async fn a_large_table_shows_some_jobs_before_all_are_counted() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("large").await;
    Layout::DeadLetterJobs.install(&db).await;
    db.execute(
        "insert into dead_letter_jobs (id, job_class, job_id, arguments, error_class, error_backtrace, failed_at, status, \
         metadata, created_at, updated_at) select uuid(), 'A', seq, '[]', concat('E', seq % 3), '[]', \
         '2026-01-01' + interval seq second, 'failed', '{}', '2026-01-01', '2026-01-01' from seq_1_to_200000; \
         analyze table dead_letter_jobs",
    )
    .await;
    let store = store(&db, Layout::DeadLetterJobs).await;
    let mut query = HistogramQuery::exact(Facet::Error, Filter::all(), None);
    let first = store.count(query.clone(), &budget()).await.expect("a step");
    let total = first.histogram.total;
    assert!(total.exactness == Exactness::AtLeast && (1..200_000).contains(&total.n), "{total:?}");
    query.resume = first.resume;
    // The second step counts all of them, whatever the first has.
    let second = store.count(query.clone(), &budget()).await.expect("a step");
    assert!(second.resume.is_none() && second.token.is_some());
    assert_eq!(second.histogram.total, Count::exact(200_000));
    // And where that takes too long, the first is gone on with.
    let first = store.count(HistogramQuery { resume: None, ..query.clone() }, &budget()).await.expect("a step");
    query = HistogramQuery::exact(Facet::Error, Filter::all(), first.resume);
    let hasty = Budget::new(Duration::from_millis(40));
    let step = loop {
        match store.count(query.clone(), &hasty).await {
            Err(SourceError::Timeout(_)) => {}
            step => break step.expect("a step"),
        }
    };
    assert!(step.resume.is_some(), "200,000 rows are not read in 40 ms: {:?}", step.histogram.total);
    query.resume = step.resume;
    let total = loop {
        let step = store.count(query.clone(), &budget()).await.expect("a step");
        query.resume = step.resume;
        if query.resume.is_none() {
            break step.histogram.total;
        }
    };
    assert_eq!(total, Count::exact(200_000));
}
