//! Tables, rows and triggers that no layout's author planned for.

use std::sync::{Arc, Mutex};

use dlq_tui::domain::action::{Action, JobResult};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::sql::ReplayDestination;
use dlq_tui::store::{Batch, Cursor, Deliver, Message, Sort, SortKey, Store, StoreExt};
use futures_util::future::BoxFuture;

use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};
use crate::store_desk::*;

/// Accepts every job and remembers each delivery.
#[derive(Default)]
struct Eager(Mutex<Vec<JobId>>);

impl Deliver for Eager {
    fn deliver(&self, batch: Vec<Message>) -> BoxFuture<'_, Vec<(JobId, Result<(), String>)>> {
        self.0.lock().expect("a lock").extend(batch.iter().map(|m| m.id.clone()));
        Box::pin(async move { batch.into_iter().map(|m| (m.id, Ok(()))).collect() })
    }
}

async fn ids(store: &dyn Store) -> Vec<JobId> {
    let all = exhaust(store, &Filter::all(), Sort::default(), Cursor::Start, 100).await;
    all.into_iter().map(|e| e.row.id).collect()
}

/// A dead job with these arguments and metadata, as SQL literals.
async fn dead_letter(db: &TestDb, id: &str, class: &str, arguments: &str, metadata: &str) {
    let quoted = |text: &str| {
        let text = if db.engine == Engine::Mysql { text.replace('\\', "\\\\") } else { text.to_owned() };
        format!("'{}'", text.replace('\'', "''"))
    };
    db.execute(&format!(
        "insert into dead_letter_jobs (id, job_class, job_id, queue_name, arguments, error_class, error_backtrace, failed_at, \
         status, metadata, created_at, updated_at) values ({}, {}, {}, 'billing', {}, 'Boom', '[]', '2026-11-18 09:00:00', \
         'failed', {}, '2026-11-18 09:00:00', '2026-11-18 09:00:00')",
        quoted(id), quoted(class), quoted(&format!("job of {id}")), quoted(arguments), quoted(metadata),
    ))
    .await;
}

fn text_of(db: &TestDb, column: &str) -> String {
    if db.engine == Engine::Postgres { format!("{column}::text") } else { column.to_owned() }
}

/// Makes a table refuse, by a trigger, rows for which `condition` (over `new`) holds.
async fn refuse_rows(db: &TestDb, event: &str, table: &str, condition: &str) {
    let sql = match db.engine {
        Engine::Postgres => format!(
            "create function stop_it() returns trigger language plpgsql as $$ begin if {condition} then \
             raise exception 'the trigger says no'; end if; return new; end $$; \
             create trigger stop_it before {event} on {table} for each row execute function stop_it()"
        ),
        Engine::Mysql => format!(
            "create trigger stop_it before {event} on {table} for each row \
             if {condition} then signal sqlstate '45000' set message_text = 'the trigger says no'; end if"
        ),
        Engine::Sqlite => format!(
            "create trigger stop_it before {event} on {table} when {condition} \
             begin select raise(abort, 'the trigger says no'); end"
        ),
    };
    db.execute(&sql).await;
}

#[tokio::test]
async fn a_job_that_was_delivered_and_cannot_be_marked_is_delivered_once_and_told_as_delivered() {
    for db in harness::every_engine("unmarked").await {
        Layout::DeadLetterJobs.seed(&db, 40).await;
        let store = store_to(&db, Layout::DeadLetterJobs, ReplayDestination::Command("bin/replay".to_owned())).await;
        let ids: Vec<JobId> = ids(&store).await.into_iter().take(10).collect();
        let stuck = ids[4].clone();
        db.execute(&format!("update dead_letter_jobs set job_class = 'Stuck' where id = '{}'", stuck.as_str())).await;
        let condition = "new.status = 'resolved' and new.job_class = 'Stuck'";
        refuse_rows(&db, "update", "dead_letter_jobs", condition).await;
        let eager = Arc::new(Eager::default());
        let results = apply(&store, Batch { deliver: Some(eager.clone()), ..batch(Action::Replay, ids.clone()) }).await;
        let mut sent = eager.0.lock().expect("a lock").clone();
        sent.sort();
        let mut each = ids.clone();
        each.sort();
        assert_eq!(sent, each, "{}", db.engine.name());
        for id in &ids {
            match &results[id] {
                JobResult::Done => assert_ne!(*id, stuck),
                JobResult::Failed(why) => {
                    assert_eq!(*id, stuck, "{why:?}");
                    let why = why.exact();
                    assert!(why.contains("accepted") && why.contains("the trigger says no"), "{why}");
                }
                other => panic!("{}: {other:?}", db.engine.name()),
            }
        }
        let left = db.column("select job_class from dead_letter_jobs where status = 'retrying'").await;
        assert_eq!(left, ["Stuck"]);
    }
}

#[tokio::test]
async fn keys_that_are_no_uuids_open_and_replay_where_the_column_is_text() {
    for db in harness::every_engine("textkeys").await {
        let text = if db.engine == Engine::Mysql { "varchar(60)" } else { "varchar" };
        Layout::DeadLetterJobs.install(&db).await;
        db.execute("drop table dead_letter_jobs").await;
        let json = if db.engine == Engine::Postgres { "jsonb" } else { "json" };
        let time = if db.engine == Engine::Postgres { "timestamp" } else { "datetime(6)" };
        db.execute(&format!(
            "create table dead_letter_jobs (id {text} primary key, job_class varchar(255) not null, \
             job_id varchar(255) not null unique, queue_name varchar(255), arguments {json} not null, \
             error_class varchar(255) not null, error_message text, error_backtrace {json} not null, \
             failed_at {time} not null, status varchar(255) not null, metadata {json} not null, \
             created_at {time} not null, updated_at {time} not null)"
        ))
        .await;
        let names = ["7", "order-12", "a b'c", "Ünï💥", "{x}", "50%_"];
        for name in names {
            dead_letter(&db, name, "Charge", "[1]", "{}").await;
        }
        let store = store(&db, Layout::DeadLetterJobs).await;
        let found = ids(&store).await;
        assert_eq!(found.len(), names.len());
        for id in &found {
            assert!(store.detail(id, &budget()).await.expect("an answer").is_some(), "{} {id:?}", db.engine.name());
        }
        // What a collation takes for one of them is another key.
        for other in ["ORDER-12", "order-12 ", "uni💥"] {
            let named = filter(&format!("id:\"{other}\""));
            assert!(exhaust(&store, &named, Sort::default(), Cursor::Start, 9).await.is_empty(), "{other}");
            let other = [JobId::new(other)];
            let there = store.rows(&other, &budget()).await.expect("rows").len();
            assert_eq!((there, store.details(&other, &budget()).await.expect("details").len()), (0, 0), "{other:?}");
        }
        let named = exhaust(&store, &filter("id:order-12"), Sort::default(), Cursor::Start, 9).await;
        assert_eq!(named.len(), 1, "{}", db.engine.name());
        let results = apply(&store, batch(Action::Replay, found.clone())).await;
        assert!(results.values().all(|r| *r == JobResult::Done), "{}: {results:?}", db.engine.name());
        assert_eq!(db.count("jobs").await, names.len() as u64);
        assert_eq!(store.outcomes(&found, &[], &budget()).await.expect("fates").len(), names.len());
    }
}

#[tokio::test]
async fn metadata_that_is_no_object_is_kept_beside_what_a_replay_adds() {
    for db in harness::every_engine("metadata").await {
        Layout::DeadLetterJobs.install(&db).await;
        let id = "11111111-1111-4111-8111-111111111111";
        dead_letter(&db, id, "Charge", "[1]", r#""{\"note\":\"call the bank\"}""#).await;
        let store = store(&db, Layout::DeadLetterJobs).await;
        let results = apply(&store, batch(Action::Replay, [JobId::new(id)])).await;
        assert!(results.values().all(|r| *r == JobResult::Done), "{}: {results:?}", db.engine.name());
        let metadata = db.scalar(&format!("select {} from dead_letter_jobs", text_of(&db, "metadata"))).await;
        assert!(
            metadata.contains("call the bank") && metadata.contains("replayed_as"),
            "{}: {metadata}",
            db.engine.name()
        );
    }
}

#[tokio::test]
async fn rows_with_bytes_and_odd_json_are_archived_whole_before_they_are_deleted() {
    for db in harness::every_engine("bytes").await {
        Layout::JobsDlq.install(&db).await;
        let (more, value) = match db.engine {
            Engine::Postgres => ("raw json, bin bytea", r#"'{"a":"\u0000", "n":1.10}', '\xff00'"#),
            Engine::Mysql => ("raw longtext, bin longblob", r#"'{"a":"\\u0000", "n":1.10}', x'ff00'"#),
            Engine::Sqlite => ("raw text", r#"'{"a":"\u0000", "n":1.10}', x'ff00'"#),
        };
        for column in more.split(", ").chain((db.engine == Engine::Sqlite).then_some("bin blob")) {
            db.execute(&format!("alter table jobs_dlq add column {column}")).await;
        }
        db.execute(&format!(
            "insert into jobs_dlq (payload, attempts, failed_at, raw, bin) \
             values ('{{}}', 1, '2026-11-18 09:00:00', {value})"
        ))
        .await;
        let store = store(&db, Layout::JobsDlq).await;
        let shelf = Arc::new(Shelf::default());
        let ids = ids(&store).await;
        let results = apply(&store, Batch { journal: Some(shelf.clone()), ..batch(Action::Discard, ids) }).await;
        assert!(results.values().all(|r| *r == JobResult::Done), "{}: {results:?}", db.engine.name());
        let kept = format!("{:?}", shelf.rows.lock().expect("a lock"));
        assert!(kept.contains("u0000") && kept.contains("1.10"), "{}: {kept}", db.engine.name());
        assert!(kept.to_lowercase().contains("ff00") || kept.contains("/wA"), "{}: {kept}", db.engine.name());
    }
}

#[tokio::test]
async fn the_class_of_a_job_is_the_first_name_in_its_payload_that_is_not_null() {
    for db in harness::every_engine("class").await {
        Layout::JobsDlq.install(&db).await;
        for payload in [
            r#"{"class":"A"}"#,
            r#"{"job_class":"B","class":null}"#,
            r#"{"type":"C","queue":null,"queue_name":"q"}"#,
            r#"{"job":"D"}"#,
            r#"{"task":"E"}"#,
            r#"{"class":"F","type":"event"}"#,
            r#"["no","object"]"#,
        ] {
            let sql = "insert into jobs_dlq (payload, attempts, failed_at) values";
            db.execute(&format!("{sql} ('{payload}', 1, '2026-11-18 09:00:00')")).await;
        }
        let store = store(&db, Layout::JobsDlq).await;
        let step = histogram(&store, Facet::Class, &Filter::all()).await;
        let names: Vec<Option<String>> = bars(&step.histogram).into_keys().collect();
        let expected = [None, Some("A"), Some("B"), Some("C"), Some("D"), Some("E"), Some("F")];
        assert_eq!(names, expected.map(|n| n.map(str::to_owned)), "{}", db.engine.name());
        let queues = bars(&histogram(&store, Facet::Queue, &Filter::all()).await.histogram);
        assert_eq!(queues.get(&Some("q".to_owned())), Some(&1), "{}: {queues:?}", db.engine.name());
        assert_eq!(queues.get(&None), Some(&6), "{}: {queues:?}", db.engine.name());
    }
}

#[tokio::test]
async fn a_batch_of_large_payloads_is_replayed_whole() {
    for db in harness::every_engine("large").await {
        Layout::DeadLetterJobs.install(&db).await;
        let arguments = format!("[\"{}\"]", "payment ".repeat(120_000));
        for n in 0..24 {
            let id = format!("11111111-1111-4111-8111-1111111111{n:02}");
            dead_letter(&db, &id, "Charge", &arguments, "{}").await;
        }
        let store = store(&db, Layout::DeadLetterJobs).await;
        let ids = ids(&store).await;
        let results = apply(&store, batch(Action::Replay, ids)).await;
        assert!(results.values().all(|r| *r == JobResult::Done), "{}: {results:?}", db.engine.name());
        assert_eq!(db.count("jobs").await, 24, "{}", db.engine.name());
    }
}

#[tokio::test]
async fn a_row_that_the_database_cannot_write_out_is_not_deleted() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("unwritten").await;
    Layout::JobsDlq.install(&db).await;
    // Such text is written in hexadecimal behind a letter, and what is put together is no longer than a message to the server.
    // Of hexadecimal alone some releases write more, and keep the row whole.
    db.execute("alter table jobs_dlq add column odd longtext character set big5").await;
    for size in [1, 12_000_000, 2] {
        let row = format!("('{{}}', 1, now(), repeat('x', {size}))");
        db.execute(&format!("insert into jobs_dlq (payload, attempts, failed_at, odd) values {row}")).await;
    }
    let store = store(&db, Layout::JobsDlq).await;
    let shelf = Arc::new(Shelf::default());
    let ids = ids(&store).await;
    let results = apply(&store, Batch { journal: Some(shelf.clone()), ..batch(Action::Discard, ids) }).await;
    let failed = results.values().filter(|r| matches!(r, JobResult::Failed(_))).count();
    assert_eq!((failed, db.count("jobs_dlq").await), (1, 1), "{results:?}");
    assert!(shelf.rows.lock().expect("a lock").iter().all(|(_, row)| row.len() > 2));
}

#[tokio::test]
async fn a_live_table_that_wants_more_than_we_know_refuses_and_nothing_is_lost() {
    for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
        for db in harness::every_engine(&format!("wants_{}", layout.table())).await {
            layout.seed(&db, 20).await;
            refuse_rows(&db, "insert", "jobs", "1 = 1").await;
            let store = store(&db, layout).await;
            let (ids, dead) = (ids(&store).await, layout.count_dead(&db).await);
            let results = apply(&store, batch(Action::Replay, ids)).await;
            assert!(results.values().all(|r| matches!(r, JobResult::Failed(_))), "{}: {results:?}", db.engine.name());
            assert_eq!((db.count("jobs").await, layout.count_dead(&db).await), (0, dead));
        }
    }
}

#[tokio::test]
async fn a_job_that_a_trigger_drops_without_a_word_stays_dead_and_costs_nobody_else() {
    let Some(server) = harness::postgres() else { return };
    for layout in [Layout::DeadLetterJobs, Layout::JobsDlq] {
        let db = server.database(&format!("drops_{}", layout.table())).await;
        layout.seed(&db, 30).await;
        db.execute(
            "create function drop_it() returns trigger language plpgsql as $$ begin \
             if new.payload::text like '%1%7%' then return null; end if; return new; end $$; \
             create trigger drop_it before insert on jobs for each row execute function drop_it()",
        )
        .await;
        let store = store(&db, layout).await;
        let (ids, dead) = (ids(&store).await, layout.count_dead(&db).await);
        let results = apply(&store, batch(Action::Replay, ids)).await;
        let done = results.values().filter(|r| **r == JobResult::Done).count() as u64;
        assert_eq!((db.count("jobs").await, layout.count_dead(&db).await), (done, dead - done));
        assert!(done < dead && results.values().all(|r| !matches!(r, JobResult::Skipped(_))), "{results:?}");
    }
}

#[tokio::test]
async fn times_beyond_the_calendar_and_ties_page_once_in_both_directions_while_rows_vanish() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("infinite").await;
    Layout::DeadLetterJobs.seed(&db, 120).await;
    for (time, digit) in
        [("infinity", 1), ("-infinity", 2), ("0044-03-15 12:00:00.000001 BC", 3), ("294276-12-31 23:59:59.999999", 4)]
    {
        db.execute(&format!(
            "update dead_letter_jobs set failed_at = '{time}' where status = 'failed' and id in \
             (select id from dead_letter_jobs order by md5(id::text || '{digit}') limit 7)"
        ))
        .await;
    }
    for store in [store(&db, Layout::DeadLetterJobs).await, gentle_store(&db, Layout::DeadLetterJobs).await] {
        let dead = Layout::DeadLetterJobs.count_dead(&db).await;
        for key in [SortKey::Time, SortKey::Attempts] {
            for descending in [true, false] {
                let sort = Sort { key, descending };
                let down = exhaust(&store, &Filter::all(), sort, Cursor::Start, 3).await;
                let up = exhaust(&store, &Filter::all(), sort, Cursor::End, 5).await;
                assert_eq!(down.len() as u64, dead);
                assert_eq!(down, up);
                let place = down[40].position.clone();
                db.execute(&format!("delete from dead_letter_jobs where id = '{}'", place.id.as_str())).await;
                let after = exhaust(&store, &Filter::all(), sort, Cursor::After(place), 50).await;
                assert_eq!(after, down[41..]);
                db.execute("insert into dead_letter_jobs select (x.j).* from (select jsonb_populate_record(null::dead_letter_jobs, to_jsonb(d) || jsonb_build_object('id', gen_random_uuid(), 'job_id', gen_random_uuid())) as j from dead_letter_jobs d where status = 'failed' limit 1) x").await;
            }
        }
    }
}

#[tokio::test]
async fn a_partitioned_table_is_read_replayed_and_discarded_like_any_other() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("partitions").await;
    Layout::JobsDlq.install(&db).await;
    db.execute(
        "drop table jobs_dlq; create table jobs_dlq (id bigserial, original_id bigint, payload jsonb, attempts int, \
         error_class text, error_msg text, stacktrace text, failed_by text, failed_at timestamptz not null, \
         primary key (id, failed_at)) partition by range (failed_at); \
         create table dlq_a partition of jobs_dlq for values from (minvalue) to ('2026-11-01'); \
         create table dlq_b partition of jobs_dlq for values from ('2026-11-01') to (maxvalue); \
         insert into jobs_dlq (payload, attempts, failed_at) \
         select '{}', 5, timestamptz '2026-10-01' + i * interval '1 day' from generate_series(1, 50) i",
    )
    .await;
    let store = store(&db, Layout::JobsDlq).await;
    let ids = ids(&store).await;
    assert_eq!(ids.len(), 50);
    let shelf = Arc::new(Shelf::default());
    let results = apply(&store, Batch { journal: Some(shelf), ..batch(Action::Discard, ids[..20].to_vec()) }).await;
    assert!(results.values().all(|r| *r == JobResult::Done), "{results:?}");
    let results = apply(&store, batch(Action::Replay, ids[20..].to_vec())).await;
    assert!(results.values().all(|r| *r == JobResult::Done), "{results:?}");
    assert_eq!((db.count("jobs").await, db.count("jobs_dlq").await), (30, 0));
}

#[tokio::test]
async fn a_key_in_another_case_is_not_the_key_that_was_named() {
    for db in harness::every_engine("case").await {
        Layout::DeadLetterJobs.install(&db).await;
        let id = "abcdefab-1111-4111-8111-111111111111";
        dead_letter(&db, id, "Charge", "[1]", "{}").await;
        let store = store(&db, Layout::DeadLetterJobs).await;
        let shouted = JobId::new(id.to_uppercase());
        let results = apply(&store, batch(Action::Replay, [shouted.clone()])).await;
        assert_eq!(results.len(), 1, "{}: {results:?}", db.engine.name());
        let done = results[&shouted] == JobResult::Done;
        assert_eq!(db.count("jobs").await, u64::from(done), "{}: {results:?}", db.engine.name());
    }
}

#[tokio::test]
async fn arguments_arrive_byte_for_byte_whatever_they_hold() {
    let arguments = r#"[{"n":12345678901234567890123,"d":1.10,"e":"a\\u0000b","s":"💥 \\ \" \t \u2028 é","_aj_symbol_keys":["n"]},[],{},null,true,""]"#;
    for db in harness::every_engine("bytewise").await {
        Layout::DeadLetterJobs.install(&db).await;
        let twice = serde_json::to_string(arguments).expect("JSON");
        for (n, stored) in [arguments, &twice].into_iter().enumerate() {
            dead_letter(&db, &format!("11111111-1111-4111-8111-11111111111{n}"), "Charge", stored, "{}").await;
        }
        let store = store(&db, Layout::DeadLetterJobs).await;
        let results = apply(&store, batch(Action::Replay, ids(&store).await)).await;
        assert!(results.values().all(|r| *r == JobResult::Done), "{}: {results:?}", db.engine.name());
        let same = match db.engine {
            Engine::Postgres => format!(
                "select count(*) from jobs where payload->'arguments' = '{}'::jsonb",
                arguments.replace('\'', "''")
            ),
            _ => "select count(*) from jobs where 1 = 1".to_owned(),
        };
        assert_eq!(db.scalar(&same).await, "2", "{}", db.engine.name());
        for payload in db.column(&format!("select {} from jobs", text_of(&db, "payload"))).await {
            assert!(payload.contains("12345678901234567890123") && payload.contains("1.10"), "{payload}");
            assert!(payload.contains(r"a\\u0000b") && payload.contains('💥'), "{payload}");
            let exact = db.engine == Engine::Postgres || payload.contains(arguments);
            assert!(exact, "{}: {payload}", db.engine.name());
        }
    }
}

#[tokio::test]
async fn what_was_committed_before_the_rest_of_a_batch_broke_off_is_told_as_done() {
    for db in harness::every_engine("midway").await {
        Layout::JobsDlq.seed(&db, 8).await;
        let denied = match db.engine {
            Engine::Postgres => "raise exception 'no right to it' using errcode = '42501'",
            Engine::Mysql => "signal sqlstate '42000' set mysql_errno = 1142, message_text = 'no right to it'",
            // It has no such error: a trigger can only refuse.
            Engine::Sqlite => continue,
        };
        let store = store(&db, Layout::JobsDlq).await;
        let mut ids = ids(&store).await;
        ids.sort_by_key(|id| id.as_str().parse::<i64>().unwrap_or_default());
        let payload = |text: &str, id: &JobId| {
            format!("update jobs_dlq set payload = '{{\"class\":\"{text}\"}}' where id = {}", id.as_str())
        };
        db.execute(&payload("Refused", &ids[1])).await;
        db.execute(&payload("Denied", &ids[6])).await;
        let text = text_of(&db, "new.payload");
        let (refused, wrong) = (format!("{text} like '%Refused%'"), format!("{text} like '%Denied%'"));
        db.execute(&match db.engine {
            Engine::Postgres => format!(
                "create function odd() returns trigger language plpgsql as $$ begin \
                 if {refused} then raise exception 'refused'; end if; if {wrong} then {denied}; end if; \
                 return new; end $$; create trigger odd before insert on jobs for each row execute function odd()"
            ),
            _ => format!(
                "create trigger odd before insert on jobs for each row begin if {refused} then \
                 signal sqlstate '45000' set message_text = 'refused'; end if; if {wrong} then {denied}; end if; end"
            ),
        })
        .await;
        let applied = store.apply(batch(Action::Replay, ids.clone()), &budget()).await;
        assert!(applied.broke.is_some_and(|broke| !broke.unsure), "{}", db.engine.name());
        let done = applied.outcomes.iter().filter(|(_, result)| *result == JobResult::Done).count() as u64;
        assert_eq!(db.count("jobs").await, done, "{}: {:?}", db.engine.name(), applied.outcomes);
        assert!(done >= 3, "{:?}", applied.outcomes);
    }
}
