use super::*;
use crate::adapter::Adapter;

fn sample(dialect: &str, columns: &[(&str, &str)], rows: &[&[Option<&str>]]) -> Sample {
    let column = |(name, data_type): &(&str, &str)| Column {
        name: (*name).to_owned(),
        data_type: (*data_type).to_owned(),
        nullable: *name == "n",
        collation: None,
    };
    let texts = |row: &&[Option<&str>]| row.iter().map(|v| v.map(str::to_owned)).collect();
    Sample {
        dialect: dialect.to_owned(),
        table: "broken things".to_owned(),
        columns: Table { columns: columns.iter().map(column).collect(), ..Table::default() },
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
        let column =
            |f: &Option<crate::adapter::Field>| f.as_ref().and_then(|f| f.column.as_ref()).map(|c| c.get_ref().clone());
        let f = &spec.fields;
        assert_eq!(column(&f.job_class).as_deref(), Some("kind"));
        assert_eq!(column(&f.arguments).as_deref(), Some("body"));
        assert_eq!(column(&f.message).as_deref(), Some("last_error"));
        assert_eq!(column(&f.attempts).as_deref(), Some("tries"));
        assert!(f.error_class.as_ref().is_some_and(|f| f.sql.is_some()), "{draft}");
        assert_eq!(
            (spec.states.dead.as_slice(), spec.states.resolved.as_slice()),
            (&["FAILED".to_owned()][..], &["SENT_OK".to_owned()][..])
        );
        assert_eq!(spec.states.retrying, ["WAITING"]);
        assert!(draft.contains("the key stands in for it") && draft.contains("#   odd \"one\" (point)"), "{draft}");
        assert!(spec.verbs.replay.as_ref().is_some_and(|v| v.disabled.is_some()));
    }
}

#[test]
fn an_empty_table_is_drafted_too_and_what_is_missing_is_said() {
    let (draft, _) = read(&sample("postgres", COLUMNS, &[]));
    assert!(draft.contains("dead = [\"…\"]   # TO BE WRITTEN"), "{draft}");
    let bare = sample("sqlite", &[("id", "INTEGER"), ("x", "REAL")], &[]);
    let draft = bare.draft().unwrap_or_default();
    let fault = Adapter::parse(&draft, None).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(fault.contains("missing") && fault.contains("at"), "{fault}");
    assert!(draft.contains("# at = { column"), "{draft}");
}

#[test]
fn times_in_numbers_are_told_by_their_size_and_a_table_without_a_key_is_refused() {
    let columns = &[("key", "int"), ("created_at", "bigint"), ("n", "double")];
    let rows: &[&[Option<&str>]] =
        &[&[Some("1"), Some("1766500000123"), None], &[Some("1"), Some("1766500000124"), None]];
    let draft = sample("mysql", columns, rows).draft().unwrap_or_default();
    // `key` repeats, so the time is all that tells rows apart; it is no time of death any more then.
    assert!(draft.contains("key = { column = \"created_at\""), "{draft}");
    let columns = &[("id", "int"), ("created_at", "bigint")];
    let draft = sample("mysql", columns, &[&[Some("1"), Some("1766500000123")]]).draft().unwrap_or_default();
    assert!(draft.contains("at = { column = \"created_at\", kind = \"epoch_ms\" }"), "{draft}");
    assert!(sample("mysql", &[("x", "double")], &[]).draft().is_err());
}
