use super::*;

#[tokio::test]
async fn text_whole_numbers_booleans_and_null_come_back_from_every_engine() {
    for db in harness::every_engine("values").await {
        let engine = connect(&db).await;
        let found = row(&engine, "select 'é', 42, 1 = 1, 1 = 2, null, ''", Vec::new()).await;
        let wanted = vec![text("é"), Value::Int(42), Value::Int(1), Value::Int(0), Value::Null, text("")];
        assert_eq!(found, Row(wanted), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn bound_values_come_back_as_they_were_from_every_engine() {
    for db in harness::every_engine("bound").await {
        let engine = connect(&db).await;
        let place = |n: usize| if db.engine == harness::Engine::Postgres { format!("${n}") } else { "?".to_owned() };
        let odd = [
            "",
            "it's",
            "''",
            "\\",
            "\\'",
            "a\\nb\nc\td\r",
            "\"x\"",
            "`x`",
            "?",
            "$1",
            "%_",
            "; drop table t; --",
            "/* x */ # y",
            "é 漢 🙂",
            "\u{1a}",
            "-- ",
            "\u{feff}",
        ];
        // Each beside itself, and twice in one question: a value that left its quotes would change what stands behind it.
        let sql = format!("select {}, {}, {}", place(1), place(2), place(3));
        let statement = |value: &str| Statement {
            sql: sql.clone(),
            binds: vec![
                Bind::Text(Some(value.to_owned())),
                Bind::Text(Some(format!("{value}{value}"))),
                Bind::Text(None),
            ],
        };
        for value in odd {
            let asked = [statement(value), statement("behind")];
            let found = engine.read(&asked, &Budget::new(LONG)).await.expect("an answer");
            let told = |value: &str| vec![Row(vec![text(value), text(&format!("{value}{value}")), Value::Null])];
            assert_eq!(found, [told(value), told("behind")], "{:?} {value:?}", db.engine);
        }
        for n in [0, 1, -1, i64::MAX, i64::MIN + 1] {
            let whole = Statement { sql: format!("select 1 - {}", place(1)), binds: vec![Bind::Int(Some(n))] };
            let found = engine.read(&[whole], &Budget::new(LONG)).await;
            match 1_i64.checked_sub(n) {
                Some(less) => {
                    assert_eq!(found.expect("an answer"), [[Row(vec![Value::Int(less)])]], "{:?} {n}", db.engine)
                }
                None => assert!(found.is_err() || db.engine == harness::Engine::Sqlite, "{:?} {n}", db.engine),
            }
        }
    }
}

#[tokio::test]
async fn postgres_columns_of_the_usual_types_are_text_or_whole_numbers() {
    let Some(server) = harness::postgres() else { return };
    let db = server.database("pgvalues").await;
    db.execute("create type mood as enum ('sad', 'glad')").await;
    let engine = connect(&db).await;
    let found = row(
        &engine,
        "select 'a'::varchar, 'b'::char(3), 'c'::name, '{\"n\": 1.10}'::jsonb, '{\"n\":1.10}'::json, 1::int2, 2::int4, \
         3::int8, '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid, 'glad'::mood::text, null::jsonb, 26::oid",
        Vec::new(),
    )
    .await;
    let wanted = vec![
        text("a"),
        text("b  "),
        text("c"),
        text("{\"n\": 1.10}"),
        text("{\"n\":1.10}"),
        Value::Int(1),
        Value::Int(2),
        Value::Int(3),
        text("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        text("glad"),
        Value::Null,
        Value::Int(26),
    ];
    assert_eq!(found, Row(wanted));
    let error = engine.read(&[sql("select now() as failed_at")], &Budget::new(LONG)).await.unwrap_err();
    assert!(error.to_string().contains("column failed_at has the type timestamptz"), "{error}");
    // At the first time and later on alike, although the driver knows the type by then.
    for _ in 0..3 {
        let error = engine.read(&[sql("select 'glad'::mood as mood")], &Budget::new(LONG)).await.unwrap_err();
        assert!(error.to_string().contains("must cast it to text"), "{error}");
    }
}

#[tokio::test]
async fn mysql_columns_of_the_usual_types_are_text_or_whole_numbers() {
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("myvalues").await;
    db.execute(
        "create table t (a json, b tinyint, c bigint unsigned, d varchar(9), e longblob, f enum('x','y'), g boolean, \
         h decimal(10,2), i char(3), j mediumtext, k smallint);
         insert into t values ('{\"n\": 1.10}', -3, 18446744073709551615, 'v', x'e9', 'y', true, 1.50, 'c', 'm', -300)",
    )
    .await;
    let engine = connect(&db).await;
    let found = row(&engine, "select t.*, count(*), sum(b), c - 18446744073709551614 from t", Vec::new()).await;
    let wanted = vec![
        text("{\"n\": 1.10}"),
        Value::Int(-3),
        text("18446744073709551615"),
        text("v"),
        Value::Odd(vec![0xE9]),
        text("y"),
        Value::Int(1),
        text("1.50"),
        text("c"),
        text("m"),
        Value::Int(-300),
        Value::Int(1),
        Value::Int(-3),
        Value::Int(1),
    ];
    assert_eq!(found, Row(wanted));
}

#[tokio::test]
async fn sqlite_values_are_decoded_by_their_own_type_not_the_column() {
    let db = harness::sqlite("litevalues").await;
    db.execute("create table t (n integer, s text); insert into t values ('seven', x'636166e9'), (7, 8), (1.5, null)")
        .await;
    let engine = connect(&db).await;
    let rows = engine.read(&[sql("select n, s from t order by rowid")], &Budget::new(LONG)).await.unwrap();
    let wanted = [
        Row(vec![text("seven"), Value::Odd(b"caf\xe9".to_vec())]),
        Row(vec![Value::Int(7), text("8")]),
        Row(vec![text("1.5"), Value::Null]),
    ];
    assert_eq!(rows[0], wanted);
}

#[tokio::test]
async fn values_are_bound_and_a_list_is_one_value() {
    for db in harness::every_engine("binds").await {
        let engine = connect(&db).await;
        let one = vec![Bind::Text(Some("it's".into())), Bind::Int(Some(i64::MIN)), Bind::Text(None), Bind::Int(None)];
        let list = vec![Bind::Texts(vec![Some("a\"b".into()), None, Some("{}\\".into())])];
        let (ask_one, ask_list) = match db.engine {
            harness::Engine::Postgres => {
                ("select $1, $2, $3, $4", "select count(x), string_agg(x, '|') from unnest($1) x")
            }
            harness::Engine::Mysql => (
                "select ?, ?, ?, ?",
                "select count(x), group_concat(x separator '|') \
                 from json_table(?, '$[*]' columns (x text path '$')) t",
            ),
            harness::Engine::Sqlite => {
                ("select ?, ?, ?, ?", "select count(value), group_concat(value, '|') from json_each(?)")
            }
        };
        let found = row(&engine, ask_one, one).await;
        assert_eq!(found, Row(vec![text("it's"), Value::Int(i64::MIN), Value::Null, Value::Null]), "{:?}", db.engine);
        assert_eq!(row(&engine, ask_list, list).await, Row(vec![Value::Int(2), text("a\"b|{}\\")]), "{:?}", db.engine);
    }
}

#[tokio::test]
async fn an_adapters_text_is_one_statement_only() {
    for db in harness::every_engine("onlyone").await {
        db.execute("create table t (a int)").await;
        let engine = connect(&db).await;
        let mut tx = engine.begin(&Budget::new(LONG)).await.unwrap();
        // SQLite runs what is one transaction for it, and is given no more than that.
        let error = tx.execute(&sql("insert into t values (1); insert into t values (2)")).await;
        drop(tx);
        assert!(error.is_err() || db.engine == harness::Engine::Sqlite, "{:?}", db.engine);
    }
}

#[tokio::test]
async fn the_server_says_what_it_is() {
    for db in harness::every_engine("facts").await {
        let engine = connect(&db).await;
        let product = match db.engine {
            harness::Engine::Postgres => "PostgreSQL ",
            harness::Engine::Mysql => "M",
            harness::Engine::Sqlite => "SQLite 3.",
        };
        assert!(engine.server().starts_with(product), "{}", engine.server());
        assert!(engine.database().contains(db.name()), "{}", engine.database());
        assert_eq!(engine.user().is_empty(), db.engine == harness::Engine::Sqlite, "{}", engine.user());
        assert_eq!(engine.read_only(), None);
    }
}

#[tokio::test]
async fn a_statement_that_comes_again_is_not_closed_in_between_on_mysql() {
    // Nobody answers a close, and what follows it waits for an acknowledgement that servers delay.
    let Some(server) = harness::mariadb() else { return };
    let db = server.database("kept prepared").await;
    let engine = connect(&db).await;
    let again = || Statement { sql: "select ?".to_owned(), binds: vec![Bind::Text(Some("a".to_owned()))] };
    let closed = sql("show session status like 'Com_stmt_close'");
    let read = [again(), closed.clone(), again(), again(), closed];
    let results = engine.read(&read, &Budget::new(LONG)).await.unwrap();
    assert_eq!(results[1], results[4]);
}
