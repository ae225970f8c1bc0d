use super::*;
use crate::adapter::{Adapter, built_in};

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
fn an_entry_is_a_right_on_something_and_anything_else_is_refused() {
    let read = |text: &str| Need::try_from(text.to_owned());
    let need = read("sometimes insert on jobs (b, a)").expect("a right");
    let columns = ["a", "b"].map(str::to_owned).into();
    assert_eq!(need, Need { right: Right::Insert, object: Object::Beside("jobs".into()), columns, sometimes: true });
    assert_eq!(read("execute on retry()").expect("a right").object, Object::Function("retry".into()));
    assert_eq!(read("delete on {table}").expect("a right").object, Object::Own);
    assert_eq!(read("lock on {target}").expect("a right").object, Object::Target);
    for wrong in [
        "truncate on jobs",
        "select jobs",
        "select on {tabel}",
        "select on ",
        "execute on jobs",
        "select on retry()",
        "insert on jobs (a",
    ] {
        assert!(read(wrong).is_err_and(|why| why.contains(wrong)), "{wrong}");
    }
}

#[test]
fn the_rights_of_a_layout_are_those_of_its_statements() {
    let adapters = built_in();
    let spec =
        |name: &str| adapters.iter().find(|a| a.name == name).and_then(|a| a.spec("postgres")).expect("a layout");
    let jobs = Needs::of(spec("jobs_dlq"));
    assert_eq!(shown(&jobs.reading()), ["Select own"]);
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
    let good = Needs::of(spec("good_job"));
    assert!(shown(&good.reading()).contains(&"Select good_job_executions".to_owned()));
    let worker = Needs::of(spec("graphile-worker"));
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

/// An adapter that is compiled in, without what it lists.
fn unlisted(name: &str) -> Adapter {
    let adapter = built_in().into_iter().find(|adapter| adapter.name == name).expect("an adapter");
    let mut text = String::new();
    let mut is_listing = false;
    for line in adapter.text.lines() {
        is_listing |= line.starts_with("needs = ");
        if !is_listing {
            text.extend([line, "\n"]);
        }
        is_listing &= !line.ends_with(']');
    }
    Adapter::parse(&text, None).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_verb_that_lists_nothing_is_taken_to_do_what_its_statements_may_do_to_rows() {
    let jobs = unlisted("jobs_dlq");
    for dialect in jobs.dialects() {
        let needs = Needs::of(jobs.spec(dialect).expect("a layout"));
        for action in [Action::Replay, Action::Discard, Action::Purge] {
            assert_eq!(shown(&needs.act(action, Route::Own).expect("a verb")), ["Select own", "Lock own"], "{action}");
            assert_eq!(shown(&needs.perhaps(action, Route::Own)), ["Delete own"], "{action} on {dialect}");
        }
    }
    assert!(jobs.other_tables().contains("jobs"), "the statements name it");
    let solid_queue = unlisted("solid_queue");
    let needs = Needs::of(solid_queue.spec("postgres").expect("a layout"));
    let discard = shown(&needs.perhaps(Action::Discard, Route::Own));
    assert!(discard.contains(&"Delete solid_queue_jobs".to_owned()), "{discard:?}");
    let oban = unlisted("oban");
    let needs = Needs::of(oban.spec("mysql").expect("a layout"));
    assert_eq!(shown(&needs.perhaps(Action::Replay, Route::Own)), [""; 0], "it changes rows in place");
}

#[test]
fn every_verb_that_is_compiled_in_lists_what_it_needs_and_every_table_that_it_names() {
    let listed = |verb: &Verb| {
        let table = verb
            .into_table
            .as_ref()
            .is_none_or(|table| table.needs.is_some() && table.undo.as_ref().is_none_or(|undo| undo.needs.is_some()));
        let command = verb.command.as_ref().is_none_or(|command| command.needs.is_some());
        let undo = verb.undo.as_ref().is_none_or(|undo| undo.needs.is_some());
        (verb.steps.is_empty() || verb.needs.is_some()) && table && command && undo
    };
    for adapter in built_in() {
        let specs = || adapter.dialects().flat_map(|dialect| adapter.variants(dialect));
        for spec in specs() {
            for action in Action::ALL {
                let verb = spec.verbs.get(action).filter(|verb| verb.disabled.is_none());
                assert!(verb.is_none_or(listed), "{} {}: {action}", adapter.name, spec.title);
            }
        }
        let known: BTreeSet<String> = specs().flat_map(|spec| Needs::of(spec).tables()).collect();
        let own = |table: &String| specs().any(|spec| spec.table == *table);
        let named: Vec<String> = named_tables(&adapter.text).filter(|table| !own(table)).collect();
        assert!(named.iter().all(|table| known.contains(table)), "{}: {named:?}, {known:?}", adapter.name);
    }
}

#[test]
fn a_statement_deletes_from_the_first_table_that_it_names_behind_the_word() {
    for (sql, table) in [
        ("DELETE FROM {table} AS t WHERE {ids}", Some(Object::Own)),
        ("DELETE t FROM {table} AS t JOIN {schema}.jobs AS j ON j.id = t.id", Some(Object::Own)),
        ("DELETE FROM {schema}.jobs AS j USING {table} AS t", Some(Object::Beside("jobs".to_owned()))),
        ("WITH gone AS (DELETE FROM {schema}.tries WHERE {ids}) SELECT 1", Some(Object::Beside("tries".to_owned()))),
        ("UPDATE {table} AS t SET deleted_at = {now}, to_delete = 1", None),
        ("SELECT {schema}.delete_job(t.id) FROM {table} AS t", None),
    ] {
        assert_eq!(deleted_from(sql), table, "{sql}");
    }
}

#[test]
fn what_files_from_before_needs_say_of_functions_counts_as_their_statements() {
    let unlisted = unlisted("jobs_dlq");
    let text = unlisted.text.replace(
        "steps = [{ sql = \"DELETE FROM {table} AS t WHERE {ids}\" }]",
        "within = [\"DELETE FROM {schema}.jobs\"]\nsteps = [{ sql = \"SELECT {schema}.drop_job(t.id) FROM {table} AS t WHERE {ids}\" }]",
    );
    let adapter = Adapter::parse(&text, None).unwrap_or_else(|e| panic!("{e}"));
    let needs = Needs::of(adapter.spec("postgres").expect("a layout"));
    assert_eq!(shown(&needs.perhaps(Action::Discard, Route::Own)), ["Delete jobs"]);
}
