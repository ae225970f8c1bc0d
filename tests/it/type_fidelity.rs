//! Every type that a server knows: a discard and its undo bring the exact value back, or the discard is refused before
//! anything is deleted.

use std::collections::BTreeMap;

use dlq_tui::domain::action::Action;
use dlq_tui::store::{Availability, Store, StoreExt};

use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::store_desk::store;
use crate::undo::{Bench, content};

/// Discards every row and takes that back: the table must be what it was.
async fn comes_back(db: &TestDb, what: &str) {
    let before = content(db, "jobs_dlq").await;
    let bench = Bench::new(db, Layout::JobsDlq).await;
    let (run, tally) = bench.act("", Action::Discard).await;
    assert_eq!((tally.done, db.count("jobs_dlq").await), (before.len() as u64, 0), "{what}: {tally:?}");
    let (_, tally) = bench.undo(&run).await;
    assert_eq!(tally.done, before.len() as u64, "{what}: {tally:?}");
    let after = content(db, "jobs_dlq").await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after, "{what}");
    }
}

/// The same table with a column that cannot be kept: looking is possible, discarding is not.
async fn is_refused(db: &TestDb, data_type: &str) {
    db.execute(&format!("alter table jobs_dlq add column odd {data_type}")).await;
    let info = store(db, Layout::JobsDlq).await.info().clone();
    for action in [Action::Discard, Action::Replay] {
        let availability = info.availability(action);
        let told = format!("jobs_dlq.odd is {data_type}");
        assert!(
            matches!(&availability, Availability::Disabled(why) if why.contains(&told)),
            "{action}: {availability:?}"
        );
    }
    db.execute("alter table jobs_dlq drop column odd").await;
}

/// Types of PostgreSQL that it writes out and reads from no text.
const UNREAD: [&str; 7] = [
    "gtsvector",
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "pg_dependencies",
    "pg_mcv_list",
    "pg_ndistinct",
    "pg_node_tree",
];

/// Values that break on the way through anything but the type's own text.
const POSTGRES: &[(&str, &[&str])] = &[
    ("aclitem", &["pg_monitor=r*w/pg_monitor"]),
    ("bit", &["1", "0"]),
    ("bool", &["t", "f"]),
    ("box", &["(1.5,2),(0,-1e-300)"]),
    ("bpchar", &["ab  ", ""]),
    ("bytea", &["\\x00ff", "\\x"]),
    ("char", &["x", "", "é"]),
    ("cid", &["4294967295"]),
    ("cidr", &["10.0.0.0/8", "::/0"]),
    ("circle", &["<(0.1,-2),3>"]),
    ("date", &["0044-03-15 BC", "infinity", "5874897-12-31"]),
    ("datemultirange", &["{[2026-01-01,2026-02-01),[2027-01-01,)}", "{}"]),
    ("daterange", &["[2026-01-01,2026-02-01)", "empty", "(,)"]),
    ("float4", &["0.1", "NaN", "-Infinity", "1e-45", "3.4028235e38", "-0"]),
    ("float8", &["0.1", "NaN", "-Infinity", "5e-324", "1.7976931348623157e308", "-0", "0.30000000000000004"]),
    ("inet", &["10.0.0.1/8", "::1"]),
    ("int2", &["-32768"]),
    ("int2vector", &["1 2"]),
    ("int4", &["-2147483648"]),
    ("int4multirange", &["{[1,5),[7,8)}"]),
    ("int4range", &["[1,5)", "empty"]),
    ("int8", &["-9223372036854775808", "9007199254740993"]),
    ("int8multirange", &["{(,5),[7,)}"]),
    ("int8range", &["[9007199254740993,)"]),
    ("interval", &["1 year -2 days 03:04:05.000006", "-178000000 years"]),
    ("json", &["{\"a\":1, \"a\" : 1.50, \"z\":\"\\u0000\"}", "null", " [1]"]),
    ("jsonb", &["{\"a\": 9007199254740993, \"b\": 1.50}", "null"]),
    ("jsonpath", &["$.\"a b\"[*]?(@ > 1)"]),
    ("line", &["{1,-2,0.1}"]),
    ("lseg", &["[(1,2),(3,0.1)]"]),
    ("macaddr", &["08:00:2b:01:02:03"]),
    ("macaddr8", &["08:00:2b:01:02:03:04:05"]),
    ("money", &["-92233720368547758.08", "0.01"]),
    ("name", &["a \"name\""]),
    ("numeric", &["12345678901234567890123.4500", "NaN", "-Infinity", "0.10", "1e-1000"]),
    ("nummultirange", &["{[1.10,2.5),[3,)}"]),
    ("numrange", &["(1.10,2.50]"]),
    ("oid", &["4294967295"]),
    ("oidvector", &["1 4294967295"]),
    ("path", &["[(1,2),(3,0.1)]", "((0,0),(1,1))"]),
    ("pg_lsn", &["FFFFFFFF/FFFFFFFF"]),
    ("pg_snapshot", &["10:20:10,14,15"]),
    ("point", &["(0.1,-2)", "(NaN,Infinity)"]),
    ("polygon", &["((0,0),(1,0.1),(1,1))"]),
    ("refcursor", &["a cursor"]),
    ("regclass", &["pg_class", "4294967290"]),
    ("regcollation", &["\"C\""]),
    ("regconfig", &["simple"]),
    ("regdictionary", &["simple"]),
    ("regnamespace", &["pg_catalog"]),
    ("regoper", &["pg_catalog.||/"]),
    ("regoperator", &["+(integer,integer)"]),
    ("regproc", &["now"]),
    ("regprocedure", &["abs(numeric)"]),
    ("regrole", &["pg_monitor"]),
    ("regtype", &["timestamp with time zone"]),
    ("text", &["tab\tbreak\n\u{1} \u{202e} 💥", ""]),
    ("tid", &["(4294967295,65535)"]),
    ("time", &["24:00:00", "23:59:59.999999"]),
    ("timestamp", &["294246-12-31 23:59:59.999999", "-infinity", "0044-03-15 00:00:00 BC"]),
    ("timestamptz", &["infinity", "2026-11-18 09:14:02.123456+00", "4713-01-01 00:00:00+00 BC"]),
    ("timetz", &["04:05:06.7+02:03:04", "24:00:00-15:59"]),
    ("tsmultirange", &["{[\"2026-01-01 00:00:00.000001\",infinity]}"]),
    ("tsquery", &["'fat' & ( 'rat' | !'cat':*AB )", ""]),
    ("tsrange", &["[\"2026-01-01 00:00:00.000001\",)"]),
    ("tstzmultirange", &["{[\"2026-01-01 00:00:00.000001+00\",)}"]),
    ("tstzrange", &["[\"2026-01-01 00:00:00.000001+00\",)"]),
    ("tsvector", &["'a':1A,2 'it''s \\\\':3"]),
    ("txid_snapshot", &["10:20:10,14,15"]),
    ("uuid", &["6f1c3e0a-0000-4000-8000-000000000001"]),
    ("varbit", &["10101", ""]),
    ("varchar", &["trailing  ", "a,\"b\\"]),
    ("xid", &["4294967295"]),
    ("xid8", &["18446744073709551615"]),
    ("xml", &["<a b=\"1\">é &amp; <![CDATA[<]]></a>", "two <b/> parts"]),
];

/// Gives the table a column of each type, and one of its array, with these values in rows of their own.
async fn of_types(db: &TestDb, types: &[(String, &[&str])]) {
    let (mut alter, mut insert) = (Vec::new(), Vec::new());
    for (n, (data_type, values)) in types.iter().enumerate() {
        alter.push(format!("add column c{n} {data_type}, add column a{n} {data_type}[]"));
        for value in *values {
            let value = value.replace('\'', "''");
            // Without a cast in the list of columns none cuts anything off.
            insert.push(format!(
                "insert into jobs_dlq (payload, attempts, failed_at, c{n}, a{n}) values \
                 ('{{}}', 1, now(), '{value}', array[null, '{value}']::{data_type}[])"
            ));
        }
    }
    db.execute(&format!("alter table jobs_dlq {}", alter.join(", "))).await;
    db.execute(&insert.join("; ")).await;
}

#[tokio::test]
async fn every_type_of_postgres_comes_back_or_is_refused() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("every type").await;
    let known: BTreeMap<&str, &[&str]> = POSTGRES.iter().copied().collect();
    let types = db
        .column(
            "select typname from pg_type where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'r', 'm') \
             and typelem = 0 or typname in ('box', 'int2vector', 'lseg', 'name', 'oidvector', 'point', 'line') order by 1",
        )
        .await;
    assert!(types.len() > 70, "{types:?}");
    Layout::JobsDlq.install(&db).await;
    for unread in types.iter().filter(|name| UNREAD.contains(&name.as_str())) {
        is_refused(&db, unread).await;
    }
    let kept = types.iter().filter(|name| !UNREAD.contains(&name.as_str()));
    let sampled: Vec<(String, &[&str])> = kept
        .map(|name| {
            let values = known.get(name.as_str());
            (format!("pg_catalog.\"{name}\""), *values.unwrap_or_else(|| panic!("no values for the type {name}")))
        })
        .collect();
    of_types(&db, &sampled).await;
    comes_back(&db, "postgres").await;
}

#[tokio::test]
async fn types_of_extensions_and_of_users_come_back() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("own types").await;
    Layout::JobsDlq.install(&db).await;
    let extensions: [(&str, &str, &[&str]); 9] = [
        ("hstore", "hstore", &["\"a b\"=>NULL, \"c\"=>\"\\\"\""]),
        ("citext", "citext", &["CamelCase "]),
        ("ltree", "ltree", &["Top.Science"]),
        ("ltree", "lquery", &["Top.*{2}.!a|b*@"]),
        ("cube", "cube", &["(0.1, 2),(3, 4)"]),
        ("seg", "seg", &["1.50 .. 2", "~3"]),
        ("isn", "isbn13", &["978-0-393-04002-9"]),
        ("lo", "lo", &["7"]),
        ("vector", "vector", &["[0.1,2,-3e-05]"]),
    ];
    let there = db.column("select name from pg_available_extensions").await;
    let mut types: Vec<(String, &[&str])> = Vec::new();
    for (extension, data_type, values) in extensions {
        if there.iter().any(|name| name == extension) {
            db.execute(&format!("create extension if not exists {extension}")).await;
            types.push((data_type.to_owned(), values));
        }
    }
    db.execute(
        "create schema \"Odd \"\"one\"; create type \"Odd \"\"one\".\"Mood\" as enum ('fine', 'so ''so'''); \
         create domain small as varchar(5) check (value <> 'no'); create domain smaller as small; \
         create domain numbers as int[]; create type pair as (a small, b numeric(5,2)[]); \
         create type nested as (p pair, m \"Odd \"\"one\".\"Mood\"); create type spans as range (subtype = float8)",
    )
    .await;
    let own: [(&str, &[&str]); 7] = [
        ("\"Odd \"\"one\".\"Mood\"", &["so 'so'"]),
        ("smaller", &["ab  "]),
        ("numbers", &["[2:3]={1,NULL}"]),
        ("pair", &["(\"a,\"\"\",\"{1.50,NULL}\")", "(,)"]),
        ("nested", &["(\"(x,{})\",fine)"]),
        ("spans", &["[0.1,0.30000000000000004)"]),
        ("numeric(8,3)", &["1.500"]),
    ];
    types.extend(own.map(|(name, values)| (name.to_owned(), values)));
    of_types(&db, &types).await;
    db.execute("alter table jobs_dlq add made int generated always as (attempts * 2) stored, add own int generated always as identity").await;
    comes_back(&db, "own types").await;
}

/// Types of MariaDB and MySQL with values of each; a server that does not know one of them is not asked for it.
const MYSQL: &[(&str, &[&str])] = &[
    ("tinyint unsigned", &["255"]),
    ("smallint", &["-32768"]),
    ("mediumint zerofill", &["7"]),
    ("int", &["-2147483648"]),
    ("bigint unsigned", &["18446744073709551615"]),
    (
        "decimal(65,30)",
        &["12345678901234567890123.450000000000000000000000000001", "-0.000000000000000000000000000001"],
    ),
    ("float", &["0.1", "-3.40282e38", "1.17549e-38", "16777217"]),
    ("double", &["0.1", "1.7976931348623157e308", "2.2250738585072014e-308", "-0e0"]),
    ("bit(64)", &["b'1'", "x'ffffffffffffffff'"]),
    ("boolean", &["true"]),
    ("char(10)", &["'ab'", "''"]),
    ("varchar(20) character set latin1", &["'café  '"]),
    ("tinytext", &["'a\\0b'"]),
    ("mediumtext", &["'💥 \\\\ \\' tab\\t'"]),
    ("binary(4)", &["x'00ff'"]),
    ("varbinary(9)", &["x'00ff20'", "''"]),
    ("tinyblob", &["x'ff00'"]),
    ("mediumblob", &["x'c3'"]),
    ("enum('', 'a''b', 'c (d)')", &["''", "'a''b'", "3"]),
    ("set('x', 'y y', '')", &["''", "'x,y y'", "7"]),
    ("json", &["'{\"a\": 1.5, \"b\": [9007199254740993, \"\\\\u0041\"]}'", "'null'", "'1e100'"]),
    ("date", &["'1000-01-01'", "'9999-12-31'"]),
    ("datetime(6)", &["'9999-12-31 23:59:59.999999'"]),
    ("timestamp(6) null", &["'2026-11-18 09:14:02.000001'"]),
    ("time(6)", &["'-838:59:59.000000'", "'00:00:00.000001'"]),
    ("year", &["0", "1901", "2155"]),
    ("point", &["point(0.1, -2)"]),
    ("geometry", &["st_geomfromtext('POLYGON((0 0,1 0,1 1,0 0))', 4326)", "point(1, 2)"]),
    ("multipoint", &["st_geomfromtext('MULTIPOINT(0 0,1 0.1)')"]),
    ("geometrycollection", &["st_geomfromtext('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))')"]),
    ("uuid", &["'6f1c3e0a-0000-4000-8000-000000000001'"]),
    ("inet4", &["'10.0.0.1'"]),
    ("inet6", &["'::ffff:1.2.3.4'", "'fe80::1'"]),
    ("vector(3)", &["x'0000803F0000204082A8FBB7'"]),
    ("longtext compressed", &["'é'"]),
];

#[tokio::test]
async fn every_type_of_mysql_and_mariadb_comes_back() {
    for server in [harness::mariadb(), harness::mysql()].into_iter().flatten() {
        let db = server.database("every type").await;
        Layout::JobsDlq.install(&db).await;
        let mut there = 0;
        for (n, (data_type, values)) in MYSQL.iter().enumerate() {
            if db.try_execute(&format!("alter table jobs_dlq add column c{n} {data_type}")).await.is_err() {
                continue;
            }
            there += 1;
            for value in *values {
                let row = format!(
                    "insert into jobs_dlq (payload, attempts, failed_at, c{n}) values ('{{}}', 1, now(), {value})"
                );
                db.execute(&row).await;
            }
        }
        assert!(there >= MYSQL.len() - 5, "{there}");
        comes_back(&db, &db.scalar("select version()").await).await;
        let shown = store(&db, Layout::JobsDlq).await;
        let id = db.scalar("select max(id) from jobs_dlq").await;
        let detail = shown.detail(&dlq_tui::domain::job::JobId::new(id), &crate::store_desk::budget()).await;
        assert!(detail.expect("an answer").is_some());
    }
}

#[tokio::test]
async fn json_that_would_come_back_as_another_is_not_deleted() {
    let Some(server) = harness::mysql() else { return };
    let db = server.database("inexact json").await;
    Layout::JobsDlq.install(&db).await;
    db.execute(
        "alter table jobs_dlq add column j json; insert into jobs_dlq (payload, attempts, failed_at, j) values \
         ('{}', 1, now(), json_object('n', 1.10)), ('{}', 1, now(), json_object('at', cast('2026-01-01' as date))), \
         ('{}', 1, now(), json_object('bytes', x'00ff')), ('{}', 1, now(), json_object('n', 1.5e0)), ('{}', 1, now(), null)",
    )
    .await;
    let bench = Bench::new(&db, Layout::JobsDlq).await;
    let (_, tally) = bench.act("", Action::Discard).await;
    assert_eq!((tally.done, tally.failed_total(), db.count("jobs_dlq").await), (2, 3, 3), "{tally:?}");
    let told = "j holds a value that could not be put back exactly";
    assert!(tally.failed.iter().all(|(why, _)| why.exact().contains(told)), "{tally:?}");
}

#[tokio::test]
async fn every_kind_of_value_of_sqlite_comes_back() {
    // Every affinity, and a table that holds columns to their types.
    let strict = ["int", "integer", "real", "text", "blob", "any"];
    let loose = ["", "int", "real", "text", "blob", "numeric", "boolean", "datetime", "varchar(3)", "jsonb"];
    let values = [
        "9007199254740993",
        "-9223372036854775808",
        "0.1",
        "-0.0",
        "0.0",
        "9e999",
        "-9e999",
        "5e-324",
        "1e15",
        "3.0",
        "0.30000000000000004",
        "'12345678901234567890.10'",
        "'007'",
        "'1e3'",
        "''",
        "'é💥'",
        "x''",
        "x'00ff'",
        "jsonb('{\"a\":[1.50,null]}')",
        "cast(x'61ff62' as text)",
        "cast(x'610062' as text)",
        "'t' || char(10)",
        "null",
    ];
    for (types, word) in [(&strict[..], " strict"), (&loose[..], "")] {
        let db = harness::sqlite("every kind").await;
        Layout::JobsDlq.install(&db).await;
        let (id, whole) = ("id integer primary key autoincrement", if word.is_empty() { "bigint" } else { "integer" });
        let columns: Vec<String> = types.iter().enumerate().map(|(n, of)| format!("c{n} {of}")).collect();
        db.execute(&format!(
            "drop table jobs_dlq; create table jobs_dlq ({id}, original_id {whole}, payload text, attempts int, error_class text, \
             error_msg text, stacktrace text, failed_by text, failed_at text, {}, \
             made int generated always as (attempts * 2) virtual, stored int generated always as (attempts * 2) stored){word}",
            columns.join(", ")
        ))
        .await;
        for (n, _) in types.iter().enumerate() {
            for value in values {
                let row = format!(
                    "insert into jobs_dlq (payload, attempts, failed_at, c{n}) values ('{{}}', 1, '2026-11-18 09:14:02', {value})"
                );
                // What a strict column does not take.
                let taken = db.try_execute(&row).await.is_ok();
                assert!(taken || !word.is_empty(), "{row}");
            }
        }
        assert!(db.count("jobs_dlq").await > 50);
        comes_back(&db, &format!("sqlite{word}")).await;
    }
}
