//! The name of the table that a dead-letter table is archived into.

use crate::domain::fingerprint::short_hash;
use crate::store::sql::dialect::NameLimit;

/// What it ends with.
const SUFFIX: &str = "_archive";

/// The name of a table's archive; one that would be too long is cut, and told apart from others by a hash.
pub(crate) fn archive_table_name(table: &str, limit: NameLimit) -> String {
    let room = match limit {
        NameLimit::Bytes(most) if table.len() + SUFFIX.len() > most => most,
        NameLimit::Characters(most) if table.chars().count() + SUFFIX.len() > most => most,
        _ => return format!("{table}{SUFFIX}"),
    };
    let hash = short_hash(table);
    let room = room - SUFFIX.len() - hash.len() - 1;
    let mut head = String::new();
    for c in table.chars() {
        let length = match limit {
            NameLimit::Bytes(_) => head.len() + c.len_utf8(),
            _ => head.chars().count() + 1,
        };
        if length > room {
            break;
        }
        head.push(c);
    }
    format!("{head}_{hash}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_is_cut_and_stays_its_own() {
        assert_eq!(archive_table_name("jobs_dlq", NameLimit::Bytes(63)), "jobs_dlq_archive");
        let (one, two) = (format!("{}a", "x".repeat(60)), format!("{}b", "x".repeat(60)));
        let names = [&one, &two].map(|table| archive_table_name(table, NameLimit::Bytes(63)));
        assert!(names.iter().all(|name| name.len() == 63 && name.ends_with(SUFFIX)), "{names:?}");
        assert_ne!(names[0], names[1]);
        assert_eq!(names[0], archive_table_name(&one, NameLimit::Bytes(63)), "the same each time");
        let wide = "\u{fc}".repeat(60);
        assert!(archive_table_name(&wide, NameLimit::Bytes(63)).len() <= 63);
        assert_eq!(archive_table_name(&wide, NameLimit::Characters(64)).chars().count(), 64);
        assert_eq!(archive_table_name(&wide, NameLimit::None), format!("{wide}{SUFFIX}"));
    }
}
