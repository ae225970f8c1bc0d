use super::*;
use crate::adapter::built_in;

fn read(sql: &str) -> Vec<String> {
    let reader = SqlLexer { own: "dead", backslash: false };
    shown(&reader.rights(sql))
}

fn shown(rights: &Privileges) -> Vec<String> {
    let object = |object: &Object| match object {
        Object::Own => "own".to_owned(),
        Object::Target => "target".to_owned(),
        Object::Beside(name) => name.clone(),
        Object::Function(name) => format!("{name}()"),
    };
    let columns = |columns: &BTreeSet<String>| match columns.is_empty() {
        true => String::new(),
        false => format!(" ({})", columns.iter().cloned().collect::<Vec<_>>().join(", ")),
    };
    rights.iter().map(|(on, right, of)| format!("{right:?} {}{}", object(on), columns(of))).collect()
}

#[test]
fn what_is_written_is_told_from_what_is_read() {
    assert_eq!(
        read("INSERT INTO {schema}.jobs (a, \"b\") SELECT t.a, now() FROM {table} AS t JOIN {batch} ON t.id = b.id"),
        ["Select own", "Insert jobs (a, b)"]
    );
    assert_eq!(
        read("INSERT INTO {target} AS j (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 2 WHERE j.c"),
        ["Select target", "Insert target (a)", "Update target (b)"]
    );
    assert_eq!(
        read(
            "UPDATE {table} AS t SET a = CASE WHEN t.x = 1 THEN 'SET z = 2, y' ELSE f(1, 2) END, (b, c) = (1, 2) FROM {schema}.q AS q WHERE t.d = 1"
        ),
        ["Select own", "Update own (a, b, c)", "Select q"]
    );
    assert_eq!(read("DELETE FROM {schema}.dead AS t WHERE {ids}"), ["Select own", "Delete own"]);
}

#[test]
fn a_table_is_known_by_its_other_name() {
    assert_eq!(
        read("UPDATE {table} AS t JOIN {schema}.q AS q ON q.id = t.id SET t.a = q.x, q.b = 1"),
        ["Select own", "Update own (a)", "Select q", "Update q (b)"]
    );
    assert_eq!(read("DELETE r FROM {batch} STRAIGHT_JOIN {schema}.q AS r ON r.id = b.id"), ["Select q", "Delete q"]);
    assert_eq!(read("SELECT x.id FROM {schema}.q x FOR UPDATE OF x SKIP LOCKED"), ["Select q", "Lock q"]);
    let twice = "WITH a AS (SELECT 1 FROM {schema}.q AS x FOR UPDATE OF x), b AS (SELECT 1 FROM {schema}.r AS x FOR UPDATE OF x) SELECT 1";
    assert_eq!(read(twice), ["Select q", "Lock q", "Select r", "Lock r"]);
}

#[test]
fn functions_are_told_from_tables_and_texts_from_words() {
    assert_eq!(
        read("SELECT r.id FROM {schema}.done(ARRAY(SELECT b.id FROM {batch})) AS r -- {schema}.a\n/* {schema}.b */"),
        ["Execute done()"]
    );
    assert_eq!(read("SELECT '{schema}.a', E'it\\'s {schema}.b', 'it''s' FROM {schema}.c"), ["Select c"]);
    let mysql = SqlLexer { own: "dead", backslash: true };
    assert_eq!(shown(&mysql.rights(r#"SELECT '[\'"]' FROM {schema}.c"#)), ["Select c"]);
    assert_eq!(read("SELECT 'unended {table}"), Vec::<String>::new());
}

#[test]
fn the_rights_of_a_layout_are_those_of_its_statements() {
    let adapters = built_in();
    let spec =
        |name: &str| adapters.iter().find(|a| a.name == name).and_then(|a| a.spec("postgres")).expect("a layout");
    let jobs = Needs::of(spec("jobs_dlq"), "postgres");
    assert_eq!(shown(&jobs.look()), ["Select own"]);
    let replay = jobs.act(Action::Replay, Route::Own).expect("a replay");
    assert_eq!(
        shown(&replay),
        [
            "Select own",
            "Lock own",
            "Delete own",
            "Insert jobs (attempts, payload, run_after)",
            "Number jobs (attempts, payload, run_after)"
        ]
    );
    let recall = jobs.act(Action::Recall, Route::Own).expect("an undo");
    assert_eq!(shown(&recall), ["Select own", "Insert own", "Select jobs", "Lock jobs", "Delete jobs"]);
    assert_eq!(shown(&jobs.act(Action::Restore, Route::Own).expect("an undo")), ["Select own", "Insert own"]);
    let good = Needs::of(spec("good_job"), "postgres");
    assert!(shown(&good.look()).contains(&"Select good_job_executions".to_owned()));
    let worker = Needs::of(spec("graphile-worker"), "postgres");
    assert!(worker.act(Action::Ignore, Route::Own).is_none(), "it has none");
    assert!(
        shown(&worker.act(Action::Discard, Route::Own).expect("a discard")).contains(&"Execute complete_jobs()".into())
    );
    assert_eq!(
        shown(&worker.perhaps(Action::Discard, Route::Own)),
        ["Select own", "Delete own"],
        "its function does it"
    );
    let replay = shown(&worker.act(Action::Replay, Route::Own).expect("a replay"));
    assert!(!replay.iter().any(|right| right.starts_with("Insert")), "only for another queue: {replay:?}");
    let elsewhere = shown(&worker.perhaps(Action::Replay, Route::Own));
    assert!(elsewhere.contains(&"Insert _private_job_queues (queue_name)".to_owned()), "{elsewhere:?}");
}
