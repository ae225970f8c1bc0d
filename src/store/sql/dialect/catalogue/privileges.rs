//! What a role may not do, as the databases tell it, and what gives it the right.
//!
//! The catalogue tells it of a column in letters: `s` name anything in the schema, `c` make tables there, `d` delete rows; `r`,
//! `a`, `w` and `l` read the column, give it a value in a new row, change it, hold a row by it; and behind a blank the sequence
//! of its values that the role may not count on. NULL says that nothing is known to be amiss.

use std::collections::BTreeSet;

use crate::adapter::{Right, Table};
use crate::db::{DatabaseKind, Grants};
use crate::store::sql::dialect::{Place, dialect};

/// What a grant is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum On {
    Schema,
    Table,
    Sequence,
    Function,
}

/// Adds what the role may not do with a table by one of its columns.
pub(crate) fn add(table: &mut Table, column: &str, told: &str) {
    let (letters, sequence) = told.split_once(' ').unwrap_or((told, ""));
    let lacks = &mut table.lacks;
    for letter in letters.chars() {
        let right = match letter {
            'r' => Right::Select,
            'a' => Right::Insert,
            'w' => Right::Update,
            'l' => Right::Lock,
            's' => {
                lacks.schema = true;
                continue;
            }
            'c' => {
                lacks.create = true;
                continue;
            }
            _ => {
                lacks.delete |= letter == 'd';
                continue;
            }
        };
        lacks.columns.entry(right).or_default().insert(column.to_owned());
    }
    if !sequence.is_empty() {
        lacks.sequences.insert(column.to_owned(), sequence.to_owned());
    }
}

/// Adds what the role may not do with a table by its grants, where the catalogue does not tell.
pub(crate) fn add_by_grants(table: &mut Table, grants: &Grants, place: Place<'_>) {
    let given = |right: &str| grants.give(right, place.schema, place.table);
    // What the catalogue tells holds, whatever gave it. Where that is more than the grants say, there are some that are not
    // listed for us, and one of those may be another right.
    let holds = |right: Right| table.lacks.columns.get(&right).map_or(0, BTreeSet::len) < table.columns.len();
    let columnwise = [Right::Select, Right::Insert, Right::Update];
    if grants.are_unclear() || columnwise.into_iter().any(|right| holds(right) && !given(right.word())) {
        return;
    }
    table.lacks.delete = !given("DELETE");
    // For a table that is not there yet.
    table.lacks.create = !grants.give_somewhere("CREATE", place.schema);
}

/// The statement that gives a role rights.
pub(crate) fn grant(db_kind: DatabaseKind, rights: &str, on: On, object: &str, role: &str) -> String {
    let kind = match on {
        On::Schema => "SCHEMA ",
        On::Table => "",
        On::Sequence => "SEQUENCE ",
        On::Function => "FUNCTION ",
    };
    let role = match (db_kind, role.rsplit_once('@')) {
        (DatabaseKind::Mysql, Some((user, host))) => {
            format!("'{}'@'{}'", user.replace('\'', "''"), host.replace('\'', "''"))
        }
        _ => plain(db_kind, role),
    };
    format!("GRANT {rights} ON {kind}{object} TO {role}")
}

/// A name as somebody would write it: quoted where it has to be.
pub(crate) fn plain(db_kind: DatabaseKind, name: &str) -> String {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let is_plain = begins && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    // Words of the language that somebody may have taken for a name.
    let is_word = ["all", "group", "order", "select", "table", "user"].contains(&name);
    if is_plain && !is_word { name.to_owned() } else { dialect(db_kind).quote(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Column;

    fn table(columns: &[(&str, &str)]) -> Table {
        let column = |name: &str| Column {
            name: name.into(),
            data_type: "int".into(),
            nullable: true,
            collation: None,
            times: None,
        };
        let mut table = Table { columns: columns.iter().map(|(name, _)| column(name)).collect(), ..Table::default() };
        for (name, told) in columns {
            add(&mut table, name, told);
        }
        table
    }

    #[test]
    fn a_right_on_some_columns_is_one_where_only_those_are_used() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        let jobs = table(&[("id", "ral public.jobs_id_seq"), ("a", "r"), ("b", "rawl")]);
        assert!(jobs.lacks(Right::Select, &set(&[])), "none can be read");
        assert!(!jobs.lacks(Right::Update, &set(&["id", "a"])) && jobs.lacks(Right::Update, &set(&["a", "b"])));
        assert!(!jobs.lacks(Right::Insert, &set(&[])), "which columns is not known");
        assert!(!jobs.lacks(Right::Lock, &set(&[])) && !jobs.lacks(Right::Delete, &set(&[])));
        assert_eq!(jobs.lacks.sequences["id"], "public.jobs_id_seq");
        let closed = table(&[("id", "sd")]);
        assert!(closed.lacks(Right::Select, &set(&["id"])) && closed.lacks.delete);
        assert!(!Table::default().lacks(Right::Select, &set(&[])), "nothing is known of it");
    }

    #[test]
    fn grants_that_do_not_explain_what_holds_say_nothing() {
        let place = Place { schema: "shop", table: "jobs" };
        let told = |lines: &[&str]| Grants::parse(&lines.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>());
        let reads = &[("id", "aw")];
        let mut jobs = table(reads);
        add_by_grants(&mut jobs, &told(&["GRANT SELECT ON `shop`.* TO `ops`@`%`"]), place);
        assert!(jobs.lacks.delete && jobs.lacks.create);
        let mut jobs = table(reads);
        add_by_grants(&mut jobs, &told(&["GRANT USAGE ON *.* TO `ops`@`%`"]), place);
        assert!(!jobs.lacks.delete, "something else lets it read, and perhaps delete");
        let mut jobs = table(reads);
        add_by_grants(&mut jobs, &told(&["GRANT SELECT, DELETE ON `shop`.`jobs` TO `ops`@`%`"]), place);
        assert!(!jobs.lacks.delete && jobs.lacks.create);
    }

    #[test]
    fn a_grant_quotes_what_has_to_be_quoted() {
        assert_eq!(
            grant(DatabaseKind::Postgres, "USAGE", On::Sequence, "public.s", "Ops"),
            "GRANT USAGE ON SEQUENCE public.s TO \"Ops\""
        );
        assert_eq!(
            grant(DatabaseKind::Mysql, "DELETE", On::Table, "shop.jobs", "o'ps@%"),
            "GRANT DELETE ON shop.jobs TO 'o''ps'@'%'"
        );
        assert_eq!(plain(DatabaseKind::Postgres, "order"), "\"order\"");
    }
}
