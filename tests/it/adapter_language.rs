//! What an adapter file can say of a layout in two tables, with conditions of its own, on every database.

use std::sync::Arc;

use dlq_tui::adapter::Adapter;
use dlq_tui::domain::action::{Action, JobResult, SkipReason};
use dlq_tui::domain::facet::Facet;
use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::sql::{OpenOptions, SqlStore, check, detect, missing_indexes, open};
use dlq_tui::store::{Batch, Cursor, Sort, Store, StoreExt, Undoing};

use crate::cli::User;
use crate::harness::{self, Engine, TestDb};
use crate::store_desk::*;
use crate::undo::content;

/// Chores that failed, apart from what is to be done.
const CHORES: &str = r#"
name = "chores"
title = "Chores"
table = "chores_failed"
join = "LEFT JOIN {schema}.chores AS c ON c.id = t.chore_id"
key = { column = "id", kind = "int" }

[detect.columns]
chore_id = "int"
failed_at = "time"
repeat_of = "absent"

[order]
time = { column = "failed_at", kind = "utc" }
otherwise = { column = "id", kind = "int" }

[[indexes]]
columns = ["failed_at"]
only = "gone_at IS NULL"
for = "lists"

[fields]
at = { column = "failed_at", kind = "utc" }
state = { sql = "CASE WHEN t.gone_at IS NULL THEN 'failed' ELSE 'gone' END", kind = "text" }
message = { column = "said", kind = "text" }
job_class = { sql = "c.kind", kind = "text" }
attempts = { sql = "c.tries", kind = "int" }
arguments = { sql = "c.body", kind = "json" }

[more]
home = { sql = "(SELECT max(x.home) FROM {schema}.chores AS x WHERE x.id = t.chore_id)", kind = "text" }

[states]
dead = ["failed"]
resolved = ["gone"]

[states.when]
dead = "t.gone_at IS NULL"

[verbs.replay]
when = "t.gone_at IS NULL"
refuse = [{ when = "c.home <> 'here'", because = "it is done at another home" }]
lock = "SELECT {key} FROM {from} WHERE {ids} AND c.tries < 90"
steps = [
    { sql = "UPDATE {schema}.chores AS c SET body = b.message, tries = 0 FROM {batch} JOIN {table} AS t ON t.id = b.id WHERE c.id = t.chore_id" },
    { sql = "UPDATE {table} AS t SET gone_at = {now_utc} WHERE {ids}" },
]
[verbs.replay.message]
edit = { sql = "c.body", kind = "json" }
[verbs.replay.message.set]
tries = "0"

[[mysql.verbs.replay.steps]]
sql = "UPDATE {schema}.chores AS c JOIN {table} AS t ON c.id = t.chore_id JOIN {batch} ON t.id = b.id SET c.body = b.message, c.tries = 0"
[[mysql.verbs.replay.steps]]
sql = "UPDATE {table} AS t SET gone_at = {now_utc} WHERE {ids}"

[[variants]]
title = "Chores of old"
[variants.detect.columns]
repeat_of = "int"
"#;

/// Twelve chores: every third is done elsewhere, the eleventh is locked as the adapter has it, the twelfth is gone.
async fn seed(db: &TestDb) {
    let time = if db.engine == Engine::Mysql { "datetime(6)" } else { "timestamp" };
    db.execute(
        "create table chores (id integer primary key, kind varchar(40) not null, body text not null, \
         home varchar(20) not null, tries integer not null)",
    )
    .await;
    db.execute(&format!(
        "create table chores_failed (id integer primary key, chore_id integer not null, said text, failed_at {time} null, \
         gone_at {time} null)"
    ))
    .await;
    for n in 1..=12 {
        let home = if n % 3 == 0 { "there" } else { "here" };
        let kind = if n % 2 == 0 { "sweep" } else { "wash" };
        let tries = if n == 11 { 99 } else { 3 };
        let gone = if n == 12 { "'2026-11-02 00:00:00'" } else { "NULL" };
        let body = r#"{"tries": 3, "n":1e400}"#;
        db.execute(&format!("insert into chores values ({}, '{kind}', '{body}', '{home}', {tries})", 100 + n)).await;
        db.execute(&format!(
            "insert into chores_failed values ({n}, {}, 'no soap', '2026-11-01 00:00:{n:02}', {gone})",
            100 + n
        ))
        .await;
    }
}

async fn chores(db: &TestDb) -> SqlStore {
    let adapters = [Adapter::parse(CHORES, None).unwrap_or_else(|e| panic!("{e}"))];
    let engine = engine(db).await;
    let detection = detect(&engine, &adapters, &budget()).await.expect("a detection");
    let found = detection.found.first().unwrap_or_else(|| panic!("not found: {detection:?}"));
    for finding in check(&engine, &adapters[0], found, None, &budget()).await.expect("findings") {
        assert_eq!(finding.verdict, Ok(()), "{}: {}", db.engine.name(), finding.what);
    }
    open(engine, &adapters[0], found, &OpenOptions::default(), &budget()).await.expect("a store")
}

fn id(n: u32) -> JobId {
    JobId::new(n.to_string())
}

#[tokio::test]
async fn a_job_in_two_tables_is_listed_counted_and_shown_as_one() {
    for db in harness::every_engine("two-tables").await {
        seed(&db).await;
        let store = chores(&db).await;
        let name = db.engine.name();
        let ids = |rows: Vec<dlq_tui::store::Entry>| rows.into_iter().map(|e| e.row.id).collect::<Vec<_>>();
        let dead = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 4).await;
        assert_eq!(ids(dead), (1..=11).rev().map(id).collect::<Vec<_>>(), "{name}");
        let all = exhaust(&store, &filter("state:dead state:resolved"), Sort::default(), Cursor::End, 5).await;
        assert_eq!(all.len(), 12, "{name}");
        let washed = exhaust(&store, &filter("class:wash attempts:>5"), Sort::default(), Cursor::Start, 9).await;
        assert_eq!(ids(washed), [id(11)], "{name}");
        let by_class = bars(&histogram(&store, Facet::Class, &Filter::all()).await.histogram);
        assert_eq!(by_class[&Some("wash".to_owned())], 6, "{name}");
        let in_memory = bars(&histogram(&store, Facet::Class, &filter("args.tries:3")).await.histogram);
        assert_eq!(in_memory[&Some("sweep".to_owned())], 5, "{name}");
        let detail = store.detail(&id(3), &budget()).await.expect("a detail").expect("a job");
        let home = detail.metadata.iter().find(|(name, _)| name == "home").and_then(|(_, v)| v.as_ref());
        assert_eq!(home.map(|v| v.exact()), Some("there"), "{name}");
    }
}

#[tokio::test]
async fn jobs_that_cannot_be_acted_on_are_told_apart_and_the_payload_is_edited_exactly() {
    for db in harness::every_engine("unfit").await {
        seed(&db).await;
        let store = chores(&db).await;
        let unfit = store
            .plan()
            .unfit(Action::Replay, &(1..=12).map(id).collect::<Vec<_>>(), false, &budget())
            .await
            .expect("unfit");
        assert_eq!(unfit.len(), 4, "{unfit:?}");
        let results = apply(&store, batch(Action::Replay, (1..=12).map(id))).await;
        let because = |n: u32| match &results[&id(n)] {
            JobResult::Skipped(reason) => reason.word().to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(because(1), "Done");
        assert_eq!(because(3), "it is done at another home", "{}", db.engine.name());
        assert_eq!(results[&id(11)], JobResult::Skipped(SkipReason::Locked));
        assert_eq!(results[&id(12)], JobResult::Skipped(SkipReason::Changed));
        assert_eq!(db.scalar("select count(*) from chores where tries = 0").await, "7");
        assert_eq!(db.scalar("select body from chores where id = 101").await, r#"{"tries": 0, "n":1e400}"#);
    }
}

#[tokio::test]
async fn an_index_that_is_missing_is_named_and_the_variant_is_told_by_its_columns() {
    for db in harness::every_engine("variant").await {
        seed(&db).await;
        let adapters = [Adapter::parse(CHORES, None).expect("an adapter")];
        let engine = engine(&db).await;
        let look = async || detect(&engine, &adapters, &budget()).await.expect("a detection").found.remove(0);
        let found = look().await;
        let missing = missing_indexes(&engine, &adapters[0], &found);
        let [(purpose, ddl)] = missing.as_slice() else { panic!("{missing:?}") };
        assert_eq!(purpose, "lists");
        db.execute(ddl).await;
        db.execute("alter table chores_failed add repeat_of integer null").await;
        let found = look().await;
        assert!(missing_indexes(&engine, &adapters[0], &found).is_empty(), "{}", db.engine.name());
        assert_eq!(found.title, "Chores of old");
    }
}

#[tokio::test]
async fn a_key_that_is_unique_only_within_another_column_is_acted_on_with_both() {
    let text = CHORES
        .replace(
            "key = { column = \"id\", kind = \"int\" }",
            "key = { column = \"id\", kind = \"int\" }\nscope = { column = \"said\", kind = \"text\" }",
        )
        .replace("ON t.id = b.id", "ON t.id = b.id AND t.said = b.scope");
    for db in harness::every_engine("scope").await {
        seed(&db).await;
        let adapters = [Adapter::parse(&text, None).unwrap_or_else(|e| panic!("{e}"))];
        let engine = engine(&db).await;
        let found = detect(&engine, &adapters, &budget()).await.expect("a detection").found.remove(0);
        let store = open(engine, &adapters[0], &found, &OpenOptions::default(), &budget()).await.expect("a store");
        let dead = exhaust(&store, &Filter::all(), Sort::default(), Cursor::End, 3).await;
        assert_eq!(dead.first().map(|e| e.row.id.as_str()), Some("no soap/11"), "{}", db.engine.name());
        let results = apply(&store, batch(Action::Replay, ["no soap/1", "soap/2"].map(JobId::new))).await;
        assert_eq!(results[&JobId::new("no soap/1")], JobResult::Done, "{}", db.engine.name());
        assert_eq!(results[&JobId::new("soap/2")], JobResult::Skipped(SkipReason::Gone));
        assert_eq!(db.scalar("select count(*) from chores where tries = 0").await, "1");
    }
}

/// A user who has written this adapter.
fn user(db: &TestDb, adapter: &str) -> User {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), adapter).expect("a file");
    User::of(db).with_adapter(file.path())
}

#[tokio::test]
async fn a_plan_leaves_out_what_cannot_be_done_and_says_how_many_and_why() {
    for db in harness::every_engine("left-out").await {
        seed(&db).await;
        let user = user(&db, CHORES);
        let plan = user.run(&["replay", "--all", "--dry-run"]);
        assert!(
            plan.with(0).to_owned().contains("3 left out: it is done at another home")
                || plan.out.contains("3 left out: it is done at another home"),
            "{}\n{}",
            plan.out,
            plan.err
        );
        let nothing = user.run(&["replay", "3", "6", "--yes"]);
        assert!(nothing.err.contains("nothing to replay: 2 left out: it is done at another home"), "{}", nothing.err);
        assert_ne!(nothing.code, 0);
        user.run(&["replay", "--all", "--yes"]).with(3);
        assert_eq!(db.scalar("select count(*) from chores where tries = 0").await, "7", "{}", db.engine.name());
    }
}

#[tokio::test]
async fn a_deep_check_finds_a_guard_that_does_not_hold_and_leaves_every_row_as_it_was() {
    let whole = "select count(*) from chores_failed where gone_at is null";
    for db in harness::every_engine("deep").await {
        seed(&db).await;
        // What `lock` does not give is a fault of the file: here it gives all that is tried.
        let right = user(&db, CHORES).run(&["adapters", "check", "chores", "--deep"]);
        assert!(right.out.contains("WRONG  verbs.replay: job 11: locked by another session"), "{}", right.out);
        let right = user(&db, &CHORES.replace("c.tries < 90", "c.tries < 900"));
        let right = right.run(&["adapters", "check", "chores", "--deep"]);
        right.with(0);
        assert!(right.out.contains("right  verbs.replay: 3 jobs acted on once, and not again"), "{}", right.out);
        assert!(right.out.contains("no index for lists: on a big table run CREATE INDEX"), "{}", right.out);
        let loose = CHORES
            .replace("c.tries < 90", "c.tries < 900")
            .replace("when = \"t.gone_at IS NULL\"\nrefuse", "when = \"t.id > 0\"\nrefuse");
        let loose = user(&db, &loose.replace("dead = \"t.gone_at IS NULL\"", ""))
            .run(&["adapters", "check", "chores", "--deep"]);
        loose.with(1);
        assert!(loose.out.contains("was acted on twice: `when` still holds"), "{}", loose.out);
        let words = user(&db, &CHORES.replace("dead = \"t.gone_at IS NULL\"", "dead = \"t.id > 2\""));
        let words = words.run(&["adapters", "check", "chores", "--deep"]);
        assert!(words.out.contains("is listed as dead and its state is `gone`"), "{}", words.out);
        assert_eq!(db.scalar(whole).await, "11", "{}", db.engine.name());
        assert_eq!(db.scalar("select count(*) from chores where tries = 0").await, "0");
    }
}

#[tokio::test]
async fn a_draft_for_a_table_that_nobody_described_is_an_adapter_that_lists_and_discards() {
    for db in harness::every_engine("draft").await {
        seed(&db).await;
        let user = User::of(&db);
        let drafted = user.run(&["adapters", "init", "--table", "chores_failed"]);
        assert!(drafted.with(0).contains("adapters check chores_failed"), "{}", drafted.err);
        assert!(user.run(&["adapters", "init", "--table", "chores_failed"]).with(2).contains("is there already"));
        assert!(user.run(&["adapters", "init", "--table", "nothing"]).with(2).contains("there is no table nothing"));
        let checked = user.run(&["adapters", "check", "chores_failed", "--deep"]);
        assert_eq!(checked.code, 0, "{}: {}", db.engine.name(), checked.out);
        assert!(checked.out.contains("verbs.discard: 3 jobs acted on once, and not again; undone"), "{}", checked.out);
        let path = user.home().join("config/dlq-tui/adapters/chores_failed.toml");
        user.run(&["adapters", "check", &path.display().to_string()]).with(0);
        assert_eq!(db.count("chores_failed").await, 12);
    }
}

/// A discard that takes the chore itself along, and an order that tells rows apart.
const WHOLE: &str = r#"
[verbs.discard]
when = "t.gone_at IS NULL"
archive = true
along = [
    { table = "chores", column = "id", of = "chore_id", first = true },
    { table = "chore_tools", column = "failed_id", of = "id" },
    { table = "not_there", column = "id", of = "id" },
]
steps = [
    { rows = "any", sql = "DELETE FROM {schema}.chore_tools WHERE failed_id IN (SELECT t.id FROM {table} AS t WHERE {ids})" },
    { sql = "DELETE FROM {table} AS t WHERE {ids}" },
    { rows = "any", sql = "DELETE FROM {schema}.chores WHERE id NOT IN (SELECT chore_id FROM {table})" },
]
[mysql.verbs.discard]
steps = [
    { rows = "any", sql = "DELETE o FROM {schema}.chore_tools AS o JOIN {table} AS t ON o.failed_id = t.id WHERE {ids}" },
    { sql = "DELETE t FROM {table} AS t WHERE {ids}" },
    { rows = "any", sql = "DELETE FROM {schema}.chores WHERE id NOT IN (SELECT chore_id FROM {table})" },
]
"#;

#[tokio::test]
async fn rows_of_other_tables_are_kept_along_and_put_back_where_they_are_referred_to() {
    let text = CHORES
        .replace("[verbs.replay]\n", &format!("{}\n[verbs.replay]\n", WHOLE.split("[mysql").next().unwrap_or_default()))
        .replace(
            "\n[[variants]]",
            &format!("\n[mysql{}\n[[variants]]", WHOLE.split("[mysql").nth(1).unwrap_or_default()),
        )
        .replace("[order]\n", "[order]\nunique = true\n");
    for db in harness::every_engine("along").await {
        seed(&db).await;
        db.execute("create table chore_tools (failed_id integer not null, name varchar(20) not null, weight real)")
            .await;
        db.execute("insert into chore_tools values (1, 'broom', 0.1), (1, 'mop', NULL), (2, 'bucket', 1e-30)").await;
        if db.engine != Engine::Sqlite {
            db.execute("alter table chores_failed add foreign key (chore_id) references chores (id)").await;
        }
        let adapters = [Adapter::parse(&text, None).unwrap_or_else(|e| panic!("{e}"))];
        let engine = engine(&db).await;
        let found = detect(&engine, &adapters, &budget()).await.expect("a detection").found.remove(0);
        for finding in check(&engine, &adapters[0], &found, None, &budget()).await.expect("findings") {
            assert_eq!(finding.verdict, Ok(()), "{}: {}", db.engine.name(), finding.what);
        }
        let store = open(engine, &adapters[0], &found, &OpenOptions::default(), &budget()).await.expect("a store");
        let dead = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 4).await;
        assert_eq!(dead.len(), 11, "{}", db.engine.name());
        let rows = async || {
            (content(&db, "chores").await, content(&db, "chores_failed").await, content(&db, "chore_tools").await)
        };
        let before = rows().await;
        let shelf = Arc::new(Shelf::default());
        let ids: Vec<JobId> = (1..=4).map(id).collect();
        let discard = Batch { journal: Some(shelf.clone()), ..batch(Action::Discard, ids.clone()) };
        let results = apply(&store, discard).await;
        assert!(results.values().all(|result| *result == JobResult::Done), "{}: {results:?}", db.engine.name());
        assert_eq!((db.count("chores").await, db.count("chore_tools").await), (8, 0), "{}", db.engine.name());
        let kept = shelf.rows.lock().expect("rows").clone();
        let undo = Some(Undoing { run: "run-1".to_owned(), kept });
        let results = apply(&store, Batch { undo, ..batch(Action::Restore, ids) }).await;
        assert!(results.values().all(|result| *result == JobResult::Done), "{}: {results:?}", db.engine.name());
        assert_eq!(rows().await, before, "{}", db.engine.name());
    }
    let bare = text.replacen("archive = true\n", "", 1);
    let fault = Adapter::parse(&bare, None).err().map(|fault| fault.to_string()).unwrap_or_default();
    assert!(fault.contains("`verbs.discard.along` needs `archive = true` or `keep`"), "{fault}");
}

#[tokio::test]
async fn an_order_can_say_what_an_index_must_begin_with_to_serve_it() {
    let needing = CHORES.replace("otherwise = {", "needs = [\"failed_at\"]\notherwise = {");
    for db in harness::every_engine("needs").await {
        seed(&db).await;
        db.execute("update chores_failed set failed_at = '2026-11-02 00:00:00' where id = 1").await;
        db.execute("create index behind_another on chores_failed (gone_at, failed_at)").await;
        let newest = async |text: &str| {
            let adapters = [Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"))];
            let engine = engine(&db).await;
            let found = detect(&engine, &adapters, &budget()).await.expect("a detection").found.remove(0);
            let store = open(engine, &adapters[0], &found, &OpenOptions::default(), &budget()).await.expect("a store");
            let dead = exhaust(&store, &Filter::all(), Sort::default(), Cursor::Start, 20).await;
            dead.first().map(|e| e.row.id.as_str().to_owned())
        };
        assert_eq!(newest(CHORES).await.as_deref(), Some("1"), "{}", db.engine.name());
        assert_eq!(newest(&needing).await.as_deref(), Some("11"), "by key: {}", db.engine.name());
        db.execute("create index its_own on chores_failed (failed_at)").await;
        assert_eq!(newest(&needing).await.as_deref(), Some("1"), "{}", db.engine.name());
    }
}

/// Jobs whose arguments are YAML, or JSON that holds text of PHP's and JSON.
const DIALECTS: &str = r#"
name = "dialects"
title = "Dialects"
table = "dialects"
key = { column = "id", kind = "int" }
[detect.columns]
body = "text"
died_at = "time"
[order]
time = { column = "id", kind = "int" }
[fields]
at = { column = "died_at", kind = "utc" }
arguments = { column = "body", kind = "text", decode = { "" = "yaml", "data.command" = "php", "data.more" = "json" } }
[states]
dead = ["dead"]
[verbs.discard]
when = "1 = 1"
archive = true
steps = [{ sql = "DELETE FROM {table} AS t WHERE {ids}" }]
[mysql.verbs.discard]
steps = [{ sql = "DELETE t FROM {table} AS t WHERE {ids}" }]
"#;

#[tokio::test]
async fn what_is_not_json_is_shown_and_filtered_as_json_and_stays_as_it_is_stored() {
    let bodies = [
        "--- !ruby/object:Shop::Card\nowner: &1\n  name: \"A\\tB-7\"\nagain: *1\npaid: yes\nnote: |-\n  two\n  lines\n",
        r#"{"data":{"command":"O:4:\"Card\":3:{s:7:\"\u0000*\u0000name\";s:5:\"A\tB-7\";s:4:\"paid\";b:1;s:1:\"n\";i:12345678901234567890;}","more":"{\"deep\":{\"x\":[\"a\\/b\"]}}"}}"#,
        "{{{ name A\tB-7 paid",
    ];
    let read = [
        r#"{"__class":"Shop::Card","owner":{"name":"A\tB-7"},"again":{"name":"A\tB-7"},"paid":true,"note":"two\nlines"}"#,
        r#"{"data":{"command":{"__class":"Card","name":"A\tB-7","paid":true,"n":12345678901234567890},"more":{"deep":{"x":["a\/b"]}}}}"#,
        "{{{ name A\tB-7 paid",
    ];
    for db in harness::every_engine("dialects").await {
        db.execute("create table dialects (id integer primary key, body text, died_at timestamp null)").await;
        for (n, body) in (1..).zip(bodies) {
            let body = if db.engine == Engine::Mysql { body.replace('\\', "\\\\") } else { body.to_owned() };
            db.execute(&format!("insert into dialects values ({n}, '{body}', '2026-11-01 00:00:00')")).await;
        }
        db.execute("insert into dialects values (4, NULL, NULL)").await;
        let adapters = [Adapter::parse(DIALECTS, None).unwrap_or_else(|e| panic!("{e}"))];
        let engine = engine(&db).await;
        let found = detect(&engine, &adapters, &budget()).await.expect("a detection").found.remove(0);
        let store = open(engine, &adapters[0], &found, &OpenOptions::default(), &budget()).await.expect("a store");
        for (n, (body, read)) in (1..).zip(bodies.into_iter().zip(read)) {
            let detail = store.detail(&id(n), &budget()).await.expect("a detail").expect("a job");
            assert_eq!(detail.arguments.as_ref().map(|a| a.exact()), Some(read), "{}", db.engine.name());
            let stored = detail.metadata.iter().find(|(name, _)| name == "body").and_then(|(_, v)| v.as_ref());
            assert_eq!(stored.map(|v| v.exact()), Some(body), "{}", db.engine.name());
        }
        for (text, expected) in [
            ("args.owner.name:*B-7", vec![1]),
            ("args.data.command.name:/^A\\tB/", vec![2]),
            ("args.data.command.n:12345678901234567890", vec![2]),
            ("args.paid:true", vec![1]),
            ("args.data.command.paid:true", vec![2]),
            ("args.__class:Shop*", vec![1]),
            ("args.note:*lines", vec![1]),
            ("args.data.more.deep.x:a/b", vec![2]),
            ("args:__class", vec![1, 2]),
            ("args:B-7", vec![1, 2, 3]),
            ("args:ruby", vec![]),
            ("args:\"\"", vec![4]),
            ("-args:__class", vec![3, 4]),
        ] {
            let list = exhaust(&store, &filter(text), Sort::default(), Cursor::Start, 2).await;
            let mut ids: Vec<u32> = list.iter().filter_map(|e| e.row.id.as_str().parse().ok()).collect();
            ids.sort_unstable();
            assert_eq!(ids, expected, "{} {text}", db.engine.name());
        }
    }
}

#[test]
fn what_databases_judge_cannot_be_decoded() {
    let text = DIALECTS.replace(
        "[states]",
        "message = { column = \"body\", kind = \"text\", decode = { \"\" = \"yaml\" } }\n[states]",
    );
    let fault = Adapter::parse(&text, None).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(fault.contains("line 14: `fields.message` has `decode`"), "{fault}");
}
