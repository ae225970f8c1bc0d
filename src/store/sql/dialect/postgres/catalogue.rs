//! What the catalogue knows of some tables.

use super::PostgresDialect;
use crate::db::{Bind, Statement};
use crate::store::sql::dialect::sql_builder::Sql;
use crate::store::sql::dialect::{IndexPlace, Unique};

/// Types by the numbers that every server knows them by.
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;

/// What the role may not do, as [`crate::store::sql::dialect::catalogue::privileges`] reads it. Who owns the table as good as anybody, and may make others
/// beside it, is asked no more. A sequence that a column only borrows is left to the database.
const LACKS: &str = "CASE WHEN pg_has_role(c.relowner, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE') THEN NULL ELSE concat(\
     CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 's' END, \
     CASE WHEN NOT has_schema_privilege(n.oid, 'CREATE') THEN 'c' END, \
     CASE WHEN NOT has_column_privilege(c.oid, a.attnum, 'SELECT') THEN 'r' END, \
     CASE WHEN NOT has_column_privilege(c.oid, a.attnum, 'INSERT') THEN 'a' END, \
     CASE WHEN NOT has_column_privilege(c.oid, a.attnum, 'UPDATE') THEN 'wl' END, \
     CASE WHEN NOT has_table_privilege(c.oid, 'DELETE') THEN 'd' END, \
     CASE WHEN a.atthasdef AND has_schema_privilege(n.oid, 'USAGE') THEN \
     CASE WHEN NOT has_sequence_privilege(pg_get_serial_sequence(c.oid::regclass::text, a.attname), 'USAGE, UPDATE') \
     THEN ' ' || pg_get_serial_sequence(c.oid::regclass::text, a.attname) END END) END";

/// The type of a column as we know it by.
pub(in crate::store::sql::dialect) fn data_type() -> String {
    format!("format_type(a.atttypid, CASE WHEN a.atttypid IN ({TIMESTAMP}, {TIMESTAMPTZ}) THEN a.atttypmod END)")
}

/// The tables of these names, as [`crate::store::sql::dialect::Catalogue::catalogue`] asks for them.
pub(super) fn tables(tables: &[String]) -> Statement {
    let mut sql = Sql::new(&PostgresDialect);
    let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
    // Often the first statement of a process of the server's, which has to load what it knows of each catalogue,
    // type and operator that is named in it: there are as few as will do. The array is of names for the same reason,
    // and policies and functions are asked for where there may be any.
    sql.push(&format!(
        "SELECT n.nspname, c.relname, a.attname, {}, \
         CASE WHEN a.attnotnull THEN 0 ELSE 1 END, NULL::text, NULL::text, \
         (SELECT string_agg(concat_ws(' ', a.attnum, i.indexrelid, i.indisunique AND i.indpred IS NULL \
         AND i.indexprs IS NULL, i.indisprimary, i.indnkeyatts, i.indkey), chr(10)) \
         FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND a.attnum = ANY(i.indkey)), \
         CASE WHEN c.relrowsecurity AND row_security_active(c.oid) THEN current_user END, \
         CASE WHEN c.relkind = 'p' THEN 1 WHEN c.relhassubclass THEN 2 ELSE 0 END, CASE c.relkind WHEN 'v' THEN 1 WHEN 'f' THEN 2 ELSE 0 END, {LACKS} \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         WHERE c.relkind IN ('r', 'p', 'v', 'f') AND c.relname = ANY({place}::name[]) \
         AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_' ORDER BY a.attnum",
        data_type()
    ));
    sql.done()
}

/// Lines of: the column's number, the index, whether it is unique over all rows, whether it is the primary key, how many
/// of its columns are keys, and the numbers of all.
pub(super) fn places(told: &str) -> Vec<IndexPlace> {
    let mut places = Vec::new();
    for line in told.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [column, index, unique, primary, keys, columns @ ..] = words.as_slice() else { continue };
        let keys = keys.parse().unwrap_or(usize::MAX);
        for (at, _) in columns.iter().enumerate().filter(|(_, number)| *number == column) {
            let unique = match (*unique == "t" && at < keys, *primary == "t") {
                (false, _) => Unique::No,
                (true, false) => Unique::Yes,
                (true, true) => Unique::Primary,
            };
            places.push(IndexPlace { index: (*index).to_owned(), at, unique });
        }
    }
    places
}

/// The tables of which a policy shows the role some rows.
pub(super) fn policies(tables: &[String]) -> Statement {
    let mut sql = Sql::new(&PostgresDialect);
    let place = sql.bind(Bind::Texts(tables.iter().cloned().map(Some).collect()));
    sql.push(&format!(
        "SELECT DISTINCT n.nspname::text, c.relname::text FROM pg_catalog.pg_policy p \
         JOIN pg_catalog.pg_class c ON c.oid = p.polrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relname = ANY({place}::name[]) AND p.polpermissive AND p.polcmd IN ('r', '*') \
         AND EXISTS (SELECT FROM unnest(p.polroles) AS m(oid) WHERE m.oid = 0 OR pg_has_role(m.oid, 'USAGE'))"
    ));
    sql.done()
}

/// The functions of these names, with whether the role may call one of each.
pub(super) fn functions(names: &[String]) -> Statement {
    let mut sql = Sql::new(&PostgresDialect);
    let place = sql.bind(Bind::Texts(names.iter().cloned().map(Some).collect()));
    sql.push(&format!(
        "SELECT n.nspname::text, p.proname::text, bool_or(has_function_privilege(p.oid, 'EXECUTE')) FROM pg_catalog.pg_proc p \
         JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE p.proname = ANY({place}::name[]) GROUP BY 1, 2"
    ));
    sql.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_stands_where_its_number_does_and_only_keys_are_unique() {
        let places = |told: &str| -> Vec<(String, usize, Unique)> {
            super::places(told).into_iter().map(|place| (place.index, place.at, place.unique)).collect()
        };
        // The same column twice in one index; a primary key; one that is only carried along.
        let told = "2 900 f f 3 2 7 2\n2 901 t t 1 2\n2 902 t f 1 5 2\n2 903 t f 2 5 2";
        let at = |index: &str, at, unique| (index.to_owned(), at, unique);
        let expected = [
            at("900", 0, Unique::No),
            at("900", 2, Unique::No),
            at("901", 0, Unique::Primary),
            at("902", 1, Unique::No),
            at("903", 1, Unique::Yes),
        ];
        assert_eq!(places(told), expected);
        assert_eq!(places(""), []);
    }
}
