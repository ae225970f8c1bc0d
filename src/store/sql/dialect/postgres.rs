//! PostgreSQL's text.

pub(super) mod catalogue;
mod instant;
mod member;
mod physical_storage;
mod server_state;

use super::{
    BatchColumns, BatchRow, Form, IndexPlace, NameLimit, NewTable, Place, TextExpression, ValueSort, WindowShape,
    epoch, fraction, like,
};
use super::{Catalogue, Conditions, Expressions, Plans, Writes};
use crate::adapter::{Column, FieldKind, Index};
use crate::db::{Bind, Statement};
use crate::domain::time::Timestamp;
use crate::store::sql::dialect::sql_builder::Sql;

pub(super) struct PostgresDialect;

impl PostgresDialect {
    fn type_of(kind: FieldKind) -> &'static str {
        match kind {
            FieldKind::Int | FieldKind::Natural | FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                "bigint"
            }
            FieldKind::Uuid => "uuid",
            FieldKind::Utc => "timestamp",
            FieldKind::Instant => "timestamptz",
            FieldKind::Text | FieldKind::Json | FieldKind::Lines => "text",
        }
    }
}

/// Asks whether a text holds pieces one after the other. One is looked for by itself, which skips what LIKE looks at letter by
/// letter. Several are not looked for so first: to get ready for it costs a short text as much as it spares.
fn holds(sql: &mut Sql, text: &str, pieces: &[String]) {
    match pieces {
        [] => sql.push(&format!("{text} IS NOT NULL")),
        [piece] => {
            let place = sql.text(piece);
            sql.push(&format!("(strpos({text}, {place}::text) > 0)"))
        }
        pieces => {
            let place = sql.text(&format!("%{}%", like(pieces)));
            sql.push(&format!("({text} LIKE {place}::text ESCAPE '!')"))
        }
    };
}

impl Expressions for PostgresDialect {
    fn quote(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn placeholder(&self, n: usize) -> String {
        format!("${n}")
    }

    fn integer_placeholder(&self, place: &str) -> String {
        format!("{place}::bigint")
    }

    fn contract(&self, raw: &str, kind: FieldKind) -> String {
        match kind {
            FieldKind::Text | FieldKind::Uuid | FieldKind::Json | FieldKind::Lines => format!("({raw})::text"),
            FieldKind::Int | FieldKind::Natural => format!("({raw})::bigint"),
            FieldKind::EpochS | FieldKind::EpochMs | FieldKind::EpochUs => {
                epoch::countable(raw, kind, &format!("({raw})::bigint * {}", epoch::unit(kind)))
            }
            // An infinite time has no number.
            FieldKind::Utc | FieldKind::Instant => {
                format!(
                    "CASE WHEN {} THEN round(extract(epoch from {raw}) * 1000000)::bigint END",
                    instant::countable(raw)
                )
            }
        }
    }

    fn is_countable(&self, raw: &str, kind: FieldKind) -> String {
        match kind {
            // Comparing alone: a count asks it of each row, and has no use for the number.
            FieldKind::Utc | FieldKind::Instant => instant::countable(raw),
            _ => format!("{} IS NOT NULL", self.contract(raw, kind)),
        }
    }

    fn reads_dates_in_text(&self) -> bool {
        false
    }

    fn is_text(&self, data_type: &str) -> bool {
        ["character varying", "text", "citext"].contains(&data_type)
    }

    fn position(&self, raw: &str, _kind: FieldKind) -> String {
        format!("({raw})::text")
    }

    fn cast(&self, place: &str, kind: FieldKind) -> String {
        format!("{place}::text::{}", Self::type_of(kind))
    }

    fn placed(&self, sql: &mut Sql, position: &str, kind: FieldKind) -> String {
        let is_time = matches!(kind, FieldKind::Utc | FieldKind::Instant);
        match is_time.then(|| instant::read(position)).flatten() {
            Some(at) => instant::bound(sql, kind, at, false),
            None => self.cast(&sql.text(position), kind),
        }
    }

    fn bucket(&self, raw: &str, kind: FieldKind, width: i64) -> String {
        match kind {
            FieldKind::Utc | FieldKind::Instant => format!(
                "CASE WHEN {} THEN floor(extract(epoch from {raw}) * 1000000 / {width})::bigint END",
                instant::countable(raw)
            ),
            kind => format!("floor(({})::numeric / {width})::bigint", self.contract(raw, kind)),
        }
    }

    fn hour(&self, raw: &str, kind: FieldKind) -> String {
        let utc = match kind {
            FieldKind::Utc => raw.to_owned(),
            FieldKind::Instant => format!("({raw} AT TIME ZONE 'UTC')"),
            kind => format!("(to_timestamp(({})/1000000.0) AT TIME ZONE 'UTC')", self.contract(raw, kind)),
        };
        let hour = |era: &str| format!("to_char(date_trunc('hour', {utc}), 'YYYY-MM-DD\"T\"HH24{era}')");
        // Without its era a year before the first would pass for the one after it.
        format!("CASE WHEN {utc} >= '0001-01-01' THEN {} ELSE {} END", hour(""), hour(" BC"))
    }
}

impl Conditions for PostgresDialect {
    fn at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        let instant = instant::bound(sql, kind, at, true);
        sql.push(&format!("{raw} >= {instant} AND {raw} {}", instant::ends(kind).1));
    }

    fn earlier(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        let instant = instant::bound(sql, kind, at, true);
        sql.push(&format!("{raw} < {instant} AND {raw} {}", instant::ends(kind).0));
    }

    fn not_at_or_after(&self, sql: &mut Sql, raw: &str, kind: FieldKind, at: Timestamp) {
        // The first comparison decides nearly always.
        let instant = instant::bound(sql, kind, at, true);
        let beyond = match kind {
            FieldKind::Utc | FieldKind::Instant => format!("{raw} >= {}", instant::BEYOND),
            kind => format!("{raw} > {}", epoch::ends(kind).1),
        };
        sql.push(&format!("({raw} < {instant} OR {beyond} OR {raw} IS NULL)"));
    }

    fn one_of(&self, sql: &mut Sql, text: &TextExpression, words: &[String]) {
        let raw = &text.raw;
        match words {
            [word] => {
                let place = sql.text(word);
                sql.push(&format!("{raw} = {place}::text"));
            }
            words => {
                let place = sql.bind(Bind::Texts(words.iter().cloned().map(Some).collect()));
                sql.push(&format!("{raw} = ANY({place}::text[])"));
            }
        }
    }

    fn keys_in(&self, sql: &mut Sql, raw: &str, kind: FieldKind, ids: &[String]) {
        let place = sql.bind(Bind::Texts(ids.iter().cloned().map(Some).collect()));
        match kind {
            FieldKind::Text => sql.push(&format!("{raw} = ANY({place}::text[])")),
            kind => sql.push(&format!("{raw} = ANY({place}::text[]::{}[])", Self::type_of(kind))),
        };
    }

    fn pairs_in(&self, sql: &mut Sql, scope: &str, (key, kind): (&str, FieldKind), pairs: &[(String, String)]) {
        let mut list = |value: &dyn Fn(&(String, String)) -> &String| {
            sql.bind(Bind::Texts(pairs.iter().map(|pair| Some(value(pair).clone())).collect()))
        };
        let (within, ids) = (list(&|pair| &pair.0), list(&|pair| &pair.1));
        let of = Self::type_of(kind);
        sql.push(&format!("({scope}, {key}) IN (SELECT * FROM unnest({within}::text[], {ids}::text[]::{of}[]))"));
    }

    fn glob(&self, sql: &mut Sql, text: &TextExpression, parts: &[String]) {
        let place = sql.text(&like(parts));
        sql.push(&format!("({})::text LIKE {place}::text ESCAPE '!'", text.raw));
    }

    fn contains(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]) {
        // Whatever the column's collation takes for the same, and where it takes no patterns.
        holds(sql, &format!("(({})::text COLLATE \"C\")", text.raw), pieces);
    }

    fn has_member(&self, sql: &mut Sql, column: (&str, &str), member: (&str, &str)) -> Option<String> {
        let path = member::path(member.0, member.1).filter(|_| column.1 == "jsonb")?;
        // A text altogether may hold JSON. In the path this would cost all documents more than it spares large ones.
        Some(format!("{0} @? {1}::jsonpath OR jsonb_typeof({0}) = 'string'", column.0, sql.text(&path)))
    }

    fn contains_ascii_fold(&self, sql: &mut Sql, text: &TextExpression, pieces: &[String]) {
        // lower() in the C collation folds ASCII only, whatever the database's locale.
        let pieces: Vec<String> = pieces.iter().map(|piece| piece.to_ascii_lowercase()).collect();
        holds(sql, &format!("lower(({})::text COLLATE \"C\")", text.raw), &pieces);
    }

    fn window(&self, sql: &mut Sql, shape: &WindowShape<'_>, within: &mut dyn FnMut(&mut Sql)) {
        // The columns that nobody uses are dropped from the inner select; what is kept out of line is not fetched.
        let WindowShape { table, rows, .. } = shape;
        let order = shape.order();
        sql.push(&format!("(SELECT t.*, row_number() OVER (ORDER BY {order}) AS rn FROM {table} AS t WHERE "));
        within(sql);
        sql.push(&format!(" ORDER BY {order} LIMIT {rows}) AS t"));
    }
}

impl Plans for PostgresDialect {
    fn statistics(&self, place: Place<'_>, columns: &[&str]) -> Option<Statement> {
        Some(physical_storage::statistics(place, columns))
    }

    fn blocks(&self, place: Place<'_>) -> Option<Statement> {
        Some(physical_storage::blocks(place))
    }

    fn cost_of(&self, plan: &str) -> Option<u64> {
        physical_storage::cost_of(plan)
    }

    fn expected_of(&self, plan: &str) -> Option<u64> {
        physical_storage::expected_of(plan)
    }

    fn together(&self) -> Option<&'static str> {
        // Values in the order of an index are taken to lie side by side in the table where most of the column does, which says
        // nothing of the rare ones; and whoever wants the first few of many is taken to find them wherever he begins.
        Some("SELECT set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'off', true)")
    }

    fn sampled(&self, table: &str, percent: f64) -> Option<String> {
        Some(format!("{table} AS t TABLESAMPLE SYSTEM ({percent:.6})"))
    }

    fn in_blocks(&self, sql: &mut Sql, from: u64, to: u64) {
        sql.push("t.ctid >= ").push_text(&format!("({from},0)")).push("::text::tid AND t.ctid < ");
        sql.push_text(&format!("({to},0)")).push("::text::tid");
    }
}

impl Catalogue for PostgresDialect {
    fn columns(&self, place: Place<'_>) -> Statement {
        let mut sql = Sql::new(&PostgresDialect);
        // Without its modifier: a cast to `varchar(6)` cuts off without a word what the INSERT by itself refuses. The -1 is
        // for types that mean one character, or one bit, where no modifier is named. Nor does a cast to a domain refuse.
        sql.push(
            "SELECT a.attname::text, format_type(COALESCE(NULLIF(y.typbasetype, 0), a.atttypid), -1)::text, \
             CASE WHEN a.attgenerated = '' THEN 0 ELSE 1 END::bigint \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             JOIN pg_catalog.pg_type y ON y.oid = a.atttypid WHERE n.nspname = ",
        );
        sql.push_text(place.schema).push("::text AND c.relname = ").push_text(place.table).push("::text");
        sql.done()
    }

    fn rounds(&self, data_type: &str) -> bool {
        data_type.starts_with("timestamp") && fraction(data_type).is_some_and(|digits| digits < 6)
    }

    fn catalogue(&self, tables: &[String]) -> Statement {
        catalogue::tables(tables)
    }

    fn places(&self, told: &str) -> Vec<IndexPlace> {
        catalogue::places(told)
    }

    fn schema_first(&self) -> Option<&'static str> {
        Some("public")
    }

    fn policies(&self, tables: &[String]) -> Option<Statement> {
        Some(catalogue::policies(tables))
    }

    fn functions(&self, names: &[String]) -> Option<Statement> {
        Some(catalogue::functions(names))
    }

    fn create_index(&self, place: Place<'_>, index: &Index, is_partitioned: bool) -> String {
        let (schema, table) = (self.quote(place.schema), self.quote(place.table));
        let only = index.only.as_ref().map_or(String::new(), |only| format!(" WHERE {only}"));
        // The parts of a table are indexed at once, or not at all.
        let meanwhile = if is_partitioned { "" } else { " CONCURRENTLY" };
        format!("CREATE INDEX{meanwhile} ON {schema}.{table} ({}){only};", self.index_columns(index))
    }

    fn definitions(&self, schema: &str, tables: &[String]) -> Statement {
        let mut sql = Sql::new(&PostgresDialect);
        sql.push(
            "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod)::text || \
             CASE WHEN a.attcollation <> y.typcollation \
             THEN ' COLLATE ' || quote_ident(s.nspname) || '.' || quote_ident(l.collname) ELSE '' END \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             JOIN pg_catalog.pg_type y ON y.oid = a.atttypid \
             LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation \
             LEFT JOIN pg_catalog.pg_namespace s ON s.oid = l.collnamespace WHERE n.nspname = ",
        );
        let place = sql.text(schema);
        sql.push(&format!("{place}::text AND c.relname = ANY("));
        let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
        sql.push(&format!("{place}::text[]) ORDER BY 1, a.attnum"));
        sql.done()
    }

    fn name_limit(&self) -> NameLimit {
        NameLimit::Bytes(63)
    }

    fn new_table(&self) -> NewTable {
        NewTable { instant: "timestamptz", word: "text", after: "" }
    }
}

impl Writes for PostgresDialect {
    fn batch(
        &self,
        sql: &mut Sql,
        rows: &[BatchRow],
        kind: FieldKind,
        _collation: Option<&str>,
        columns: BatchColumns,
    ) {
        let of = Self::type_of(kind);
        let mut list = |of: &str, value: &dyn Fn(&BatchRow) -> Option<String>| {
            format!("{}::text[]{of}", sql.bind(Bind::Texts(rows.iter().map(value).collect())))
        };
        let mut names = vec!["id"];
        let mut lists = vec![list(&format!("::{of}[]"), &|r| Some(r.id.clone()))];
        if columns.new_id {
            names.push("new_id");
            lists.push(list("", &|r| Some(r.new_id.clone())));
        }
        if columns.message {
            names.push("message");
            lists.push(list("", &|r| r.message.clone()));
        }
        if columns.scope {
            names.push("scope");
            lists.push(list("", &|r| Some(r.scope.clone())));
        }
        if columns.run_after {
            names.push("run_after");
            lists.push(match columns.due {
                Some(kind) => list("::bigint[]", &|r| Some(epoch::epoch(kind, r.run_after?, false).to_string())),
                None => list("::timestamptz[]", &|r| Some(instant::text(r.run_after?))),
            });
        }
        if columns.kept {
            names.push("kept");
            lists.push(list("", &|r| r.kept.clone()));
        }
        if let Some(kind) = columns.live {
            names.push("live");
            lists.push(list(&format!("::{}[]", Self::type_of(kind)), &|r| r.live.clone()));
        }
        sql.push(&format!("unnest({}) AS b({})", lists.join(", "), names.join(", ")));
    }

    fn lock_clause(&self, alias: &str) -> String {
        format!(" FOR UPDATE OF {alias} SKIP LOCKED")
    }

    fn now(&self) -> &'static str {
        "clock_timestamp()"
    }

    fn now_utc(&self) -> &'static str {
        "timezone('UTC', clock_timestamp())"
    }

    fn instant_or_now(&self, sql: &mut Sql, at: Option<Timestamp>, zoned: bool) -> String {
        match (at, zoned) {
            (Some(at), true) => instant::bound(sql, FieldKind::Instant, at, false),
            (Some(at), false) => instant::bound(sql, FieldKind::Utc, at, false),
            (None, true) => self.now().to_owned(),
            (None, false) => self.now_utc().to_owned(),
        }
    }

    fn snapshot_value(&self, column: &Column) -> (String, Form) {
        // Not as JSON: that has one null for two, no lower bounds of arrays, and rewrites what it takes.
        let value = format!("t.{}", self.quote(&column.name));
        let value = match column.data_type.as_str() {
            // Its text is a name, which another table can have by then.
            "regclass" => format!("CAST({value} AS oid)"),
            // A cast cuts the blanks off its end, which are part of it where the column has no length.
            "character" => format!("pg_catalog.textin(pg_catalog.bpcharout({value}))"),
            _ => value,
        };
        // What the server reads back from no text: it refuses whatever it is given for them.
        let unread = ["pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "gtsvector"];
        let is_unread = unread.contains(&column.data_type.as_str()) || column.data_type.starts_with("pg_brin_");
        (self.contract(&value, FieldKind::Text), if is_unread { Form::Lossy } else { Form::Text })
    }

    fn unkept(&self, sql: &mut Sql, sort: ValueSort, text: &str, data_type: &str) {
        match sort {
            // Behind ASCII it is a byte by itself, and no text.
            ValueSort::OddText if data_type == "\"char\"" => {
                let byte = u8::from_str_radix(text, 16).unwrap_or_default().cast_signed();
                sql.push(&format!("CAST({byte} AS \"char\")"))
            }
            // The cast of a text takes names only, and no number.
            _ if data_type == "regclass" && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                sql.push("CAST(CAST(").push_text(text).push("::text AS oid) AS regclass)")
            }
            // Of a database without an encoding; any other refuses these bytes.
            ValueSort::OddText => {
                sql.push("CAST(convert_from(decode(").push_text(text);
                sql.push(&format!("::text, 'hex'), 'SQL_ASCII') AS {data_type})"))
            }
            _ => sql.push("CAST(").push_text(text).push(&format!("::text AS {data_type})")),
        };
    }

    fn column_value(&self, text: &str, data_type: &str) -> String {
        match data_type {
            "json" | "jsonb" => format!("CAST({text}::text AS {data_type})"),
            _ => format!("{text}::text"),
        }
    }

    fn overriding(&self) -> &'static str {
        "OVERRIDING SYSTEM VALUE "
    }
}
