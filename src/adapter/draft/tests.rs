use super::*;
use crate::adapter::Adapter;
use crate::adapter::Part;

/// A type that ends in `?` may be NULL; the first column is the key.
fn sample(dialect: &str, columns: &[(&str, &str)], rows: &[&[Option<&str>]]) -> Sample {
    let column = |(name, data_type): &(&str, &str)| Column {
        name: (*name).to_owned(),
        data_type: data_type.trim_end_matches('?').to_owned(),
        nullable: data_type.ends_with('?'),
        collation: None,
        times: None,
    };
    let key = columns.first().map(|(name, _)| (*name).to_owned()).into_iter().collect();
    let texts = |row: &&[Option<&str>]| row.iter().map(|v| v.map(str::to_owned)).collect();
    Sample {
        dialect: dialect.to_owned(),
        table: "broken things".to_owned(),
        columns: Table {
            columns: columns.iter().map(column).collect(),
            unique: [(String::new(), key)].into(),
            ..Table::default()
        },
        rows: rows.iter().map(texts).collect(),
    }
}

fn read(sample: &Sample) -> (String, Adapter) {
    let draft = sample.draft().unwrap_or_else(|e| panic!("{e}"));
    let adapter = Adapter::parse(&draft, None).unwrap_or_else(|e| panic!("{e}\n{draft}"));
    (draft, adapter)
}

const COLUMNS: &[(&str, &str)] = &[
    ("id", "bigint"),
    ("kind", "character varying"),
    ("body", "text"),
    ("status", "mail_status"),
    ("last_error", "text"),
    ("tries", "integer"),
    ("failed_at", "timestamp with time zone"),
    ("odd \"one\"", "point"),
];

#[test]
fn fields_are_guessed_by_name_type_and_values_and_the_draft_is_an_adapter() {
    let row = |id, status, error| {
        [Some(id), Some("Mail"), Some("{\"to\": 1}"), Some(status), Some(error), Some("3"), Some("x"), None]
    };
    let rows = [row("1", "FAILED", "Net::Timeout: slow"), row("2", "SENT_OK", "Boom: x"), row("3", "WAITING", "odd")];
    let rows: Vec<&[Option<&str>]> = rows.iter().map(|r| r.as_slice()).collect();
    for dialect in ["postgres", "mysql", "sqlite"] {
        let (draft, adapter) = read(&sample(dialect, COLUMNS, &rows));
        let spec = adapter.spec(dialect).unwrap_or_else(|| panic!("{dialect}"));
        let f = &spec.fields;
        let column = |part| f.get(part).and_then(|f| f.column.as_ref()).map(|c| c.get_ref().clone());
        assert_eq!(column(Part::Class).as_deref(), Some("kind"));
        assert_eq!(column(Part::Arguments).as_deref(), Some("body"));
        assert_eq!(column(Part::Message).as_deref(), Some("last_error"));
        assert_eq!(column(Part::Attempts).as_deref(), Some("tries"));
        assert!(f.get(Part::Error).is_some_and(|f| f.sql.is_some()), "{draft}");
        assert_eq!(
            (spec.states.dead.as_slice(), spec.states.resolved.as_slice()),
            (&["FAILED".to_owned()][..], &["SENT_OK".to_owned()][..])
        );
        assert_eq!(spec.states.retrying, ["WAITING"]);
        assert!(draft.contains("the key stands in for it") && draft.contains("#   odd \"one\" (point)"), "{draft}");
        assert!(spec.verbs.replay.as_ref().is_some_and(|v| v.disabled.is_some()));
    }
}

fn unwritten(sample: &Sample) -> (String, String) {
    let draft = sample.draft().unwrap_or_else(|e| panic!("{e}"));
    let fault = Adapter::parse(&draft, None).err().map(|e| e.to_string());
    (fault.unwrap_or_else(|| panic!("it can be used as it is:\n{draft}")), draft)
}

#[test]
fn an_empty_table_is_drafted_too_and_what_is_missing_is_said() {
    let (fault, draft) = unwritten(&sample("postgres", COLUMNS, &[]));
    assert!(fault.contains("not used before this is written: `states.dead` (line "), "{fault}");
    let line = fault.split("(line ").nth(1).and_then(|rest| rest.split(')').next()?.parse::<usize>().ok());
    let named = line.and_then(|line| draft.lines().nth(line - 1)).unwrap_or_default();
    assert!(named.starts_with("dead = [\"…\"]   # TO BE WRITTEN: which values of status mean it"), "{named}");
    let (fault, draft) = unwritten(&sample("sqlite", &[("id", "INTEGER"), ("x", "REAL")], &[]));
    assert!(fault.contains("`fields.at` (line ") && !fault.contains("`key`"), "{fault}");
    assert!(draft.contains("\nat = { column = \"…\""), "{draft}");
}

/// The lines of a draft that begin with these words.
fn lines<'a>(draft: &'a str, start: &str) -> Vec<&'a str> {
    draft.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn a_state_of_any_type_is_one_and_nothing_is_deleted_before_somebody_says_what_is_dead() {
    let row = |state: &'static str| [Some("1"), Some(state), Some("2026-11-20 07:43:45")];
    for (name, data_type, word) in [
        ("status", "smallint", "3"),
        ("job_state", "integer", "1"),
        ("is_dead", "boolean", "true"),
        ("failed", "tinyint(1)", "1"),
        ("is_failed", "INTEGER", "0"),
        ("status", "text", "given up by the worker"),
        ("mail_status", "mail_status", "new"),
    ] {
        for (dialect, cast) in [("postgres", "::text"), ("mysql", " AS CHAR)"), ("sqlite", " AS TEXT)")] {
            let columns = [("id", "bigint"), (name, data_type), ("failed_at", "timestamp")];
            let (fault, draft) = unwritten(&sample(dialect, &columns, &[&row(word)]));
            assert!(fault.contains("`states.dead` (line "), "{fault}");
            let [state] = lines(&draft, "state = ")[..] else { panic!("{draft}") };
            assert!(data_type == "text" || state.contains(cast), "{dialect} {state}");
            let written = draft.replace("dead = [\"…\"]", "dead = [\"3\"]");
            let adapter = Adapter::parse(&written, None).unwrap_or_else(|e| panic!("{e}\n{draft}"));
            let verbs = &adapter.spec(dialect).unwrap_or_else(|| panic!("{dialect}")).verbs;
            for verb in [&verbs.discard, &verbs.archive, &verbs.purge] {
                let why = verb.as_ref().and_then(|v| v.disabled.as_ref());
                assert!(why.is_some_and(|why| format!("{why:?}").contains(name)), "{draft}");
            }
        }
    }
}

#[test]
fn a_row_without_a_time_of_death_is_alive() {
    let columns = [("id", "bigint"), ("payload", "json"), ("failed_at", "timestamp with time zone?")];
    let (draft, adapter) = read(&sample("postgres", &columns, &[]));
    let spec = adapter.spec("postgres").unwrap_or_else(|| panic!("{draft}"));
    assert!(draft.contains("CASE WHEN t.failed_at IS NOT NULL THEN 'dead' ELSE 'alive' END"), "{draft}");
    assert_eq!(
        (&spec.states.dead[..], &spec.states.retrying[..]),
        (&["dead".to_owned()][..], &["alive".to_owned()][..])
    );
    assert!(lines(&draft, "when = ").iter().all(|when| when.contains("t.failed_at IS NOT NULL")), "{draft}");
    assert_eq!(lines(&draft, "when = ").len(), 3, "{draft}");
    let columns = [("id", "bigint"), ("payload", "json"), ("failed_at", "timestamp with time zone")];
    let (draft, _) = read(&sample("postgres", &columns, &[]));
    assert!(lines(&draft, "when = ").iter().all(|when| when.contains("t.id IS NOT NULL")), "{draft}");
}

#[test]
fn where_a_column_may_say_that_a_job_lives_nothing_is_deleted() {
    for column in
        [("resent_at", "timestamp?"), ("phase", "int"), ("live", "boolean"), ("handled", "int"), ("how", "text")]
    {
        let columns = [("id", "bigint"), column, ("created_at", "timestamp")];
        let (fault, draft) = unwritten(&sample("mysql", &columns, &[&[Some("1"), Some("failed"), Some("x")]]));
        assert!(fault.contains("`states.dead`"), "{fault}");
        let adapter = Adapter::parse(&draft.replace("dead = [\"…\"]", "dead = [\"dead\"]"), None);
        let adapter = adapter.unwrap_or_else(|e| panic!("{e}\n{draft}"));
        let verbs = adapter.spec("mysql").map(|spec| spec.verbs.clone()).unwrap_or_default();
        for verb in [&verbs.discard, &verbs.archive, &verbs.purge] {
            let why = verb.as_ref().and_then(|v| v.disabled.as_ref());
            assert!(why.is_some_and(|why| format!("{why:?}").contains(column.0)), "{draft}");
        }
    }
}

#[test]
fn a_key_is_what_a_unique_index_says_and_not_what_differs_in_some_rows() {
    let columns = [("id", "bigint"), ("tenant", "text"), ("failed_at", "timestamp"), ("uid", "uuid"), ("odd", "text?")];
    let rows: &[&[Option<&str>]] = &[&[Some("1"), Some("a"), Some("x"), Some("u"), Some("z")]];
    let with = |unique: &[(&str, &[&str])]| {
        let mut sample = sample("postgres", &columns, rows);
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        sample.columns.unique = unique.iter().map(|(name, columns)| ((*name).to_owned(), names(columns))).collect();
        sample
    };
    let (draft, adapter) = read(&with(&[("", &["tenant", "id"])]));
    assert!(draft.contains("\nkey = { column = \"id\", kind = \"int\" }   # unique together with tenant"), "{draft}");
    assert!(draft.contains("\nscope = { column = \"tenant\", kind = \"text\" }"), "{draft}");
    assert!(
        adapter.spec("postgres").is_some_and(|spec| spec.scope.is_some() && spec.detect.columns.contains_key("tenant"))
    );
    let (draft, _) = read(&with(&[("", &["tenant", "failed_at"]), ("u", &["uid"])]));
    assert!(draft.contains("\nkey = { column = \"uid\", kind = \"uuid\" }"), "{draft}");
    for unique in [&[][..], &[("", &["id", "failed_at"][..])], &[("u", &["odd"])], &[("", &["id", "tenant", "uid"])]] {
        let (fault, draft) = unwritten(&with(unique));
        assert!(fault.contains("`key` (line "), "{fault}");
        assert!(lines(&draft, "key = ")[0].contains("TO BE WRITTEN"), "{draft}");
    }
}

#[test]
fn times_in_numbers_are_told_by_their_size_and_a_table_without_a_key_is_refused() {
    let columns = &[("id", "int"), ("created_at", "bigint")];
    let draft = sample("mysql", columns, &[&[Some("1"), Some("1766500000123")]]).draft().unwrap_or_default();
    assert!(draft.contains("at = { column = \"created_at\", kind = \"epoch_ms\" }"), "{draft}");
    assert!(sample("mysql", &[("x", "double")], &[]).draft().is_err());
}

#[test]
fn the_only_time_is_that_of_death_whatever_its_name_and_of_several_the_one_that_speaks_of_it() {
    for (columns, expected) in [
        (&[("id", "int"), ("ts", "timestamp")][..], "ts"),
        (&[("id", "int"), ("dead_since", "timestamptz"), ("updated_at", "timestamptz")], "dead_since"),
        (&[("id", "int"), ("updated_at", "timestamptz")], "updated_at"),
    ] {
        let (draft, _) = read(&sample("postgres", columns, &[]));
        assert!(draft.contains(&format!("\nat = {{ column = \"{expected}\", kind")), "{draft}");
    }
    let (fault, _) = unwritten(&sample("postgres", &[("id", "int"), ("a", "date"), ("b", "date")], &[]));
    assert!(fault.contains("`fields.at` (line "), "{fault}");
}

#[test]
fn an_error_in_json_is_read_by_its_members_and_a_count_need_not_be_an_integer() {
    let columns = [("id", "int"), ("error", "jsonb"), ("tries", "numeric(10,0)"), ("ts", "timestamp")];
    let row = [Some("1"), Some(r#"{"type": "Timeout", "message": "slow"}"#), Some("3"), Some("x")];
    for (dialect, message, tries) in [
        ("postgres", "t.error->>'message'", "t.tries::bigint"),
        (
            "mysql",
            "IF(JSON_VALID(t.error), JSON_UNQUOTE(JSON_EXTRACT(t.error, '$.message')), NULL)",
            "CAST(t.tries AS SIGNED)",
        ),
        ("sqlite", "CASE WHEN json_valid(t.error) THEN t.error->>'$.message' END", "CAST(t.tries AS INTEGER)"),
    ] {
        let (draft, _) = read(&sample(dialect, &columns, &[&row]));
        assert!(draft.contains(&format!("message = {{ sql = \"{message}\"")), "{draft}");
        assert!(draft.contains(&message.replace("message", "type")), "{draft}");
        assert!(draft.contains(&format!("attempts = {{ sql = \"{tries}\", kind = \"int\" }}")), "{draft}");
    }
    let (draft, _) = read(&sample("postgres", &columns, &[]));
    assert!(draft.contains("message = { sql = \"t.error::text\""), "{draft}");
}

#[test]
fn a_live_queue_is_not_taken_for_dead_jobs() {
    let columns = [
        ("id", "bigint"),
        ("body", "text"),
        ("headers", "text"),
        ("queue_name", "character varying"),
        ("created_at", "timestamp"),
        ("available_at", "timestamp"),
        ("delivered_at", "timestamp?"),
    ];
    let row = |queue| [Some("1"), Some("{}"), Some("[]"), Some(queue), Some("x"), Some("x"), None];
    let (draft, adapter) = read(&sample("postgres", &columns, &[&row("default"), &row("failed")]));
    let states = &adapter.spec("postgres").unwrap_or_else(|| panic!("{draft}")).states;
    assert_eq!((&states.dead[..], &states.retrying[..]), (&["failed".to_owned()][..], &["default".to_owned()][..]));
    assert!(lines(&draft, "when = ").iter().all(|when| when.contains("t.queue_name IN ('failed')")), "{draft}");
    let (fault, _) = unwritten(&sample("postgres", &columns, &[&row("default")]));
    assert!(fault.contains("`states.dead`"), "{fault}");
}

#[test]
fn an_order_is_a_time_or_a_number_and_nothing_else() {
    for (key, id) in [("uuid", "0190"), ("text", "01J"), ("char(36)", "0190")] {
        let columns = [("id", key), ("payload", "json")];
        let (fault, draft) = unwritten(&sample("postgres", &columns, &[&[Some(id), Some("{}")]]));
        assert!(fault.contains("`order.time` (line "), "{key}: {fault}");
        assert!(lines(&draft, "time = ")[0].contains("TO BE WRITTEN"), "{draft}");
        let at = [("id", key), ("payload", "json"), ("failed_at", "timestamp")];
        let (draft, _) = read(&sample("postgres", &at, &[]));
        let text = draft.replace(
            "time = { column = \"failed_at\", kind = \"utc\" }",
            "time = { column = \"id\", kind = \"text\" }",
        );
        let fault = Adapter::parse(&text, None).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(fault.contains("`order.time` is a time"), "{fault}");
    }
}

#[test]
fn what_a_job_is_given_is_told_from_what_became_of_it() {
    let field = |draft: &str, name: &str| lines(draft, &format!("{name} = {{")).first().map(|line| (*line).to_owned());
    // The message is the job's own.
    let columns = [
        ("message_id", "uuid"),
        ("queue_name", "text"),
        ("state", "text"),
        ("message", "jsonb"),
        ("mtime", "timestamptz"),
    ];
    let message = r#"{"class": "Mail", "actor_name": "mail", "args": [1]}"#;
    let (draft, _) =
        read(&sample("postgres", &columns, &[&[Some("1"), Some("q"), Some("rejected"), Some(message), Some("x")]]));
    assert!(field(&draft, "arguments").is_some_and(|line| line.contains("\"message\"")), "{draft}");
    assert_eq!((field(&draft, "error_class"), field(&draft, "message")), (None, None), "{draft}");
    // What became of it is no argument.
    for told in ["error_details", "last_failure", "exception_info", "job_result"] {
        let columns = [("id", "bigint"), ("status", "text"), (told, "jsonb"), ("ended_at", "timestamptz")];
        let (draft, _) = read(&sample("postgres", &columns, &[&[Some("1"), Some("failed"), Some("{}"), Some("x")]]));
        assert_eq!(field(&draft, "arguments"), None, "{draft}");
    }
    for name in ["func", "entrypoint", "task_path", "jobSignature", "actor_name", "func_name"] {
        let columns = [("id", "bigint"), (name, "text"), ("statename", "text"), ("failed_at", "timestamptz")];
        let row = |state| [Some("1"), Some("shop.mail"), Some(state), Some("x")];
        let (draft, adapter) = read(&sample("postgres", &columns, &[&row("Killed"), &row("Running")]));
        assert!(field(&draft, "job_class").is_some_and(|line| line.contains(name)), "{draft}");
        assert!(field(&draft, "state").is_some_and(|line| line.contains("statename")), "{draft}");
        assert_eq!(
            adapter.spec("postgres").map(|spec| spec.states.dead.clone()),
            Some(vec!["Killed".to_owned()]),
            "{draft}"
        );
    }
}

#[test]
fn counts_of_time_are_told_in_any_unit_and_never_by_odd_numbers() {
    for (value, kind) in [
        ("1795046400", Some("epoch_s")),
        ("1795046400123", Some("epoch_ms")),
        ("1795046400123456", Some("epoch_us")),
        ("20261127163555", None),
    ] {
        let columns = [("id", "bigint"), ("failed_at", "bigint")];
        let draft = sample("sqlite", &columns, &[&[Some("1"), Some(value)]]).draft().unwrap_or_default();
        let at = lines(&draft, "at = ")[0].to_owned();
        match kind {
            Some(kind) => assert!(at.contains(&format!("kind = \"{kind}\"")), "{draft}"),
            None => assert!(at.contains("TO BE WRITTEN"), "{draft}"),
        }
    }
}
